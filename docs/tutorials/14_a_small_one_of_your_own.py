# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # A small one of your own
#
# *Advanced: this tutorial is about the inside of a compiler, not about the use of texpr. It is
# long.*
#
# **Claim:** the ideas of texpr fit into one notebook. It has a language of equations, an
# interpreter, proofs that no access is out of bounds, machine code, a schedule that changes no bit,
# and gradients that are operators. The small language is a part of texpr's, and texpr confirms
# every value.
#
# {{result}}
#
# You know Python well, and have read [What is legal](02_what_is_legal.ipynb) and
# [Gradients are operators](05_gradients.ipynb). You need `pip install texpr[notebook]`.

# %%
import ctypes
import itertools
import operator
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import islpy as isl
import lark
import llvmlite.binding as llvm
import matplotlib.pyplot as plt
import numpy as np

import texpr as tx

# %% tags=["setup"]
import os
import time
import timeit
from functools import partial

from texpr.tools import machine

FAST = os.environ.get("TEXPR_TUTORIAL_FAST") == "1"  # small sizes: for tests
SIDE, STEPS = (64, 50) if FAST else (512, 600)

# %% [markdown]
# ## 1. What an operator is
#
# An operator is a list of equations over tensors. A value is a number, an element, a function of
# values, or a sum over an index. An index is a variable plus a constant, and so is an extent, whose
# variable is a size. There are no statements, no order, and no loops.

# %%
class Node:
    def __init_subclass__(cls) -> None:
        dataclass(frozen=True)(cls)

    def __str__(self) -> str:
        return shown(self)

    __add__, __sub__, __mul__, __truediv__ = (
        lambda self, other, sign=sign: Call(sign, (self, other)) for sign in "+-*/"
    )


class Index(Node):
    name: str
    offset: int = 0


class Num(Node):
    value: float


class Read(Node):
    tensor: str
    indices: tuple[Index, ...]


class Call(Node):
    function: str
    arguments: tuple["Value", ...]


class Sum(Node):
    variable: str
    body: "Value"


Value, Dims = Num | Read | Call | Sum, dict[str, tuple[Index, ...]]


class Equation(Node):
    target: Read
    adds: bool
    value: Value


class Op(Node):
    name: str
    inputs: Dims
    outputs: Dims
    lets: Dims = field(default_factory=dict)
    equations: tuple[Equation, ...] = ()

    @property
    def dims(self) -> Dims:
        return self.inputs | self.outputs | self.lets

    @property
    def sizes(self) -> list[str]:
        return list(dict.fromkeys(d.name for dims in self.dims.values() for d in dims))


def shown(node: Node) -> str:
    match node:
        case Index(name, offset):
            return name + (
                f" {'+' if offset > 0 else '-'} {abs(offset)}" if offset else ""
            )
        case Num(value):
            return repr(float(value))
        case Read(tensor, indices):
            return f"{tensor}[{', '.join(map(str, indices))}]"
        case Call(("+" | "-" | "*" | "/") as sign, (a, b)):
            return f"({a} {sign} {b})"
        case Call(function, (a,)):
            return f"{function}({a})"
        case Sum(variable, body):
            return f"sum({variable}: {body})"
        case Equation(target, adds, value):
            return f"{target} {'+=' if adds else '='} {value}"
        case Op():
            declared = {
                t: f"{t}: f64[{', '.join(map(str, dims))}]"
                for t, dims in node.dims.items()
            }
            inputs, outputs = (
                ", ".join(map(declared.get, tensors))
                for tensors in (node.inputs, node.outputs)
            )
            lines = [
                *(f"let {declared[t]}" for t in node.lets),
                *map(str, node.equations),
            ]
            return (
                "\n  ".join([f"op {node.name}({inputs}) -> ({outputs}) {{", *lines])
                + "\n}"
            )

# %% [markdown]
# ## 2. The parser
#
# Lark makes tables of a grammar, and builds the tree by functions with the names of the rules.

