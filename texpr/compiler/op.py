"""Operators: written as text or derived, called on NumPy arrays."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Set
from functools import partial
from os.path import normpath
from pathlib import Path
from sys import intern
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar, overload

import numpy as np

from texpr import lang
from texpr.compiler import kernel_cache
from texpr.compiler.call_checks import check_requirements, input_checks, refuse_far, refuse_huge
from texpr.compiler.imports import Uses, read
from texpr.compiler.kernels.compiled_kernel import MOST_SHAPES, CompiledKernel
from texpr.compiler.operator_records import Declarations
from texpr.compiler.operator_signature import Signature, signature_of
from texpr.compiler.scheduled_kernels import automatic, scripted
from texpr.compiler.shape_dispatch import Kernels
from texpr.compiler.tuning_records import chosen_script
from texpr.ir.dtypes import DType, from_numpy, numpy_dtype
from texpr.ir.expr import Var
from texpr.ir.interpreter.tensor import interpret as interpret_program
from texpr.ir.printing.tensor import show_program
from texpr.ir.shapes import Shape, bind_sizes
from texpr.ir.tensor import Program
from texpr.runtime.call import callable
from texpr.runtime.call.convert import read_input
from texpr.runtime.call.spec import Argument, Form, Numbers
from texpr.support.elsewhere import OPERATOR, argument
from texpr.support.errors import CallError, CheckError, CompileError, Error, ScheduleError
from texpr.support.late import late
from texpr.support.once import once
from texpr.support.suggest import did_you_mean, known_arguments, suggests
from texpr.support.tracebacks import boundary, hide_frames
from texpr.support.warn import warn

if TYPE_CHECKING:
    import html

    from texpr.compiler import breakpoints
else:
    html = late("html")
    breakpoints = late("texpr.compiler.breakpoints")

_SHORT_TEXT = 4000
_OF_TORCH = {"dim": "axis", "keepdim": "keepdims"}
"""Names of constants in torch, where an operator has NumPy's."""
"""Characters of a text that takes less time to hash than its operator takes to print."""
R = TypeVar("R", covariant=True)


class Operand(Protocol[R]):
    """Type of what operators record instead of computing, for type checkers: a tensor."""

    def __texpr_result__(self) -> R:
        """Never called: its type is that of results."""
        ...


Make = Callable[[Mapping[str, DType], Mapping[str, object], frozenset[str]], Program]


