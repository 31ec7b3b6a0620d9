"""Files of SkriptND: their operators, which become operators of texpr for shapes and attributes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from texpr.compiler import Op, op
from texpr.graph.arrays.promotion import named
from texpr.nnef.skriptnd.composed_operators import Instance
from texpr.nnef.skriptnd.expression_evaluation import LONGEST, read
from texpr.nnef.skriptnd.formula_equations import FormulaWriter
from texpr.nnef.skriptnd.operator_text import TAKEN, OperatorText, Unified, Unranged
from texpr.nnef.skriptnd.runtime_terms import Stacked, Tensor
from texpr.nnef.skriptnd.scalar_terms import Refusal, term
from texpr.nnef.skriptnd.size_polynomials import Size, replaced
from texpr.nnef.syntax.skript_parser import MOST_CHARACTERS, parse_module
from texpr.nnef.syntax.skript_tree import Module, Operator, Parameter
from texpr.support.errors import CallError, CheckError, ParseError, ResourceError
from texpr.support.source import Source
from texpr.support.suggest import did_you_mean
from texpr.support.tracebacks import boundary

ENDING = ".sknd"
DTYPES = {"real": "f32", "int": "i64", "bool": "bool"}
"""Types of the language that stand for those of SkriptND, unless others are asked for."""
_OF = {"real": "floats", "int": "integers"}
_MOST_RANK = 16
_MOST_UNIFIED = 64
_MOST_ADDED = 16

ShapeLike = int | Sequence[Any] | None
"""A rank; a shape of numbers, names and None; None for an input that is absent; of a pack, a list of
them."""


class SkriptOperator:
    """A definition in SkriptND. Called with shapes and attributes, it is an operator of texpr.

    Attributes:
        name: of the operator.
        module: the name of its file.
        attributes: names of its attributes.
        inputs, outputs: names of its tensors.
    """

    def __init__(self, definition: Operator, library: SkriptLibrary) -> None:
        self._definition, self._library = definition, library
        self.name, self.module = definition.name, definition.module
        self.attributes = tuple(a.name for a in definition.block("attrib"))
        self.inputs = tuple(i.name for i in definition.block("input"))
        self.outputs = tuple(o.name for o in definition.block("output"))

    def __repr__(self) -> str:
        attributes = f"{{{', '.join(self.attributes)}}}" if self.attributes else ""
        return f"{self.module}.{self.name}{attributes}({', '.join(self.inputs)}) -> {', '.join(self.outputs)}"

    @boundary
    def __call__(self, *shapes: ShapeLike, types: Mapping[str, str] | None = None, **attributes: Any) -> Op:
        """The operator for inputs of these shapes.

        Args:
            shapes: for each input its rank; or its shape, where a name or None is a size that is open;
                or None where it is absent; or, for a pack, a list of them.
            types: dtypes of `real` (f32) and `int` (i64), and what generic types are: `{"T": "int"}`.
            attributes: by name.
        Raises:
            CheckError: the arguments do not fit the definition, or it has what the language has not,
                with the place in the definition; or the text is not proven, with the place in it.
        Example:
            >>> text = (
            ...     "operator scale { @attrib { by: real = 2.0; } @input { x: real[s..]; } "
            ...     "@output { y: real[s..]; } @lower { y[i..] = by * x[i..], i < s; } }"
            ... )
            >>> n = open("mine.sknd", "w").write(text)
            >>> scale = tx.nnef.load_skriptnd("mine.sknd").scale(1, by=3.0)
            >>> scale(np.float32([1, 2])).tolist()
            [3.0, 6.0]
            >>> print(scale)
            op scale(x: f32[s0]) -> y: f32[s0] {
              y[i0] = 3.0 * x[i0]
            }
        """
        return _proven(self._text(shapes, types or {}, attributes))

    def text(self, *shapes: ShapeLike, types: Mapping[str, str] | None = None, **attributes: Any) -> str:
        """The text of the operator for inputs of these shapes, not proven yet. Arguments and errors are
        those of a call.
        """
        return self._text(shapes, types or {}, attributes).text()

    def _text(
        self, shapes: Sequence[ShapeLike], types: Mapping[str, str], attributes: dict[str, Any]
    ) -> OperatorText:
        dtypes, kinds = self._types(types)
        equal: dict[str, Any] = {}
        unranged: frozenset[str] = frozenset()
        for _ in range(_MOST_UNIFIED):
            text = OperatorText(_identifier(self.name), dtypes, equal, unranged=unranged)
            try:
                return self._written(text, shapes, kinds, attributes)
            except Unified as found:
                new = {found.name: found.size}
                equal = {n: replaced(s, new) for n, s in equal.items()} | new
            except Unranged as found:
                unranged |= {found.name}
        raise CheckError(f"{self.name}: its sizes depend on each other without an end", code="skriptnd")

    def _types(self, types: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
        dtypes, kinds = dict(DTYPES), {}
        generic = [k.name for k in self._definition.block("dtype")]
        for name, given in types.items():
            if name in ("real", "int"):
                dtypes[name] = _dtype(name, given)
            elif name in generic:
                kinds[name] = given
            else:
                raise CallError(
                    f"`{self.name}` has no type `{name}`",
                    code="arguments",
                    help=f"types are {', '.join(['real', 'int', *generic])}",
                )
        return dtypes, kinds

    def _written(
        self,
        text: OperatorText,
        shapes: Sequence[ShapeLike],
        kinds: dict[str, str],
        attributes: dict[str, Any],
    ) -> OperatorText:
        inputs = self._definition.block("input")
        if len(shapes) > len(inputs):
            raise CallError(
                f"`{self.name}` takes {len(inputs)} inputs; found {len(shapes)} shapes",
                code="arguments",
                help=f"its inputs are {', '.join(self.inputs) or 'none'}; attributes are given by name",
            )
        declared = {k.name: k.default or "real" for k in self._definition.block("dtype")}
        given = [self._input(text, each, shape, {**declared, **kinds}) for each, shape in zip(inputs, shapes)]
        finals = {name: text.fresh(name) for name in self.outputs}
        instance = Instance(self._definition, self._library.find, text, finals, {}, top=True)
        try:
            found = instance.run(attributes, given, kinds)
        except Refusal as refusal:
            error = instance.refused(self._definition, refusal.message, refusal.help)
        else:
            self._finish(text, instance, found, finals)
            return text
        raise error

    def _input(self, text: OperatorText, each: Parameter, shape: ShapeLike, kinds: dict[str, str]) -> Any:
        if shape is None:
            return None
        kind = kinds.get(each.type.name, each.type.name)
        if kind not in DTYPES:
            raise CallError(f"`{each.name}` of `{self.name}` is a tensor of {kind}", code="arguments")
        if not each.type.packed:
            return text.given(each.name, kind, self._shape(text, each.name, shape))
        if isinstance(shape, int) or not isinstance(shape, Sequence) or len(shape) > LONGEST:
            raise CallError(
                f"`{each.name}` of `{self.name}` is a pack of tensors",
                code="arguments",
                help="give a list with a shape or a rank for each",
            )
        names = [f"{each.name}_{k}" for k in range(len(shape))]
        return [text.given(n, kind, self._shape(text, n, s)) for n, s in zip(names, shape)]

    def _shape(self, text: OperatorText, name: str, shape: ShapeLike) -> list[Any]:
        if isinstance(shape, int) and not isinstance(shape, bool) and 0 <= shape <= _MOST_RANK:
            shape = [None] * shape
        if not isinstance(shape, Sequence) or isinstance(shape, str) or len(shape) > _MOST_RANK:
            raise CallError(
                f"`{name}` of `{self.name}` has a rank of 0 to {_MOST_RANK}, or a shape; found {shape!r}",
                code="arguments",
            )
        return [self._dimension(text, name, k, d) for k, d in enumerate(shape)]

    def _dimension(self, text: OperatorText, name: str, k: int, size: Any) -> Any:
        if size is None:
            return Size.of(f"?{name}{k}")
        if isinstance(size, str) and size.isidentifier() and size not in TAKEN:
            text.used.add(size)
            text.kept.add(size)
            return replaced(Size.of(size), text.equal)
        if hasattr(size, "__index__") and not isinstance(size, bool) and int(size) >= 0:
            return int(size)
        raise CallError(
            f"a dimension of `{name}` is a number, a name or None; found {size!r}", code="arguments"
        )

    def _finish(
        self, text: OperatorText, instance: Instance, found: dict[str, Any], finals: dict[str, str]
    ) -> None:
        """Let the outputs be what was found, in their order."""
        writer, ordered = FormulaWriter(instance.evaluate, text), []
        for name, value in found.items():
            final = finals.get(name) or text.fresh(name)
            if isinstance(value, Stacked):
                value = [value.item(k) for k in range(instance.evaluate.count(value.count))]
            items = value if isinstance(value, list) else [value]
            names = [f"{final}_{k}" for k in range(len(items))] if isinstance(value, list) else [final]
            for one, item in zip(names, items):
                self._output(text, writer, instance, one, item)
            ordered += names
        held = {n: text.outputs[n] for n in ordered}
        text.outputs.clear()
        text.outputs.update(held)

    def _output(
        self, text: OperatorText, writer: FormulaWriter, instance: Instance, name: str, value: Any
    ) -> None:
        if isinstance(value, Tensor) and value.name == name and name in text.outputs:
            return
        if not isinstance(value, Tensor):
            raise instance.refused(self._definition, f"`{name}` is no tensor")
        made = text.tensor(name, value.kind, value.shape, final=True)
        left, ranges = writer.whole(made)
        text.define(made, left, term(read(value, left)).text, ranges)


class SkriptModule:
    """A file of SkriptND: its operators are attributes."""

    def __init__(self, name: str, operators: dict[str, SkriptOperator]) -> None:
        self._name, self._operators = name, operators

    def __getattr__(self, name: str) -> SkriptOperator:
        held = self.__dict__.get("_operators", {})
        if name in held:
            return held[name]
        raise AttributeError(
            f"{self.__dict__.get('_name')} has no operator `{name}` {did_you_mean(name, held)}"
        )

    def __dir__(self) -> list[str]:
        return sorted(self._operators)

    def __iter__(self) -> Iterator[SkriptOperator]:
        return iter(self._operators.values())

    def __repr__(self) -> str:
        return f"<module {self._name} of SkriptND with {len(self._operators)} operators>"


class SkriptLibrary:
    """Modules of SkriptND, as attributes: `library.nn.conv`. Of a single file, its operators are
    attributes as well.
    """

    def __init__(self, modules: dict[str, Module], main: str = "") -> None:
        self._trees = modules
        self._modules = {
            name: SkriptModule(name, {n: SkriptOperator(o, self) for n, o in module.operators.items()})
            for name, module in modules.items()
        }
        self._main = main

    def find(self, operator: Operator, name: str) -> Operator | None:
        """The operator that a name means in the definition of another one; None if there is none."""
        module, _, last = name.rpartition(".")
        held = self._trees.get(module or operator.module)
        if held is None or (module and module != operator.module and not self._imported(operator, module)):
            return None
        return held.operators.get(last)

    def _imported(self, operator: Operator, module: str) -> bool:
        return module in self._trees[operator.module].imports

    def __getattr__(self, name: str) -> Any:
        modules = self.__dict__.get("_modules", {})
        main = modules.get(self.__dict__.get("_main", ""))
        if main is not None and name in dir(main):
            return getattr(main, name)
        if name in modules:
            return modules[name]
        raise AttributeError(f"there is no `{name}` {did_you_mean(name, dir(self))}")

    def __dir__(self) -> list[str]:
        main = self._modules.get(self._main)
        return sorted([*self._modules, *(dir(main) if main is not None else [])])

    def __iter__(self) -> Iterator[SkriptOperator]:
        """All operators, module by module."""
        return (operator for module in self._modules.values() for operator in module)

    def __repr__(self) -> str:
        return f"<SkriptND: {', '.join(f'{n} ({len(dir(m))})' for n, m in self._modules.items())}>"


@boundary
def load_skriptnd(path: str | Path) -> SkriptLibrary:
    """Operators in SkriptND, the language of NNEF 2.0 (draft of the Khronos Group, revision 8).

    A folder gives its files as modules, `library.nn.conv`; a file gives its operators, and the modules
    beside it that it imports. An operator is called with the ranks or shapes of its inputs and with
    its attributes, and is then one of texpr: its text is printed, proven, scheduled, differentiated.

    Args:
        path: a file that ends in `.sknd`, or a folder of such files.
    Raises:
        ParseError: a file is not in the language, with the place.
        CheckError: a module that is imported is not there.
        OSError: a file cannot be read.
    Example:
        >>> text = (
        ...     "operator dense { @input { x: real[b,c]; w: real[n,c]; bias: optional real[n]; } "
        ...     "@output { y: real[b,n]; } @lower { y[i,j] = bias[j,] ?? 0.0, i < b, j < n; "
        ...     "y[i,j] += x[i,k] * w[j,k], i < b, j < n, k < c; } }"
        ... )
        >>> n = open("layers.sknd", "w").write(text)
        >>> dense = tx.nnef.load_skriptnd("layers.sknd").dense(2, 2, 1)
        >>> print(dense)
        op dense(x: f32[b, c], w: f32[n, c], bias: f32[n]) -> y: f32[b, n] {
          y[i, j] = bias[j] + sum(k in 0..c: x[i, k] * w[j, k])
        }
    """
    place = Path(path)
    if place.is_dir():
        names = sorted(p.stem for p in place.glob(f"*{ENDING}"))
        if not names:
            raise CheckError(f"{path} has no files that end in {ENDING}", code="skriptnd")
        return SkriptLibrary(_modules(place, names))
    if place.suffix != ENDING:
        raise CheckError(f"{path} is no folder and does not end in {ENDING}", code="skriptnd")
    return SkriptLibrary(_modules(place.parent, [place.stem]), place.stem)


def _modules(folder: Path, names: list[str]) -> dict[str, Module]:
    found: dict[str, Module] = {}
    waiting = list(names)
    while waiting:
        name = waiting.pop(0)
        if name in found:
            continue
        file = folder / Path(*name.split(".")).with_suffix(ENDING)
        found[name] = module = parse_module(Source(str(file), _read(file)), name)
        for each in module.imports:
            if not (folder / Path(*each.split(".")).with_suffix(ENDING)).is_file():
                raise CheckError(
                    f"{file} imports `{each}`, which is not beside it",
                    code="skriptnd",
                    help=f"put {each}{ENDING} into {folder}",
                )
            waiting.append(each)
    return found


def _read(file: Path) -> str:
    if file.stat().st_size > 4 * MOST_CHARACTERS:
        raise ResourceError(f"{file} has {file.stat().st_size:,} bytes", code="skriptnd")
    try:
        return file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        at = error.start
    raise ParseError(f"{file} is no text in UTF-8: byte {at}", code="skriptnd", help="save it as UTF-8")


def _dtype(kind: str, given: object) -> str:
    """The name of a dtype for `real` or `int`."""
    dtype = named(given)
    if not (dtype.is_float if kind == "real" else dtype.is_int):
        raise CallError(f"`{kind}` is a type of {_OF[kind]}; found {dtype}", code="dtype")
    return dtype.name


def _proven(text: OperatorText) -> Op:
    """The operator of a text. What its definition leaves out of sizes, and the proof names, is
    required.
    """
    for _ in range(_MOST_ADDED):
        try:
            return op(text.text())
        except CheckError as error:
            if not error.holds or error.holds in text.conditions:
                raise
            text.conditions.append(error.holds)
    return op(text.text())


def _identifier(name: str) -> str:
    return OperatorText("", {}).fresh(name)
