"""The signature of an operator, before its dtypes and constants are chosen."""

from __future__ import annotations

import inspect
import re
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, NamedTuple

from texpr.ir.dtypes import DTYPES, F32, I32, DType
from texpr.support.errors import CallError
from texpr.support.frozen_dataclass import frozen
from texpr.support.late import late
from texpr.support.spelling import counted

if TYPE_CHECKING:
    import difflib

    from texpr.lang import AxisSpec, Declaration, OpDeclaration, Tree
else:
    difflib = late("difflib")

# What stands for a dtype variable where nothing says which type it is.
_TYPICAL = {"float": F32, "int": I32, "num": F32, "any": F32}
LARGEST_SIZE = 1 << 48
_CLASSES = {
    "float": lambda t: t.is_float,
    "int": lambda t: t.is_int,
    "num": lambda t: t.is_float or t.is_int,
    "any": lambda t: True,
}

_KINDS = {"float": "a float type", "int": "an integer type", "num": "a type of numbers", "any": "any type"}


@frozen
class Parameter:
    """An input or output: `dtype` names an element type or a dtype variable. `type` and
    `default` are texts.
    """

    name: str
    dtype: str
    optional: bool = False
    type: str = ""
    default: str = ""

    def __str__(self) -> str:
        return f"{self.name}: {self.type or self.dtype}" + (f" = {self.default}" if self.optional else "")


@frozen
class Constant:
    """A constant after `;`; `required` where it has no default, else `default` is its text."""

    name: str
    required: bool
    default: str = ""

    def __str__(self) -> str:
        return self.name if self.required else f"{self.name} = {self.default}"


