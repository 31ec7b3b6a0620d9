"""From object code to an address."""

from __future__ import annotations

from collections.abc import Mapping

from texpr.runtime.native import jit, native_library
from texpr.support.frozen_dataclass import frozen_by_identity


@frozen_by_identity
class Loaded:
    """A function in this process. Its code stays as long as this object does.

    Attributes:
        address: where the function begins.
    """

    address: int
    _library: jit.Library


def load(object_code: bytes, symbol: str, functions: Mapping[str, int] | None = None) -> Loaded:
    """Link object code for this machine against the native library; thread-safe.

    Args:
        object_code: relocatable; it may refer to the `tx_` symbols and to the C library.
        symbol: the function wanted.
        functions: addresses of further symbols it refers to.
    Raises:
        CompileError: the code is damaged, lacks `symbol`, or refers to something unknown.
    """
    known = native_library.symbols()
    library = jit.link(
        object_code,
        (symbol,),
        {name: known[name] for name in native_library.FOR_KERNELS} | dict(functions or {}),
    )
    return Loaded(library[symbol], library)
