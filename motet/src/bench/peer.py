"""The fixed workloads of `motet bench` in other people's libraries, as one would write them there by hand.

    python peer.py WORKLOAD [--processes N] [--rounds N] [--warm-up N]

cnn, lstm, resnet and bert are FedAvg in PyTorch: N processes of one thread each, the fastest way on a machine of N cores. tiny is
numpy with the whole cohort in one batched product, logistic scipy with all clients in one sparse product.

Says on one line of JSON who it is when it is warm. For each line that it is then given it times some rounds and writes one line: the
middle of their seconds, and the memory of all processes. `motet bench WORKLOAD --against VENV` runs it by turns.
"""
import argparse
import json
import statistics
import sys
import time

import numpy as np

SEED = 2024
# clients, examples each, clients a round, passes over a client's examples, batch, rate
SIZES = {
    "cnn": (100, 100, 10, 2, 20, 0.05),
    "lstm": (100, 40, 10, 1, 4, 0.5),
    "resnet": (8, 40, 2, 1, 20, 0.01),
    "bert": (8, 16, 2, 1, 8, 0.01),
    "tiny": (10_000, 20, 100, 1, 10, 0.1),
    "logistic": (50, None, 50, None, None, None),
}


def cohort(workload, round_number):
    """Who takes part in a round."""
    clients, _, chosen, *_ = SIZES[workload]
    return np.random.default_rng([SEED, 7, round_number]).choice(clients, chosen, replace=False)


def examples(workload):
    """Features and labels by client and example; the same in every process."""
    clients, each, *_ = SIZES[workload]
    rng = np.random.default_rng([SEED, 1])
    if workload == "cnn":
        labels = rng.integers(0, 62, (clients, each))
        return rng.standard_normal((clients, each, 1, 28, 28), dtype=np.float32), labels
    if workload == "resnet":
        labels = rng.integers(0, 10, (clients, each))
        return rng.standard_normal((clients, each, 3, 32, 32), dtype=np.float32), labels
    if workload == "bert":
        return rng.integers(1, 30_522, (clients, each, 64)), rng.integers(0, 10, (clients, each))
    if workload == "lstm":
        tokens = rng.integers(0, 90, (clients, each, 81))
        return tokens[..., :-1].copy(), tokens[..., 1:].copy()
    labels = rng.integers(0, 10, (clients, each))
    return rng.standard_normal((clients, each, 60), dtype=np.float32), labels


