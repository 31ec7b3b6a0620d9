"""texpr: tensor operators as mathematics, schedules with proofs, machine code, gradients, networks.

A name is imported when it is first used, so that `import texpr` itself takes a few milliseconds.
Beside the names of `__all__` there are the words of the Python form (`texpr.sum`, `texpr.exp`,
`texpr.select`, ...; `texpr.lang.python_form.vocabulary`), methods of tensors as functions
(`texpr.mean(x)`, `texpr.matmul(a, b)`; `texpr.graph.lazy.method_functions`), dtypes by the names
that NumPy and torch give them (`texpr.float32`), and `texpr.gpu`, devices at run time
(`texpr.runtime.gpu`).
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"  # the one place: pyproject.toml reads it here
import_module("texpr.support.forks")  # from here on, forks wait for imports

if TYPE_CHECKING:
    from texpr.bridges import jax as jax
    from texpr.bridges import torch as torch
    from texpr.compiler import (
        CompiledKernel,
        Op,
        Schedule,
        check_grad,
        fallbacks,
        grad,
        interpret,
        jvp,
        load,
        op,
        register_extern,
        register_vjp,
        schedule,
        vjp,
    )
    from texpr.compiler import debug as debug
    from texpr.graph import array_api as array_api
    from texpr.graph.lazy import (
        Tensor,
        arange,
        as_tensor,
        bernoulli,
        cat,
        concat,
        cond,
        empty,
        empty_like,
        enable_grad,
        eye,
        from_dlpack,
        from_numpy,
        full,
        full_like,
        jit,
        linspace,
        manual_seed,
        meshgrid,
        multinomial,
        no_grad,
        ones,
        ones_like,
        rand,
        rand_like,
        randint,
        randn,
        randn_like,
        randperm,
        scan,
        set_grad_enabled,
        stack,
        tensor,
        vmap,
        where,
        while_loop,
        zeros,
        zeros_like,
    )
    from texpr.graph.report.profile import profile
    from texpr.ir.dtypes import DType
    from texpr.runtime import gpu as gpu
    from texpr.support.errors import (
        CallError,
        CertificateError,
        CertificateWarning,
        CheckError,
        CheckpointError,
        CompileError,
        Error,
        ParseError,
        ResourceError,
        ScheduleError,
    )
    from texpr.support.extras import MissingExtra
    from texpr.support.options import options
    from texpr.tune import tune
    from texpr.tune import tuning as tuning

    float16: DType
    bfloat16: DType
    float32: DType
    float64: DType
    int8: DType
    int16: DType
    int32: DType
    int64: DType
    uint8: DType
    uint16: DType
    uint32: DType
    uint64: DType

__all__ = [
    "CallError",
    "CertificateError",
    "CertificateWarning",
    "CheckError",
    "CheckpointError",
    "CompileError",
    "CompiledKernel",
    "Error",
    "MissingExtra",
    "Op",
    "ParseError",
    "ResourceError",
    "Schedule",
    "ScheduleError",
    "Tensor",
    "arange",
    "as_tensor",
    "bernoulli",
    "cat",
    "check_grad",
    "concat",
    "cond",
    "empty",
    "empty_like",
    "enable_grad",
    "eye",
    "fallbacks",
    "from_dlpack",
    "from_numpy",
    "full",
    "full_like",
    "grad",
    "interpret",
    "jit",
    "jvp",
    "linspace",
    "load",
    "manual_seed",
    "meshgrid",
    "multinomial",
    "no_grad",
    "ones",
    "ones_like",
    "op",
    "options",
    "profile",
    "rand",
    "rand_like",
    "randint",
    "randn",
    "randn_like",
    "randperm",
    "register_extern",
    "register_vjp",
    "scan",
    "set_grad_enabled",
    "schedule",
    "stack",
    "tensor",
    "tune",
    "vjp",
    "vmap",
    "where",
    "while_loop",
    "zeros",
    "zeros_like",
]
_ELSEWHERE = {
    "MissingExtra": "support.extras",
    "options": "support.options",
    "profile": "graph.report.profile",
    "tune": "tune",
    **dict.fromkeys(
        (
            "Tensor",
            "arange",
            "as_tensor",
            "bernoulli",
            "cat",
            "concat",
            "cond",
            "empty",
            "empty_like",
            "enable_grad",
            "eye",
            "from_dlpack",
            "from_numpy",
            "full",
            "full_like",
            "jit",
            "linspace",
            "manual_seed",
            "meshgrid",
            "multinomial",
            "no_grad",
            "ones",
            "ones_like",
            "rand",
            "rand_like",
            "randint",
            "randn",
            "randn_like",
            "randperm",
            "scan",
            "set_grad_enabled",
            "stack",
            "tensor",
            "vmap",
            "where",
            "while_loop",
            "zeros",
            "zeros_like",
        ),
        "graph.lazy",
    ),
}
_PARTS = frozenset(
    {
        "aot",
        "autodiff",
        "autoschedule",
        "bridges",
        "compiler",
        "distributed",
        "graph",
        "ir",
        "lang",
        "nn",
        "nnef",
        "onnx",
        "ops",
        "passes",
        "poly",
        "pt2",
        "runtime",
        "schedule",
        "support",
        "targets",
        "tools",
        "tune",
    }
)


_MODULES = {
    "array_api": "graph.array_api",
    "debug": "compiler.debug",
    "gpu": "runtime.gpu",
    "jax": "bridges.jax",
    "torch": "bridges.torch",
    "tuning": "tune.tuning",
}
"""Modules that are offered under another name."""
_DTYPES = frozenset(
    {
        *("float16", "bfloat16", "float32", "float64"),
        *(f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)),
    }
)
"""Names of dtypes. `bool` is a word of the Python form."""


def __getattr__(name: str) -> Any:
    """Find a public name where it is defined, and keep it."""
    if name.startswith("__"):
        raise AttributeError(f"texpr has no `{name}`")
    try:
        return _found(name)
    except AttributeError as error:
        import_module("texpr.support.tracebacks").hide_frames(error)
        raise


def _found(name: str) -> Any:
    if name in __all__:
        place = "support.errors" if name.endswith(("Error", "Warning")) else _ELSEWHERE.get(name, "compiler")
        found = getattr(import_module(f"texpr.{place}"), name)
    elif name in _MODULES:
        found = import_module(f"texpr.{_MODULES[name]}")
    elif name in _PARTS:
        found = import_module(f"texpr.{name}")
    elif name in _DTYPES:
        found = import_module("texpr.ir.dtypes").meant_by(name)
    else:
        found = import_module("texpr.lang.python_form.vocabulary").WORDS.get(name)
        found = found or import_module("texpr.graph.lazy.method_functions").function_named(name)
        if found is None:
            raise import_module("texpr.support.suggest").UnknownName("texpr", name, lambda: _meant(name))
    globals()[name] = found
    return found


def _meant(name: str) -> str:
    """The probable meaning of a name that is not here."""
    elsewhere, operators = import_module("texpr.support.elsewhere").MODULE, import_module("texpr.ops").names()
    if name in operators:
        return f"did you mean `texpr.ops.{name}`?"
    public = {*__all__, *_PARTS, *_MODULES, *import_module("texpr.lang.python_form.vocabulary").WORDS}
    return import_module("texpr.support.suggest").did_you_mean(name, public, elsewhere)


class _Package(ModuleType):
    """The package: importing its part `schedule` does not hide the function of that name."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in __all__ and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_DTYPES, *import_module("texpr.lang.python_form.vocabulary").WORDS})
