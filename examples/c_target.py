"""A target outside of the package: kernels become C that one can read, which the system's compiler
compiles.

    python -m texpr bench targets --load examples/c_target.py --targets c

A target is a table of functions, a machine record, an emitter, a compiler and a loader: numbers 1
to 5 below; `docs/guide/targets.md` explains them. This machine has no vectors, so the default schedule
leaves plain loops; loops that someone's steps made vector or parallel are plain loops too. Every
operation is rounded as the language states it, without contraction, and integers wrap: sums,
products and conversions have the interpreter's bits. Functions of the table have those of the
system's libm; functions that are not in it come as polynomials. It takes GCC 12 or Clang 15 and
addresses of 64 bits.
"""

from __future__ import annotations

import ctypes
import subprocess
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import chain, count
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import texpr as tx
from texpr.ir import expr, loop, loop_kind
from texpr.ir.build import integer, product
from texpr.ir.dtypes import BF16, BOOL, F8E4M3, F8E5M2, F16, F32, F64, DType, int_range, stored
from texpr.ir.expr import Expr, Read, Tensor, Var
from texpr.ir.loop import Alloc, For, If, Kernel, Stmt, Store
from texpr.ir.machine import Machine
from texpr.ir.traverse import children, statements, walk
from texpr.passes.analysis.row_major import flat_index
from texpr.targets import Artifact, Code, Target, register_target, symbol_of

COMPILER = ["cc", "-O2", "-fPIC", "-std=gnu11", "-ffp-contract=off", "-fwrapv"]

# 1. Functions that are calls here, by texpr's name; of f32 the name in C has an `f` behind.
MATH = {
    name: name
    for name in """exp exp2 expm1 log log2 log10 log1p cbrt hypot sin cos tan asin acos atan atan2 sinh cosh asinh acosh
atanh tanh erf erfc fmod copysign lgamma sqrt floor ceil trunc rint fma""".split()
} | {"gamma": "tgamma", "abs": "fabs"}

# 2. What schedules know of the machine: no vectors, so no tiles for registers.
MACHINE = Machine(
    vector_bytes=0,
    vector_registers=0,
    caches=(32 << 10, 512 << 10),
    cores=1,
    fma=False,
    functions=frozenset(MATH),
)

PROLOGUE = """#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
typedef uint8_t u8; typedef uint16_t u16; typedef uint32_t u32; typedef uint64_t u64;
typedef int8_t i8; typedef int16_t i16; typedef int32_t i32; typedef int64_t i64;
typedef u8 flag, f8e4m3, f8e5m2; typedef _Float16 f16; typedef u16 bf16; typedef float f32; typedef double f64;
"""