# %%
GRAMMAR = r"""
op: "op" NAME "(" dims ")" "->" "(" dims ")" "{" lets equation* "}"
dims: tensor ("," tensor)*
tensor: NAME ":" "f64" "[" index ("," index)* "]"
lets: ("let" tensor)*
equation: read "=" sum      -> defines
        | read "+=" sum     -> updates
?sum: product | sum "+" product -> add | sum "-" product -> sub
?product: factor | product "*" factor -> mul | product "/" factor -> div
?factor: NUMBER -> number | read | NAME "(" sum ")" -> call
        | "sum" "(" NAME ":" sum ")" -> reduce | "(" sum ")"
read: NAME "[" index ("," index)* "]"
index: NAME | NAME "+" INT -> above | NAME "-" INT -> below
%import common.CNAME -> NAME
%import common (NUMBER, INT, WS)
%ignore WS
"""


@lark.v_args(inline=True)
class Builder(lark.Transformer):
    NAME, NUMBER, INT = str, float, int
    index, number, reduce = Index, Num, Sum

    above, below = Index, staticmethod(lambda name, offset: Index(name, -offset))
    read, call, tensor = (
        staticmethod(lambda name, *rest, make=make: make(name, rest))
        for make in (Read, Call, lambda *both: both)
    )
    dims = lets = staticmethod(lambda *tensors: dict(tensors))
    defines, updates = (
        staticmethod(lambda target, value, adds=adds: Equation(target, adds, value))
        for adds in (False, True)
    )
    op = staticmethod(
        lambda name, inputs, outputs, lets, *equations: Op(
            name, inputs, outputs, lets, equations
        )
    )
    add, sub, mul, div = map(
        staticmethod, (operator.add, operator.sub, operator.mul, operator.truediv)
    )


PARSER = lark.Lark(GRAMMAR, parser="lalr", start="op", transformer=Builder())
layer = PARSER.parse("""
op layer(X: f64[B, K], W: f64[K, M], b: f64[M]) -> (Y: f64[B, M]) {
  Y[n, m] = tanh(sum(k: X[n, k] * W[k, m]) + b[m])
}""")
print(layer)
assert PARSER.parse(str(layer)) == layer

# %% [markdown]
# ## 3. The interpreter
#
# A variable runs over the extent at whose place it stands alone. A plain equation gives every
# element of its left side a value; `+=` adds to the value that is there. The interpreter is this
# sentence, point by point. It is slow and simple, and everything else has to agree with it.

# %%
def reads(e: Node) -> list[Read]:
    parts = (
        e.arguments if isinstance(e, Call) else [e.body] if isinstance(e, Sum) else []
    )
    return [e] if isinstance(e, Read) else [r for part in parts for r in reads(part)]


def ranges(op: Op, equation: Equation) -> dict[str, Index]:
    """The extent of every variable of an equation."""
    found: dict[str, Index] = {}
    for access in [equation.target, *reads(equation.value)]:
        for i, extent in zip(access.indices, op.dims[access.tensor], strict=True):
            found |= {} if i.offset or i.name in found else {i.name: extent}
    return found


def bind(
    op: Op, arrays: tuple[np.ndarray, ...]
) -> tuple[dict[str, int], dict[str, np.ndarray]]:
    """The sizes of a call, and all its arrays."""
    sizes = {
        d.name: n - d.offset
        for dims, a in zip(op.inputs.values(), arrays, strict=True)
        for d, n in zip(dims, a.shape, strict=True)
    }
    made = {
        t: np.zeros([sizes[d.name] + d.offset for d in dims])
        for t, dims in (op.outputs | op.lets).items()
    }
    return sizes, dict(zip(op.inputs, arrays)) | made


FUNCTIONS = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "exp": np.exp,
    "log": np.log,
    "tanh": np.tanh,
}


def place(access: Read, point: dict[str, int]) -> tuple[int, ...]:
    return tuple(point[i.name] + i.offset for i in access.indices)


def evaluate(
    e: Value,
    point: dict[str, int],
    extents: dict[str, int],
    known: dict[str, np.ndarray],
) -> float:
    match e:
        case Num(number):
            return number
        case Read(tensor):
            return known[tensor][place(e, point)]
        case Sum(v, body):
            return sum(
                (
                    evaluate(body, {**point, v: k}, extents, known)
                    for k in range(extents[v])
                ),
                0.0,
            )
        case Call(function, arguments):
            return FUNCTIONS[function](
                *(evaluate(a, point, extents, known) for a in arguments)
            )


