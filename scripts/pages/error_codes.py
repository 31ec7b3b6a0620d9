"""Codes of errors with their meanings and examples: the data of `docs/reference/errors.md`.

Codes that are names of steps are not here: their examples stand on the pages of steps.
"""

from __future__ import annotations

from typing import NamedTuple


class Code(NamedTuple):
    """A kind of mistake.

    Attributes:
        meaning: one or two sentences.
        example: Python that gives such an error; empty where only some machines can.
    """

    meaning: str
    example: str = ""


def _op(text: str) -> str:
    return f'tx.op("""{text}""")' if "\n" in text else f'tx.op("{text}")'


SETUP = """import numpy as np
import texpr as tx
from texpr import nn, ops

matmul = tx.op(\"\"\"op matmul(A: f32[M, K], B: f32[K, N]) -> C: f32[M, N] {
  C[i, j] = sum(k: A[i, k] * B[k, j])
}\"\"\")
"""
CODES: dict[str, dict[str, Code]] = {
    "Texts of operators": {
        "name": Code(
            "A name is unknown, taken, or a word of the language.",
            _op("op f(X: f32[N]) -> Y: f32[N] { Y[i] = Z[i] }"),
        ),
        "index": Code(
            "The number or the form of indices does not fit the tensor.",
            _op("op f(X: f32[N]) -> Y: f32[N] { Y[i] = X[i, 0] }"),
        ),
        "dtype": Code(
            "Types do not meet in an expression, or an array has another type than the operator wants.",
            _op("op f(X: f32[N], n: i32) -> Y: f32[N] { Y[i] = X[i] * n }"),
        ),
        "call": Code(
            "A call of a function or of an operator does not fit its arguments or its results.",
            _op("op f(X: f32[N]) -> Y: f32[N] { Y[i] = exp(X[i], 2) }"),
        ),
        "rank": Code(
            "A tensor has another number of dimensions than its place wants.",
            "ops.matmul(np.ones((2, 3), 'f4'), np.ones(3, 'f4'))",
        ),
        "shape": Code(
            "Extents that must be equal are not, or a tensor needs a declaration of its shape.",
            "ops.matmul(np.ones((2, 3), 'f4'), np.ones((4, 2), 'f4'))",
        ),
        "constant": Code(
            "A constant of an operator has no value, or one that is no number of its kind.",
            _op(
                "op g(X: f32[N]; S) -> Y: f32[N] { Y[i] = X[i] * S }\nop f(X: f32[N]) -> Y: f32[N] { Y = g(X) }"
            ),
        ),
        "use": Code(
            "A file that a text uses cannot be used.",
            'tx.op("""use "other.tx": f\nop g(X: f32[N]) -> Y: f32[N] { Y = f(X) }""")',
        ),
        "file": Code(
            "A file of operators is not text in UTF-8.",
            "from pathlib import Path\n\nPath('wrong.tx').write_bytes(b'\\xff')\ntx.load('wrong.tx')",
        ),
        "op": Code("A text defines no operator, or not the one that is asked for.", "tx.op('fn f(x) = x')"),
        "python": Code(
            "A function in the Python form does something that has no meaning in an operator.",
            '@tx.op\ndef f(X: "f32[N]") -> "Y: f32[N]":\n    return lambda i: 1 if X[i] > 0 else 0',
        ),
    },
    "Proofs about operators": {
        "bounds": Code(
            "A read may lie outside of its tensor. The smallest sizes at which it does are shown.",
            _op("op f(X: f32[N]) -> Y: f32[N] { Y[i] = X[i + 1] }"),
        ),
        "coverage": Code(
            "An element of a tensor is never defined, or updated before it is.",
            _op("op f(X: f32[N]) -> Y: f32[N] { Y[i] += X[i] }"),
        ),
        "twice": Code(
            "An element is defined by two equations, or twice by one.",
            _op("op f(X: f32[N]) -> Y: f32[N] { Y[i] = X[i]  Y[0] = 1 }"),
        ),
        "cycle": Code(
            "Tensors depend on each other so that no order of evaluation exists.",
            _op("op f(X: f32[N]) -> Y: f32[N] { Y[i] = Y[i] + X[i] }"),
        ),
        "range": Code(
            "Values leave the range that is declared of them, or an index has no range or two.",
            _op("op f(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] for i in 0..N, i in 0..2 }"),
        ),
        "empty": Code(
            "A reduction without a neutral element may have no terms.",
            _op("op f(X: f32[N]) -> y: f32 { y = max(i in 1..N: X[i]) }"),
        ),
        "require": Code(
            "Sizes or constants do not have what `require` asks of them.",
            "halves = tx.op('op halves(X: f32[N]) -> Y: f32[N // 2] require N % 2 == 0 { Y[i] = X[2 * i] }')\n"
            "halves(np.ones(3, 'f4'))",
        ),
        "distinct": Code(
            "Data whose values must differ has a value twice.",
            'put = tx.op("""op put(at: i64[N] in 0..M distinct, X: f32[N], Z: f32[M]) -> Y: f32[M] {\n'
            '  Y[m] = Z[m]\n  Y[at[i]] += X[i]\n}""")\n'
            "put(np.array([0, 0]), np.ones(2, 'f4'), np.ones(3, 'f4'))",
        ),
        "gradient": Code(
            "An operator has no derivative, or a tensor none that is asked for.",
            "tx.grad(tx.op('op f(X: f32[N]) -> Y: bool[N] { Y[i] = X[i] > 0 }'))",
        ),
        "scan": Code(
            "The body of a loop holds what no recurrence can.",
            "tx.scan(lambda c, x: (tx.ops.sort(c), x), tx.zeros(3), np.ones((2, 3)))",
        ),
        "cond": Code(
            "A side of a choice holds what cannot stand under a condition.",
            "tx.jit(lambda x: tx.cond(x[0] > 0, tx.ops.sort, lambda x: x, x))(np.ones(3))",
        ),
        "vmap": Code(
            "An operator cannot be mapped along these axes.",
            "tx.vmap(tx.op('op f(X: f32[*S]) -> Y: f32[*S] { Y[*s] = 2 * X[*s] }'), in_axes=1)",
        ),
        "quota": Code(
            "A text or a proof is larger than a stated limit.",
            "tx.op('op f(X: f32[N]) -> Y: bool[N] { Y[i] = ' + ' < '.join(['X[i]'] * 300) + ' }')",
        ),
        "size": Code(
            "A tensor would have more elements than can be counted or addressed.", "ops.eye(N=2**40, M=2**40)"
        ),
    },
    "Calls": {
        "arguments": Code(
            "Arguments are missing, too many, unknown, or out of range.", "ops.matmul(np.ones((2, 3), 'f4'))"
        ),
        "type": Code(
            "An argument is no array that texpr takes.", "ops.relu(np.ma.masked_array(np.ones(3, 'f4')))"
        ),
        "output": Code(
            "An array given as `out` cannot be written, or shares memory with others.",
            "x = np.ones(3, 'f4')\ny = np.ones(3, 'f4')\ny.flags.writeable = False\nops.relu(x, out=y)",
        ),
        "axis": Code(
            "An axis does not exist, or is named twice.", "tx.tensor(np.ones((2, 3), 'f4')).sum(axis=2)"
        ),
        "extern": Code(
            "A function of the caller is not registered, gives other results than it declares, or cannot be "
            "called from the target.",
            'extern = tx.op("""extern op elsewhere(X: f32[N]) -> Y: f32[N]\n'
            'op f(X: f32[N]) -> Y: f32[N] { Y = elsewhere(X) }""")\nextern(np.ones(3, \'f4\'))',
        ),
        "break": Code(
            "`tx.interpret(..., break_at=...)` names no element that an equation computes.",
            "tx.interpret(tx.op('op f(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] }'), np.ones(3, 'f4'), break_at='Z[0]')",
        ),
        "watch": Code(
            "`tx.debug.watch` names a tensor that the operator does not have.",
            "tx.debug.watch(tx.op('op f(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] }'), 'Z')(np.ones(3, 'f4'))",
        ),
        "option": Code(
            "An option is unknown, or has a value that it cannot have.", "tx.options(threads='many')"
        ),
        "device": Code(
            "A device does not exist, or tensors lie on several.",
            "with tx.options(device='disk'):\n    x = tx.tensor(np.ones(3, 'f4'))",
        ),
        "import": Code(
            "An optional package is missing. The class is `MissingExtra`, and the help is the command that "
            "installs it."
        ),
        "gpu": Code("There is no GPU, or no driver that can be used. It depends on the machine."),
        "memory": Code("Tensors do not fit into the memory of the machine or of the GPU."),
        "emulator": Code("The emulator of another processor is missing, or was stopped."),
    },
    "Schedules": {
        "order": Code(
            "A step would change the order of two accesses to one element. The smallest instance is shown, and "
            "`replay()` of the error runs both orders.",
            "ema = tx.op('op ema(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] + 0.5 * Y[i - 1 | 0] }')\n"
            "tx.schedule(ema).parallel('i')",
        ),
        "exact": Code(
            "A step would change how floats are rounded, which an argument has to permit.",
            "dot = tx.op('op dot(A: f32[N], B: f32[N]) -> s: f32 { s = sum(i: A[i] * B[i]) }')\n"
            "tx.schedule(dot, N=64).rfactor('i')",
        ),
        "loop": Code("No loop has such a name, or several have it.", "tx.schedule(matmul).split('x', 4)"),
        "tensor": Code("A kernel has no tensor of such a name.", "tx.schedule(matmul).cache_read('D', 'i')"),
        "cache": Code(
            "`cache_read` or `cache_write` has nothing to hold, or would miss a value.",
            "tx.schedule(matmul).cache_read('C')",
        ),
        "overlap": Code(
            'Tiles under `tail="overlap"` would not give the same when an element is computed twice.',
            "tx.schedule(matmul, M=8, N=8, K=8).split('j', 9, tail='overlap')",
        ),
        "script": Code("A script of steps cannot be read.", "tx.schedule(matmul).replay('split(i, 4)')"),
        "auto": Code("`auto()` cannot choose a schedule here.", "tx.schedule(matmul).split('i', 4).auto()"),
        "derived": Code(
            "`derived_from()` cannot follow the steps of another schedule.",
            "s = tx.schedule(matmul).split('i', 4)\ns.derived_from(tx.schedule(matmul))",
        ),
        "replay": Code(
            "A refusal has no two results that `replay()` could compare.",
            "try:\n    tx.schedule(matmul).split('x', 4)\nexcept tx.ScheduleError as error:\n"
            "    refusal = error\nrefusal.replay()",
        ),
        "arrival": Code(
            "A copy or a product that was begun is not proven to be done where it is used.",
            "weighted = tx.op('''op weighted(X: f32[T, 64], w: f32[H]) -> Y: f32[H, 64] {\n"
            "  Y[h, i] = sum(t: X[t, 63 - i] * w[h])\n}''')\n"
            "s = tx.schedule(weighted, H=7, T=16).split('h', 2).bind('ho', 'block.x').bind('hi', 'cluster.x')\n"
            "s.reorder('t', 'i').set_scope('Y_acc', 'register').cache_read('X', 't')\n"
            "s.set_scope('X_cache', 'shared').bind('i', 'thread.x').pipeline('t', 3, asynchronous=True)\n"
            "s.bulk_copy('t').multicast('X_cache', 'hi')",
        ),
        "certificate": Code(
            "The final loops of a kernel are not proven to compute its operator. The class is "
            "`CertificateError`.",
            "from dataclasses import replace\n\nfrom texpr.ir.expr import Const\n"
            "from texpr.ir.traverse import rewrite\n\n"
            "s = tx.schedule(tx.op('op f(X: f32[N]) -> Y: f32[N] { Y[i] = 2 * X[i] }'))\n"
            "s.kernel = rewrite(s.kernel, lambda n: replace(n, value=3.0) if isinstance(n, Const) else None)\n"
            "s.certificate()",
        ),
        "space": Code(
            "A space of schedules is empty, or does not say what its parameters may be.",
            "tx.tune(matmul, schedule=lambda s, n: s.split('i', n), M=8, N=8, K=8)",
        ),
        "tune": Code(
            "A search for schedules has arguments that make no sense.",
            "tx.tune(matmul, strategy='luck', M=8, N=8, K=8)",
        ),
    },
    "Compilation": {
        "target": Code(
            "A target is unknown, or cannot express the kernel.", "tx.schedule(ops.relu).compile('z80')"
        ),
        "save": Code(
            "A kernel or a network cannot be saved in such a form.",
            "tx.schedule(ops.relu).compile().save('relu.exe')",
        ),
        "internal": Code("The language server met a fault of texpr itself; the document stays as it is."),
        "rename": Code("The language server cannot give a name to what stands at a place of a document."),
        "link": Code("A linker or an assembler failed; its first words are the message."),
    },
    "Programs and tensors": {
        "symbolic": Code(
            "A value is needed while a program is captured, where there are no values.",
            "@tx.jit\ndef f(x):\n    return x * 2 if x.sum() > 0 else x\n\n\nf(tx.tensor(np.ones(3, 'f4')))",
        ),
        "random": Code(
            "Random numbers are drawn inside of a function that is traced, whose calls would all have the same.",
            "tx.jit(lambda x: x + tx.rand(3))(np.ones(3, 'f4'))",
        ),
        "running": Code(
            "A compiled program is called again while it runs, by a function that it calls or by a handler of "
            "a signal. Both would write the same memory."
        ),
    },
    "Networks": {
        "module": Code(
            "A module is put together in a wrong way.",
            "class Net(nn.Module):\n    def __init__(self):\n        self.layer = nn.Linear(2, 3)\n\n\nNet()",
        ),
        "training": Code(
            "A model or a loss gives something that cannot be trained, or two trainings meet.",
            "model = nn.Linear(4, 3)\n"
            "trainer = nn.Trainer(model, lambda y, target: y, nn.optim.SGD(model.parameters()))\n"
            "trainer.fit(np.ones((8, 4), 'f4'), np.ones((8, 3), 'f4'), progress=False)",
        ),
        "data": Code(
            "Data of a training does not fit: lengths, shapes, types.",
            "nn.data.TensorDataset(np.ones((3, 2), 'f4'), np.ones(4, 'f4'))",
        ),
        "metric": Code(
            "A metric gives something else than a number.",
            "model = nn.Linear(4, 3)\nadam = nn.optim.Adam(model.parameters())\n"
            "trainer = nn.Trainer(model, nn.MSELoss(), adam, metrics=[lambda y, target: y])\n"
            "trainer.fit(np.ones((8, 4), 'f4'), np.ones((8, 3), 'f4'), progress=False)",
        ),
        "nan": Code(
            "A loss or a gradient is NaN or infinite, or no target counts.",
            "model = nn.Linear(4, 3)\n"
            "trainer = nn.Trainer(model, nn.CrossEntropyLoss(), nn.optim.SGD(model.parameters()))\n"
            "trainer.fit(np.ones((8, 4), 'f4'), np.full(8, -100), progress=False)",
        ),
        "seed": Code("A seed is no integer of at least 0.", "nn.manual_seed(-1)"),
        "checkpoint": Code(
            "A file of weights is damaged, unsafe, or of another model. The class is `CheckpointError`.",
            "nn.Linear(2, 3).load_state_dict({})",
        ),
    },
    "Several processes": {
        "ranks": Code(
            "Ranks make different calls, with different shapes or plans, or do not come in time. The class "
            "is `distributed.DistributedError`; its `ranks` are those that differ or are missing."
        ),
        "launch": Code(
            "`python -m texpr launch` finds no `mpiexec`, or one that would refuse to start the ranks.",
            "from texpr.distributed.mpiexec import find_mpiexec\n\nfind_mpiexec('no_mpiexec')",
        ),
    },
    "NNEF": {
        "nnef": Code(
            "A model in NNEF cannot be read, or uses what texpr does not have.",
            "import pathlib\n\npathlib.Path('model').mkdir()\n"
            "pathlib.Path('model/graph.nnef').write_text('version 2.0; graph g() -> () {}')\n"
            "tx.nnef.load('model')",
        ),
        "skriptnd": Code(
            "A file in SkriptND is not in the language, a definition does not fit the shapes and attributes "
            "that it is given, or it says what an operator cannot be. The class is `ParseError` or "
            "`CheckError`.",
            "import pathlib\n\npathlib.Path('mine.sknd').write_text('operator f { @lower { y[i,] = x[i,] } }')\n"
            "tx.nnef.load_skriptnd('mine.sknd')",
        ),
    },
    "Archives of PyTorch": {
        "pt2": Code(
            "An archive of `torch.export` is damaged, or has what texpr does not read. The class is "
            "`CheckpointError`; for operators it is `tx.pt2.UnknownOperators`.",
            "tx.pt2.load(b'')",
        )
    },
    "ONNX": {
        "onnx": Code("A model cannot be read, or a program has what ONNX lacks.", "tx.onnx.load(b'')"),
        "value": Code(
            "A value that shapes depend on is computed from data, so that it is not known when the program is "
            "made.",
            "import onnx\nfrom onnx import TensorProto, helper\n\n"
            "node = helper.make_node('Reshape', ['x', 's'], ['y'])\n"
            "x = helper.make_tensor_value_info('x', TensorProto.FLOAT, [6])\n"
            "s = helper.make_tensor_value_info('s', TensorProto.INT64, [2])\n"
            "y = helper.make_tensor_value_info('y', TensorProto.FLOAT, None)\n"
            "graph = helper.make_graph([node], 'reshaped', [x, s], [y])\n"
            "model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 21)])\n"
            "onnx.save(model, 'reshaped.onnx')\n"
            "reshaped = tx.onnx.load('reshaped.onnx')\n"
            "tx.jit(reshaped)(tx.tensor(np.ones(6, 'f4')), tx.tensor(np.array([2, 3])))",
        ),
    },
}
"""By the headings of the page."""
