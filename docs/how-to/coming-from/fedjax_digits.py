"""FedAvg on digits with FedJAX 0.0.17 in Python 3.11: python fedjax_digits.py

pip install fedjax==0.0.17 jax==0.4.25 jaxlib==0.4.25 "numpy<2" "scipy<1.13" "dm-haiku<0.0.13" "optax<0.2.3"
"""
import fedjax
import jax
import jax.numpy as jnp
import numpy as np
from fedjax.algorithms import fed_avg

from digits import BATCH, COHORT, ROUNDS, STEP, accuracy, clients

data = fedjax.InMemoryFederatedData({str(k).encode(): {"x": x, "y": y} for k, (x, y, _, _) in enumerate(clients())})


def loss(params, batch, rng):
    scores = batch["x"] @ params["weights"] + params["bias"]
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(scores), batch["y"][:, None], axis=1))


algorithm = fed_avg.federated_averaging(
    jax.grad(loss),
    client_optimizer=fedjax.optimizers.sgd(STEP),
    server_optimizer=fedjax.optimizers.sgd(1.0),
    client_batch_hparams=fedjax.ShuffleRepeatBatchHParams(batch_size=BATCH, num_epochs=1),
)
sampler = fedjax.client_samplers.UniformGetClientSampler(data, num_clients=COHORT, seed=0)
state = algorithm.init({"weights": jnp.zeros((784, 10)), "bias": jnp.zeros(10)})
for round_num in range(ROUNDS):
    sampler.set_round_num(round_num)
    state, _ = algorithm.apply(state, sampler.sample())
print("test accuracy", accuracy(np.asarray(state.params["weights"]), np.asarray(state.params["bias"])))