# Operations that C has not, or has otherwise; {t} is a type, {w} one of twice its bits. They are
# written out where they are used.
HELPERS = {
    "floordiv": "static inline {t} floordiv_{t}({t} a, {t} b) {{\n  if (b == 0 || (b == ({t})-1 && b < 0)) "
    "return b ? ({t})-a : 0;\n"
    "  return ({t})(a / b - (a % b != 0 && (a % b < 0) != (b < 0)));\n}}",
    "mod": "static inline {t} mod_{t}({t} a, {t} b) {{\n  if (b == 0 || (b == ({t})-1 && b < 0)) return 0;\n"
    "  return ({t})(a % b + (a % b != 0 && (a % b < 0) != (b < 0) ? b : 0));\n}}",
    "max": "static inline {t} max_{t}({t} a, {t} b) {{ return a > b ? a : b; }}",
    "min": "static inline {t} min_{t}({t} a, {t} b) {{ return a < b ? a : b; }}",
    # NaN if either is NaN; -0 is below +0.
    "fmax": "static inline {t} fmax_{t}({t} a, {t} b) {{ return a != a || b != b ? a + b : a > b || (a == b "
    "&& !signbit(a)) ? a : b; }}",
    "fmin": "static inline {t} fmin_{t}({t} a, {t} b) {{ return a != a || b != b ? a + b : a < b || (a == b "
    "&& signbit(a)) ? a : b; }}",
    "shl": "static inline {t} shl_{t}({t} a, {t} n) {{ return n >= 0 && (u64)n < 8 * sizeof a ? ({t})((u64)a "
    "<< n) : 0; }}",
    "shr": "static inline {t} shr_{t}({t} a, {t} n) {{ return n >= 0 && (u64)n < 8 * sizeof a ? ({t})(a >> "
    "n) : a < 0 ? ({t})-1 : 0; }}",
    "mulhi": "static inline {t} mulhi_{t}({t} a, {t} b) {{ return ({t})((({w})a * ({w})b) >> (8 * sizeof "
    "a)); }}",
    "bits": "static inline {t} bits_{t}({s} a) {{ {t} b; memcpy(&b, &a, sizeof b); return b; }}",
    "saturate": "static inline {t} saturate_{t}(f64 a) {{ return a != a ? 0 : a <= {lo} ? {least} : a >= "
    "{hi} ? {most} : ({t})a; }}",
    # Ties to even. An f32 that is not exact is rounded to odd before, which is as good as rounding
    # once.
    "bf16_of": "static inline bf16 bf16_of(long double a) {{\n  f32 near = (f32)a;\n  u32 b; memcpy(&b, "
    "&near, 4);\n"
    "  if (near != a && !(b & 1)) b += fabsl(near) > fabsl(a) ? -1u : 1u;\n"
    "  return a != a ? 0x7fc0 : (bf16)((b + 0x7fff + (b >> 16 & 1)) >> 16);\n}}",
    "f32_of": "static inline f32 bf16_to_f32(bf16 a) {{ u32 b = (u32)a << 16; f32 x; memcpy(&x, &b, 4); "
    "return x; }}",
    # Floats of 8 bits, by their exponents: whole multiples of the last place, ties to even.
    "small_of": "static inline {t} small_{t}(long double a) {{\n  int e; frexpl(a, &e);\n"
    "  e = a == 0 || e - 1 < {exponent} ? {exponent} : e - 1;\n"
    "  long double n = rintl(ldexpl(fabsl(a), {fraction} - e));\n"
    "  i64 b = n > 1e9L || a != a ? 255 : (i64)n + ((i64)(e - ({exponent})) << {fraction});\n"
    "  return a != a ? {nan} : b > {last} ? {beyond} : (a < 0 || signbit(a) ? 128 : 0) | b;\n}}",
    "of_small": "static inline f32 {t}_to_f32({t} b) {{\n  int e = b >> {fraction} & 127 >> {fraction}, n = "
    "b & (1 << {fraction}) - 1;\n"
    "  f32 x = ldexpf(n + (e ? 1 << {fraction} : 0), (e ? e - 1 : 0) + {exponent} - {fraction});\n"
    "  if ((b & 127) > {last}) x = {special};\n"
    "  return b >> 7 ? -x : x;\n}}",
}
INFIX = {
    expr.Add: ("+", 6),
    expr.Sub: ("-", 6),
    expr.Mul: ("*", 7),
    expr.Div: ("/", 7),
    expr.And: ("&&", 2),
    expr.Or: ("||", 1),
}
BITS = {"bit_and": "&", "bit_or": "|", "bit_xor": "^"}
LEVELS = {"|": 3, "^": 3, "&": 3, ">>": 5, "==": 4, "!=": 4, "<": 4, "<=": 4, ">": 4, ">=": 4}
ATOM, UNARY, CHOICE = 9, 8, 0  # How strongly operators bind; a higher one needs no parentheses.
FORMATS: dict[DType, dict[str, object]] = {
    F8E4M3: {"fraction": 3, "exponent": -6, "last": 0x7E, "beyond": 0x7F, "nan": 0x7F, "special": "NAN"},
    F8E5M2: {
        "fraction": 2,
        "exponent": -14,
        "last": 0x7B,
        "beyond": "(a < 0 ? 128 : 0) | 0x7C",
        "nan": 0x7E,
        "special": "(b & 3 ? NAN : INFINITY)",
    },
}
LONG = 100  # Characters of a value that gets a name of its own.
# Words of C, and names of its library that kernels may have for their own.
TAKEN = """u8 u16 u32 u64 i8 i16 i32 i64 f8e4m3 f8e5m2 f16 bf16 f32 f64 flag args status auto break case char const continue default do
double else enum extern float for goto if inline int long register restrict return short signed sizeof static struct switch typedef union
unsigned void volatile while asm typeof main malloc calloc realloc free memcpy isinf isnan signbit gamma lgamma y0 y1 yn j0 j1 jn linux unix
I NULL"""

Text = tuple[str, int]  # A value in C, and how strongly its outermost operator binds.