@suggests(OPERATOR)
class Op(callable.Callable):
    """Operator. Call it on arrays: it compiles on first use per dtypes, constants and shapes, and
    keeps what it compiled.

    Attributes:
        signature: inputs, constants, dtype variables.
        source: the text of the operator and of all that it calls.
    Raises:
        CallError: arguments that do not fit.
    Example:
        >>> dot = tx.op("op dot(A: f32[N], B: f32[N]) -> C: f32 { C = sum(k: A[k] * B[k]) }")
        >>> dot
        <op dot(A: f32[N], B: f32[N]) -> C: f32>
    """

    if TYPE_CHECKING:
        # Of one output. Several are a tuple: they can be unpacked in the same way.
        @overload
        def __call__(self, first: Operand[R], /, *arrays: Any, **options: Any) -> R: ...
        @overload
        def __call__(self, first: Any, second: Operand[R], /, *arrays: Any, **options: Any) -> R: ...
        @overload
        def __call__(
            self, first: np.ndarray | np.generic, /, *arrays: Any, **options: Any
        ) -> np.ndarray[Any, Any]: ...
        @overload
        def __call__(self, *arrays: Any, **options: Any) -> Any: ...
        def __call__(self, *arrays: Any, **options: Any) -> Any: ...

    def __init__(
        self,
        signature: Signature,
        make: Make,
        origin: tuple[Callable[..., object], tuple],
        text: str | None = None,
    ) -> None:
        """`origin` is the call that makes the operator again, in another process for example."""
        self.signature, self._make, self._origin, self._text = signature, make, origin, text
        self.__name__, self.__doc__ = signature.name, f"{signature}\n\n{signature.doc}".rstrip()
        self._programs: dict[tuple, Program] = {}
        self._kernels = Kernels(default_kernel)
        self._constants = frozenset(c.name for c in signature.constants)
        self._calls: dict[tuple, _BoundCalls] = {}
        self._natives: dict[tuple, Callable[..., object]] = {}
        self._unrecorded = self._general
        self._become(self._dispatch)

    def program(
        self,
        dtypes: Mapping[str, DType] | None = None,
        constants: Mapping[str, object] | None = None,
        absent: frozenset[str] = frozenset(),
    ) -> Program:
        """The equations with dtypes and constants filled in, proven for all sizes. Made before the
        first call where no constant is required, so that mistakes show where the operator is
        written.

        Raises:
            CheckError: they mean nothing, or a proof fails.
            CallError: a constant is missing or unknown.
        """
        chosen = self.signature.bind_dtypes({}) | dict(dtypes or {})
        filled = self.signature.provable(constants or {})
        key = (tuple(chosen.items()), _constants_key(filled), absent)
        found = self._programs.get(key)
        if found is None:
            # Of threads that make it at once, all get the same: kernels are found by it.
            found = self._programs.setdefault(key, self._make(chosen, filled, absent))
            make, arguments = self._origin
            if make is op and len(arguments[0]) <= _SHORT_TEXT:
                kernel_cache.remember_origin(found, repr((arguments, key[:2], sorted(absent))))
        return found

    def kernel_for(self, program: Program, shapes: tuple[Shape, ...]) -> CompiledKernel:
        """The kernel that serves calls on inputs of these shapes, compiled if it is the first that
        needs it.

        Args:
            program: of this operator.
        Raises:
            CallError: the shapes do not fit each other, or not what the program requires.
            ResourceError: some array is larger than memory.
        """
        return self._kernels.kernel_for(program, sizes_of(program, shapes), shapes)

    def _dispatch(self, *arrays: object, **options: object) -> object:
        """Compute it, or record it for tensors: these may have recorded such a call before."""
        try:
            if arrays and options.get("out") is None:
                recorded = getattr(type(arrays[0]), "recorded_call", None)
                if recorded is not None:
                    return recorded(arrays[0], self._unrecorded, arrays[1:], options)
            return self._general(*arrays, **options)
        except Exception as error:
            hide_frames(error)
            raise

    def _general(self, *arrays: object, **options: object) -> object:
        """Compute it. Constants and `out=` by name; inputs by position or name. Native code is
        asked first for the kernels of the latest calls of other forms, and hands on what does not
        fit them.

        Raises:
            CallError: arguments that do not fit.
        """
        for theirs, own in _OF_TORCH.items() if options else ():
            if theirs in options and own in self._constants and own not in options:
                options[own] = options.pop(theirs)
        given = {"out": out} if (out := options.pop("out", None)) is not None else {}
        try:
            key = self._call_key(arrays, options)
            known = self._calls.get(key)
        except TypeError:
            key = known = None
        if known is None:
            return self._first_call(arrays, options, given, key)
        if known.native is not None and known.native not in self._served:
            self._serve(known.native)
        named = {n: v for n, v in options.items() if n not in self._constants} if options else {}
        return known.call(*arrays, **named, **given)

    def _first_call(
        self,
        arrays: tuple[object, ...],
        options: dict[str, object],
        out: Mapping[str, object],
        key: tuple | None,
    ) -> object:
        constants = {c.name: options[c.name] for c in self.signature.constants if c.name in options}
        inputs = self.inputs_by_name(arrays, {n: v for n, v in options.items() if n not in constants})
        for value in inputs.values():
            handler = getattr(type(value), "__texpr_call__", None)
            if (
                handler is not None
                and (result := handler(value, self, inputs, constants)) is not NotImplemented
            ):
                if out:
                    raise CallError(f"{self.__name__}: a symbolic call takes no `out`", code="arguments")
                return result
        program, given = self._instance(inputs, constants)
        shapes = tuple(a.shape for a in given.values())
        sizes = sizes_of(program, shapes)
        kernel = self._kernels.kernel_for(program, sizes, shapes)
        if kernel.symbolic:
            call = self._kernels.timed_call(kernel.bind(shapes), program, sizes, partial(self._forget, key))
        else:
            call = _LazyBinding(kernel, shapes)
        native = self._native(kernel, inputs, constants, given) if key is not None else None
        if key is not None:
            if len(self._calls) >= MOST_SHAPES:
                self._calls.clear()
                self._natives.clear()
            self._calls[key] = _BoundCalls(call, native)
        if native is None:
            return call(*inputs.values(), **out)
        self._serve(native)
        return native(*arrays, **options, **out)

    def _native(
        self,
        kernel: CompiledKernel,
        inputs: Mapping[str, object],
        constants: Mapping[str, object],
        given: Mapping[str, np.ndarray],
    ) -> Callable[..., object] | None:
        """A callable of native code for calls of this form, if native code can."""
        if kernel.symbolic or any(type(v) not in (int, float, bool) for v in constants.values()):
            return None
        assert list(inputs) == [t.name for t in kernel.program.inputs], (
            "the kernel has the names of the operator"
        )
        names, shapes = [p.name for p in self.signature.inputs], tuple(a.shape for a in given.values())
        positional = next((k for k, n in enumerate(names) if n not in inputs), len(names))
        named = tuple((intern(n), v) for n, v in constants.items())
        form = Form(positional, False, named, self._numbers(inputs, given))  # type: ignore[arg-type]
        key = (kernel, shapes, positional, form.numbers, _constants_key(constants))
        if (native := self._natives.get(key)) is None:
            native = self._natives[key] = kernel.bind(shapes, self._general, form)
        return native if callable.is_native(native) else None

    def _numbers(self, inputs: Mapping[str, object], given: Mapping[str, np.ndarray]) -> tuple[Numbers, ...]:
        """Numbers that may replace those of a call without another program: see `_instance`."""
        variables = {n for n, _ in self.signature.variables}
        free = variables - {p.dtype for p in self.signature.inputs if p.name in given and given[p.name].shape}
        chosen = {p.name: p.dtype in free for p in self.signature.inputs}
        return tuple(
            "any" if not chosen[n] else "own" if isinstance(v, np.ndarray | np.generic) else "python"
            for n, v in inputs.items()
        )

    def _call_key(self, arrays: tuple[object, ...], options: Mapping[str, object]) -> tuple:
        """Key of a call: it decides which kernel serves it.

        Raises:
            TypeError: something cannot be a key.
        """
        if not options:
            return tuple(map(_kind, arrays))
        named = tuple((n, _kind(v)) for n, v in options.items() if n not in self._constants)
        constants = {n: v for n, v in options.items() if n in self._constants}
        return (*map(_kind, arrays), named, _constants_key(constants))

    def _forget(self, key: tuple | None) -> None:
        """Decide anew which kernel serves such calls."""
        self._calls.pop(key, None)  # type: ignore[arg-type]

    def _instance(
        self, inputs: Mapping[str, object], constants: Mapping[str, object]
    ) -> tuple[Program, dict[str, np.ndarray]]:
        """The Program that serves a call, and the inputs as arrays.

        Python numbers take part in no choice of a dtype, those of NumPy only where no array does.
        """
        given = {n: _array(n, a) for n, a in inputs.items()}
        dtypes = {n: self._dtype(n, a) for n, a in given.items() if a.shape}
        settled = {p.dtype for p in self.signature.inputs if p.name in dtypes}
        dtypes |= {
            p.name: self._dtype(p.name, given[p.name])
            for p in self.signature.inputs
            if p.dtype not in settled and isinstance(inputs.get(p.name), np.ndarray | np.generic)
        }
        absent = frozenset(p.name for p in self.signature.inputs if p.name not in inputs)
        constants = self.signature.counted(constants, {n: a.ndim for n, a in given.items()})
        program = self.program(self.signature.bind_dtypes(dtypes), constants, absent)
        if len(program.inputs) > len(
            given
        ):  # a cotangent of an optional input that was given is not optional
            self._refuse_missing([t.name for t in program.inputs if t.name not in given])
        return program, given

    def inputs_by_name(self, arrays: tuple[object, ...], named: Mapping[str, object]) -> dict[str, object]:
        """Inputs by name, in order. An array too many is no output: nobody sees at the call that
        it would be overwritten.
        """
        names = [p.name for p in self.signature.inputs]
        if len(arrays) > len(names):
            raise CallError(
                f"{self.__name__} takes {', '.join(names) or 'no arrays'}; found {len(arrays)} arrays",
                code="arguments",
                notes=(str(self.signature),),
                help="give constants by name, and arrays for results as out=...",
            )
        inputs = dict(zip(names, arrays))
        for name, value in named.items():
            if name not in names:
                known = frozenset((*names, *(c.name for c in self.signature.constants), "out"))
                raise CallError(
                    f"{self.__name__} has no argument `{name}`",
                    code="arguments",
                    help=did_you_mean(name, known, argument(name, known)),
                )
            if name in inputs:
                raise CallError(f"{self.__name__}: `{name}` is given twice", code="arguments")
            inputs[name] = value
        self._refuse_missing(
            [p.name for p in self.signature.inputs if p.name not in inputs and not p.optional]
        )
        return {n: inputs[n] for n in names if n in inputs}

    def _refuse_missing(self, missing: list[str]) -> None:
        if not missing:
            return
        names = [p.name for p in self.signature.inputs]
        raise CallError(
            f"{self.__name__} takes {', '.join(names)}; missing: {', '.join(missing)}",
            code="arguments",
            help="give those after an optional one by name"
            if any(p.optional for p in self.signature.inputs)
            else "",
        )

    def _dtype(self, name: str, array: np.ndarray) -> DType:
        t = from_numpy(array.dtype)
        if t is None:
            raise CallError(
                f"{self.__name__}: `{name}` has dtype {array.dtype}, which texpr does not have",
                code="dtype",
                help=f"convert it: {name}.astype(...)",
            )
        return t

    @property
    def source(self) -> str:
        """A text that defines the operator and all that it calls."""
        make, arguments = self._origin
        return arguments[0] if make is op else show_program(self.program(), with_callees=True)

    @property
    def __signature__(self) -> inspect.Signature:
        return self.signature.python()

    def __str__(self) -> str:
        if self._text is not None:
            return self._text
        constants = self.signature.constants
        if asked := ", ".join(f"{c.name}=..." for c in constants if c.required):
            return (
                f"op {self.signature}\n# the equations depend on constants: {self.__name__}.text({asked})\n"
            )
        # The header names the constants, and the equations have their values.
        others = (
            f"# for these constants; others: {self.__name__}.text({constants[0].name}=...)\n"
            if constants
            else ""
        )
        return self.text() + others

    def text(self, **constants: object) -> str:
        """The equations, for values of its constants: a derivative has them after its constants are
        chosen. Operators that it calls stand in front, those of the runtime (`extern`) too.

        Raises:
            CheckError: they mean nothing, or a proof fails.
            CallError: a constant is missing or unknown.
        """
        return show_program(self.program(constants=constants), with_callees=True)

    def __repr__(self) -> str:
        return f"<op {self.signature}>"

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"

    def __reduce__(self) -> tuple:
        return self._origin