def interpret(op: Op, *arrays: np.ndarray) -> tuple[np.ndarray, ...]:
    sizes, known = bind(op, arrays)
    for equation in op.equations:
        extents = {v: sizes[e.name] + e.offset for v, e in ranges(op, equation).items()}
        left, result = (
            [i.name for i in equation.target.indices],
            known[equation.target.tensor],
        )
        for numbers in itertools.product(*(range(extents[v]) for v in left)):
            point = dict(zip(left, numbers))
            at, new = (
                place(equation.target, point),
                evaluate(equation.value, point, extents, known),
            )
            result[at] = result[at] + new if equation.adds else new
    return tuple(known[t] for t in op.outputs)


rng = np.random.default_rng(0)
X, W, b = (
    rng.standard_normal((5, 3)),
    rng.standard_normal((3, 4)),
    rng.standard_normal(4),
)
np.testing.assert_allclose(interpret(layer, X, W, b)[0], np.tanh(X @ W + b), rtol=1e-14)

# %% [markdown]
# ## 4. Proofs
#
# Is there a point of the iterations, for any sizes, at which an index is not below its extent? isl
# answers such questions for all sizes at once. Where there is such a point, it gives an example.

# %%
def prove(op: Op) -> None:
    """Nothing outside of a tensor is read or written, whatever the sizes."""
    for equation in op.equations:
        runs = ranges(op, equation)
        inside = " and ".join(f"0 <= {v} < {extent}" for v, extent in runs.items())
        for access in [equation.target, *reads(equation.value)]:
            for i, extent in zip(access.indices, op.dims[access.tensor]):
                sizes, variables = ", ".join(op.sizes), ", ".join(runs)
                outside = f"{inside} and not 0 <= {i} < {extent}"
                wrong = isl.Set(f"[{sizes}] -> {{ [{variables}] : {outside} }}")
                if not wrong.is_empty():
                    raise IndexError(
                        f"{equation}\n  {access} is outside of {extent}, "
                        f"such as at {wrong.sample_point()}"
                    )


prove(layer)
BLUR = """op blur(X: f64[N]) -> (Y: f64[N - 2]) {{
  Y[i] = (X[i] + X[i + 1] + X[i + {}]) / 3
}}"""
prove(PARSER.parse(BLUR.format(2)))
try:
    prove(PARSER.parse(BLUR.format(3)))
except IndexError as error:
    print(error)

# %% [markdown]
# ## 5. Machine code
#
# Loops around stores, as text of LLVM, whose passes move the values into registers. One thing can
# be chosen: the **order** of the loops of a sum. Then elements begin at 0, and the loops, in any
# order, add terms to them.
#
# Each element still adds its own terms one after the other, so no bit depends on the order. The
# time does: where the last loop runs along rows, LLVM makes vectors of it.