def c_type(t: DType) -> str:
    """The name that the prologue gives a type."""
    return "flag" if t == BOOL else t.name


class CEmitter:
    """3. The emitter: one kernel as one function in C. `lines` are what has been written,
    `known` the values that need not be again.
    """

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.names: dict[object, str] = {}
        self.used = {*TAKEN.split(), *(n + f for n in MATH.values() for f in ("", "f"))}
        self.values, self.helpers = count(1), dict[str, str]()
        self.lines, self.depth = list[str](), 1
        self.known: dict[int, tuple[Expr, Text]] = {}
        self.counts, self.heap = Counter[int](), list[Tensor]()

    def text(self) -> str:
        """The whole file, which needs nothing of texpr."""
        k, symbol = self.kernel, symbol_of(self.kernel.name)
        self.heap = [
            t
            for t in (*k.temporaries, *(s.tensor for s in statements(k) if isinstance(s, Alloc)))
            if not on_stack(t)
        ]
        parameters = [f"const {c_type(t.dtype)} *restrict {self.name(t)}" for t in k.inputs]
        parameters += [f"{c_type(t.dtype)} *restrict {self.name(t)}" for t in (*k.outputs, *self.heap)]
        parameters += [f"i64 {self.name(v)}" for v in k.sizes]
        self.statements([*map(Alloc, k.temporaries), *k.body])
        body = [f"static void {symbol}_body({', '.join(parameters)}) {{", *self.lines, "}"]
        return "\n".join([PROLOGUE, *self.helpers.values(), "", *body, "", *self.entry(symbol), ""])

    def entry(self, symbol: str) -> list[str]:
        """The function over slots of 8 bytes that every target has: inputs, outputs, sizes.
        Large buffers live as long as its call.
        """
        arrays, sizes = (*self.kernel.inputs, *self.kernel.outputs), self.kernel.sizes
        lines = [f"i32 {symbol}(void **args) {{", "  i32 status = 0;"]
        lines += [f"  i64 {self.name(v)} = *(i64 *)&args[{len(arrays) + k}];" for k, v in enumerate(sizes)]
        for t in self.heap:
            self.known, self.lines = {}, []
            bytes_ = f"sizeof({c_type(t.dtype)}) * {self.value(product(t.shape), UNARY)}"
            lines += [*self.lines, f"  {c_type(t.dtype)} *{self.name(t)} = malloc({bytes_} + 1);"]
        given = [f"args[{k}]" for k in range(len(arrays))] + [*map(self.name, (*self.heap, *sizes))]
        missing = " || ".join(f"!{self.name(t)}" for t in self.heap)
        lines += [f"  if ({missing}) status = 2;"] if missing else []
        lines += [
            f"  {'else ' if missing else ''}{symbol}_body({', '.join(given)});",
            *(f"  free({self.name(t)});" for t in self.heap),
        ]
        return [*lines, "  return status;", "}"]

    def name(self, thing: Tensor | Var) -> str:
        """The name of a tensor or a variable: its own, with a number behind where C or another
        one has it.
        """
        if thing not in self.names:
            plain = "".join(c if c.isascii() and c.isalnum() else "_" for c in thing.name)
            plain = plain if plain[:1].isalpha() else f"v{plain}"
            self.names[thing] = self.free(chain([plain], (f"{plain}_{k}" for k in count(2))))
        return self.names[thing]

    def free(self, names: Iterable[str]) -> str:
        found = next(n for n in names if n not in self.used)
        self.used.add(found)
        return found

    def write(self, line: str) -> None:
        self.lines.append("  " * self.depth + line)

    def statements(self, body: Iterable[Stmt]) -> None:
        for s in body:
            before = dict(self.known)
            self.counts = Counter(id(c) for n in walk(s) if isinstance(n, Expr) for c in children(n))
            self.statement(s)
            self.known = before

    def statement(self, s: Stmt) -> None:
        match s:
            case For(var, extent, body, kind):
                i, mark = self.name(var), "" if kind == loop_kind.SERIAL else f"  /* {kind} */"
                self.block(f"for (i64 {i} = 0; {i} < {self.value(extent, 5)}; {i}++) {{{mark}", body)
            case If(cond, body):
                self.block(f"if ({self.value(cond)}) {{", body)
            case Store():
                self.store(s)
            case Alloc(tensor):
                if tensor not in self.heap:
                    self.write(
                        f"{c_type(tensor.dtype)} "
                        f"{self.name(tensor)}[{max(1, integer(product(tensor.shape)) or 1)}];"
                    )
            case loop.ExternCall(name):
                raise tx.CompileError(
                    f"`{name}` is extern: C does not call it",
                    code="extern",
                    help="choose a target of the package",
                )
            case loop.Prefetch() | loop.Barrier() | loop.Poll():
                pass  # a hint; and what threads need

    def block(self, head: str, body: Sequence[Stmt]) -> None:
        self.write(head)
        self.depth, self.known = self.depth + 1, {}
        self.statements(body)
        self.depth -= 1
        self.write("}")

    def store(self, s: Store) -> None:
        """`x[i] = v`, or with an update `x[i] += v` and `x[i] = max(x[i], v)`; a sum of 16 bits
        is made in an f32.
        """
        t, value, op = s.tensor.dtype, s.value, "="
        if s.update in ("add", "mul") and t in (F32, F64) and value.dtype == t:
            op = "+=" if s.update == "add" else "*="
        elif s.update is not None:
            wide = F32 if t.is_float and t.bits < 32 else t
            kind = {"add": expr.Add, "mul": expr.Mul, "max": expr.Max, "min": expr.Min}[s.update]
            value = kind(
                expr.Cast(Read(s.tensor, s.indices), dtype=wide), expr.Cast(value, dtype=wide), dtype=wide
            )
        text = self.value(value if value.dtype == t else expr.Cast(value, dtype=t))
        self.write(f"{self.element(s)} {op} {text};")

    def element(self, at: Read | Store) -> str:
        return f"{self.name(at.tensor)}[{self.value(flat_index(at.tensor, at.indices).expr())}]"

    def value(self, root: Expr, level: int = CHOICE) -> str:
        """An expression in C, in parentheses where its operator binds less than `level`. What is
        used twice gets a name.
        """
        stack = [root]
        while stack:
            e = stack[-1]
            if id(e) in self.known:
                stack.pop()
                continue
            below = () if isinstance(e, Read) or self.is_lazy(e) else children(e)
            pending = [c for c in below if isinstance(c, Expr) and id(c) not in self.known]
            if pending:
                stack += pending
                continue
            text = self.combined(e)
            if len(text[0]) > LONG or self.counts[id(e)] > 1 and (text[1] < ATOM or text[0][-1] in ")]"):
                name = self.free(f"t{k}" for k in self.values)
                self.write(f"const {c_type(e.dtype)} {name} = {text[0]};")
                text = name, ATOM
            self.known[id(e)] = e, text
        text, binds = self.known[id(root)][1]
        return text if binds >= level else f"({text})"

    def is_lazy(self, e: Expr) -> bool:
        """A choice that reads memory on a side reads that side only."""
        return isinstance(e, expr.Select) and any(
            isinstance(n, Read) and id(n) not in self.known for n in walk(e.then, e.orelse)
        )

    def combined(self, e: Expr) -> Text:
        match e:
            case expr.Const(value):
                return literal(value, e.dtype)
            case Var():
                return self.name(e), ATOM
            case Read():
                return (f"({self.element(e)} != 0)" if e.dtype == BOOL else self.element(e)), ATOM
            case expr.Add() | expr.Sub() | expr.Mul() | expr.Div() | expr.And() | expr.Or():
                return self.infix(*INFIX[type(e)], e.lhs, e.rhs, e.dtype)
            case expr.Compare(op, lhs, rhs):
                return f"{self.value(lhs, 5)} {op} {self.value(rhs, 5)}", LEVELS[op]
            case expr.Max(lhs, rhs) | expr.Min(lhs, rhs):
                word = "max" if isinstance(e, expr.Max) else "min"
                return self.helped(f"f{word}" if e.dtype.is_float else word, e.dtype, lhs, rhs)
            case expr.FloorDiv(lhs, rhs) | expr.Mod(lhs, rhs):
                return self.divided(e, lhs, rhs)
            case expr.Neg(a):
                return cast(f"-{self.value(a, ATOM)}", UNARY, e.dtype)
            case expr.Not(a):
                return f"!{self.value(a, ATOM)}", UNARY
            case expr.Cast(a):
                return self.converted(a, e.dtype)
            case expr.Select(c, t, o) if self.is_lazy(e):
                return self.branched(e, c, t, o)
            case expr.Select(c, t, o) | expr.Call("rarely", (c, t, o)):
                return f"{self.value(c, 1)} ? {self.value(t, 1)} : {self.value(o, 1)}", CHOICE
            case expr.Call(name, args):
                return self.call(name, args, e.dtype)
        raise AssertionError(f"no C for {type(e).__name__}")

    def infix(self, op: str, level: int, lhs: Expr, rhs: Expr, t: DType) -> Text:
        a, b = self.value(lhs, level), self.value(rhs, level + 1)
        if t == F16:
            return f"(f16)((f32){self.value(lhs, UNARY)} {op} (f32){self.value(rhs, UNARY)})", UNARY
        if t.is_int and isinstance(lhs, expr.Const):
            a = f"({c_type(t)}){a}"
        return cast(f"{a} {op} {b}", level, t)

    def helped(self, helper: str, t: DType, *args: Expr | str, suffix: str = "", **more: object) -> Text:
        """A call of a helper for a type, which is written at the top."""
        name = suffix or f"{helper}_{c_type(t)}"
        more["w"] = (
            f"{'' if t.is_signed else 'unsigned '}__int128" if t.bits == 64 else f"{t.kind}{2 * t.bits}"
        )
        self.helpers[name] = HELPERS[helper].format(t=c_type(t), **more)
        return f"{name}({', '.join(a if isinstance(a, str) else self.value(a) for a in args)})", ATOM

    def divided(self, e: Expr, lhs: Expr, rhs: Expr) -> Text:
        d, a = integer(rhs) or 0, self.value(lhs, UNARY)
        if d > 0 and d & (d - 1) == 0:
            return (
                (f"{a} >> {d.bit_length() - 1}", 5)
                if isinstance(e, expr.FloorDiv)
                else (f"{a} & {d - 1}", LEVELS["&"])
            )
        return self.helped("floordiv" if isinstance(e, expr.FloorDiv) else "mod", e.dtype, lhs, rhs)

    def converted(self, a: Expr, t: DType) -> Text:
        """Floats to integers saturate, NaN is 0; floats round to the nearest even."""
        s = a.dtype
        if s == t:
            return self.value(a, UNARY), UNARY
        text = (
            self.value(a, UNARY)
            if not s.as_bits
            else self.helped(
                "f32_of" if s == BF16 else "of_small",
                F32 if s == BF16 else s,
                a,
                suffix=f"{s}_to_f32",
                **FORMATS.get(s, {}),
            )[0]
        )
        if s.as_bits and t == F32:
            return text, ATOM
        if t == BOOL:
            return f"{text} != 0", LEVELS["!="]
        if t == BF16:
            return self.helped("bf16_of", BF16, text, suffix="bf16_of")
        if t.as_bits:
            return self.helped("small_of", t, text, suffix=f"small_{t}", **FORMATS[t])
        if s.is_float and t.is_int:
            least, most = int_range(t)
            ends = {
                "least": literal(least, t)[0],
                "most": literal(most, t)[0],
                "lo": float(least),
                "hi": float(most),
            }
            return self.helped("saturate", t, text, **ends)
        return f"({c_type(t)}){text}", UNARY

    def branched(self, e: expr.Select, c: Expr, t: Expr, o: Expr) -> Text:
        """`c ? t : o`, or a statement where a side needs names of its own."""
        cond, sides = self.value(c, 1), []
        for side in (t, o):
            known, lines, self.lines, self.depth = dict(self.known), self.lines, [], self.depth + 1
            sides.append((self.value(side, 1), self.lines))
            self.known, self.lines, self.depth = known, lines, self.depth - 1
        if not sides[0][1] and not sides[1][1]:
            return f"{cond} ? {sides[0][0]} : {sides[1][0]}", CHOICE
        name = self.free(f"t{k}" for k in self.values)
        self.write(f"{c_type(e.dtype)} {name};")
        for head, (text, lines) in zip((f"if ({cond}) {{", "} else {"), sides):
            self.write(head)
            self.lines += [*lines, f"{'  ' * self.depth}  {name} = {text};"]
        self.write("}")
        return name, ATOM

    def call(self, name: str, args: tuple[Expr, ...], t: DType) -> Text:
        a = args[0]
        match name:
            case "abs" if t.is_int:
                return cast(
                    f"{self.value(a, 5)} < 0 ? -{self.value(a, ATOM)} : {self.value(a, UNARY)}", CHOICE, t
                )
            case "isnan" | "isinf":
                return f"{name}({self.value(expr.Cast(a, dtype=F64) if a.dtype == F16 else a)})", ATOM
            case "to_bits" | "from_bits":
                return self.helped("bits", t, a, s=c_type(a.dtype))
            case "shl" | "shr" | "mulhi":
                return self.helped(name, t, *args)
            case _ if name in BITS:
                return cast(
                    f"{self.value(a, UNARY)} {BITS[name]} {self.value(args[1], UNARY)}", LEVELS[BITS[name]], t
                )
        text = f"{MATH[name]}{'f' if t == F32 else ''}({', '.join(map(self.value, args))})"
        return (f"(f16){text}", UNARY) if t == F16 else (text, ATOM)


