"""Examples in the docstrings of `tx.torch`."""

from __future__ import annotations

import doctest

import numpy as np
import pytest

import texpr as tx
from texpr import nn

pytest.importorskip("torch")


@pytest.mark.parametrize("name", ["op", "module"])
def test_examples_run(name: str):
    names = {"tx": tx, "nn": nn, "np": np}
    test = doctest.DocTestParser().get_doctest(getattr(tx.torch, name).__doc__, names, name, None, 0)
    assert test.examples
    failed: list[str] = []
    nn.manual_seed(0)
    doctest.DocTestRunner().run(test, out=failed.append)
    assert not failed, "\n".join(failed)
