"""FedAvg on digits with Flower 1.41 (pip install "flwr[simulation]==1.41.0"): python flower.py"""
import numpy as np
from flwr.app import ArrayRecord, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import ServerApp
from flwr.serverapp.strategy import FedAvg
from flwr.simulation import run_simulation

from digits import BATCH, COHORT, ROUNDS, STEP, accuracy, clients

client = ClientApp()
server = ServerApp()


@client.train()
def train(message, context):
    x, y, _, _ = clients()[int(context.node_config["partition-id"])]
    weights, bias = message.content["arrays"].to_numpy_ndarrays()
    weights, bias = weights.copy(), bias.copy()
    for batch in np.array_split(np.random.permutation(len(y)), range(BATCH, len(y), BATCH)):
        scores = x[batch] @ weights + bias
        chances = np.exp(scores - scores.max(axis=1, keepdims=True))
        chances /= chances.sum(axis=1, keepdims=True)
        chances[np.arange(len(batch)), y[batch]] -= 1
        weights -= STEP * x[batch].T @ chances / len(batch)
        bias -= STEP * chances.mean(axis=0)
    metrics = MetricRecord({"num-examples": len(y)})
    return Message(RecordDict({"arrays": ArrayRecord([weights, bias]), "metrics": metrics}), reply_to=message)


@server.main()
def main(grid, context):
    start = ArrayRecord([np.zeros((784, 10), np.float32), np.zeros(10, np.float32)])
    strategy = FedAvg(fraction_train=COHORT / 20, min_train_nodes=COHORT, fraction_evaluate=0.0, min_available_nodes=20)
    result = strategy.start(grid=grid, initial_arrays=start, num_rounds=ROUNDS)
    print("test accuracy", accuracy(*result.arrays.to_numpy_ndarrays()))


if __name__ == "__main__":
    run_simulation(server_app=server, client_app=client, num_supernodes=20)