# %%
class Emitter:
    def __init__(self, op: Op) -> None:
        self.op, self.lines, self.slots, self.count = op, [], [], 0

    def emit(self, text: str) -> None:
        self.lines.append(f"  {text}")

    def define(self, text: str, lines: list[str] | None = None) -> str:
        self.count += 1
        (self.lines if lines is None else lines).append(f"  %r{self.count} = {text}")
        return f"%r{self.count}"

    def slot(self, kind: str) -> str:
        return self.define(f"alloca {kind}", self.slots)

    def number(self, i: Index, of: dict[str, str]) -> str:
        return self.define(f"add i64 {of.get(i.name, '%' + i.name)}, {i.offset}")

    def loop(self, extent: Index, body: Callable[[str], None]) -> None:
        """for k in 0..extent: body(k)"""
        counter, end = self.slot("i64"), self.number(extent, {})
        head, inside, behind = (
            f"{part}{self.count}" for part in ("head", "inside", "behind")
        )
        self.emit(f"store i64 0, ptr {counter}\n  br label %{head}\n{head}:")
        k = self.define(f"load i64, ptr {counter}")
        self.emit(
            f"br i1 {self.define(f'icmp slt i64 {k}, {end}')}, "
            f"label %{inside}, label %{behind}\n{inside}:"
        )
        body(k)
        self.emit(
            f"store i64 {self.define(f'add i64 {k}, 1')}, ptr {counter}\n"
            f"  br label %{head}\n{behind}:"
        )

    def address(self, access: Read, point: dict[str, str]) -> str:
        flat = "0"
        for i, extent in zip(access.indices, self.op.dims[access.tensor]):
            flat = self.define(f"mul i64 {flat}, {self.number(extent, {})}")
            flat = self.define(f"add i64 {flat}, {self.number(i, point)}")
        return self.define(f"getelementptr double, ptr %{access.tensor}, i64 {flat}")

    def add(self, place: str, value: str) -> None:
        total = self.define(
            f"fadd double {self.define(f'load double, ptr {place}')}, {value}"
        )
        self.emit(f"store double {total}, ptr {place}")

    def value(self, e: Value, point: dict[str, str], extents: dict[str, Index]) -> str:
        match e:
            case Num(number):
                return f"0x{struct.pack('>d', number).hex()}"
            case Read():
                return self.define(f"load double, ptr {self.address(e, point)}")
            case Call(function, arguments):
                given = ", ".join([self.value(a, point, extents) for a in arguments])
                named = {
                    "+": "fadd double",
                    "-": "fsub double",
                    "*": "fmul double",
                    "/": "fdiv double",
                }.get(function)
                return self.define(
                    f"{named} {given}"
                    if named
                    else f"call double @{function}(double {given})"
                )
            case Sum(v, body):
                total = self.slot("double")
                self.emit(f"store double 0.0, ptr {total}")
                self.loop(
                    extents[v],
                    lambda k: self.add(
                        total, self.value(body, point | {v: k}, extents)
                    ),
                )
                return self.define(f"load double, ptr {total}")

    def nest(
        self,
        order: list[str],
        extents: dict[str, Index],
        e: Equation,
        point: dict[str, str],
    ) -> None:
        """The equation at every point, in loops of this order."""
        if order:
            self.loop(
                extents[order[0]],
                lambda k: self.nest(order[1:], extents, e, point | {order[0]: k}),
            )
            return
        new, at = self.value(e.value, point, extents), self.address(e.target, point)
        self.add(at, new) if e.adds else self.emit(f"store double {new}, ptr {at}")

    def equation(self, e: Equation, order: str) -> None:
        extents, left = ranges(self.op, e), [i.name for i in e.target.indices]
        if (
            order
            and isinstance(e.value, Sum)
            and not e.adds
            and {*order} == {*left, e.value.variable}
        ):
            self.nest(left, extents, Equation(e.target, False, Num(0.0)), {})
            self.nest(list(order), extents, Equation(e.target, True, e.value.body), {})
        else:
            self.nest(left, extents, e, {})

    def text(self, order: str) -> str:
        for equation in self.op.equations:
            self.equation(equation, order)
        arguments = ", ".join(
            [
                *(f"ptr noalias %{t}" for t in self.op.dims),
                *(f"i64 %{n}" for n in self.op.sizes),
            ]
        )
        declared = [f"declare double @{f}(double)" for f in FUNCTIONS if len(f) > 1]
        return "\n".join(
            [
                *declared,
                f"define void @{self.op.name}({arguments}) {{",
                *self.slots,
                *self.lines,
                "  ret void",
                "}",
            ]
        )


llvm.initialize_native_target()
llvm.initialize_native_asmprinter()
MACHINE = llvm.Target.from_default_triple().create_target_machine(
    cpu=llvm.get_host_cpu_name(), opt=3, jit=True
)
LINKER, copies = llvm.create_lljit_compiler(MACHINE), itertools.count()