@frozen
class Signature:
    """Inputs, constants, dtype variables (with their class: float, int, num, any) and outputs of an
    operator; `axes` are the constants that may count from the end."""

    name: str
    inputs: tuple[Parameter, ...]
    constants: tuple[Constant, ...] = ()
    variables: tuple[tuple[str, str], ...] = ()
    doc: str = ""
    outputs: tuple[Parameter, ...] = ()
    axes: tuple[AxisSpec, ...] = ()

    def __str__(self) -> str:
        """The head of the operator: `conv<T: float>(X: T[N]; S = 1) -> Y: T[N]`."""
        types = ", ".join(n if k == "any" else f"{n}: {k}" for n, k in self.variables)
        constants = f"; {', '.join(map(str, self.constants))}" if self.constants else ""
        outputs = ", ".join(map(str, self.outputs))
        head = f"{self.name}{f'<{types}>' if types else ''}({', '.join(map(str, self.inputs))}{constants})"
        return f"{head} -> {outputs if len(self.outputs) == 1 else f'({outputs})'}"

    def python(self) -> inspect.Signature:
        """As a signature of Python: inputs, then constants and `out` by name. Defaults are the
        texts of the language.
        """
        kinds = inspect.Parameter
        listed = [
            kinds(
                p.name,
                kinds.POSITIONAL_OR_KEYWORD,
                default=_Text(p.default) if p.optional else kinds.empty,
                annotation=p.type or p.dtype,
            )
            for p in sorted(self.inputs, key=lambda p: p.optional)
        ]
        listed += [
            kinds(c.name, kinds.KEYWORD_ONLY, default=kinds.empty if c.required else _Text(c.default))
            for c in self.constants
        ]
        if all(p.name != "out" for p in listed):
            listed.append(kinds("out", kinds.KEYWORD_ONLY, default=None))
        results = tuple(map(str, self.outputs))
        return inspect.Signature(listed, return_annotation=results[0] if len(results) == 1 else results)

    def checked(self, constants: Mapping[str, object]) -> dict[str, object]:
        """The given constants as Python numbers, in the order of the signature.

        Raises:
            CallError: an unknown name, or one without default that is missing.
        """
        known = {c.name for c in self.constants}
        for name in constants:
            if name not in known:
                close = difflib.get_close_matches(name, known, 1)
                raise CallError(
                    f"{self.name} has no constant `{name}`",
                    code="arguments",
                    help=f"did you mean `{close[0]}`?"
                    if close
                    else f"constants: {', '.join(sorted(known)) or 'none'}",
                )
        missing = [c.name for c in self.constants if c.required and c.name not in constants]
        if missing:
            raise CallError(
                f"{self.name} needs the constant{'s' * (len(missing) > 1)} {', '.join(missing)}",
                code="arguments",
                help=f"give it by name: {self.name}(..., {missing[0]}=...)",
            )
        return {
            c.name: _plain(self.name, c.name, constants[c.name])
            for c in self.constants
            if c.name in constants
        }

    def counted(self, constants: Mapping[str, object], ranks: Mapping[str, int]) -> dict[str, object]:
        """The constants with axes counted from the start.

        Args:
            ranks: of the inputs, by name.
        Raises:
            CallError: an input has no such axis, or its rank is not known.
        """
        found = self.checked(constants)
        for spec in self.axes:
            value = found.get(spec.constant, spec.default)
            if type(value) is not int:
                continue
            if spec.input not in ranks:
                if value < 0:
                    raise CallError(
                        f"{self.name}: {spec.constant} = {value} counts from the end of `{spec.input}`, "
                        f"whose rank is not "
                        f"known here",
                        code="rank",
                        help=f"count from the start: {spec.constant}=0 is the first axis",
                    )
                continue
            rank = ranks[spec.input]
            first = spec.from_start(value, rank)
            if first is None:
                raise CallError(
                    f"{self.name}: {spec.constant} = {value} is no axis of `{spec.input}`, which has "
                    f"{counted(rank, 'dimension')}",
                    code="rank",
                    help=spec.allowed(rank),
                )
            if first != value:
                found[spec.constant] = first
        return {c.name: found[c.name] for c in self.constants if c.name in found}

    def provable(self, constants: Mapping[str, object]) -> dict[str, object]:
        """The constants with some rank for the defaults that count from the end: what is proven
        does not depend on it.
        """
        found = self.checked(constants)
        from_the_end = [
            s for s in self.axes if s.constant not in found and s.default is not None and s.default < 0
        ]
        found |= {s.constant: s.smallest(s.default) for s in from_the_end}
        return {c.name: found[c.name] for c in self.constants if c.name in found}

    def bind_dtypes(self, found: Mapping[str, DType]) -> dict[str, DType]:
        """Dtype variables from the dtypes of the inputs that were given, by input name; typical
        ones where nothing tells.

        Raises:
            CallError: inputs disagree, or a dtype is not in the variable's class.
        """
        chosen: dict[str, tuple[DType, str]] = {}
        classes = dict(self.variables)
        for p in self.inputs:
            if p.dtype not in classes or p.name not in found:
                continue
            t, by = chosen.setdefault(p.dtype, (found[p.name], p.name))
            if t != found[p.name]:
                raise CallError(
                    f"{self.name}: `{p.name}` is {found[p.name]}, but `{by}` is {t}, and both are {p.dtype}",
                    code="dtype",
                    help=f"convert one: {p.name}.astype(...)",
                )
            if not _CLASSES[classes[p.dtype]](t):
                raise CallError(
                    f"{self.name}: `{p.name}` is {t}, expected {_KINDS[classes[p.dtype]]}", code="dtype"
                )
        return {v: chosen[v][0] if v in chosen else _TYPICAL[c] for v, c in self.variables}


class _Text(str):
    """A default, shown as it is written in the language."""

    def __repr__(self) -> str:
        return str(self)


def _plain(op: str, name: str, value: object) -> object:
    if hasattr(value, "item") and getattr(value, "size", 1) == 1:
        value = value.item()  # type: ignore[union-attr]
    if not isinstance(value, int | float | bool):
        raise CallError(f"{op}: the constant `{name}` is {value!r}, expected a number", code="arguments")
    return value


def dtype_named(value: object) -> DType:
    """An element type from its name.

    Raises:
        CallError: no such type.
    """
    if isinstance(value, DType):
        return value
    if isinstance(value, str) and value in DTYPES:
        return DTYPES[value]
    raise CallError(f"there is no dtype {value!r}", code="dtype", help=f"one of {', '.join(DTYPES)}")


