"""What PyTorch computes on four networks: the fixture of nn/tests/all/pytorch.rs.

    python tools/networks/reference.py > nn/tests/all/pytorch.txt

Weights and inputs are functions of names and indices, so that the file holds results only: scores, the loss,
and of every tensor's gradient its norm and its product with a fixed direction. Run with Python 3.11.7,
torch 2.15.0, transformers 5.22.2, numpy 2.4.6, in double precision so that the recorded numbers have no rounding of their own.
"""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

from modules import CharLstm, Cnn, ResNet, bert, groups

torch.set_default_dtype(torch.float64)
MASK = np.uint64(0xFFFFFFFF)


def number(name, count):
    """`count` numbers in [-1, 1) that depend on the name; the test has the same function."""
    seed = 0
    for b in name.encode():
        seed = (seed * 31 + b) & 0xFFFFFFFF
    x = (np.arange(count, dtype=np.uint64) + np.uint64(seed)) & MASK
    x = (x * np.uint64(2654435761)) & MASK
    x ^= x >> np.uint64(16)
    x = (x * np.uint64(2246822519)) & MASK
    x ^= x >> np.uint64(13)
    return x.astype(np.float64) / 2**31 - 1


def weights(name, shape):
    u = number(name, int(np.prod(shape))).reshape(shape)
    if "embedding" in name:
        u = 0.5 * u
    elif len(shape) > 1:
        u = u * np.sqrt(3 / np.prod(shape[1:]))
    elif name.endswith("weight"):
        u = 1 + 0.1 * u
    else:
        u = 0.1 * u
    # The test works in single precision: give both the same weights.
    return torch.from_numpy(u.astype(np.float32).astype(np.float64))


def inputs(name, shape):
    return torch.from_numpy(number(name, int(np.prod(shape))).astype(np.float32).astype(np.float64).reshape(shape))


def tokens(name, shape, vocabulary):
    u = (number(name, int(np.prod(shape))) + 1) / 2 * vocabulary
    return torch.from_numpy(np.minimum(u.astype(np.int64), vocabulary - 1).reshape(shape))


def report(kind, net, x, y):
    net.train()
    with torch.no_grad():
        for name, p in net.named_parameters():
            if "bias_hh" in name:
                p.zero_()
            else:
                p.copy_(weights(name, tuple(p.shape)))
    scores = net(x)
    loss = F.cross_entropy(scores, y)
    loss.backward()
    print(kind, "loss", repr(loss.item()), 0)
    flat = scores.detach().flatten()
    for k in range(0, len(flat), max(1, len(flat) // 8)):
        print(kind, f"score.{k}", repr(flat[k].item()), 0)
    for name, p in net.named_parameters():
        if "bias_hh" in name:
            continue
        g = p.grad.numpy().ravel()
        print(kind, name, repr(float(np.sqrt((g * g).sum()))), repr(float((g * number("along " + name, len(g))).sum())))


report("cnn", Cnn(), inputs("cnn input", (3, 1, 28, 28)), tokens("cnn target", (3,), 62))
report("lstm", CharLstm(), tokens("lstm input", (4, 80), 90), tokens("lstm target", (4, 80), 90))
for kind, norm in ("resnet-group", groups), ("resnet-batch", nn.BatchNorm2d):
    report(kind, ResNet(norm), inputs("resnet input", (4, 3, 32, 32)), tokens("resnet target", (4,), 10))
words = 1 + tokens("bert input", (3, 12), 30521)
words[1, 7:] = 0
report("bert", bert(), words, tokens("bert target", (3,), 3))