class _BoundCalls(NamedTuple):
    """Calls that were made before: what takes their arguments in any form, and what native code
    is asked.
    """

    call: Callable[..., object]
    native: Callable[..., object] | None


class _LazyBinding:
    """A call of a kernel that is bound when it is first needed: where native code is asked
    first, only for what does not fit that.
    """

    def __init__(self, kernel: CompiledKernel, shapes: tuple[Shape, ...]) -> None:
        self._kernel, self._shapes = kernel, shapes

    @once
    def _call(self) -> Callable[..., object]:
        return self._kernel.bind(self._shapes)

    def __call__(self, *arrays: object, **options: object) -> object:
        return self._call(*arrays, **options)


def default_kernel(
    program: Program, sizes: Mapping[Var, int], constants: Set[str] = frozenset()
) -> CompiledKernel:
    """The kernel of the schedule that tuning chose for these sizes on this machine, or of the
    default schedule.

    Args:
        constants: names of inputs that have the same values from call to call.
    """
    script = chosen_script(program, sizes)
    if script is not None:
        try:
            return scripted(program, sizes, script, constants).ready()
        except (ScheduleError, CompileError) as error:
            warn(f"{program.name}: the schedule that tuning chose is not used: {error}")
    return automatic(program, sizes, constants=constants)