def compiled(op: Op, order: str = "") -> Callable[..., tuple[np.ndarray, ...]]:
    """A function of arrays. What is not proven is not compiled."""
    prove(op)
    module = llvm.parse_assembly(Emitter(op).text(order))
    module.triple, module.data_layout = (
        llvm.get_process_triple(),
        str(MACHINE.target_data),
    )
    builder = llvm.create_pass_builder(
        MACHINE, llvm.create_pipeline_tuning_options(speed_level=3)
    )
    builder.getModulePassManager().run(module, builder)
    library = (
        llvm.JITLibraryBuilder()
        .add_object_img(MACHINE.emit_object(module))
        .add_current_process()
        .export_symbol(op.name)
    )
    code = library.link(LINKER, f"small{next(copies)}")
    run = ctypes.CFUNCTYPE(
        None, *[ctypes.c_void_p] * len(op.dims), *[ctypes.c_int64] * len(op.sizes)
    )(code[op.name])

    def call(*arrays: np.ndarray, keep=code) -> tuple[np.ndarray, ...]:
        sizes, known = bind(
            op, tuple(np.ascontiguousarray(a, np.float64) for a in arrays)
        )
        run(*(known[t].ctypes.data for t in op.dims), *(sizes[n] for n in op.sizes))
        return tuple(known[t] for t in op.outputs)

    return call


product = PARSER.parse(
    "op product(A: f64[N, K], B: f64[K, M]) -> (C: f64[N, M]) {"
    "  C[i, j] = sum(k: A[i, k] * B[k, j])"
    "}"
)
A, B = rng.standard_normal((7, 5)), rng.standard_normal((5, 6))
for order in ("", "ijk", "ikj", "kij", "jki"):
    assert (compiled(product, order)(A, B)[0] == interpret(product, A, B)[0]).all(), (
        "the same bits"
    )

# %% [markdown]
# ## 6. Gradients
#
# The gradient of an operator is an operator. Take an equation `Y[i] = e`: a small change of `e`
# changes `Y[i]` by as much. So for every element `X[j]` that `e` reads, `dX[j]` gets `dY[i]` times
# the derivative of `e` by the element.
#
# * A product gives each factor the other one.
# * A sum gives every term the same, so its variable runs where the term is read.
# * Equations are taken backwards: a tensor's gradient is complete when all its readers are done.
# * Where a tensor is kept, a derivative reads it and does not compute it again.

# %%
suffixes = itertools.count(1)


def again(e: Value, names: dict[str, str] | None = None) -> Value:
    """A copy whose sums run over new variables, since the old ones may be in use."""
    match e, names or {}:
        case Read(tensor, indices), new:
            return Read(
                tensor, tuple(Index(new.get(i.name, i.name), i.offset) for i in indices)
            )
        case Sum(v, body), new:
            fresh = f"{v}{next(suffixes)}"
            return Sum(fresh, again(body, new | {v: fresh}))
        case Call(function, arguments), new:
            return Call(function, tuple(again(a, new) for a in arguments))
    return e


SLOPES = {  # of x, and of what the function gives there
    "exp": lambda x, y: again(y),
    "log": lambda x, y: Num(1.0) / again(x),
    "tanh": lambda x, y: Num(1.0) - again(y) * again(y),
}


def shares(
    e: Value, d: Value, around: tuple[str, ...], y: Value | None = None
) -> Iterator[tuple[Read, Value, tuple[str, ...]]]:
    """For each read in `e`: its share of `d`, and the variables of the sums around it.

    The value of `e` may be kept as `y`.
    """
    match e:
        case Read():
            yield e, d, around
        case Sum(v, body):
            yield from shares(body, d, (*around, v))
        case Call("+" | "-" as sign, (a, b)):
            yield from shares(a, d, around)
            yield from shares(b, d if sign == "+" else Num(-1.0) * d, around)
        case Call("*", (a, b)):
            yield from shares(a, d * again(b), around)
            yield from shares(b, d * again(a), around)
        case Call("/", (a, b)):
            yield from shares(a, d / again(b), around)
            yield from shares(b, Num(-1.0) * d * again(e) / again(b), around)
        case Call(function, (x,)):
            yield from shares(x, d * SLOPES[function](x, y or e), around)


