"""FedAvg on digits with pfl-research 0.6 (pip install "pfl[pytorch]==0.6.0"): python pfl_research.py"""
import torch
from pfl.aggregate.simulate import SimulatedBackend
from pfl.algorithm.base import NNAlgorithmParams
from pfl.algorithm.federated_averaging import FederatedAveraging
from pfl.data.federated_dataset import FederatedDataset
from pfl.data.pytorch import PyTorchTensorDataset
from pfl.data.sampling import get_user_sampler
from pfl.hyperparam import NNTrainHyperParams
from pfl.model.pytorch import PyTorchModel

from digits import BATCH, COHORT, ROUNDS, STEP, accuracy, clients

data = [(torch.tensor(x), torch.tensor(y)) for x, y, _, _ in clients()]
users = FederatedDataset(lambda user: PyTorchTensorDataset(list(data[user]), user_id=str(user)), get_user_sampler("random", list(range(20))))

net = torch.nn.Linear(784, 10)
torch.nn.init.zeros_(net.weight)
torch.nn.init.zeros_(net.bias)
net.loss = lambda x, y: torch.nn.functional.cross_entropy(net(x), y)
net.metrics = lambda x, y: {}

FederatedAveraging().run(
    algorithm_params=NNAlgorithmParams(central_num_iterations=ROUNDS, evaluation_frequency=ROUNDS, train_cohort_size=COHORT, val_cohort_size=None),
    backend=SimulatedBackend(training_data=users, val_data=None),
    model=PyTorchModel(net, torch.optim.SGD, torch.optim.SGD(net.parameters(), lr=1.0)),
    model_train_params=NNTrainHyperParams(local_num_epochs=1, local_learning_rate=STEP, local_batch_size=BATCH),
)
print("test accuracy", accuracy(net.weight.detach().numpy().T, net.bias.detach().numpy()))
