"""Made from the catalogue by ``python -m motet._stubs``."""

from typing import Any, ClassVar

class Listed:
    kind: ClassVar[str]
    params: dict[str, Any]
    def __init__(self, **params: Any) -> None: ...
    def __eq__(self, other: object) -> bool: ...
    def __hash__(self) -> int: ...
    def _table(self) -> dict[str, Any]: ...

class Dcgd(Listed):
    """FLIX with compressed gradients (alpha = 1: compressed gradient descent)"""

    def __init__(self, *, alpha: Any, compressor: Any, step: Any = None, regime: Any = None, start: Any = None, solve: Any = None, label: Any = None, tune: Any = None) -> None: ...

class Diana(Listed):
    """FLIX with compressed differences to remembered gradients: converges where dcgd has a floor"""

    def __init__(self, *, alpha: Any, compressor: Any, step: Any = None, beta: Any = None, h0: Any = None, regime: Any = None, start: Any = None, solve: Any = None, label: Any = None, tune: Any = None) -> None: ...

class Ef(Listed):
    """FLIX with biased compressors (top-k): what was not sent is added to the next gradient"""

    def __init__(self, *, alpha: Any, compressor: Any, step: Any = None, start: Any = None, solve: Any = None, label: Any = None, tune: Any = None) -> None: ...

class Ef21(Listed):
    """FLIX with biased compressors (top-k) made to converge by remembered gradients"""

    def __init__(self, *, alpha: Any, compressor: Any, step: Any = None, start: Any = None, solve: Any = None, label: Any = None, tune: Any = None) -> None: ...

class Flix(Listed):
    """mixtures of a shared model and local optima, by distributed gradient descent (alpha = 1: plain GD)"""

    def __init__(self, *, alpha: Any, step: Any = None, start: Any = None, solve: Any = None, label: Any = None, tune: Any = None) -> None: ...

class OneShot(Listed):
    """one round of communication: the weighted average of the local optima"""

    def __init__(self, *, alpha: Any, weights: Any = None, solve: Any = None, label: Any = None, tune: Any = None) -> None: ...

class FlixSgd(Listed):
    """FLIX with sampled clients, mini-batches and any server optimiser"""

    def __init__(self, *, alpha: Any, sampling: Any = None, batch: Any = None, optimiser: Any = None, decay: Any = None, start: Any = None, solve: Any = None, label: Any = None, tune: Any = None) -> None: ...

class FlixFedavg(Listed):
    """FLIX with epochs of local training on the mixture and any server optimiser (alpha = 1: FedAvg, FedOpt)"""

    def __init__(self, *, alpha: Any, step: Any, epochs: Any = None, batch: Any = None, sampling: Any = None, weights: Any = None, optimiser: Any = None, start: Any = None, solve: Any = None, local: Any = None, label: Any = None, tune: Any = None) -> None: ...

class Local(Listed):
    """pure local models: every client on its own, nothing is sent"""

    def __init__(self, *, solve: Any = None, label: Any = None, tune: Any = None) -> None: ...

class Scafflix(Listed):
    """local training with control variates on FLIX mixtures: both accelerate communication"""

    def __init__(self, *, alpha: Any, setting: Any = None, step: Any = None, scale: Any = None, p: Any = None, coin: Any = None, batch: Any = None, target: Any = None, start: Any = None, h0: Any = None, sampling: Any = None, pace: Any = None, compressor: Any = None, decay: Any = None, solve: Any = None, label: Any = None, tune: Any = None) -> None: ...

class IScaffnew(Listed):
    """Scaffnew with a step size of its own for every client (Scafflix with alpha = 1)"""

    def __init__(self, *, step: Any = None, scale: Any = None, p: Any = None, coin: Any = None, batch: Any = None, target: Any = None, start: Any = None, h0: Any = None, sampling: Any = None, pace: Any = None, compressor: Any = None, decay: Any = None, solve: Any = None, label: Any = None, tune: Any = None) -> None: ...

class Scaffnew(Listed):
    """local training with control variates, one step size for all (ProxSkip)"""

    def __init__(self, *, step: Any = None, scale: Any = None, p: Any = None, coin: Any = None, batch: Any = None, target: Any = None, start: Any = None, h0: Any = None, sampling: Any = None, pace: Any = None, compressor: Any = None, decay: Any = None, solve: Any = None, label: Any = None, tune: Any = None) -> None: ...