def sizes_of(program: Program, shapes: tuple[Shape, ...]) -> Mapping[Var, int]:
    """The sizes of a call.

    Raises:
        CallError: they do not fit each other, or not what the program requires.
        ResourceError: some array is larger than memory.
    """
    sizes, _ = bind_sizes(program.inputs, shapes)
    check_requirements(program.name, program.requires, sizes)
    refuse_huge(program.name, (*program.inputs, *program.outputs, *program.temporaries), sizes)
    return sizes


def _kind(value: object) -> object:
    """An argument's part of the key of a call.

    Raises:
        TypeError: it is no array and no number.
    """
    kind = type(value)
    if kind is np.ndarray:
        return value.shape, value.dtype  # type: ignore[attr-defined]
    if kind in (int, float, bool) or issubclass(kind, np.number | np.bool_):
        return kind
    raise TypeError("no array and no number")


def _constants_key(constants: Mapping[str, object]) -> tuple:
    """1, 1.0 and True are equal and different as constants, and so are 0.0 and -0.0."""
    return tuple(
        (n, type(v), v, str(v) if isinstance(v, float) and v == 0 else "") for n, v in constants.items()
    )


def _array(name: str, value: object) -> np.ndarray:
    if isinstance(value, np.ndarray):
        return value
    if value is None or isinstance(value, str | bytes | dict | set):
        raise CallError(f"`{name}` is {value!r:.40}, expected an array or a number", code="arguments")
    try:
        return np.asarray(value)
    except (ValueError, TypeError, RuntimeError) as error:
        raise CallError(f"`{name}` is no array: {error}", code="arguments") from None


