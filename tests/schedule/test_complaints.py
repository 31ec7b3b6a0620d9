"""Steps that are refused and the whole of what is said. The pictures are in `golden/test_complaints/`."""

from __future__ import annotations

import re

import pytest

import texpr as tx
from tests.schedule.drawing import TEXTS
from texpr.schedule.legality.replay import Replay

OPS = {name: tx.op(text) for name, text in TEXTS.items()}
OPS["shifted"] = tx.op("""op shifted(X: f32[M]) -> Y: f32[M] {
    Y[i] = X[i]
    Y[i] += X[M - 1 - i] for i in 0..M }""")
OPS["delayed"] = tx.op("""op delayed(E: f32[N, M], idx: i32[K] in 0..N) -> Y: f32[K, M] {
    Y[k, d] = if k > 0 then E[idx[k - 1], d] else 0 }""")
OPS["filtered"] = tx.op("""op filtered(X: f32[M, N], keep: bool[N]) -> Y: f32[M] {
    Y[i] = sum(j where j % 2 == 0 and keep[j] and i < M - 1: X[i, j]) + sum(n where n * n < i: X[i, n]) }""")
OPS["lengths"] = tx.op("op lengths(X: f32[M, K], n: i32[M] in 0..K + 1) -> y: f32[M] { y[i] = sum(j in 0..n[i]: X[i, j]) }")
EIGHT = {"M": 8, "N": 8, "K": 8}

