"""Integer expressions and conditions of one statement, or of a pair of statements, as isl sees
them.

A frame has a column per loop variable and one per *atom* (uninterpreted term): an integer or bool
that is not affine, such as a value of data. Two atoms of a frame are one if they are structurally
equal. A term of sizes alone is a parameter, and the same in all frames.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import lru_cache

import islpy as isl

from texpr.ir.affine import Linear, linear, same_value
from texpr.ir.build import compare, conjunction, disjunction, fold
from texpr.ir.dtypes import BOOL, I64, U64, int_range
from texpr.ir.expr import (
    Add,
    And,
    Call,
    Cast,
    Compare,
    Const,
    Expr,
    FloorDiv,
    Max,
    Min,
    Mod,
    Mul,
    Neg,
    Node,
    Not,
    Or,
    Read,
    Select,
    Sub,
    Tensor,
    Var,
    index,
)
from texpr.ir.index.overflow import LARGEST_FACTOR
from texpr.ir.printing.expr import show
from texpr.ir.traverse import children, identical, rewrite, substitute, variables, walk, with_children
from texpr.poly.certificate.engine.program_semantics import Total
from texpr.poly.certificate.engine.wrapping import equal_unless_large, fits_in_64_bits, is_bounded
from texpr.poly.constraints.solver import OutOfQuota, context

_SET, _PARAM, _IN = isl.dim_type.set, isl.dim_type.param, isl.dim_type.in_
Bounds = tuple[int | None, int | None]
MOST_ATOMS = 96
"""Terms of data in the questions about one statement: each is compared with all others, and isl
is slow with as many columns.
"""


class Parameters:
    """Expressions that are equal in all instances of all statements: sizes, products of sizes,
    rank-0 inputs.

    Attributes:
        no_wrap: True if sums on data are known not to wrap where the data are near to 0.
    """

    def __init__(self, sizes: Iterable[Var], inputs: Iterable[Tensor]) -> None:
        self.variables: list[Var] = list(sizes)
        self.position = {v: k for k, v in enumerate(self.variables)}
        self.inputs = set(inputs)
        self.no_wrap = False
        self.terms: list[tuple[Expr, Var]] = []
        self._spaces: dict[tuple[int, int], tuple[isl.Space, isl.Aff]] = {}

    def alias(self, others: Iterable[Var]) -> None:
        """Add other variables for the sizes of the same names: of a program whose kernel was
        read from a text.
        """
        named = {v.name: k for v, k in self.position.items()}
        self.position |= {v: named[v.name] for v in others if v.name in named}

    def term(self, e: Expr) -> Var | None:
        """The parameter that stands for `e`, if nothing in it differs between instances."""
        if any(
            isinstance(n, Var)
            and n not in self.position
            or isinstance(n, Read)
            and n.tensor not in self.inputs
            for n in walk(e)
        ):
            return None
        return find_equal(self.terms, e) or self._new(e)

    def _new(self, e: Expr) -> Var:
        var = Var(f"p{len(self.terms)}")
        self.position[var] = len(self.variables)
        self.variables.append(var)
        self.terms.append((e, var))
        return var

    def space(self, columns: int) -> isl.Space:
        """The isl space of so many columns."""
        key = len(self.variables), columns
        if key not in self._spaces:
            space = isl.Space.set_alloc(context(), *key)
            for k in range(len(self.variables)):
                space = space.set_dim_name(_PARAM, k, f"s{k}")
            self._spaces[key] = space, isl.Aff.zero_on_domain(isl.LocalSpace.from_space(space))
        return self._spaces[key][0]

    def zero(self, columns: int) -> isl.Aff:
        """The form that is 0 on a space of so many columns."""
        self.space(columns)
        return self._spaces[len(self.variables), columns][1]


class NotAffine(Exception):
    """An expression without an affine form, where an obligation needs one."""


def find_equal(terms: Sequence[tuple[Expr, Var]], e: Expr) -> Var | None:
    """The variable of the term that is structurally equal to `e`; None if there is none."""
    return next((v for t, v in terms if structurally_equal(t, e)), None)


def structurally_equal(a: Expr, b: Expr) -> bool:
    """True if two expressions are the same operations on indices that are linearly equal: then
    their values are equal.
    """
    stack: list[tuple[Node, Node]] = [(a, b)]
    while stack:
        x, y = stack.pop()
        if x is y:
            continue
        if isinstance(x, Expr) and isinstance(y, Expr) and x.dtype == y.dtype == I64 and same_value(x, y):
            continue
        if not same_operation(x, y):
            return False
        below = children(x)
        if not below and not identical(x, y):
            return False
        stack += zip(below, children(y), strict=True)
    return True


def same_operation(x: Node, y: Node) -> bool:
    """True if two nodes are equal in all but their children."""
    match x, y:
        case (Compare(a), Compare(b)) | (Call(a), Call(b)) if a != b:
            return False
        case Read(t), Read(u) if t is not u:
            return False
    if getattr(x, "equation", None) != getattr(y, "equation", None):
        return False
    return type(x) is type(y) and getattr(x, "dtype", None) == getattr(y, "dtype", None)


def interval(e: Expr, ranges: Mapping[Var, Bounds]) -> Bounds:
    """The least and the largest value of an integer, by interval arithmetic; None for an end
    that is not bounded, or not seen to be.
    """
    form = linear(e)
    low: int | None = form.constant
    high: int | None = form.constant
    for t, c in form.terms:
        bottom, top = ranges.get(t, (None, None)) if isinstance(t, Var) else (None, None)
        ends = (bottom, top) if c > 0 else (top, bottom)
        low = None if low is None or ends[0] is None else low + c * ends[0]
        high = None if high is None or ends[1] is None else high + c * ends[1]
    return low, high


class Frame:
    """The columns of one statement, or of a pair, and the isl sets over them.

    Args:
        ranges: bounds of variables that are constants.
        constants: by position, sizes whose values are known of all instances: with them, more is
            affine.
    Attributes:
        atoms: terms over the columns of the frame, each with its variable; `original` has the terms
            as they were written.
        same_data: a test for two conditions on data that are equivalent without being structurally
            equal; None before there is one.
    """

    def __init__(
        self,
        parameters: Parameters,
        variables: Iterable[Var],
        ranges: Mapping[Var, Bounds] | None = None,
        constants: Mapping[int, Const] | None = None,
    ) -> None:
        self.parameters, self.constants = parameters, dict(constants or {})
        self.variables = list(variables)
        self.position = {v: k for k, v in enumerate(self.variables)}
        self.ranges = dict(ranges or {})
        self.atoms: list[tuple[Expr, Var]] = []
        self.original: dict[Var, Expr] = {}
        self.same_data: Callable[[Expr, Expr], bool] | None = None
        self._abstracted: dict[int, tuple[Expr, Expr]] = {}
        self._values: dict[int, tuple[Expr, isl.PwAff]] = {}

    def add(self, var: Var) -> None:
        """Add a column."""
        self.position[var] = len(self.variables)
        self.variables.append(var)

    def abstract(self, e: Expr) -> Expr:
        """Replace atoms and parameters in `e` by variables (purification, as solvers call it):
        the result is affine.
        """
        known = self._abstracted
        stack: list[tuple[Expr, bool]] = [(e, False)]
        while stack:
            node, ready = stack.pop()
            if id(node) in known:
                continue
            if isinstance(node, Const | Var):
                known[id(node)] = node, node
                continue
            below = children(node)
            if below and not ready:
                stack.append((node, True))
                stack += [(c, False) for c in reversed(below)]  # type: ignore[misc]
                continue
            new = tuple([known[id(c)][1] for c in below])
            rebuilt = node if all(a is b for a, b in zip(new, below)) else with_children(node, new)
            rebuilt = fold(rebuilt) or rebuilt
            known[id(node)] = node, self._abstract_node(rebuilt, node) or rebuilt  # type: ignore[assignment]
        return known[id(e)][1]

    def as_integer(self, e: Expr) -> Expr:
        """An atom as an integer: 0 or 1 for a bool."""
        match self.abstract(e):
            case Compare("==", Var() as var, Const(1)):
                return var
            case Const(value):
                return index(int(value))
            case found:
                assert e.dtype != BOOL, "an atom is one column"
                return found

    def _abstract_node(self, node: Expr, original: Expr) -> Expr | None:
        if isinstance(node, FloorDiv) and (number := self._constant_quotient(node)) is not None:
            return index(number)
        if (
            isinstance(node, Max | Min)
            and node.dtype == I64
            and (chosen := self._constant_choice(node)) is not None
        ):
            return chosen
        if not (node.dtype.is_int or node.dtype == BOOL) or _affine(node) and not self._may_wrap(node):
            return None
        if isinstance(node, Cast) and is_lossless(node):
            return node.operand
        node = self._with_wrapping_terms(node)
        var = self.parameters.term(node)
        if var is None and (known := self.with_constants(node)) is not None:
            return known
        var = var or find_equal(self.atoms, node) or self._atom(node)
        self.original.setdefault(var, original)
        return var if node.dtype != BOOL else compare("==", var, index(1))

    def _constant_quotient(self, node: FloorDiv) -> int | None:
        """The value of a quotient that is constant over the ranges of the loops; None if it is
        not.
        """
        low, high = interval(node.lhs, self.ranges)
        by = node.rhs.value if isinstance(node.rhs, Const) else 0
        if not isinstance(by, int) or by <= 0 or low is None or high is None or low // by != high // by:
            return None
        return low // by

    def _constant_choice(self, node: Max | Min) -> Expr | None:
        """The operand that is the result over the whole ranges of the loops: `max(i - 1, 0)` in
        one iteration is a number.
        """
        (low, high), (least, most) = interval(node.lhs, self.ranges), interval(node.rhs, self.ranges)
        if low is not None and most is not None and low >= most:
            return node.lhs if isinstance(node, Max) else node.rhs
        if least is not None and high is not None and least >= high:
            return node.rhs if isinstance(node, Max) else node.lhs
        return None

    def _with_wrapping_terms(self, node: Expr) -> Expr:
        """Expand arithmetic that may wrap into its terms: sums modulo 2^64 are equal however
        they are associated.
        """
        if not self._may_wrap(node):
            return node
        terms = {
            var: t
            for t, var in (*self.atoms, *self.parameters.terms)
            if t.dtype == I64 and isinstance(t, Add | Sub | Neg | Mul)
        }
        return substitute(node, terms) if terms.keys() & variables(node) else node

    def with_constants(self, node: Expr) -> Expr | None:
        """A product or a quotient of variables with its sizes as the constants that they are, if
        that is affine.
        """
        if not self.constants or not isinstance(node, Mul | FloorDiv | Mod):
            return None
        found = rewrite(
            node,
            lambda n: (
                self.constants.get(self.parameters.position.get(n, -1)) if isinstance(n, Var) else fold(n)
            ),
        )
        return found if _affine(found) and not self._may_wrap(found) else None

    def _may_wrap(self, node: Expr) -> bool:
        """True for arithmetic of 64 bits on data without known bounds, or with a factor that index
        arithmetic does not have.

        The least number has no opposite: so `abs(x)` and `x // -1` may wrap as well.
        """
        match node:
            case Add() | Sub() | Mul() | Neg() | Call("abs") | FloorDiv(_, Const(-1)):
                pass
            case _:
                return False
        if isinstance(node, Mul) and any(
            isinstance(c, Const) and abs(c.value) > LARGEST_FACTOR for c in (node.lhs, node.rhs)
        ):
            return True
        if not self.atoms and not self.parameters.terms:
            return False
        is_unbounded = self._unbounded_among(variables(node))
        operands = [c for c in children(node) if isinstance(c, Expr)]
        if not any(map(is_unbounded, _value_variables(node))) or all(
            is_bounded(c, is_unbounded) for c in operands
        ):
            return False
        return not fits_in_64_bits(
            node, {var for _, var in (*self.atoms, *self.parameters.terms)}.__contains__
        )

    def _unbounded_among(self, used: Collection[Var]) -> Callable[[Var], bool]:
        """A predicate: true if one of these variables stands for any value of 64 bits."""
        wild = {
            var
            for term, var in (*self.atoms, *self.parameters.terms)
            if var in used and self._is_unbounded(term)
        }
        return wild.__contains__

    def _is_unbounded(self, term: Expr) -> bool:
        """True if an atom, or a part of it, may be any value of 64 bits."""
        terms = {var: t for t, var in (*self.atoms, *self.parameters.terms)}
        stack: list[Node] = [term]
        while stack:
            match n := stack.pop():
                case Read():
                    if n.dtype in (I64, U64) and n.tensor.value_range is None:
                        return True
                case Total(dtype=t) if t == I64:
                    return True
                case Cast(operand) if n.dtype == I64 and operand.dtype.is_float:
                    return True
                case Var() if n in terms:
                    stack.append(terms[n])
                case _:
                    stack += _value_operands(n)
        return False

    def _atom(self, node: Expr) -> Var:
        if len(self.atoms) >= MOST_ATOMS:
            raise OutOfQuota(f"more than {MOST_ATOMS} terms of data in one statement")
        same_data, self.same_data = self.same_data, None  # Comparing two atoms may ask for atoms in turn.
        if same_data is not None:
            known = next(
                (v for t, v in list(self.atoms) if same_operation(t, node) and same_data(t, node)), None
            )
            if known is not None:
                self.same_data = same_data
                self.atoms.insert(0, (node, known))
                return known
        self.same_data = same_data
        known = find_equal(self.atoms, node)
        if known is not None:  # Comparing asked for it.
            return known
        var = Var(f"a{len(self.atoms)}")
        self.atoms.append((node, var))
        self.add(var)
        return var

    def bounds(self, of: Collection[Var] | None = None) -> Expr:
        """The facts about parameters and atoms; about some of them alone, if they are named."""
        every = (*self.atoms, *self.parameters.terms)
        terms = every if of is None else tuple((term, var) for term, var in every if var in of)
        data = {var for _, var in every}
        return conjunction(
            *(
                c
                for term, var in terms
                for c in (*_term_bounds(term, var, data), *self._no_wrap_facts(term, var, data))
            )
        )

    def _no_wrap_facts(self, term: Expr, var: Var, data: Collection[Var]) -> list[Expr]:
        """The facts about a sum that may wrap."""
        if not self.parameters.no_wrap or term.dtype != I64 or not self._may_wrap(term):
            return []
        sizes = [v for v in self.parameters.variables if v not in data]
        return equal_unless_large(term, var, self._unbounded_among(variables(term)), sizes)

    def universe(self) -> isl.Set:
        return isl.Set.universe(self.parameters.space(len(self.variables)))

    def lift(self, s: isl.Set) -> isl.Set:
        """Add the missing columns to a set from when the frame had fewer."""
        missing = len(self.variables) - s.dim(_SET)
        return s.add_dims(_SET, missing) if missing else s

    def _aff(self, form: Linear) -> isl.Aff:
        aff = self.parameters.zero(len(self.variables)).set_constant_val(_val(form.constant))
        sums: dict[tuple[isl.dim_type, int], int] = {}
        for t, c in form.terms:
            assert isinstance(t, Var), "an affine form"
            column = self.position.get(t)
            at = (_IN, column) if column is not None else (_PARAM, self.parameters.position[t])
            sums[at] = sums.get(at, 0) + c  # A size may have two variables.
        for (kind, column), c in sums.items():
            aff = aff.set_coefficient_val(kind, column, _val(c))
        return aff

    def value(self, e: Expr) -> isl.PwAff:
        """The value of an abstracted integer expression. Depth is bounded by the nesting limit
        of the text.
        """
        form = linear(e)
        affine = Linear(tuple((t, c) for t, c in form.terms if isinstance(t, Var)), form.constant)
        total = isl.PwAff.from_aff(self._aff(affine))
        for t, c in form.terms:
            if not isinstance(t, Var):
                total = total + self._term(t).scale_val(_val(c))
        return total

    def _term(self, e: Expr) -> isl.PwAff:
        found = self._values.get(id(e))
        if found is None or found[1].dim(_IN) != len(self.variables):
            found = self._values[id(e)] = e, self._piecewise_affine(e)
        return found[1]

    def _piecewise_affine(self, e: Expr) -> isl.PwAff:
        match e:
            case FloorDiv(a, Const(0)) | Mod(a, Const(0)):
                return self.value(index(0))
            case FloorDiv(a, Const(c)) | Mod(a, Const(c)):
                dividend = self.value(a)
                quotient = (dividend if c > 0 else dividend.neg()).scale_down_val(_val(abs(int(c)))).floor()
                return quotient if isinstance(e, FloorDiv) else dividend - quotient.scale_val(_val(int(c)))
            case Max(a, b):
                return self.value(a).max(self.value(b))
            case Min(a, b):
                return self.value(a).min(self.value(b))
            case Call("abs", (a,)):
                return self.value(a).max(self.value(a).neg())
            case Select(cond, then, orelse):
                holds = self.holds(cond)
                return (
                    self.value(then)
                    .intersect_domain(holds)
                    .union_add(self.value(orelse).intersect_domain(holds.complement()))
                )
        raise NotAffine(f"`{show(e)}` is no quotient or remainder by a constant")

    def holds(self, e: Expr) -> isl.Set:
        """The set in which an abstracted condition is true."""
        match e:
            case Const(value):
                return self.universe() if value else isl.Set.empty(self.parameters.space(len(self.variables)))
            case And(a, b):
                return self.holds(a) & self.holds(b)
            case Or(a, b):
                return self.holds(a) | self.holds(b)
            case Not(a):
                return self.holds(a).complement()
            case Select(cond, then, orelse):
                holds = self.holds(cond)
                return (holds & self.holds(then)) | (holds.complement() & self.holds(orelse))
            case Compare(op, a, b):
                return self._comparison_set(op, a, b)
        raise AssertionError(f"{type(e).__name__} is no condition")

    def _comparison_set(self, op: str, a: Expr, b: Expr) -> isl.Set:
        a, b = _without_quotient(op, a, b)
        form = linear(Sub(a, b) if op in (">", ">=", "==") else Sub(b, a))
        if op == "!=" or not form.is_affine:
            return getattr(self.value(a), _SETS[op])(self.value(b))
        aff = self._aff(Linear(form.terms, form.constant - (op in ("<", ">"))))
        build = isl.Constraint.equality_from_aff if op == "==" else isl.Constraint.inequality_from_aff
        return isl.BasicSet.from_constraint(build(aff)).to_set()


_SETS = {"<": "lt_set", "<=": "le_set", ">": "gt_set", ">=": "ge_set", "==": "eq_set", "!=": "ne_set"}


def _without_quotient(op: str, a: Expr, b: Expr) -> tuple[Expr, Expr]:
    """Multiply out: a < n // c is c*a + c <= n, and a <= n // c is c*a <= n. Without a quotient
    isl is faster.
    """
    match b:
        case FloorDiv(n, Const(c)) if c > 0 and op in ("<", "<="):
            scaled = Mul(a, index(int(c)))
            return (Add(scaled, index(int(c) - 1)) if op == "<" else scaled), n
    return a, b


def _affine(node: Expr) -> bool:
    """True if isl can look into the node."""
    match node:
        case Const() | Var() | And() | Or() | Not() | Select():
            return True
        case Add() | Sub() | Neg():
            return node.dtype == I64
        case Mul(a, b):
            return node.dtype == I64 and isinstance(b, Const)
        case FloorDiv(_, b) | Mod(_, b):
            return node.dtype == I64 and isinstance(b, Const)
        case Max() | Min():
            return True
        case Call("abs"):
            return node.dtype == I64
        case Compare(_, a):
            return a.dtype.is_int
    return False


def _value_operands(n: Node) -> list[Node]:
    """The operands that the size of a value depends on: not the conditions, which only choose."""
    return [c for c in children(n) if not (isinstance(c, Expr) and c.dtype == BOOL)]


def _value_variables(e: Expr) -> set[Var]:
    found, stack = set[Var](), [*_value_operands(e)]
    while stack:
        n = stack.pop()
        if isinstance(n, Var):
            found.add(n)
        stack += _value_operands(n)
    return found


def is_lossless(node: Cast) -> bool:
    """True if the conversion of an integer keeps every value."""
    if not (node.dtype.is_int and node.operand.dtype.is_int):
        return False
    (lo, hi), (low, high) = int_range(node.operand.dtype), int_range(node.dtype)
    return low <= lo and hi <= high


def _term_bounds(term: Expr, var: Var, data: Collection[Var]) -> list[Expr]:
    """Bounds of a term by its type, range and operation; loops and sizes, which are not in
    `data`, are no less than 0.
    """
    found: list[Expr] = []
    if term.dtype == BOOL:
        found += [compare("<=", index(0), var), compare("<=", var, index(1))]
    elif term.dtype != I64:
        lo, hi = int_range(term.dtype)
        found += [compare("<=", index(lo), var), compare("<=", var, index(hi))]
    match term:
        case Read(tensor) if tensor.value_range is not None:
            found += [compare("<=", tensor.value_range[0], var), compare("<", var, tensor.value_range[1])]
        case Mul(Var() as a, Var() as b) if a not in data and b not in data:
            found.append(compare("<=", index(0), var))
        case Mod(_, n) if term.dtype == I64:
            found.append(
                disjunction(
                    compare("<=", n, index(0)),
                    conjunction(compare("<=", index(0), var), compare("<", var, n)),
                )
            )
    return found


@lru_cache(maxsize=4096)
def _val(n: int) -> isl.Val:
    return isl.Val.read_from_str(context(), str(n))  # of any size
