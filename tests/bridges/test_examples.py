"""Examples in the docstrings of `tx.torch` and `tx.jax`."""

from __future__ import annotations

import doctest

import numpy as np
import pytest

import texpr as tx
from texpr import nn
from texpr.bridges.jax.jax_operator import JaxOp

EXAMPLES = [("torch", tx.torch.op), ("torch", tx.torch.module), ("jax", tx.jax.op), ("jax", JaxOp)]


@pytest.mark.parametrize(("framework", "shown"), EXAMPLES, ids=lambda e: getattr(e, "__name__", e))
def test_examples_run(framework: str, shown: object):
    pytest.importorskip(framework)
    names = {"tx": tx, "nn": nn, "np": np}
    test = doctest.DocTestParser().get_doctest(shown.__doc__ or "", names, framework, None, 0)
    assert test.examples
    failed: list[str] = []
    nn.manual_seed(0)
    doctest.DocTestRunner().run(test, out=failed.append)
    assert not failed, "\n".join(failed)