def gradient(op: Op) -> Op:
    """The operator of the inputs and a gradient per output: a gradient per input."""
    kept = [e for e in op.equations if e.target.tensor in op.lets]
    inputs, outputs, lets = (
        {f"d{t}": dims for t, dims in tensors.items()}
        for tensors in (op.outputs, op.inputs, op.lets)
    )
    zeros = [
        Equation(
            Read(t, tuple(Index(f"i{k}") for k in range(len(dims)))), False, Num(0.0)
        )
        for t, dims in (outputs | lets).items()
    ]
    added = []
    for equation in reversed(op.equations):
        assert not any(r.tensor in op.outputs for r in reads(equation.value)), (
            "a tensor that others read is a let"
        )
        target = equation.target
        left, kept_as = (
            tuple(i.name for i in target.indices),
            target if target.tensor in op.lets and not equation.adds else None,
        )
        for read, share, around in shares(
            equation.value, Read(f"d{target.tensor}", target.indices), left, kept_as
        ):
            for v in around:
                share = share if v in [i.name for i in read.indices] else Sum(v, share)
            added.append(Equation(Read(f"d{read.tensor}", read.indices), True, share))
    return Op(
        f"{op.name}_grad",
        op.inputs | inputs,
        outputs,
        op.lets | lets,
        (*kept, *zeros, *added),
    )


backward = gradient(layer)
print(backward)
assert PARSER.parse(str(backward)) == backward  # an operator like any other
# The change along a direction shows that it is right.
dY, direction = rng.standard_normal((5, 4)), rng.standard_normal((5, 3))
forward, dX = compiled(layer), compiled(backward)(X, W, b, dY)[0]
change = (
    forward(X + 1e-6 * direction, W, b)[0] - forward(X - 1e-6 * direction, W, b)[0]
) / 2e-6
print(f"{np.vdot(change, dY):.9f} {np.vdot(direction, dX):.9f}")
assert np.isclose(np.vdot(change, dY), np.vdot(direction, dX), rtol=1e-7)

# %% [markdown]
# ## 7. Training
#
# Two layers and a loss are one operator. Its gradient trains it to separate two spirals.

# %%
network = PARSER.parse("""
op network(X: f64[B, K], T: f64[B], W: f64[K, H], b: f64[H],
           V: f64[H, G], c: f64[G], u: f64[G]) -> (L: f64[B]) {
  let P: f64[B, H]
  let Q: f64[B, G]
  let Z: f64[B]
  P[n, h] = tanh(sum(k: X[n, k] * W[k, h]) + b[h])
  Q[n, g] = tanh(sum(h: P[n, h] * V[h, g]) + c[g])
  Z[n] = tanh(sum(g: Q[n, g] * u[g])) - T[n]
  L[n] = Z[n] * Z[n]
}""")
turn = np.sqrt(rng.uniform(0.05, 1, 200)) * 7
sign = np.where(np.arange(200) % 2, 1.0, -1.0)
points = sign[:, None] * np.stack([turn * np.cos(turn), turn * np.sin(turn)], 1) / 7
weights = [
    rng.standard_normal(shape) * scale
    for shape, scale in (
        ((2, 24), 2.0),
        (24, 1.0),
        ((24, 24), 0.3),
        (24, 0.1),
        (24, 0.3),
    )
]
loss, slope, losses = compiled(network), compiled(gradient(network)), []
speed = [np.zeros_like(w) for w in weights]
for _ in range(STEPS):
    losses.append(loss(points, sign, *weights)[0].mean())
    for w, v, g in zip(
        weights,
        speed,
        slope(points, sign, *weights, np.full(200, 1 / 200))[2:],
        strict=True,
    ):
        v[...] = 0.9 * v + g
        w -= 0.1 * v
print(f"loss {losses[0]:.3f} -> {losses[-1]:.5f}")
assert losses[-1] < (losses[0] if FAST else 0.05)

# %% [markdown]
# ## 8. Comparison with texpr
#
# The texts are texts of texpr, too. It has to find the same values, and the same gradients by rules
# of its own.

