"""The examples of the book's page and of the wheel's own run, block after block, as somebody would type them."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"
PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "python.md"


def test_the_page_runs_as_it_stands(capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    assert len(blocks) >= 8
    names: dict[str, object] = {"__name__": "page"}
    for block in blocks:
        try:
            exec(compile(block, PAGE.name, "exec"), names)
        except ModuleNotFoundError as error:
            # PyTorch is not among what the small set installs.
            assert error.name == "torch"


def test_the_wheels_own_page_runs_as_it_stands() -> None:
    pytest.importorskip("pandas")
    failed, tried = doctest.testfile(str(README), module_relative=False)
    assert tried >= 3 and failed == 0