@overload
def op(source: str | Callable[..., object], name: str | None = None) -> Op:
    """From text or a function."""


@overload
def op(*, types: str = "", require: str = "") -> Callable[[Callable[..., object]], Op]:
    """A decorator for a function."""


@known_arguments
def op(
    source: str | Callable[..., object] | None = None,
    name: str | None = None,
    *,
    types: str = "",
    require: str = "",
) -> Op | Callable[[Callable[..., object]], Op]:
    """Operator of a text, or of a Python function with types in its annotations (`@tx.op`).

    A text may have several operators: the result is the last one, or the one called `name`, and the
    others can be called in it.

    Args:
        types: of a Python function: dtype variables, `@tx.op(types="T: float")`.
        require: of a Python function: facts about sizes, `@tx.op(require="R <= H")`.
    Raises:
        ParseError, CheckError: with the place in the text, and the line of Python.
    Example:
        >>> dot = tx.op("op dot(A: f32[N], B: f32[N]) -> C: f32 { C = sum(k: A[k] * B[k]) }")
        >>> float(dot(np.float32([1, 2]), np.float32([3, 4])))
        11.0
    """
    if source is None:
        return lambda function: _traced(function, types, require)
    if hasattr(source, "__code__"):
        return _traced(source, types, require)  # type: ignore[arg-type]
    if not isinstance(source, str):
        raise CallError(
            f"an operator is made of a text or a Python function, not of a {type(source).__name__}",
            code="arguments",
        )
    return _from_text(source, name)


def _traced(function: Callable[..., object], types: str, require: str) -> Op:
    traced = lang.trace(function, types, require)
    try:
        return _from_text(traced.text, traced.name)
    except Error as error:
        traced.explain(error)
        raise


def _from_text(text: str, name: str | None) -> Op:
    ops = _operators(text, "<op>", Uses(None))
    if not ops:
        raise CheckError(
            "the text defines no operator", code="op", help="write: op name(inputs) -> outputs { equations }"
        )
    if name is not None and name not in ops:
        raise CheckError(
            f"the text defines no operator `{name}`", code="op", help=f"it defines {', '.join(ops)}"
        )
    return ops[name] if name is not None else list(ops.values())[-1]


