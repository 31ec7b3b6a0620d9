"""Scalar expressions to LLVM IR, for one iteration or for all lanes of a vector loop at once."""

from __future__ import annotations

import re

from texpr.ir.build import integer, negation
from texpr.ir.dtypes import BOOL, I64, DType, int_range
from texpr.ir.expr import (
    Add,
    And,
    Call,
    Cast,
    Compare,
    Const,
    Div,
    Expr,
    FloorDiv,
    Max,
    Min,
    Mod,
    Mul,
    Neg,
    Not,
    Or,
    Read,
    Select,
    Sub,
    Var,
)
from texpr.ir.traverse import children, walk
from texpr.support.errors import CompileError
from texpr.targets.emit.active_lanes import EnclosingStatements
from texpr.targets.emit.float_conversion import narrowed, of_integer, widened
from texpr.targets.emit.function import (
    Function,
    Scoped,
    Value,
    constant,
    lanes_suffix,
    register_type,
    vector_type,
)

_INT = {Add: "add", Sub: "sub", Mul: "mul"}
_FLOAT = {Add: "fadd", Sub: "fsub", Mul: "fmul", Div: "fdiv"}
_LOGIC = {And: "and", Or: "or"}
_FLOAT_COMPARE = {"<": "olt", "<=": "ole", ">": "ogt", ">=": "oge", "==": "oeq", "!=": "une"}
_INT_COMPARE = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge"}
_ONE_TO_ONE = {
    "sqrt": "sqrt",
    "floor": "floor",
    "ceil": "ceil",
    "trunc": "trunc",
    "rint": "roundeven",
    "fma": "fma",
}
_BITS = {"bit_and": "and", "bit_or": "or", "bit_xor": "xor"}
_TYPE = re.compile(r"(<[^>]*>|ptr(?: addrspace\(\d+\))?|\w+)")


