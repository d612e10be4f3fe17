#!/usr/bin/env python3
"""Federated data of TensorFlow Federated in HDF5 as a file that `kind = "npz"` reads. (`kind = "tff"` reads SQLite files itself.)

    python3 tff_to_npz.py fed_emnist_train.h5 --test fed_emnist_test.h5 --out femnist.npz
    python3 tff_to_npz.py shakespeare_train.h5 --x snippets --lines 80 --out shakespeare.npz

The npz has x (one row an example), y, client (names) and, with --test, part (0 train, 2 test). Images with values from 0
to 1 become bytes. Strings (--lines N) become windows of N + 1 bytes. Needs h5py and numpy.
"""
import argparse
import numpy as np


def hdf5(path):
    import h5py
    with h5py.File(path, "r") as file:
        for name, client in file["examples"].items():
            yield name, {key: np.asarray(value) for key, value in client.items()}


def rows(path, x, y, lines):
    for name, client in hdf5(path):
        if lines:
            text = b"".join(s if isinstance(s, bytes) else s.encode() for s in client[x].ravel())
            text = np.frombuffer(text, dtype=np.uint8)
            text = text[: len(text) // (lines + 1) * (lines + 1)].reshape(-1, lines + 1)
            if len(text):
                yield name, text, text[:, -1].astype(np.int64)
        else:
            yield name, client[x], client[y]


def main():
    how = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    how.add_argument("train")
    how.add_argument("--test")
    how.add_argument("--x", default="pixels")
    how.add_argument("--y", default="label")
    how.add_argument("--lines", type=int, default=0, help="strings: windows of so many characters and the next one")
    how.add_argument("--out", required=True)
    how = how.parse_args()
    xs, ys, clients, parts = [], [], [], []
    for path, part in [(how.train, 0)] + ([(how.test, 2)] if how.test else []):
        for name, x, y in rows(path, how.x, how.y, how.lines):
            x = np.asarray(x).reshape(len(x), -1)
            if x.dtype.kind == "f" and x.size and x.min() >= 0 and x.max() <= 1:
                x = np.rint(255 * x).astype(np.uint8)
            xs.append(x)
            ys.append(np.asarray(y).reshape(-1))
            clients += [name] * len(x)
            parts += [part] * len(x)
    arrays = {"x": np.concatenate(xs), "y": np.concatenate(ys), "client": np.array(clients)}
    if how.test:
        arrays["part"] = np.array(parts, dtype=np.uint8)
    np.savez_compressed(how.out, **arrays)
    print(f"{how.out}: {len(clients)} examples of {len(set(clients))} clients, x {arrays['x'].dtype} {arrays['x'].shape[1]} wide")


if __name__ == "__main__":
    main()