def network(workload):
    """The model in PyTorch, started at a seed."""
    import torch
    import torch.nn as nn
    import torch.nn.functional as F

    class Cnn(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1, self.conv2 = nn.Conv2d(1, 32, 5, padding=2), nn.Conv2d(32, 64, 5, padding=2)
            self.fc1, self.fc2 = nn.Linear(3136, 512), nn.Linear(512, 62)

        def forward(self, x):
            x = F.max_pool2d(F.relu(self.conv1(x)), 2)
            x = F.max_pool2d(F.relu(self.conv2(x)), 2)
            return self.fc2(F.relu(self.fc1(x.flatten(1))))

    class Lstm(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding, self.lstm = nn.Embedding(90, 8), nn.LSTM(8, 256, num_layers=2, batch_first=True)
            self.out = nn.Linear(256, 90)

        def forward(self, x):
            return self.out(self.lstm(self.embedding(x))[0]).transpose(1, 2)

    class Block(nn.Module):
        def __init__(self, inputs, outputs, stride):
            super().__init__()
            self.conv1, self.norm1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.GroupNorm(2, outputs)
            self.conv2, self.norm2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False), nn.GroupNorm(2, outputs)
            self.short = nn.Identity()
            if stride != 1 or inputs != outputs:
                self.short = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.GroupNorm(2, outputs))

        def forward(self, x):
            y = self.norm2(self.conv2(F.relu(self.norm1(self.conv1(x)))))
            return F.relu(y + self.short(x))

    class ResNet(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.norm = nn.Conv2d(3, 64, 3, 1, 1, bias=False), nn.GroupNorm(2, 64)
            width, blocks = 64, []
            for stage in range(4):
                for stride in (1 if stage == 0 else 2, 1):
                    blocks.append(Block(width, 64 << stage, stride))
                    width = 64 << stage
            self.blocks, self.fc = nn.Sequential(*blocks), nn.Linear(512, 10)

        def forward(self, x):
            return self.fc(self.blocks(F.relu(self.norm(self.conv(x)))).mean((2, 3)))

    class EncoderLayer(nn.Module):
        def __init__(self):
            super().__init__()
            self.qkv, self.mixed = nn.Linear(384, 3 * 384), nn.Linear(384, 384)
            self.inner, self.outer = nn.Linear(384, 1536), nn.Linear(1536, 384)
            self.norm1, self.norm2 = nn.LayerNorm(384, 1e-12), nn.LayerNorm(384, 1e-12)
            self.drop = nn.Dropout(0.1)

        def forward(self, x):
            q, k, v = self.qkv(x).unflatten(-1, (3, 12, 32)).permute(2, 0, 3, 1, 4)
            mixed = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)
            x = self.norm1(x + self.drop(self.mixed(mixed)))
            return self.norm2(x + self.drop(self.outer(F.gelu(self.inner(x)))))

    class Bert(nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.positions, self.kinds = nn.Embedding(30_522, 384), nn.Embedding(512, 384), nn.Embedding(2, 384)
            self.norm, self.drop = nn.LayerNorm(384, 1e-12), nn.Dropout(0.1)
            self.layers, self.out = nn.Sequential(*[EncoderLayer() for _ in range(6)]), nn.Linear(384, 10)

        def forward(self, x):
            x = self.words(x) + self.positions.weight[:x.shape[1]] + self.kinds.weight[0]
            return self.out(self.layers(self.drop(self.norm(x))).mean(1))

    torch.manual_seed(SEED)
    return {"cnn": Cnn, "lstm": Lstm, "resnet": ResNet, "bert": Bert}[workload]()


def worker(workload, pipe):
    """Trains the clients it is told from the weights it is given, and sends the sum of theirs back."""
    import torch
    import torch.nn.functional as F
    from torch.nn.utils import parameters_to_vector, vector_to_parameters
    torch.set_num_threads(1)
    *_, passes, batch, rate = SIZES[workload]
    (features, labels), net = map(torch.from_numpy, examples(workload)), network(workload)
    while True:
        try:
            weights, clients = pipe.recv()
        except EOFError:
            return
        start = torch.from_numpy(weights)
        total = torch.zeros_like(start)
        for client in clients:
            vector_to_parameters(start.clone(), net.parameters())
            optimiser = torch.optim.SGD(net.parameters(), lr=rate)
            for first in list(range(0, labels.shape[1], batch)) * passes:
                x, y = features[client, first:first + batch], labels[client, first:first + batch]
                optimiser.zero_grad()
                F.cross_entropy(net(x), y).backward()
                optimiser.step()
            total += parameters_to_vector(net.parameters()).detach()
        pipe.send(total.numpy())


def by_pytorch(workload, processes):
    """A round of FedAvg over processes of one thread each."""
    import torch
    import torch.multiprocessing as multiprocessing
    from torch.nn.utils import parameters_to_vector
    torch.set_num_threads(1)
    weights = parameters_to_vector(network(workload).parameters()).detach().clone()
    context, pipes = multiprocessing.get_context("spawn"), []
    for _ in range(processes):
        here, there = context.Pipe()
        context.Process(target=worker, args=(workload, there), daemon=True).start()
        pipes.append(here)

    def one(round_number):
        chosen = cohort(workload, round_number)
        for k, pipe in enumerate(pipes):
            pipe.send((weights.numpy(), chosen[k::processes]))
        weights.copy_(sum(torch.from_numpy(pipe.recv()) for pipe in pipes) / len(chosen))
    return f"PyTorch {torch.__version__}", one


def by_numpy(workload):
    """Softmax regression of a whole cohort as one batched product."""
    *_, passes, batch, rate = SIZES[workload]
    features, labels = examples(workload)
    ones, rate, share = np.eye(10, dtype=np.float32), np.float32(rate), np.float32(1 / batch)
    model = [np.zeros((60, 10), np.float32), np.zeros(10, np.float32)]

    def one(round_number):
        chosen = cohort(workload, round_number)
        w, b = (np.repeat(part[None], len(chosen), 0) for part in model)
        x, y = features[chosen], labels[chosen]
        for first in list(range(0, x.shape[1], batch)) * passes:
            rows, classes = x[:, first:first + batch], y[:, first:first + batch]
            scores = rows @ w + b[:, None]
            chances = np.exp(scores - scores.max(-1, keepdims=True))
            slopes = (chances / chances.sum(-1, keepdims=True) - ones[classes]) * share
            w -= rate * (rows.transpose(0, 2, 1) @ slopes)
            b -= rate * slopes.sum(1)
        model[:] = w.mean(0), b.mean(0)
    return f"numpy {np.__version__}", one


def by_scipy(_):
    """Gradient descent on the FLIX objective, all clients in one sparse matrix: a·A x and the fixed part of A xᵢ apart."""
    import scipy
    import scipy.sparse as sparse
    from scipy.special import expit
    rows, columns, each, clients, alpha, l2 = 17_188, 300, 12, 50, 0.5, 1e-3
    rng = np.random.default_rng([SEED, 3])
    places = np.sort(np.argsort(rng.random((rows, columns)), axis=1)[:, :each], axis=1)
    a = sparse.csr_matrix((np.ones(rows * each), places.ravel(), np.arange(rows + 1) * each), (rows, columns))
    turned = a.T.tocsr()
    signs = np.where(a @ rng.standard_normal(columns) + rng.standard_normal(rows) > 0, 1.0, -1.0)
    cuts = np.linspace(0, rows, clients + 1).astype(int)
    anchors = 0.1 * rng.standard_normal((clients, columns))
    counts = np.diff(cuts)
    weight = np.repeat(1 / (clients * counts), counts)
    fixed = np.concatenate([(1 - alpha) * (a[i:j] @ anchor) for i, j, anchor in zip(cuts[:-1], cuts[1:], anchors)])
    mean, x, step = (1 - alpha) * anchors.mean(0), np.zeros(columns), 1.0

    def one(_):
        slopes = -signs * expit(-signs * (alpha * (a @ x) + fixed)) * weight
        x[:] -= step * alpha * (turned @ slopes + l2 * (alpha * x + mean))
    return f"scipy {scipy.__version__}", one


def memory_mb():
    """Resident memory of this process and of those it started, where the system tells."""
    import os
    total, mine = 0.0, {str(os.getpid())}
    try:
        for _ in range(2):
            for name in filter(str.isdigit, os.listdir("/proc")):
                with open(f"/proc/{name}/stat") as stat:
                    if stat.read().rsplit(")", 1)[1].split()[1] in mine:
                        mine.add(name)
        for name in mine:
            with open(f"/proc/{name}/status") as status:
                total += sum(int(line.split()[1]) for line in status if line.startswith("VmRSS:")) / 1024
    except OSError:
        return None
    return round(total, 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workload", choices=SIZES)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--warm-up", type=int, default=2)
    args = parser.parse_args()
    if args.workload == "tiny":
        peer, one = by_numpy(args.workload)
    elif args.workload == "logistic":
        peer, one = by_scipy(args.workload)
    else:
        peer, one = by_pytorch(args.workload, args.processes)
    done = 0

    def rounds(count):
        nonlocal done
        seconds = []
        for _ in range(count):
            began = time.perf_counter()
            one(done)
            seconds.append(time.perf_counter() - began)
            done += 1
        return seconds

    rounds(args.warm_up)
    print(json.dumps({"peer": peer}), flush=True)
    for _ in sys.stdin:
        print(json.dumps({"seconds_per_round": statistics.median(rounds(args.rounds)), "memory_mb": memory_mb()}), flush=True)


if __name__ == "__main__":
    main()
