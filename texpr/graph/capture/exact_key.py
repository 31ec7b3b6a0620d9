"""Keys of values that tell apart what `==` does not."""

from __future__ import annotations

from typing import Any

import numpy as np


def exact(value: Any) -> Any:
    """A key of a value, with the types of numbers and the signs of zeros, in tuples too: True, 1 and
    1.0 are three, and so are 0, 0.0 and -0.0.
    """
    kind = type(value)
    if isinstance(value, tuple):
        return kind, *map(exact, value)
    if isinstance(value, np.generic):
        return kind, value.tobytes()
    return kind, value.hex() if isinstance(value, float) else value
