"""Names of inputs and outputs: those of a file, else those of `forward`."""

from __future__ import annotations

import numpy as np
import pytest

from texpr import nn
from texpr.nn.core.program_names import input_names, output_names


class OfFile(nn.Module):
    """A module as a reader of files gives it."""

    def __init__(self, inputs: object, outputs: object = ("y",)) -> None:
        super().__init__()
        self.inputs, self.outputs = inputs, outputs
        self.weight = nn.Parameter(np.zeros(1, "f4"))

    def forward(self, *values):
        return values[0]


@pytest.mark.parametrize(
    ("inputs", "count", "names"),
    [
        (("image", "mask"), 2, ["image", "mask"]),
        (("image", "mask"), 1, ["image"]),  # the other one is optional
        (("image",), 2, ["values0", "values1"]),
        (("image:0",), 1, ["values0"]),  # the format does not allow it
        (("weight",), 1, ["values0"]),  # a parameter has it
        ([3], 1, ["values0"]),
    ],
)
def test_inputs_of_a_file(inputs: object, count: int, names: list[str]):
    assert input_names(OfFile(inputs), count, str.isidentifier) == names


def test_inputs_of_forward_and_of_functions():
    assert input_names(nn.Linear(2, 2), 1) == ["input"]
    assert input_names(lambda a, *b: a, 3) == ["a", "b0", "b1"]


def test_outputs_of_a_file():
    assert output_names(OfFile(("x",), ("scores",)), 1) == ["scores"]
    assert output_names(OfFile(("x",), ("scores",)), 2) == output_names(nn.Linear(2, 2), 1) == []