def cast(text: str, level: int, t: DType) -> Text:
    """C computes narrow integers as `int`: what it gives is cut to the type."""
    return (f"({c_type(t)})({text})", UNARY) if t.is_int and t.bits < 32 else (text, level)


def literal(value: float, t: DType) -> Text:
    """A number in the shortest form that reads back as the same one."""
    if t.as_bits:
        return f"0x{int(stored(value, t)):0{t.bits // 4}x}", ATOM
    if not t.is_float:
        wide = "ull" if value > int_range(DType("i", 64))[1] else ""
        return ("INT64_MIN" if value == -(1 << 63) else f"{int(value)}{wide}"), ATOM if value >= 0 else UNARY
    if not np.isfinite(value):
        return ("NAN" if np.isnan(value) else "INFINITY" if value > 0 else "-INFINITY"), UNARY
    text = str(np.float32(value)) if t == F32 else repr(float(value))
    text = text if "." in text or "e" in text else f"{text}.0"
    return (f"(f16){text}" if t == F16 else f"{text}f" if t == F32 else text), ATOM if not text.startswith(
        "-"
    ) and t != F16 else UNARY


def on_stack(tensor: Tensor) -> bool:
    """Whether a buffer is small and of constant size."""
    count = integer(product(tensor.shape))
    return tensor.scope != "heap" and count is not None and count * tensor.dtype.bytes <= 16 * 1024


