"""Values while a Python operator is traced: each knows its text. Nothing is computed; what
cannot become text is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

from texpr.ir.printing.types import RESERVED
from texpr.lang.syntax.words import GUARD_WORDS
from texpr.support.errors import CheckError, ResourceError
from texpr.support.options import current

# How strongly a text binds, as in the grammar: if, or, and, not, comparison, sum, product, minus,
# power, atom.
IF, OR, AND, NOT, COMPARISON, SUM, PRODUCT, MINUS, POWER, ATOM = range(10)
_ASCII_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SELECT = "choose between values with tx.select(condition, then, otherwise)"


def refused(message: str, help: str) -> CheckError:
    """A thing that the Python form cannot say."""
    return CheckError(message, code="python", help=help)


def checked_name(name: str, what: str) -> str:
    """A name that the language can hold."""
    if _ASCII_NAME.fullmatch(name) is None:
        raise refused(
            f"{what} `{name}` is not a name of the language", "names are ASCII letters, digits and `_`"
        )
    if name in RESERVED:
        raise refused(f"{what} `{name}` is a reserved word of the language", "rename it")
    return name


class Value:
    """A scalar expression. `sides` are the two of `==`, which an equation (`tx.eq`) is made of."""

    __slots__ = ("text", "level", "sides", "update")
    __hash__ = object.__hash__

    def __init__(
        self, text: str, level: int = ATOM, sides: tuple[object, object] | None = None, update: str = "="
    ) -> None:
        limit = current().text_limit
        if len(text) > limit:
            raise ResourceError(
                f"a traced expression has more than {limit} characters",
                help='parts that are used several times want a name: t = tx.let("t", lambda i: ...)',
            )
        self.text, self.level, self.sides, self.update = text, level, sides, update

    def __repr__(self) -> str:
        return f"<traced {self.text if len(self.text) <= 60 else self.text[:57] + '...'}>"

    def __add__(self, other: object) -> Value:
        return binary("+", self, other)

    def __radd__(self, other: object) -> Value:
        return binary("+", other, self)

    def __sub__(self, other: object) -> Value:
        return binary("-", self, other)

    def __rsub__(self, other: object) -> Value:
        return binary("-", other, self)

    def __mul__(self, other: object) -> Value:
        return binary("*", self, other)

    def __rmul__(self, other: object) -> Value:
        return binary("*", other, self)

    def __truediv__(self, other: object) -> Value:
        return binary("/", self, other)

    def __rtruediv__(self, other: object) -> Value:
        return binary("/", other, self)

    def __floordiv__(self, other: object) -> Value:
        return binary("//", self, other)

    def __rfloordiv__(self, other: object) -> Value:
        return binary("//", other, self)

    def __mod__(self, other: object) -> Value:
        return binary("%", self, other)

    def __rmod__(self, other: object) -> Value:
        return binary("%", other, self)

    def __pow__(self, other: object) -> Value:
        return binary("**", self, other)

    def __rpow__(self, other: object) -> Value:
        return binary("**", other, self)

    def __and__(self, other: object) -> Value:
        return binary("and", self, other)

    def __rand__(self, other: object) -> Value:
        return binary("and", other, self)

    def __or__(self, other: object) -> Value:
        return binary("or", self, other)

    def __ror__(self, other: object) -> Value:
        return binary("or", other, self)

    def __lt__(self, other: object) -> Value:
        return binary("<", self, other)

    def __le__(self, other: object) -> Value:
        return binary("<=", self, other)

    def __gt__(self, other: object) -> Value:
        return binary(">", self, other)

    def __ge__(self, other: object) -> Value:
        return binary(">=", self, other)

    def __ne__(self, other: object) -> Value:  # type: ignore[override]
        return binary("!=", self, other)

    def __eq__(self, other: object) -> Value:  # type: ignore[override]
        if isinstance(other, tuple):
            return Value("", IF, (other, self))
        compared = binary("==", self, other)
        return Value(compared.text, compared.level, (self, other))

    def __neg__(self) -> Value:
        return Value(f"-{inside(self, MINUS)}", MINUS)

    def __pos__(self) -> Value:
        return self

    def __abs__(self) -> Value:
        return Value(f"abs({self.text})")

    def __invert__(self) -> Value:
        return Value(f"not {inside(self, NOT)}", NOT)

    def __bool__(self) -> NoReturn:
        raise refused(
            f"the truth of `{self.text}` is not known while tracing: no `if`, `and`, `or`, `not`, `a < b < "
            f"c` on it",
            f"{_SELECT}; join conditions with `&`, `|` and `~`: (0 <= i) & (i < n)",
        )

    def __iter__(self) -> Iterator[Value]:
        raise refused(
            f"`{self.text}` is one number and cannot be iterated",
            "a whole loop is one equation: lambda i: ...",
        )

    def __getitem__(self, index: object) -> NoReturn:
        raise refused(
            f"`{self.text}` is one number and has no elements",
            "all indices stand in one pair of brackets: X[i, j]",
        )

    def _number(self, *_: object) -> NoReturn:
        raise refused(
            f"`{self.text}` has no value while tracing",
            "convert with tx.f32(x), tx.i64(x); choose with tx.select(...)",
        )

    __float__ = __int__ = __index__ = __complex__ = __round__ = _number

    def __array__(self, *_: object, **__: object) -> NoReturn:
        raise refused(
            f"`{self.text}` is traced and cannot become a NumPy array",
            "build the expression from tx functions: tx.exp(x)",
        )

    def __array_ufunc__(self, ufunc: Any, method: str, *operands: object, **_: object) -> Value:
        """NumPy scalars beside traced values: `np.float32(2) * x`. Other functions of NumPy are
        refused.
        """
        symbol = _NUMPY_OPERATORS.get(ufunc.__name__)
        if symbol is None or method != "__call__" or len(operands) != 2:
            raise refused(
                f"np.{ufunc.__name__} cannot take the traced `{self.text}`",
                f"texpr's own functions can: tx.{ufunc.__name__}",
            )
        return binary(symbol, *operands)


class Element(Value):
    """An element of a tensor, which can stand on the left of an equation or update."""

    __slots__ = ()
    __hash__ = object.__hash__

    def add(self, value: object) -> Value:
        """The update `self += value`."""
        return Value("", IF, (self, value), "+=")

    def mul(self, value: object) -> Value:
        """The update `self *= value`."""
        return Value("", IF, (self, value), "*=")

    def max(self, value: object) -> Value:
        """The update `self max= value`."""
        return Value("", IF, (self, value), "max=")

    def min(self, value: object) -> Value:
        """The update `self min= value`."""
        return Value("", IF, (self, value), "min=")


class Pack:
    """`*s` in brackets or among arguments."""

    def __init__(self, name: str) -> None:
        self.text = f"*{name}"


class Index(Value):
    """An index that a lambda binds. Written `*s` it stands for a pack; that it was is
    remembered.
    """

    __slots__ = ("starred",)
    __hash__ = object.__hash__

    def __init__(self, name: str, starred: bool = False) -> None:
        super().__init__(name)
        self.starred = starred

    def __iter__(self) -> Iterator[Pack]:  # type: ignore[override]
        self.starred = True
        return iter((Pack(self.text),))


class Tensor:
    """A tensor by name. `call` is asked when an operator is applied to it."""

    __array_ufunc__ = None

    def __init__(self, name: str, shape: tuple[Value, ...] | None, call: Callable[..., object]) -> None:
        self.name, self._shape, self._call = name, shape, call

    @property
    def shape(self) -> tuple[Value, ...]:
        """The declared sizes, a group flattened."""
        if self._shape is None:
            raise refused(
                f"the shape of `{self.name}` has a pack or is inferred",
                'name sizes: tx.size("N"), tx.numel("S") of a pack',
            )
        return self._shape

    def __getitem__(self, indices: object) -> Element:
        return Element(f"{self.name}[{self._indices(indices)}]")

    def at(self, *indices: object, guard: object = None) -> Element:
        """An element, with what it is outside the array: a value, or "clamp", "wrap", "reflect"
        (on the left also "drop").
        """
        if guard is None:
            return self[indices]
        if isinstance(guard, str) and guard not in GUARD_WORDS:
            raise refused(
                f"the guard {guard!r} is none of {', '.join(sorted(GUARD_WORDS))}",
                "or give the value outside: guard=0",
            )
        outside = guard if isinstance(guard, str) else operand(guard).text
        return Element(f"{self.name}[{self._indices(indices)} | {outside}]")

    def _indices(self, indices: object) -> str:
        listed = indices if isinstance(indices, tuple) else (indices,)
        if not listed:
            raise refused(
                f"`{self.name}[]` has no index", "a tensor without dimensions is read by its name alone"
            )
        return ", ".join(self._index(i) for i in listed)

    def _index(self, index: object) -> str:
        if isinstance(index, slice) or index is None or index is Ellipsis:
            raise refused(
                f"`{self.name}` is indexed by `{_shown(index)}`",
                f"one index per dimension: lambda i, j: {self.name}[i, j]",
            )
        if isinstance(index, Pack):
            return index.text
        if isinstance(index, tuple):
            return (
                f"({', '.join(self._index(i) for i in index)})" if len(index) != 1 else self._index(index[0])
            )
        return operand(index).text

    def __repr__(self) -> str:
        return f"<traced tensor {self.name}>"

    def _whole(self, *_: object) -> NoReturn:
        raise refused(
            f"`{self.name}` is a whole tensor where one number is needed",
            f"equations are about elements: {self.name}[i]",
        )

    __hash__ = object.__hash__
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __pow__ = (
        __rpow__
    ) = _whole
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __and__ = __rand__ = __or__ = __ror__ = __neg__ = (
        __invert__
    ) = __abs__ = _whole
    __lt__ = __le__ = __gt__ = __ge__ = __eq__ = __ne__ = __bool__ = __float__ = __int__ = __index__ = _whole  # type: ignore[assignment]

    def __matmul__(self, other: object) -> NoReturn:
        raise refused(
            "`@` is not part of the language",
            "a matrix product is a sum: lambda i, j: tx.sum(lambda k: A[i, k] * B[k, j])",
        )

    def __iter__(self) -> NoReturn:
        raise refused(
            f"`{self.name}` cannot be iterated: its sizes are not known while tracing",
            f"lambda i: ... {self.name}[i] ...",
        )

    def __len__(self) -> NoReturn:
        raise refused(
            f"the length of `{self.name}` is not a number while tracing", f"its sizes are {self.name}.shape"
        )

    def __array__(self, *_: object, **__: object) -> NoReturn:
        raise refused(
            f"`{self.name}` is traced and cannot become a NumPy array",
            f"equations are about elements: {self.name}[i]",
        )

    def __texpr_call__(
        self, operator: Any, inputs: dict[str, object], constants: dict[str, object]
    ) -> object:
        return self._call(operator, inputs, constants)


class Scalar(Element):
    """A tensor without dimensions, which is its only element."""

    __slots__ = ("name", "_call")
    __hash__ = object.__hash__

    def __init__(self, name: str, call: Callable[..., object]) -> None:
        super().__init__(name)
        self.name, self._call = name, call

    def __texpr_call__(
        self, operator: Any, inputs: dict[str, object], constants: dict[str, object]
    ) -> object:
        return self._call(operator, inputs, constants)


# Level of the result, then the least levels of the left and right operand.
_LEVELS = {"or": (OR, OR, AND), "and": (AND, AND, NOT), "**": (POWER, ATOM, MINUS)}
_LEVELS |= {symbol: (COMPARISON, SUM, SUM) for symbol in ("<", "<=", ">", ">=", "==", "!=")}
_LEVELS |= {symbol: (SUM, SUM, PRODUCT) for symbol in "+-"}
_LEVELS |= {symbol: (PRODUCT, PRODUCT, MINUS) for symbol in ("*", "/", "//", "%")}
_NUMPY_OPERATORS = {
    "add": "+",
    "subtract": "-",
    "multiply": "*",
    "divide": "/",
    "true_divide": "/",
    "floor_divide": "//",
    "remainder": "%",
    "power": "**",
    "less": "<",
    "less_equal": "<=",
    "greater": ">",
    "greater_equal": ">=",
    "not_equal": "!=",
    "equal": "==",
}


def binary(symbol: str, lhs: object, rhs: object) -> Value:
    """`lhs symbol rhs` with the parentheses it needs."""
    level, left, right = _LEVELS[symbol]
    return Value(f"{inside(operand(lhs), left)} {symbol} {inside(operand(rhs), right)}", level)


def inside(value: Value, least: int) -> str:
    """The text of a value where something that binds as strongly as `least` is needed."""
    return value.text if value.level >= least else f"({value.text})"


def operand(x: object) -> Value:
    """A traced value, or a number as a literal."""
    if isinstance(x, Value):
        return x
    if isinstance(x, Tensor):
        x._whole()
    if callable(x) and not hasattr(x, "item"):
        raise refused(
            f"a function stands where a value is needed: {_shown(x)}",
            "sum over an index with tx.sum(lambda k: ...)",
        )
    number = x.item() if hasattr(x, "item") and getattr(x, "shape", ()) == () else x  # type: ignore[attr-defined]
    if isinstance(number, bool):
        return Value("true" if number else "false")
    if isinstance(number, int | float):
        text = repr(number)
        return Value(text, MINUS if text.startswith("-") else ATOM)
    raise refused(
        f"{_shown(x)} is not a number",
        "arrays are arguments of the operator: give them a parameter with a type",
    )


def _shown(x: object) -> str:
    if isinstance(x, slice):
        return ":" if x == slice(None) else "a slice"
    return "..." if x is Ellipsis else f"the {type(x).__name__}" if x is not None else "None"