def signature_of(op: object) -> Signature:
    """The signature of an operator.

    Raises:
        CallError: it is none.
    """
    signature = getattr(op, "signature", None)
    if not isinstance(signature, Signature):
        raise CallError(
            f"found a {type(op).__name__} where an operator belongs",
            code="arguments",
            help="tx.op(text) makes one"
            + ("; of a function of tensors y.backward() gives the gradient" if callable(op) else ""),
        )
    return signature


class Options(NamedTuple):
    """Choices by keyword arguments: one program of an operator and the sizes of a kernel. `absent`
    inputs take their defaults.
    """

    dtypes: dict[str, DType]
    constants: dict[str, object]
    sizes: dict[str, int]
    absent: frozenset[str]


def split_options(op, options: Mapping[str, object]) -> Options:
    """Dtype variables, constants, sizes, and inputs that are `None`, among keyword arguments.

    Raises:
        CallError: no operator, a name that is none of them, an input that is not optional, or a
            size that is not an integer of at least 0.
    """
    signature = signature_of(op)
    dtypes = {v: dtype_named(options[v]) if v in options else _TYPICAL[c] for v, c in signature.variables}
    constants = {c.name: options[c.name] for c in signature.constants if c.name in options}
    constants = signature.counted(constants, {})
    absent = frozenset(
        name for name, value in options.items() if value is None and _may_be_absent(signature, name)
    )
    names = {v.name for v in op.program(dtypes, constants, absent).sizes}
    rest = {
        n: value for n, value in options.items() if n not in dtypes and n not in constants and n not in absent
    }
    unknown = next((name for name in rest if name not in names), None)
    if unknown is not None:
        raise _unknown(signature, unknown, names)
    return Options(dtypes, constants, {n: _size(n, value) for n, value in rest.items()}, absent)


def _may_be_absent(signature: Signature, name: str) -> bool:
    """True if a name is an input's, which then has a default.

    Raises:
        CallError: it is, and the input has no default.
    """
    found = next((p for p in signature.inputs if p.name == name), None)
    if found is not None and not found.optional:
        raise CallError(f"{signature.name}: `{name}` has no default, so it cannot be None", code="arguments")
    return found is not None


def _unknown(signature: Signature, name: str, sizes: Collection[str]) -> CallError:
    constants = [c.name for c in signature.constants]
    if any(p.name == name for p in signature.inputs):
        return CallError(
            f"{signature.name}: `{name}` is an input, which a schedule does not have",
            code="arguments",
            help=f"{name}=None leaves an optional one out",
        )
    close = difflib.get_close_matches(name, [*sizes, *(v for v, _ in signature.variables), *constants], 1)
    return CallError(
        f"{signature.name} has no size, constant or dtype variable `{name}`",
        code="arguments",
        help=f"did you mean `{close[0]}`?" if close else f"sizes: {', '.join(sorted(sizes))}",
    )


def _size(name: str, value: object) -> int:
    if not hasattr(value, "__index__") or isinstance(value, bool) or value.__index__() < 0:  # type: ignore[attr-defined]
        raise CallError(f"the size {name} is {value!r}, expected an integer of at least 0", code="arguments")
    if value.__index__() > LARGEST_SIZE:  # type: ignore[attr-defined]
        raise CallError(
            f"the size {name} is {value!r}; no array has more than 2^48 elements", code="arguments"
        )
    return value.__index__()  # type: ignore[attr-defined]


def signature_of_declaration(declaration: OpDeclaration) -> Signature:
    """The signature of an operator that was parsed."""
    head = declaration.tree
    return Signature(
        declaration.name,
        tuple(map(_parameter, head.inputs)),
        tuple(
            Constant(c.name.text, c.default is None, _one_line(c.default) if c.default else "")
            for c in head.constants
        ),
        tuple((v.name, v.kind) for v in declaration.type_variables),
        declaration.doc,
        tuple(map(_parameter, head.outputs)),
        declaration.axes,
    )


def _parameter(d: Declaration) -> Parameter:
    return Parameter(
        d.name.text,
        d.type.dtype.text,
        d.default is not None,
        _one_line(d.type),
        _one_line(d.default) if d.default else "",
    )


def _one_line(node: Tree) -> str:
    return " ".join(re.sub("#[^\n]*", "", node.span.text).split())
