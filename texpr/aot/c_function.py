"""Functions for C programs, as records."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from texpr.ir.expr import Expr, Tensor
from texpr.ir.extern import extern_symbol, why_in_process
from texpr.ir.loop import Alloc, ExternCall, Kernel
from texpr.ir.printing.expr import show
from texpr.ir.traverse import statements
from texpr.support.errors import CompileError
from texpr.support.frozen_dataclass import frozen
from texpr.targets import Target, symbol_of
from texpr.targets.cpu.amx_tiles import uses_tiles

_C = {
    "bool": "uint8_t",
    "f8e4m3": "uint8_t",
    "f8e5m2": "uint8_t",
    "f16": "uint16_t",
    "bf16": "uint16_t",
    "f32": "float",
    "f64": "double",
}


@frozen
class Parameter:
    """One argument of a function.

    Attributes:
        type: in C, of an element where there is a shape.
        shape: the extents as C has them, such as `[M][4]`; None for a number.
        written: whether the function writes it.
        note: what else callers should know.
    """

    name: str
    type: str
    shape: str | None = None
    written: bool = False
    note: str = ""

    def declared(self, name: str) -> str:
        """The parameter in a prototype, under a name of C."""
        return (
            f"{self.type} {name}"
            if self.shape is None
            else f"{'' if self.written else 'const '}{self.type} *{name}"
        )


@frozen
class Function:
    """One symbol of an object.

    Attributes:
        name: without prefix.
        target: what the code is for, in words.
        parameters: in the order of the slots.
        facts: sentences about what holds and what callers must see to.
        needs: prototypes of what is to be linked, each with a comment.
    """

    name: str
    target: str
    parameters: tuple[Parameter, ...]
    facts: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()

    @property
    def symbol(self) -> str:
        return symbol_of(self.name)

    @property
    def c_names(self) -> list[str]:
        """Of the parameters, in C."""
        return c_names(p.name for p in self.parameters)


def described(target: Target) -> str:
    """A target in words: what its code runs on."""
    return (
        f"{target.name}, which was {target.cpu} of {target.triple}"
        if target.native
        else f"{target.name} ({target.triple})"
    )


def function_of(kernel: Kernel, target: Target, facts: Sequence[str] = ()) -> Function:
    """The function that a kernel becomes."""
    parameters = (
        *(parameter_of(t) for t in kernel.inputs),
        *(parameter_of(t, written=True) for t in kernel.outputs),
        *(Parameter(v.name, "int64_t", note="an extent, at least 0") for v in kernel.sizes),
    )
    facts = (*_asked(kernel), *_memory(kernel), *_checked(target), *_permitted(kernel), *facts)
    return Function(kernel.name, described(target), parameters, facts, tuple(_externs(kernel)))


def parameter_of(tensor: Tensor, name: str = "", *, written: bool = False) -> Parameter:
    """An array as a parameter."""
    notes = [f"the bits of {tensor.dtype}"] if tensor.dtype.is_float and tensor.dtype.bits < 32 else []
    if not written and tensor.distinct:
        notes.append("no value twice in a row")
    if not written and tensor.value_range is not None:
        lo, hi = map(show, tensor.value_range)
        notes.append(f"values from {lo} to {hi} - 1")
    note = ", ".join(notes) + (
        ", which is not checked" if not written and (tensor.distinct or tensor.value_range) else ""
    )
    return Parameter(name or tensor.name, c_type(tensor.dtype.name), shape_text(tensor.shape), written, note)


def shape_text(shape: Sequence[Expr]) -> str:
    """Extents as C has them; an array of no dimension has one element."""
    return "".join(f"[{show(e)}]" for e in shape) or "[1]"


def _asked(kernel: Kernel) -> Iterator[str]:
    for condition in kernel.requires:
        yield f"The caller sees to it that {show(condition)}."


def _memory(kernel: Kernel) -> Iterator[str]:
    inner = [n.tensor for n in statements(kernel) if isinstance(n, Alloc)]
    own = dict.fromkeys(t for t in (*kernel.temporaries, *inner) if t.scope not in ("stack", "tile"))
    if own:
        arrays = ", ".join(f"{c_type(t.dtype.name)}{shape_text(t.shape)}" for t in own)
        yield f"Workspace: {arrays}, on the stack or from malloc, and free again when it returns."


def _checked(target: Target) -> Iterator[str]:
    if target.vectors_checked:
        yield (
            f"Returns 3, and does nothing, where the vectors of the processor do not have "
            f"{target.machine.vector_bytes} bytes."
        )


def _permitted(kernel: Kernel) -> Iterator[str]:
    if uses_tiles(kernel):
        yield (
            "It computes in tiles, which the first call asks Linux for (ARCH_REQ_XCOMP_PERM). Returns 3, and "
            "does nothing, where the "
            "processor has none or the process may not use them."
        )


def _externs(kernel: Kernel) -> list[str]:
    """Prototypes of what the object calls and does not contain: arrays, then the extents of
    each, outermost first.
    """
    calls = {extern_symbol(s): s for s in kernel.body if isinstance(s, ExternCall)}
    for call in calls.values():
        if (why := why_in_process(call.name)) is not None:
            raise CompileError(
                f"`{kernel.name}` cannot be saved: {why}",
                code="save",
                help="tx.scan, which has a number of steps, can be saved",
            )
    return [
        line
        for name, call in calls.items()
        for line in (
            f"/* to be linked: computes `{call.name}`; returns 0, or 2 on failure */",
            f"int32_t {name}({_arguments(call)});",
        )
    ]


def _arguments(call: ExternCall) -> str:
    tensors = *call.inputs, *call.outputs
    extents = [f"{t.name}_{k}" for t in tensors for k in range(t.rank)]
    types = [f"{'const ' if t in call.inputs else ''}{c_type(t.dtype.name)} *" for t in tensors] + [
        "int64_t "
    ] * len(extents)
    return ", ".join(map(str.__add__, types, c_names([*(t.name for t in tensors), *extents])))


def c_type(dtype: str) -> str:
    """The type of C that has the elements of a dtype; floats of 16 bits are their bits."""
    return _C.get(dtype) or f"{'u' if dtype[0] == 'u' else ''}int{dtype[1:]}_t"


_WORDS = frozenset(
    """
alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl concept const const_cast consteval constexpr
constinit continue co_await co_return co_yield decltype default delete do double dynamic_cast else enum explicit export extern false float
for friend goto if inline int long mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public register
reinterpret_cast requires restrict return short signed sizeof static static_assert static_cast struct switch template this thread_local
throw true try typedef typeid typename typeof union unsigned using virtual void volatile wchar_t while xor xor_eq slots
BUFSIZ EOF HUGE_VAL I INFINITY NAN NULL complex errno imaginary linux math_errhandling noreturn stderr stdin stdout unix
""".split()
)
"""Words that are no names in C or in C++, macros of their libraries, and the one name that every
function's body uses.
"""
_TAKEN = re.compile(
    r"_[A-Z_].*|.*_t|texpr_\w*|U?INT.*_(MAX|MIN|WIDTH)|[A-Z]+_(MAX|MIN|BIT|DIG|EPSILON)|M_\w+|E[A-Z0-9]+|"
    r"(EXIT|SEEK|SIG|LC)_?[A-Z]+"
)
"""Names that C and POSIX keep for themselves: types, limits, constants, errors; and those of the
functions, which bodies call.
"""


def c_name(name: str) -> str:
    """A name that C and C++ take: what is a word or a macro there (`NULL`, `INT64_MAX`), or may
    be one, gets a line behind.
    """
    plain = "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in name)
    plain = plain if plain and not plain[0].isdigit() else f"_{plain}"
    return f"{plain}_" if plain in _WORDS or _TAKEN.fullmatch(plain) else plain


def c_names(names: Iterable[str]) -> list[str]:
    """Names of one prototype: different ones stay different."""
    found: list[str] = []
    for name in map(c_name, names):
        while name in found:
            name += "_"
        found.append(name)
    return found


def check_symbol(name: str) -> None:
    """Raise CompileError for a name of a function that C would not take."""
    if not isinstance(name, str) or not name.isidentifier() or not name.isascii():
        raise CompileError(
            f"{name!r} is not a name for a function of C", code="save", help="letters, digits and underscores"
        )