class Expressions:
    """Values of expressions at the current place of the current function.

    `variables` holds the scalar value of each variable in scope; `lane` is the variable of the
    vector loop around, if any, and `mask` the lanes that run; `enclosing` has the loops and
    conditions that say so. Values are remembered per statement by node identity, so a shared node
    is computed once.
    """

    function: Function
    fma: str

    def __init__(self) -> None:
        self.variables: dict[Var, Value] = {}
        self.lane: Var | None = None
        self.lanes = 0
        self.lane_values: Value | None = None
        self.mask: Value | None = None
        self.enclosing = EnclosingStatements()
        # The node is kept beside its value: an id is only unique while its object lives.
        self.known: Scoped[int, tuple[Expr, Value]] = Scoped()
        self.constants: dict[int, tuple[Const, Value]] = {}
        self.declared: dict[str, str] = {}

    def value(self, root: Expr) -> Value:
        """The value of an expression. Depth-first with a stack, so that depth is no limit."""
        found = self._known(root)
        if found is not None:
            return found
        known, stack = self.known, [root]
        opened: set[int] = set()
        while stack:
            e = stack[-1]
            key = id(e)
            if key not in known.entries:
                if key not in opened:
                    opened.add(key)
                    below = () if isinstance(e, Read) or self._branches(e) else children(e)
                    pending = [c for c in below if isinstance(c, Expr) and self._known(c) is None]
                    if pending:
                        stack += pending
                        continue
                known.add(key, (e, self._evaluate(e)))
            stack.pop()
        return known.entries[id(root)][1]

    def _branches(self, e: Expr) -> bool:
        """True if an operand is computed in a branch, where it is needed."""
        return (
            isinstance(e, Select)
            and self._loads(e.then, e.orelse)
            or isinstance(e, Call)
            and e.function == "rarely"
        )

    def _loads(self, *roots: Expr) -> bool:
        """True if some expression below reads a value that is not known yet."""
        stack, seen = list(roots), set()
        while stack:
            e = stack.pop()
            if id(e) in seen or isinstance(e, Const | Var) or self._known(e) is not None:
                continue
            if isinstance(e, Read):
                return True
            seen.add(id(e))
            stack += [c for c in children(e) if isinstance(c, Expr)]
        return False

    def _known(self, e: Expr) -> Value | None:
        if isinstance(e, Var):
            return self._variable(e)
        if isinstance(e, Const):
            found = self.constants.get(id(e))
            if found is None:
                found = self.constants[id(e)] = e, constant(e.value, e.dtype)
            return found[1]
        known = self.known.entries.get(id(e))
        return None if known is None else known[1]

    def _variable(self, var: Var) -> Value:
        if var is self.lane:
            assert self.lane_values is not None
            return self.lane_values
        return self.variables[var]

    def differs(self, *roots: Expr) -> bool:
        """True if some of these expressions differ between lanes."""
        return self.lane is not None and any(n is self.lane for n in walk(*roots))

    def load(self, read: Read) -> Value:
        raise NotImplementedError

    def _evaluate(self, e: Expr) -> Value:
        match e:
            case Read():
                return self.load(e)
            case Add() | Sub() | Mul() | Div() | And() | Or():
                return self._arithmetic(e)
            case Compare(op, lhs, rhs):
                return self._compare(op, *self._unify_lanes(self.value(lhs), self.value(rhs)))
            case Max() | Min():
                return self._extreme(e)
            case Neg(a):
                a = self.value(a)
                if a.dtype.is_float:
                    return self._pure(f"fneg {a}", a.dtype, a.lanes)
                return self._pure(
                    f"sub {a.type} {constant(0, a.dtype, a.lanes).text}, {a.text}", a.dtype, a.lanes
                )
            case Not(a):
                a = self.value(a)
                return self._pure(f"xor {a}, {constant(True, BOOL, a.lanes).text}", BOOL, a.lanes)
            case Cast(a):
                return self.cast(self.value(a), e.dtype)
            case Select() if self._branches(e):
                return self._conditional(e)
            case Select(c, t, o):
                return self.select(self.value(c), self.value(t), self.value(o))
            case FloorDiv() | Mod():
                return self._division(e)
            case Call(function="rarely"):
                return self._with_slow_path(e)
            case Call():
                return self._call(e)
        raise AssertionError(f"no code for {type(e).__name__}")

    def _pure(self, instruction: str, dtype: DType, lanes: int) -> Value:
        return Value(self.function.pure(instruction), dtype, lanes)

    def intrinsic(self, name: str, result: str, *args: str, flags: str = "") -> str:
        """Call `common.llvm_backend.name`, declared on first use; each argument is `type text`."""
        if name not in self.declared:
            types = ", ".join(_TYPE.match(a)[1] for a in args)  # type: ignore[index]
            self.declared[name] = f"declare {result} @{name}({types})"
        call = f"call {flags}{result} @{name}({', '.join(args)})"
        if result == "void":
            self.function.emit(call)
            return ""
        return self.function.define(call)

    def broadcast(self, a: Value, lanes: int) -> Value:
        """A scalar in every lane."""
        if a.lanes == lanes:
            return a
        assert a.lanes == 0
        if not a.text.startswith("%"):
            return Value(f"splat ({a.type} {a.text})", a.dtype, lanes)
        t = vector_type(register_type(a.dtype), lanes)
        first = self.function.pure(f"insertelement {t} poison, {a}, i64 0")
        return self._pure(
            f"shufflevector {t} {first}, {t} poison, <{lanes} x i32> zeroinitializer", a.dtype, lanes
        )

    def _unify_lanes(self, *values: Value) -> list[Value]:
        lanes = max(v.lanes for v in values)
        return [self.broadcast(v, lanes) for v in values] if lanes else list(values)

    def _arithmetic(self, e: Add | Sub | Mul | Div | And | Or) -> Value:
        a, b = self._unify_lanes(self.value(e.lhs), self.value(e.rhs))
        if a.dtype.is_float:
            flags = " contract" if self.fma == "all" and not isinstance(e, Div) else ""
            if flags and isinstance(e, Add | Sub) and isinstance(e.lhs, Mul) and _is_product(e.rhs):
                # Of two products the second is joined with the sum, in whatever kernel: LLVM would
                # join the one that has fewer uses.
                x, y = self._unify_lanes(self.value(e.lhs.lhs), self.value(e.lhs.rhs))
                a = self.broadcast(self._pure(f"fmul {x}, {y.text}", x.dtype, x.lanes), a.lanes)
            return self._pure(f"{_FLOAT[type(e)]}{flags} {a}, {b.text}", a.dtype, a.lanes)
        table = _LOGIC if isinstance(e, And | Or) else _INT
        return self._pure(f"{table[type(e)]} {a}, {b.text}", a.dtype, a.lanes)

    def _compare(self, op: str, a: Value, b: Value) -> Value:
        if a.dtype.is_float:
            return self._pure(f"fcmp {_FLOAT_COMPARE[op]} {a}, {b.text}", BOOL, a.lanes)
        sign = "s" if a.dtype.is_signed else "u"
        word = {"==": "eq", "!=": "ne"}.get(op) or sign + _INT_COMPARE[op]
        return self._pure(f"icmp {word} {a}, {b.text}", BOOL, a.lanes)

    def _extreme(self, e: Max | Min) -> Value:
        return self.extreme("max" if isinstance(e, Max) else "min", self.value(e.lhs), self.value(e.rhs))

    def extreme(self, which: str, a: Value, b: Value) -> Value:
        """max or min; NaN-propagating, -0 below +0."""
        a, b = self._unify_lanes(a, b)
        if a.dtype == BOOL:
            return self._pure(f"{'or' if which == 'max' else 'and'} {a}, {b.text}", BOOL, a.lanes)
        word = f"{which}imum" if a.dtype.is_float else f"{'s' if a.dtype.is_signed else 'u'}{which}"
        return Value(
            self.intrinsic(f"llvm.{word}.{self.suffix(a)}", a.type, str(a), str(b)), a.dtype, a.lanes
        )

    def reduce_lanes(self, update: str, a: Value) -> Value:
        """The values of all running lanes folded into one. Sums and products in a tree: their
        order was given up.
        """
        a = self.broadcast(a, self.lanes)
        if self.mask is not None:
            a = self.select(self.mask, a, constant(neutral(update, a.dtype), a.dtype, a.lanes))
        scalar = Value("", a.dtype).type
        if update in ("max", "min"):
            word = f"f{update}imum" if a.dtype.is_float else f"{'s' if a.dtype.is_signed else 'u'}{update}"
        else:
            word = ("f" if a.dtype.is_float else "") + update
        name = f"llvm.vector.reduce.{word}.{self.suffix(a)}"
        if a.dtype.is_float and update in ("add", "mul"):
            start = constant(neutral(update, a.dtype), a.dtype)
            return Value(self.intrinsic(name, scalar, str(start), str(a), flags="reassoc "), a.dtype)
        return Value(self.intrinsic(name, scalar, str(a)), a.dtype)

    @staticmethod
    def suffix(a: Value) -> str:
        """The type part of an overloaded intrinsic's name."""
        scalar = {"half": "f16", "float": "f32", "double": "f64"}.get(
            register_type(a.dtype), register_type(a.dtype)
        )
        return lanes_suffix(a.lanes) + scalar

    def select(self, c: Value, t: Value, o: Value) -> Value:
        if c.lanes or t.lanes or o.lanes:
            lanes = max(c.lanes, t.lanes, o.lanes)
            t, o = self.broadcast(t, lanes), self.broadcast(o, lanes)
        return self._pure(f"select {c}, {t}, {o}", t.dtype, t.lanes)

    def _conditional(self, e: Select) -> Value:
        """A conditional whose sides read memory: a branch where the condition is one value,
        masks where lanes differ.
        """
        c = self.value(e.cond)
        if c.lanes:
            flipped = self._pure(f"xor {c}, {constant(True, BOOL, c.lanes).text}", BOOL, c.lanes)
            with self.enclosing.where(e.cond, True):
                then = self._value_under(self.mask_and(self.mask, c), e.then)
            with self.enclosing.where(negation(e.cond), True):
                return self.select(c, then, self._value_under(self.mask_and(self.mask, flipped), e.orelse))
        f = self.function
        sides = [f.fresh("then"), f.fresh("else"), f.fresh("join")]
        f.emit(f"br {c}, label %{sides[0]}, label %{sides[1]}")
        results: list[tuple[Value, str]] = []
        lanes = self.lanes if self.differs(e.then, e.orelse) else 0
        for label, side, cond in zip(sides, (e.then, e.orelse), (e.cond, negation(e.cond))):
            f.start(label)
            with f.region(), self.enclosing.where(cond, False):
                v = self._value_under(self.mask, side)
                results.append((self.broadcast(v, lanes) if lanes else v, f.block))
            f.branch(sides[2])
        f.start(sides[2])
        incoming = ", ".join(f"[ {v.text}, %{block} ]" for v, block in results)
        v = results[0][0]
        return self._pure(f"phi {v.type} {incoming}", v.dtype, v.lanes)

    def _with_slow_path(self, e: Call) -> Value:
        """The value of the common side, and of the slow path under a branch that is taken if any
        lane needs it.
        """
        cond, rare, usual = e.args
        c, near = self._unify_lanes(self.value(cond), self.value(usual))
        f = self.function
        some = (
            c.text
            if not c.lanes
            else self.intrinsic(f"llvm.vector.reduce.or.{lanes_suffix(c.lanes)}i1", "i1", str(c))
        )
        before, inside, join = f.block, f.fresh("rare"), f.fresh("join")
        f.emit(f"br i1 {some}, label %{inside}, label %{join}")
        f.start(inside)
        with f.region():
            far = self.select(c, *self._unify_lanes(self.outlined_slow_path(rare), near))
        last = f.block
        f.branch(join)
        f.start(join)
        return self._pure(
            f"phi {near.type} [ {near.text}, %{before} ], [ {far.text}, %{last} ]", near.dtype, near.lanes
        )

    def outlined_slow_path(self, e: Expr) -> Value:
        """Outline a value that is seldom needed."""
        return self._value_under(self.mask, e)

    def _value_under(self, mask: Value | None, e: Expr) -> Value:
        before, self.mask = self.mask, mask
        with self.known.scope():
            result = self.value(e)
        self.mask = before
        return result

    def mask_and(self, mask: Value | None, c: Value) -> Value:
        """The lanes of `mask` for which `c` holds as well."""
        if mask is None:
            return c
        return self._pure(f"and {mask}, {c.text}", BOOL, c.lanes)

    def cast(self, a: Value, t: DType) -> Value:
        """Conversion as the language has it: saturating from floats, wrapping between integers."""
        s = a.dtype
        if s == t:
            return a
        if s.as_bits:
            return self.cast(widened(self._pure, a), t)
        to = vector_type(register_type(t), a.lanes)
        if t == BOOL:
            word = "fcmp une" if s.is_float else "icmp ne"
            return self._pure(f"{word} {a}, {constant(0, s, a.lanes).text}", BOOL, a.lanes)
        if s.is_float and t.is_int:
            if s.bits == 16:  # exact; with AVX512-FP16, LLVM's own conversion of an f16 NaN is not 0
                return self.cast(self.cast(a, DType("f", 32)), t)
            return self.float_to_int(a, t)
        if s.is_float:
            if s.bits == t.bits:
                return self.cast(self.cast(a, DType("f", 32)), t)
            return (
                self._pure(f"fpext {a} to {to}", t, a.lanes) if t.bits > s.bits else self.truncate_float(a, t)
            )
        if t.as_bits:
            return of_integer(self._pure, a, t)
        if t.is_float:
            return self._pure(
                f"{'sitofp' if s.is_signed and s != BOOL else 'uitofp'} {a} to {to}", t, a.lanes
            )
        if s != BOOL and s.bits == t.bits:
            return Value(a.text, t, a.lanes)
        word = "trunc" if s != BOOL and t.bits < s.bits else "sext" if s.is_signed and s != BOOL else "zext"
        return self._pure(f"{word} {a} to {to}", t, a.lanes)

    def truncate_float(self, a: Value, t: DType) -> Value:
        """A float as one of a narrower type."""
        return narrowed(self._pure, a, t)

    def float_to_int(self, a: Value, t: DType) -> Value:
        """An f32 or f64 as an integer: towards zero, saturating, 0 for NaN."""
        sign = "s" if t.is_signed else "u"
        name = f"llvm.fpto{sign}i.sat.{self.suffix(Value('', t, a.lanes))}.{self.suffix(a)}"
        return Value(self.intrinsic(name, vector_type(register_type(t), a.lanes), str(a)), t, a.lanes)

    def _division(self, e: FloorDiv | Mod) -> Value:
        a, b = self._unify_lanes(self.value(e.lhs), self.value(e.rhs))
        d = integer(e.rhs)
        if d is not None and d > 0 and d & (d - 1) == 0:
            shift = "ashr" if a.dtype.is_signed else "lshr"
            if isinstance(e, FloorDiv):
                return self._pure(
                    f"{shift} {a}, {constant(d.bit_length() - 1, a.dtype, a.lanes).text}", a.dtype, a.lanes
                )
            return self._pure(f"and {a}, {constant(d - 1, a.dtype, a.lanes).text}", a.dtype, a.lanes)
        return self._general_division(e, a, b, d)

    def _general_division(self, e: FloorDiv | Mod, a: Value, b: Value, d: int | None) -> Value:
        """Floor division or remainder: x // 0 and x % 0 are 0, INT_MIN // -1 is INT_MIN (x86 would
        trap on both).
        """
        zero, one = constant(0, a.dtype, a.lanes), constant(1, a.dtype, a.lanes)
        if d == -1:
            return self._pure(f"sub {zero}, {a.text}", a.dtype, a.lanes) if isinstance(e, FloorDiv) else zero
        undefined: Value | None = None
        if not d:
            undefined = self._compare("==", b, zero)
            trap = undefined
            if a.dtype.is_signed:
                least = self._compare("==", a, constant(int_range(a.dtype)[0], a.dtype, a.lanes))
                minus = self._compare("==", b, constant(-1, a.dtype, a.lanes))
                over = self._pure(f"and {least}, {minus.text}", BOOL, a.lanes)
                trap = self._pure(f"or {undefined}, {over.text}", BOOL, a.lanes)
            b = self.select(trap, one, b)
        sign = "s" if a.dtype.is_signed else "u"
        quotient = self._pure(f"{sign}div {a}, {b.text}", a.dtype, a.lanes)
        rest = self._pure(f"{sign}rem {a}, {b.text}", a.dtype, a.lanes)
        if a.dtype.is_signed:
            mixed = self._pure(f"xor {rest}, {b.text}", a.dtype, a.lanes)
            below = self.mask_and(self._compare("<", mixed, zero), self._compare("!=", rest, zero))
            quotient = self.select(
                below, self._pure(f"sub {quotient}, {one.text}", a.dtype, a.lanes), quotient
            )
            rest = self.select(below, self._pure(f"add {rest}, {b.text}", a.dtype, a.lanes), rest)
        result = quotient if isinstance(e, FloorDiv) else rest
        return result if undefined is None else self.select(undefined, zero, result)

    def _call(self, e: Call) -> Value:
        args = self._unify_lanes(*(self.value(a) for a in e.args))
        a = args[0]
        match e.function:
            case "abs" if a.dtype.is_int:
                if not a.dtype.is_signed:
                    return a
                return Value(
                    self.intrinsic(f"llvm.abs.{self.suffix(a)}", a.type, str(a), "i1 false"), a.dtype, a.lanes
                )
            case "abs":
                return Value(self.intrinsic(f"llvm.fabs.{self.suffix(a)}", a.type, str(a)), a.dtype, a.lanes)
            case "isnan":
                return self._pure(f"fcmp uno {a}, {a.text}", BOOL, a.lanes)
            case "isinf":
                size = self.intrinsic(f"llvm.fabs.{self.suffix(a)}", a.type, str(a))
                return self._pure(
                    f"fcmp oeq {a.type} {size}, {constant(float('inf'), a.dtype, a.lanes).text}",
                    BOOL,
                    a.lanes,
                )
            case "to_bits" | "from_bits":
                return self._pure(
                    f"bitcast {a} to {vector_type(register_type(e.dtype), a.lanes)}", e.dtype, a.lanes
                )
            case "mulhi":
                return self._upper_half(a, args[1])
            case "shl" | "shr":
                return self._shift(e, *args)
            case name if name in _BITS:
                return self._pure(f"{_BITS[name]} {a}, {args[1].text}", a.dtype, a.lanes)
            case name if name in _ONE_TO_ONE:
                return Value(
                    self.intrinsic(f"llvm.{_ONE_TO_ONE[name]}.{self.suffix(a)}", a.type, *map(str, args)),
                    a.dtype,
                    a.lanes,
                )
        raise CompileError(f"{e.function} of {a.dtype} is not compiled yet", e.span, code="target")

    def _upper_half(self, a: Value, b: Value) -> Value:
        """The upper half of the product at twice the width."""
        narrow, wide = a.type, vector_type(f"i{2 * a.dtype.bits}", a.lanes)
        extend, f = "sext" if a.dtype.is_signed else "zext", self.function
        x, y = (f.define(f"{extend} {v} to {wide}") for v in (a, b))
        product = f.define(f"mul {wide} {x}, {y}")
        amount = f"splat (i{2 * a.dtype.bits} {a.dtype.bits})" if a.lanes else str(a.dtype.bits)
        return self._pure(
            f"trunc {wide} {f.define(f'lshr {wide} {product}, {amount}')} to {narrow}", a.dtype, a.lanes
        )

    def _shift(self, e: Call, a: Value, by: Value) -> Value:
        """A shift: by the width or more it gives 0, or the sign."""
        arithmetic = e.function == "shr" and a.dtype.is_signed
        word = "shl" if e.function == "shl" else "ashr" if arithmetic else "lshr"
        amount = integer(e.args[1])
        if amount is not None and 0 <= amount < a.dtype.bits:
            return self._pure(f"{word} {a}, {by.text}", a.dtype, a.lanes)
        width = constant(a.dtype.bits, a.dtype, a.lanes)
        inside = self._pure(f"icmp ult {by}, {width.text}", BOOL, a.lanes)
        over = constant(0, a.dtype, a.lanes)
        if arithmetic:
            over = self._pure(
                f"ashr {a}, {constant(a.dtype.bits - 1, a.dtype, a.lanes).text}", a.dtype, a.lanes
            )
        shifted = self._pure(
            f"{word} {a}, {self.select(inside, by, constant(0, a.dtype, a.lanes)).text}", a.dtype, a.lanes
        )
        return self.select(inside, shifted, over)

    def index(self, e: Expr) -> Value:
        """An index expression, as i64."""
        return self.cast(self.value(e), I64)


def neutral(update: str, t: DType) -> int | float:
    """The neutral element of an update: folding it in changes nothing, -0 included: x + -0 is x for
    both zeros.
    """
    match update:
        case "add":
            return -0.0 if t.is_float else 0
        case "mul":
            return 1
        case "max":
            return float("-inf") if t.is_float else int_range(t)[0]
        case "min":
            return float("inf") if t.is_float else int_range(t)[1]
    raise AssertionError(f"no update {update}")


def _is_product(e: Expr) -> bool:
    """True if it is a product, which a sum may be joined with."""
    return isinstance(e.operand if isinstance(e, Neg) else e, Mul)