NAMES = [
    's.split("x", 4)', 's.split("ii", 4)', 's.split("C.ii", 4)', 's.split(3, 4)', "s.split(None, 4)", 's.split("", 4)', 's.parallel("é")',
    's.split("i", 4, names=("a",))', 's.split("i", 4, names=("a", "a"))', 's.split("i", 4, names=("k", "l"))',
    's.split("i", 4, names=("A", "l"))', 's.split("i", 4, names=("a b", "1;"))', 's.split("i", 4, names="ab")',
    's.split("i", 4, names=(1, 2))', 's.split("i", 4, names=("for", "l"))', 's.split("i", 4).split("j", 4, names=("io", "ii"))',
    's.fuse("i", "j", name="k")', 's.fuse("i", "j", name="")', 's.fuse("i", "j", name="B")',
    's.split("i", 4).split("i", 2)', "s.split(s.split(s.loops[0], 4).loops[0], 2).unroll(handle)",
]
ARGUMENTS = [
    's.split("i", 0)', 's.split("i", -1)', 's.split("i", 2**40)', 's.split("i", "8")', 's.split("i", True)', 's.split("i", 4.0)',
    's.split("i", 3, tail="exact")', 's.split("i", 4, tail="cut")', 's.peel("i", 9, 0)', 's.peel("i", -1, 0)', 's.peel("i", 0, 0)',
    's.peel("i", "1", 0)', 's.peel("i", 0, 1 << 40)', 's.bind("i", "block.w")', 's.bind("i", None)', 's.bind("i", "warp")',
    's.bind("i", "warpgroup.x")', "s.replay(3)", 's.auto().auto()',
    's.rfactor("k", reassoc=[1])',
]
ORDER = [
    's.parallel("k")', 's.vectorize("k")', 's.reorder("i", "i")', 's.reorder("i", "z")', 's.fuse("i", "k")', 's.fuse("j", "i")',
    's.fuse("i", "i")', 's.rfactor("k")', 's.rfactor("i")', 's.rfactor("C")',
    's.compute_at("C", "i")', 's.compute_at("D", "i")', "s.compute_at(3, 'i')",
    's.peel("i", 1, 1).compute_at("C", "i")',
]
TILES = [
    's.tile("i", sizes=4)',
    's.tile("i", "j", sizes=(4,))',
    "s.tile(sizes=())",
    's.tile("i", "i", sizes=(4, 4))',
    's.tile("i", "j", sizes=(4, 0))',
    's.tile("i", "x", sizes=(4, 4))',
    's.tile("i", "j", sizes="ab")',
    's.tile("i", "j", sizes=(4, 3), tail="exact")',
    's.unroll_and_jam("i", 0)',
    's.unroll_and_jam("x", 2)',
    's.unroll_and_jam("i", 2, tail="cut")',
    's.unroll_and_jam("i", "2")',
    's.fission("x")',
    's.fission("k")',
    's.fission("i", "D")',
    's.fission("j", "C")',
    's.fission("i", 3)',
    's.skew("i", "j")',
    's.fission("i", name="r")',
    's.fission("i", "C_acc", name="k")',
    's.fission("i", "C_acc", name="no name")',
    's.fission("i", "x")',
    's.expand_dim("A", "i")',
    's.expand_dim("C_acc", "k")',
    's.expand_dim("C_acc", "x")',
    's.expand_dim("x", "i")',
    's.expand(3, "i")',
    's.skew("j", "i", 0)',
    's.skew("j", "i", 1.0)',
    's.skew("j", "i", 2**40)',
    's.skew("j", "j")',
    's.vectorize("j").skew("j", "i")',
    's.reverse("x")',
    's.reverse("k")',
    's.unroll("j").reverse("k")',
]
SYMBOLIC = [
    's.specialize(Q=8)', 's.specialize(N=-1)', 's.specialize(N=True)', 's.specialize(N=2**50)', 's.specialize(N=8).specialize(N="8")',
    's.specialize("N % 2")', 's.specialize("Q >= 8")', 's.specialize("N % M == 0")', 's.specialize("N >= 8 if M else N")',
    's.fuse("i", "j").split("ij", 8, tail="peel")', 's.split("j", 4, tail="exact")',
    's.specialize("N % 2 == 0").split("j_Nx2", 4, tail="exact")',
]
HINTS = [
    's.specialize()', 's.specialize(N=8)', 's.specialize("x", N=8)', 's.annotate("i")', 's.annotate("i", a="#")', 's.annotate("i", a=None)',
    's.annotate("i", a=float("nan"))', 's.annotate("x", a=1)', 's.prefetch("D", "k", 1)',
    's.prefetch("A", "x", 1)', 's.prefetch("A", "k", 0)', 's.prefetch("A", "k", 1.5)', 's.prefetch("A", "k", 2**30)',
    's.prefetch("A", "i", 1, at="x")', 's.prefetch("A", "k", 1, at="i")',
    's.nontemporal("A")', 's.nontemporal("D")',
]
TAILS = [
    's.split("k", 3, tail="overlap")', 's.split("j", 9, tail="overlap")',
    's.split("k", 3, tail="mask")', 's.vectorize("j", 0)', 's.vectorize("j", 2000)', 's.vectorize("j", "4")', 's.vectorize("j", 4, tail=3)',
    's.unroll("j", 0)',
]
LARGE = [
    's.unroll("j")', 's.split("j", 100).unroll("ji").split("i", 100).unroll("ii")',
    's.split("j", 1024).vectorize("ji").split("k", 64).unroll("ki")',
]
OTHERS = {
    "softmax": ['s.split("i", 4)', 's.parallel("j")', 's.compute_at("e", "j")', 's.compute_at("Y_sum", "Y.j", recompute=False)',
                's.compute_at("m", "Y.i").compute_at("m", "Y.i")'],
    "blur": ['s.nontemporal("h")', 's.compute_at("h", "Y.i", recompute=False)', 's.compute_at("h", "Y.j", recompute=False)'],
    "lag": ['s.parallel("Y.i").compute_at("h", "Y.i", recompute=False)', 's.compute_at("h", "Y.i").parallel("Y.i")'],
    "ragged": ['s.rfactor("j")', 's.rfactor("i")', 's.fuse("i", "j")', 's.rfactor("j", reassoc=True).split("Y.i", 4, tail="pad")'],
    "lengths": ['s.split("i", 4, tail="pad")'],
    "scatter": ['s.parallel("i")', 's.vectorize("i")'],
    "padded": ['s.compute_at("t", "Y.i", recompute=False)', 's.compute_at("t.2", "Y.i")', 's.split("t", 2)'],
    "filtered": ['s.partition("j")', 's.partition("n")'],
    "triangle": ['s.partition("x")', 's.separate(3)'],
    "matmul": ['s.partition("i")', 's.split("i", 4).reorder("ii", "io").vectorize("C.ii").partition("C.io")'],
    "diagonal": ['s.reorder("j", "i")', 's.tile("i", "j", sizes=(4, 8))', 's.unroll_and_jam("i", 2)', 's.reverse("i")', 's.parallel("i")',
                 's.skew("j", "i").reorder("j", "i").reverse("i")'],
    "stencil": ['s.peel("j", 1, 1).compute_at("Y", "j")', 's.vectorize("j").partition("ji")'],
    "wave": ['s.parallel("i")', 's.vectorize("j")', 's.tile("i", "j", sizes=(4, 8)).parallel("jo")'],
    "shifted": ['s.split("Y.1.i", 4, tail="overlap")', 's.split("Y.i", 4, tail="pad")'],
    "lagging": ['s.fission("i")', 's.fission("i", "h")', 's.split("i", 4, tail="overlap")'],
    "delayed": ['s.prefetch("E", "k", 4)'],
    "gather": ['s.cache_read("idx", "d").cache_read("E", "k")'],
    "sequence": ['s.specialize("Y.i", N=6).compute_at("t", "i_N6", recompute=False)'],
    "scalar": ['s.split("i", 2)', "s.reorder('i', 'j')"],
}


