"""Parameters as one vector."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from texpr.nn.core.inputs import as_input
from texpr.nn.core.parameter import Parameter
from texpr.support.errors import CallError
from texpr.support.tracebacks import boundary


@boundary
def parameters_to_vector(parameters: Iterable[Parameter]) -> np.ndarray:
    """Vector with a copy of all elements of the parameters, one after the other.

    Shapes:
        output: (number of elements,)
    Raises:
        CallError: there are none, or they have several dtypes.
    Example:
        >>> nn.utils.parameters_to_vector(nn.Linear(3, 2).parameters()).shape
        (8,)
    """
    given = list(parameters)
    if len({p.dtype for p in given}) != 1:
        raise CallError(
            "parameters_to_vector: the parameters have several dtypes"
            if given
            else "parameters_to_vector: no parameters",
            code="arguments",
        )
    return np.concatenate([p.numbers().ravel() for p in given])


@boundary
def vector_to_parameters(vec: object, parameters: Iterable[Parameter]) -> None:
    """Assign the elements of a vector to the parameters: all of them, or none if their numbers
    differ.

    Shapes:
        vec: (number of elements,)
    Raises:
        CallError: the vector has another length.
    Example:
        >>> model = nn.Linear(3, 2)
        >>> nn.utils.vector_to_parameters(np.zeros(8), model.parameters())
        >>> model.bias.data.tolist()
        [0.0, 0.0]
    """
    given = list(parameters)
    elements, count = np.asarray(vec), sum(p.size for p in given)
    if elements.shape != (count,):
        raise CallError(
            f"vector_to_parameters: the vector is {list(elements.shape)}, the parameters have {count} "
            f"elements",
            code="shape",
        )
    ends = np.cumsum([p.size for p in given])[:-1]
    for p, part in zip(given, np.split(elements, ends)):
        p.data = as_input(part.reshape(p.shape), p.dtype).array
