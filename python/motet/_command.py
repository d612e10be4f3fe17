"""The command line inside the wheel: ``motet demo`` and all the others."""

from __future__ import annotations

import signal
import sys

from . import _motet


def main() -> int:
    """Does what the command ``motet`` does; gives its exit code."""
    # The command listens for Ctrl-C by itself: the first asks for a stop after the round, the second is one.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _motet.command(["motet", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