class Scaffold(Listed):
    """local steps whose drift is corrected by control variates, any sampling of clients"""

    def __init__(self, *, step: Any, server_step: Any = None, local_steps: Any = None, batch: Any = None, sampling: Any = None, control: Any = None, label: Any = None, tune: Any = None) -> None: ...

class Fedprox(Listed):
    """federated averaging whose clients are held near the shared model by a proximal term (mu = 0: FedAvg)"""

    def __init__(self, *, mu: Any, step: Any, local_steps: Any = None, batch: Any = None, sampling: Any = None, weights: Any = None, label: Any = None, tune: Any = None) -> None: ...

class Finetune(Listed):
    """federated averaging, and local steps from the shared model before it is deployed"""

    def __init__(self, *, step: Any, tune: Any, local_steps: Any = None, tune_step: Any = None, batch: Any = None, sampling: Any = None, weights: Any = None, label: Any = None) -> None: ...

class Ditto(Listed):
    """federated averaging, and beside it a personal model held near the shared one"""

    def __init__(self, *, lambda_: Any, step: Any, local_steps: Any = None, personal_step: Any = None, personal_steps: Any = None, batch: Any = None, sampling: Any = None, weights: Any = None, label: Any = None, tune: Any = None) -> None: ...

class Pfedme(Listed):
    """the shared model descends on Moreau envelopes, clients deploy proximal points"""

    def __init__(self, *, lambda_: Any, step: Any, inner_step: Any, local_steps: Any = None, inner_steps: Any = None, server_step: Any = None, batch: Any = None, sampling: Any = None, label: Any = None, tune: Any = None) -> None: ...

class Apfl(Listed):
    """mixtures of the shared model and one of the client's own, both trained at once"""

    def __init__(self, *, own_share: Any, step: Any, learn_share: Any = None, local_steps: Any = None, batch: Any = None, sampling: Any = None, label: Any = None, tune: Any = None) -> None: ...

class L2gd(Listed):
    """personal models drawn towards their mean; a coin decides between local steps and averaging"""

    def __init__(self, *, lambda_: Any, p: Any = None, step: Any = None, batch: Any = None, label: Any = None, tune: Any = None) -> None: ...

class PerFedavg(Listed):
    """a shared model from which one gradient step is a good personal one"""

    def __init__(self, *, inner_step: Any, step: Any, variant: Any = None, difference: Any = None, local_steps: Any = None, adapt: Any = None, batch: Any = None, sampling: Any = None, weights: Any = None, label: Any = None, tune: Any = None) -> None: ...

class Meritfed(Listed):
    """one target's model from everyone's gradients, weighted by what they do for its validation loss"""

    def __init__(self, *, step: Any, mirror: Any, target: Any = None, server_step: Any = None, local_steps: Any = None, sampling: Any = None, compressor: Any = None, batch: Any = None, validation: Any = None, guard: Any = None, clip: Any = None, label: Any = None, tune: Any = None) -> None: ...

class MeritfedAll(Listed):
    """MeritFed with every client as a target: a model each, all in one round of messages"""

    def __init__(self, *, step: Any, mirror: Any, batch: Any = None, validation: Any = None, clip: Any = None, friends: Any = None, label: Any = None, tune: Any = None) -> None: ...

class SgdFull(Listed):
    """one target's model from the plain or robust mean of everyone's gradients"""

    def __init__(self, *, step: Any, target: Any = None, batch: Any = None, aggregator: Any = None, clip: Any = None, label: Any = None, tune: Any = None) -> None: ...

class SgdIdeal(Listed):
    """one target's model from the mean gradient of those who are known to be like it"""

    def __init__(self, *, step: Any, friends: Any, target: Any = None, batch: Any = None, label: Any = None, tune: Any = None) -> None: ...

class Fedadp(Listed):
    """gradients weighted by their angle to the target's (or to the mean)"""

    def __init__(self, *, step: Any, target: Any = None, batch: Any = None, flavour: Any = None, sharpness: Any = None, clip: Any = None, label: Any = None, tune: Any = None) -> None: ...

class Tawt(Listed):
    """gradients weighted by a running product of their cosines with the target's"""

    def __init__(self, *, step: Any, target: Any = None, batch: Any = None, rate: Any = None, clip: Any = None, label: Any = None, tune: Any = None) -> None: ...