def complaint(s: tx.Schedule, text: str) -> str:
    """What a step that must be refused says, the step on top."""
    with pytest.raises((tx.ScheduleError, tx.ResourceError)) as error:
        exec(text, {"s": s, "handle": s.loops[0] if s.loops else None})
    return f"# {text}\n{error.value}\n"


def complaints(op: str, sizes: dict[str, int], texts: list[str]) -> str:
    return "\n".join(complaint(tx.schedule(OPS[op], **sizes), text) for text in texts)


@pytest.mark.parametrize("group", ["NAMES", "ARGUMENTS", "ORDER", "TILES", "TAILS", "HINTS"])
def test_matmul(group, golden):
    golden(complaints("matmul", EIGHT, globals()[group]))


def test_symbolic(golden):
    golden(complaints("matmul", {}, SYMBOLIC))


def test_large(golden):
    golden(complaints("matmul", {"M": 100_000, "N": 100_000, "K": 4096}, LARGE))


@pytest.mark.parametrize("op", OTHERS)
def test_other(op, golden):
    golden(complaints(op, {}, OTHERS[op]))


def refusal(op: str, sizes: dict[str, int], text: str) -> tx.ScheduleError:
    s = tx.schedule(OPS[op], **sizes)
    with pytest.raises(tx.ScheduleError) as error:
        exec(text, {"s": s})
    return error.value


def test_a_witness_is_data():
    assert refusal("lag", {}, 's.parallel("Y.i").compute_at("h", "Y.i", recompute=False)').witness == {
        "sizes": {"M": 2}, "first": {"i": 0}, "second": {"i": 1}, "tensor": "h", "element": (0,)}


def test_both_results():
    shown = refusal("matmul", {}, 's.split("k", 4).reorder("ki", "ko")').replay()
    assert isinstance(shown, Replay)
    assert (shown.tensor, shown.element, shown.sizes) == ("C", (0, 0), {"M": 1, "K": 5, "N": 1})
    assert shown.expected != shown.found
    assert str(shown) == f"at M=1, K=5, N=1: C[0, 0] is {shown.expected} in the order as it is, {shown.found} in the new order"


def test_updates_that_could_be_lost():
    """In every order of whole iterations a maximum is the same; run at once, one may overwrite what another wrote."""
    shown = refusal("updates", {}, 's.parallel("z.1.i")').replay()
    assert shown.tensor == "z"
    assert shown.expected != shown.found


def test_a_request_that_makes_no_sense_has_no_results():
    with pytest.raises(tx.ScheduleError, match="no two results"):
        refusal("matmul", {}, 's.split("i", 0)').replay()