# %%
weighed = PARSER.parse("""
op weighed(X: f64[N, K], V: f64[K]) -> (Y: f64[N]) {
  let S: f64[N]
  S[n] = sum(k: exp(X[n, k]))
  Y[n] = sum(k: exp(X[n, k]) * V[k]) / S[n]
}""")
checked = 0
for op, arrays in (
    (layer, (X, W, b)),
    (network, (points[:9], sign[:9], *weights)),
    (weighed, (W, b)),
):
    large = tx.op(str(op))
    np.testing.assert_allclose(
        compiled(op)(*arrays)[0], large(*arrays), rtol=1e-12, atol=1e-13
    )
    seed = rng.standard_normal(large(*arrays).shape)
    mine, theirs = compiled(gradient(op))(*arrays, seed), tx.grad(large)(*arrays, seed)
    for ours, wanted in zip(
        mine, theirs if isinstance(theirs, tuple) else (theirs,), strict=True
    ):
        np.testing.assert_allclose(ours, wanted, rtol=1e-9, atol=1e-12)
        checked += 1
    again_theirs = tx.op(str(gradient(op)))(*arrays, seed)
    np.testing.assert_allclose(mine[0], again_theirs[0], rtol=1e-12, atol=1e-13)

# %% [markdown]
# ## 9. The claim
#
# The processor time on one core shows the difference. The order of loops is worth a factor. Blocks
# that stay in caches, sums in registers, packed operands and threads, each a proven step, are the
# subject of [Eight steps](03_eight_steps_to_a_fast_product.ipynb).

# %%
A, B = rng.standard_normal((SIDE, SIDE)), rng.standard_normal((SIDE, SIDE))
large = tx.op(str(product))
runs = {order: compiled(product, order) for order in ("ijk", "jki", "ikj")} | {
    "texpr": large
}
with tx.options(threads=1):
    seconds = {
        name: min(timeit.repeat(partial(run, A, B), timer=time.process_time, number=1))
        for name, run in runs.items()
    }
rates = {name: 2e-9 * SIDE**3 / each for name, each in seconds.items()}
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.5))
left.semilogy(losses)
left.set(xlabel="step", ylabel="loss", title="two spirals, by a gradient of our own")
right.bar_label(right.barh(list(rates), list(rates.values())), fmt="%.1f")
right.set(xlabel="GFLOP/s", title=f"product of {SIDE} x {SIDE}, f64", xmargin=0.15)
plt.show()

# %% tags=["result"]
print(
    f"{checked} gradients of three operators equal texpr's; "
    f"the product of {SIDE} x {SIDE}: "
    + ", ".join(f"{name} {rate:.1f} GFLOP/s" for name, rate in rates.items())
)
print(f"two spirals: loss {losses[0]:.3f} -> {losses[-1]:.5f}")
print(machine.describe())
assert checked > 8 and (FAST or rates["texpr"] > rates["ijk"])

# %% [markdown]
# ## Exercises
#
# 1. Teach the small one `sin` and `cos`, with their derivatives.
# 2. Differentiate the gradient of that operator again, and compare it with texpr's.

# %% tags=["solution"]
FUNCTIONS |= {"sin": np.sin, "cos": np.cos}
SLOPES["sin"] = lambda x, y: Call("cos", (again(x),))
SLOPES["cos"] = lambda x, y: Num(-1.0) * Call("sin", (again(x),))
wave = PARSER.parse("op wave(X: f64[N]) -> (Y: f64[N]) { Y[i] = sin(X[i] * X[i]) }")
at, seed = rng.standard_normal(5), np.ones(5)
np.testing.assert_allclose(
    compiled(gradient(wave))(at, seed)[0], 2 * at * np.cos(at * at), rtol=1e-12
)
print(gradient(wave))

# %% tags=["solution"]
twice = gradient(gradient(wave))
seeds = [rng.standard_normal(5)]
mine = compiled(twice)(at, seed, *seeds)
theirs = tx.grad(tx.grad(tx.op(str(wave))))(at, seed, *seeds)
for ours, wanted in zip(mine, theirs, strict=True):
    np.testing.assert_allclose(ours, wanted, rtol=1e-9, atol=1e-12)
print(len(mine), "second derivatives agree")