def build(text: str, target: Target) -> Code:
    """4. The compiler: C to an object and assembly."""
    with TemporaryDirectory(prefix="texpr-") as folder:
        source = Path(folder) / "kernel.c"
        source.write_text(text)
        done = subprocess.run(
            [*COMPILER, "-c", "-save-temps", "kernel.c"], cwd=folder, capture_output=True, text=True
        )
        if done.returncode:
            raise tx.CompileError(f"cc does not take the kernel: {done.stderr.strip():.200}", code="target")
        return Code("", source.with_suffix(".s").read_text(), source.with_suffix(".o").read_bytes())


@lru_cache(maxsize=256)
def load(object_code: bytes) -> ctypes.CDLL:
    """5. The loader: the object as a library of this process, which keeps it."""
    with TemporaryDirectory(prefix="texpr-") as folder:
        (Path(folder) / "kernel.o").write_bytes(object_code)
        subprocess.run(["cc", "-shared", "kernel.o", "-lm", "-o", "kernel.so"], cwd=folder, check=True)
        return ctypes.CDLL(f"{folder}/kernel.so")


def run(
    artifact: Artifact,
    symbol: str,
    inputs: Sequence[np.ndarray],
    outputs: Sequence[np.ndarray],
    sizes: Mapping[Var, int],
) -> None:
    """A call: the slots are filled, status 2 means that memory ran out."""
    slots = [a.ctypes.data for a in (*inputs, *outputs)] + list(sizes.values())
    if getattr(load(artifact.object_code), symbol)((ctypes.c_int64 * max(1, len(slots)))(*slots)):
        raise tx.ResourceError(f"{symbol} ran out of memory", code="memory")


@register_target
def target(name: str) -> Target | None:
    """The target called `c`. A package that is installed names this function as an entry point
    instead.
    """
    return (
        Target(
            "c",
            " ".join(COMPILER),
            "",
            "",
            MACHINE,
            lambda kernel, target, alone: (CEmitter(kernel).text(), ()),
            build=build,
            run=run,
            emulate=run,
        )
        if name == "c"
        else None
    )