def test_the_place_of_the_call_is_told():
    with pytest.raises(tx.ScheduleError) as error:
        tx.schedule(OPS["matmul"]).split("i", 4).parallel("k")
    assert re.search(r'^    step 2, test_complaints\.py:\d+: parallel\("k"\)$', str(error.value), re.M)


SCRIPTS = [
    'split("i")', 'split("i", 2, 3, 4)', 'split("i", 2, width=3)', 'split("i", 2, factor=3)', "__import__('os').abort()",
    "split(__import__('os').abort(), 3)", "split(*[1, 2])", "split(**{'loop': 'i'})", 'splt("i", 2)', 'tile("i", 2)',
    'split("i", 2); parallel("io")', "x = 1", "s.split('i', 2)", "split", "split(", "split('i', 2", "split('i', i)", "split(lambda: 1, 2)",
    "split(f'{1}', 2)", "split('i', [x for x in 'ab'])", "split({}, 2)", "split({[]: 1}, 2)", "split('i', 2 + 2j)", "contract(3)",
    "'split'('i', 2)", "split('i', 1_0) if 1 else 2", "\x00", "split('i', \x00)", "split(" * 60, "apply(1)", "__class__(1)",
]


JSON = [
    "{", "[]", "{}", '{"version": 1}', '{"version": 2, "steps": []}', '{"version": true, "steps": []}', '{"version": 1, "steps": {}}',
    '{"version": 1, "steps": [], "more": 1}', '{"version": 1, "steps": [3]}', '{"version": 1, "steps": [{"step": "splt", "args": []}]}',
    '{"version": 1, "steps": [{"step": "split", "args": "i"}]}', '{"version": 1, "steps": [{"step": "split", "args": [{}]}]}',
    '{"version": 1, "steps": [{"step": "split", "args": [[[[[[1]]]]]]}]}', '{"version": 1, "version": 1, "steps": []}',
    '{"version": 1, "steps": [{"step": "split", "args": ["i", NaN]}]}', '{"version": 1, "steps": [{"step": "split", "args": ["i"]}]}',
    '{"version": 1, "steps": [{"step": "split", "args": ["i", 4], "options": {"tail": "cut"}}]}', "[" * 100_000,
    '{"version": 1, "steps": [{"step": "__import__", "args": ["os"]}]}', '{"version": 1' + "0" * 5000 + ', "steps": []}',
]


def test_json(golden):
    golden("\n".join(complaint_of_script(text)[:1000] + "\n" * (len(text) > 200) for text in JSON))


def test_there_are_two_formats():
    with pytest.raises(tx.ScheduleError, match="there is no format 'yaml'"):
        tx.schedule(OPS["matmul"]).script("yaml")


def test_scripts(golden):
    golden("\n".join(complaint_of_script(text) for text in SCRIPTS))


def complaint_of_script(text: str) -> str:
    with pytest.raises(tx.ScheduleError) as error:
        tx.schedule(OPS["matmul"], **EIGHT).replay(text)
    return f"# {text[:200]!r}\n{error.value}\n"


@pytest.mark.parametrize("text", ["split(" * 100_000, "split('i', " + "-" * 100_000 + "2)", "split('i', 1" + "0" * 5000 + ")",
                                  "split('i', " + "(" * 5000 + "2" + ")" * 5000 + ")"])
def test_monstrous_scripts(text):
    with pytest.raises(tx.ScheduleError) as error:
        tx.schedule(OPS["matmul"], **EIGHT).replay(text)
    assert len(str(error.value)) < 300


def test_comments_and_empty_lines_are_no_steps():
    s = tx.schedule(OPS["matmul"], **EIGHT)
    s.replay('# tiles\n\n  split("i", 4)\r\n\tparallel("io")  # on threads\n')
    assert s.script() == 'split("i", 4)\nparallel("io")\n'


def test_steps_before_a_refused_line_stay():
    s = tx.schedule(OPS["matmul"], **EIGHT)
    with pytest.raises(tx.ScheduleError):
        s.replay('split("i", 4)\nparallel("k")\nsplit("j", 4)\n')
    assert s.script() == 'split("i", 4)\n'