class LocalUpdate(Listed):
    """local steps, weighed by Theta, and separate client and server steps: FedAvg, Reptile, FOMAML and more as one"""

    def __init__(self, *, step: Any, theta: Any = None, local_steps: Any = None, server_step: Any = None, optimiser: Any = None, weights: Any = None, send: Any = None, hold: Any = None, adapt: Any = None, loss: Any = None, batch: Any = None, draw: Any = None, sampling: Any = None, start: Any = None, local: Any = None, label: Any = None, tune: Any = None) -> None: ...

class MinibatchSgd(Listed):
    """one gradient per client and round, and any server optimiser"""

    def __init__(self, *, server_step: Any = None, optimiser: Any = None, weights: Any = None, batch: Any = None, draw: Any = None, sampling: Any = None, start: Any = None, local: Any = None, label: Any = None, tune: Any = None) -> None: ...

class LocalSgd(Listed):
    """K steps at every client, then the average of the models"""

    def __init__(self, *, step: Any, local_steps: Any, weights: Any = None, batch: Any = None, draw: Any = None, sampling: Any = None, start: Any = None, local: Any = None, label: Any = None, tune: Any = None) -> None: ...

class Fedavg(Listed):
    """each client trains for some epochs, the server averages the models"""

    def __init__(self, *, step: Any, local_steps: Any = None, weights: Any = None, batch: Any = None, draw: Any = None, sampling: Any = None, start: Any = None, local: Any = None, label: Any = None, tune: Any = None) -> None: ...

class Lookahead(Listed):
    """K fast steps, then the slow model follows part of the way (meant for one client)"""

    def __init__(self, *, step: Any, local_steps: Any, slow: Any = None, batch: Any = None, draw: Any = None, sampling: Any = None, start: Any = None, local: Any = None, label: Any = None, tune: Any = None) -> None: ...

class Reptile(Listed):
    """K local steps and a server step of its own; clients adapt by K steps before they deploy"""

    def __init__(self, *, step: Any, local_steps: Any, server_step: Any = None, optimiser: Any = None, adapt: Any = None, weights: Any = None, batch: Any = None, draw: Any = None, sampling: Any = None, start: Any = None, local: Any = None, label: Any = None, tune: Any = None) -> None: ...

class Fomaml(Listed):
    """MAML without second derivatives: the gradient after m steps of adaptation"""

    def __init__(self, *, step: Any, inner: Any = None, server_step: Any = None, optimiser: Any = None, hold: Any = None, adapt: Any = None, weights: Any = None, batch: Any = None, draw: Any = None, sampling: Any = None, start: Any = None, local: Any = None, label: Any = None, tune: Any = None) -> None: ...

class Maml(Listed):
    """a start from which m steps of adaptation go far, by Hessian-vector products"""

    def __init__(self, *, step: Any, inner: Any = None, server_step: Any = None, optimiser: Any = None, hold: Any = None, adapt: Any = None, weights: Any = None, batch: Any = None, draw: Any = None, sampling: Any = None, start: Any = None, local: Any = None, label: Any = None, tune: Any = None) -> None: ...

class LocalUpdateDecay(Listed):
    """LocalUpdate whose step and server step fall when the loss no longer does"""

    def __init__(self, *, step: Any, decay: Any = None, theta: Any = None, local_steps: Any = None, server_step: Any = None, optimiser: Any = None, weights: Any = None, send: Any = None, hold: Any = None, adapt: Any = None, loss: Any = None, batch: Any = None, draw: Any = None, sampling: Any = None, start: Any = None, local: Any = None, label: Any = None, tune: Any = None) -> None: ...

__all__ = ["Listed", "Dcgd", "Diana", "Ef", "Ef21", "Flix", "OneShot", "FlixSgd", "FlixFedavg", "Local", "Scafflix", "IScaffnew", "Scaffnew", "Scaffold", "Fedprox", "Finetune", "Ditto", "Pfedme", "Apfl", "L2gd", "PerFedavg", "Meritfed", "MeritfedAll", "SgdFull", "SgdIdeal", "Fedadp", "Tawt", "LocalUpdate", "MinibatchSgd", "LocalSgd", "Fedavg", "Lookahead", "Reptile", "Fomaml", "Maml", "LocalUpdateDecay"]