@known_arguments
def load(path: str | Path, root: str | Path | None = None, *, prove: bool = True) -> SimpleNamespace:
    """Operators of a `.tx` file, as attributes.

    Args:
        root: the folder that the files it `use`s must lie in; its own folder unless given.
        prove: all of them now, so that mistakes show here; else each when it is first used, which
            suits large libraries.
    Raises:
        ParseError, CheckError: with the place in the file.
        OSError: the file cannot be read.
    Example:
        >>> text = "op twice(A: f32[N]) -> B: f32[N] { B[i] = 2 * A[i] }"
        >>> n = open("mine.tx", "w").write(text)
        >>> mine = tx.load("mine.tx")
        >>> mine.twice(np.float32([1, 2])).tolist()
        [2.0, 4.0]
    """
    uses = Uses(Path(path).resolve().parent if root is None else Path(root).resolve())
    return SimpleNamespace(**_operators(read(str(path)), normpath(path), uses, prove))


def load_one(path: str, name: str) -> Op:
    """One operator of a `.tx` file whose definitions all begin lines, such as the library's; the
    others are not even read.

    Raises:
        KeyError: there is no such operator.
    """
    return _operators(read(path), normpath(path), Uses(Path(path).resolve().parent), False, name)[name]


def _operator_of_texts(text: str, name: str, source: str, texts: dict[str, str]) -> Op:
    """An operator of a file, in another process: from the texts that were read."""
    return _operators(text, source, Uses(None, texts), False)[name]


def _operators(
    text: str, source: str, uses: Uses, prove: bool = True, only: str | None = None
) -> dict[str, Op]:
    found = Declarations(text, source, uses, only)
    made = {n: _operator(n, found, uses) for n in found.operators}
    for name, each in made.items() if prove else ():
        if not found.operators[name].extern and not any(c.required for c in each.signature.constants):
            each.program()
    return made


def _operator(name: str, found: Declarations, uses: Uses) -> Op:
    declared = found.operators[name]
    origin: tuple = (op, (found.source.text, name))
    if uses.texts:
        origin = (_operator_of_texts, (found.source.text, name, found.source.name, uses.texts))
    return Op(declared.signature, partial(found.program, name), origin, declared.text)


@boundary
def interpret(operator: Op, *arrays: object, break_at: str | None = None, **options: object) -> object:
    """Reference meaning of an operator: what every compiled kernel must equal, computed slowly.

    Args:
        break_at: an element of an output or intermediate, such as "m[3, 4]": the debugger of
            `breakpoint()` stops where it is computed (`texpr.compiler.breakpoints`).
    Raises:
        CallError: arguments that do not fit; no equation computes the element.
    Example:
        >>> dot = tx.op("op dot(A: f32[N], B: f32[N]) -> C: f32 { C = sum(k: A[k] * B[k]) }")
        >>> float(tx.interpret(dot, np.float32([1, 2]), np.float32([3, 4])))
        11.0
    """
    program, given = instance(operator, arrays, options)
    if break_at is None:
        results = interpret_program(program, given)
    else:
        results = breakpoints.interpret_to(program, given, break_at)
    return results[0] if len(results) == 1 else results


def instance(
    operator: Op, arrays: tuple[object, ...], options: Mapping[str, object]
) -> tuple[Program, list[np.ndarray]]:
    """The Program that serves a call, and the inputs as arrays, which are what it requires.

    Raises:
        CallError: arguments that do not fit.
    """
    constants = {c.name: options[c.name] for c in signature_of(operator).constants if c.name in options}
    inputs = operator.inputs_by_name(arrays, {n: v for n, v in options.items() if n not in constants})
    program, given = operator._instance(inputs, constants)
    adopted = [
        a
        if isinstance(inputs[n], np.ndarray)
        else read_input(inputs[n], Argument(n, numpy_dtype(t.dtype), (0,) * a.ndim))
        for t, (n, a) in zip(program.inputs, given.items())
    ]
    sizes, _ = bind_sizes(program.inputs, [a.shape for a in adopted])
    check_requirements(program.name, program.requires, sizes)
    refuse_huge(program.name, (*program.inputs, *program.outputs, *program.temporaries), sizes)
    refuse_far(program, sizes)
    for check in input_checks(program.inputs, sizes):
        check(adopted, {})
    return program, adopted
