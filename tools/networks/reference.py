"""What PyTorch computes on four networks: the fixture of nn/tests/all/pytorch.rs.

    python tools/networks/reference.py > nn/tests/all/pytorch.txt

Weights and inputs are functions of names and indices, so that the file holds results only: scores, the loss,
and of every tensor's gradient its norm and its product with a fixed direction. Run with Python 3.11.7,
torch 2.15.0, numpy 2.4.6, in double precision so that the recorded numbers have no rounding of their own.
"""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

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


class Cnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 32, 5, padding=2)
        self.conv2 = nn.Conv2d(32, 64, 5, padding=2)
        self.fc1 = nn.Linear(3136, 512)
        self.fc2 = nn.Linear(512, 62)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.fc2(F.relu(self.fc1(x.flatten(1))))


class CharLstm(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(90, 8)
        self.lstm = nn.LSTM(8, 256, num_layers=2, batch_first=True)
        self.out = nn.Linear(256, 90)

    def forward(self, x):
        return self.out(self.lstm(self.embedding(x))[0]).transpose(1, 2)


class Block(nn.Module):
    def __init__(self, norm, inputs, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = norm(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = norm(outputs)
        self.downsample = None
        if stride != 1 or inputs != outputs:
            self.downsample = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), norm(outputs))

    def forward(self, x):
        y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        return F.relu(y + (x if self.downsample is None else self.downsample(x)))


class ResNet(nn.Module):
    def __init__(self, norm):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 3, 1, 1, bias=False)
        self.bn1 = norm(64)
        width = 64
        for stage in range(4):
            blocks = []
            for block in range(2):
                stride = 2 if stage > 0 and block == 0 else 1
                blocks.append(Block(norm, width, 64 << stage, stride))
                width = 64 << stage
            setattr(self, f"layer{stage + 1}", nn.Sequential(*blocks))
        self.fc = nn.Linear(512, 10)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        for stage in range(4):
            x = getattr(self, f"layer{stage + 1}")(x)
        return self.fc(x.mean((2, 3)))


def bert():
    from transformers import BertConfig, BertModel
    config = BertConfig(vocab_size=30522, hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536,
                        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    model = BertModel(config, add_pooling_layer=False)

    class Classifier(nn.Module):
        def __init__(self):
            super().__init__()
            self.bert = model
            self.classifier = nn.Linear(384, 3)

        def forward(self, x):
            mask = (x != 0).to(torch.float64)
            hidden = self.bert(x, attention_mask=mask).last_hidden_state
            return self.classifier((hidden * mask[..., None]).sum(1) / mask.sum(1, keepdim=True))
    return Classifier()


def report(kind, net, x, y):
    net.train()
    with torch.no_grad():
        for name, p in net.named_parameters():
            name = name.removeprefix("bert.")
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
        name = name.removeprefix("bert.")
        if "bias_hh" in name:
            continue
        g = p.grad.numpy().ravel()
        print(kind, name, repr(float(np.sqrt((g * g).sum()))), repr(float((g * number("along " + name, len(g))).sum())))


report("cnn", Cnn(), inputs("cnn input", (3, 1, 28, 28)), tokens("cnn target", (3,), 62))
report("lstm", CharLstm(), tokens("lstm input", (4, 80), 90), tokens("lstm target", (4, 80), 90))
for kind, norm in ("resnet-group", lambda c: nn.GroupNorm(2, c)), ("resnet-batch", nn.BatchNorm2d):
    report(kind, ResNet(norm), inputs("resnet input", (4, 3, 32, 32)), tokens("resnet target", (4,), 10))
words = 1 + tokens("bert input", (3, 12), 30521)
words[1, 7:] = 0
report("bert", bert(), words, tokens("bert target", (3,), 3))
