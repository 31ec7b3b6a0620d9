"""The registry of steps: what follows from it, and how little another step takes."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from inspect import signature
from pathlib import Path
from random import Random

import pytest

import texpr as tx
from scripts.pages.step_docstrings import described, summary
from texpr.schedule.script.json_format import from_json
from texpr.schedule.script.script import Step, parse_script
from texpr.schedule.script.step_methods import StepMethods
from texpr.schedule.steps.registry import KINDS, aliases, rules
from texpr.tools.fuzz.random_steps import random_step

ROOT = Path(__file__).parents[3]
PRODUCT = "op f(A: f32[N, K], B: f32[K, M]) -> C: f32[N, M] { C[i, j] = sum(k: A[i, k] * B[k, j]) }"
TWICE = '''"""`twice`: a loop split by 2."""

from __future__ import annotations

from texpr.ir.expr import Var
from texpr.ir.loop import Kernel
from texpr.schedule.steps.loops.split import split
from texpr.schedule.steps.registry import step


@step("double", order_of_sums="kept", by="times")
def twice(kernel: Kernel, loop: str | Var, *, times: int = 2) -> Kernel:
    """Split a loop by a small number.

    for i: S   ->   for io: for ii: S

    Args:
        times: iterations in a tile.
    Raises:
        ScheduleError: no such loop.
    Example:
        s = tx.schedule(tx.op("op f(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] }"))
        s.twice("i")
    Refused:
        s.twice("z")
    Elsewhere: Halide `split`; TVM `split`; Exo none; MLIR none.
    """
    return split(kernel, loop, times)
'''


@pytest.mark.parametrize("name", rules())
def test_each_step_has_a_file_of_its_name(name: str):
    rule = rules()[name]
    assert rule.function.__module__ == f"texpr.schedule.steps.{rule.kind}.{name}" and rule.kind in KINDS


@pytest.mark.parametrize("name", rules())
def test_each_step_is_described(name: str):
    told = described(rules()[name])
    assert "->" in told.body and "egal" in told.body, "the rewrite, and when it is legal"
    assert told.raises and told.example and told.refused and told.elsewhere
    assert summary(rules()[name])[0].isupper()


def test_what_is_written_is_what_the_registry_says():
    """Examples and refusals of all steps are run."""
    written = import_module("scripts.steps").written()
    stale = [str(path) for path, text in written.items() if (ROOT / path).read_text(encoding="utf-8") != text]
    assert not stale, "run `python scripts/steps.py`"
    assert all(
        f"\n## {name}\n" in written[Path(f"docs/reference/steps/{rule.kind}.md")]
        for name, rule in rules().items()
    )


def test_names_and_older_names_differ():
    older = [alias for rule in rules().values() for alias in rule.aliases]
    assert len({*older, *rules()}) == len(older) + len(rules()) and aliases().keys() == set(older)


OLDER = """\
allow_fma: contract()
partition: separate("j")
unroll_and_jam: jam("i", 2)
set_scope: scope("C_acc", "stack")
expand_dim: expand("C_acc", "j")
bind: bind("i", "block.x", at_most=4)
nontemporal: stream("C")
merge: join("C.i", "C.j")
fold_storage: fold("C_acc", 0)
drop_padding: trim("k", finite=True)
mask_to_zero: widen("C")
exp_to_exp2: base2("C")
tanh_to_sigmoid: logistic("C")
online_softmax: online("C", 4)
bulk_copy: bulk("k")
async_mma: in_flight("k", 1)
commit_mma_group: together("k")
"""


def test_errors_of_a_step_have_its_name():
    """Modules whose `STEP` is the code of their errors name their own step."""
    named = {
        rule.name: found
        for rule in rules().values()
        if isinstance(found := getattr(import_module(rule.function.__module__), "STEP", None), str)
    }
    assert len(named) > 5 and all(name == found for name, found in named.items())


def test_every_older_name_is_tried():
    tried = {line.partition(": ")[2].partition("(")[0] for line in OLDER.splitlines()}
    assert aliases().keys() == tried - {"bind"}


@pytest.mark.parametrize("line", OLDER.splitlines())
def test_scripts_with_older_names_mean_the_same(line: str):
    """As text, as JSON, as methods; they are shown with the names of now."""
    name, _, text = line.partition(": ")
    (step,) = parse_script(text)
    older = text.partition("(")[0]
    assert (
        step.name == name
        and step == Step(older, step.args, step.options)
        and str(step).startswith(f"{name}(")
    )
    (again,) = from_json(f'{{"version": 1, "steps": [{{"step": "{older}", "args": [], "options": {{}}}}]}}')
    assert again.name == name and hasattr(StepMethods, older)
    assert "at_most" not in str(step)


def test_an_older_script_is_replayed():
    older = 'jam("i", 2)\ncontract("sums")\nbind("j", "block.x", at_most=4)\n'
    s = tx.schedule(PRODUCT_OP, N=8, M=8, K=4).replay(older)
    assert s.script() == 'unroll_and_jam("i", 2)\nallow_fma("sums")\nbind("j", "block.x", max_blocks=4)\n'
    by_methods = (
        tx.schedule(PRODUCT_OP, N=8, M=8, K=4).jam("i", 2).contract("sums").bind("j", "block.x", at_most=4)
    )
    assert by_methods.script() == s.script()


PRODUCT_OP = tx.op(PRODUCT)


@pytest.mark.parametrize("name", rules())
def test_methods_have_the_signature_and_the_text_of_the_step(name: str):
    method, function = getattr(tx.Schedule, name), rules()[name].function
    (_, *here), (_, *there) = (signature(f).parameters.values() for f in (method, function))
    assert here == there and method.__doc__ == function.__doc__ and method.__name__ == name


@pytest.mark.parametrize(
    "call, shown",
    [
        ('s.split("i", factor=4)', 'split("i", 4)'),
        ('s.split("i", 4, tail="guard")', 'split("i", 4)'),
        ('s.unroll("k", factor=None)', 'unroll("k")'),
        ('s.skew("k", by="j", factor=1)', 'skew("k", "j")'),
        ('s.tile("i", "j", sizes=[2, 2])', 'tile("i", "j", sizes=(2, 2))'),
        ('s.pipeline("ko", lead=1)', 'pipeline("ko", lead=1)'),
        ('s.reorder("j", "i", reassoc=False)', 'reorder("j", "i")'),
        ('s.specialize("i", N=8)', 'specialize("i", N=8)'),
        ('s.fold_storage("C_acc", size=2, dim=0)', 'fold_storage("C_acc", 0, 2)'),
    ],
)
def test_calls_are_shown_as_briefly_as_they_can_be(call: str, shown: str, monkeypatch: pytest.MonkeyPatch):
    s, found = tx.schedule(PRODUCT_OP), []
    monkeypatch.setattr(s, "apply", lambda step, script="": found.append(str(step)))
    eval(call, {"s": s})
    assert found == [shown]


def test_wrong_calls_say_what_the_step_takes():
    s = tx.schedule(PRODUCT_OP)
    usage = r"split\(loop, factor, \*, tail='guard', names=None\)"
    with pytest.raises(
        tx.CallError, match=rf"split: missing a required argument: 'factor'\n  help: {usage}$"
    ):
        s.split("i")
    with pytest.raises(tx.CallError, match=r"parallel has no argument `threads`\n  help: known are loop$"):
        s.parallel("i", threads=4)


def test_another_step_is_one_file(tmp_path: Path):
    """A file in the folder of its kind: scripts, methods, older names, the reference, the stub
    and the fuzzer know it.
    """
    (tmp_path / "twice.py").write_text(TWICE)
    code = f"""
from pathlib import Path
from random import Random
from importlib import import_module
import_module("texpr.schedule.steps.loops").__path__.append({str(tmp_path)!r})
import texpr as tx
from texpr.schedule.steps.registry import rules
from texpr.tools.fuzz.random_steps import random_step
from scripts.steps import page, stub
op = tx.op({PRODUCT!r})
s = tx.schedule(op, N=8).twice("i", by=4).double("j")
assert s.script() == 'twice("i", times=4)\\ntwice("j")\\n', s.script()
assert tx.schedule(op, N=8).replay(s.script()).script() == s.script()
assert s.certificate()
assert "def twice(self, loop: str | Var, *, times: int = 2) -> Self: ..." in stub()
assert "## twice" in page("loops")
drawn = {{random_step(Random(n), s.kernel).name for n in range(2000)}}
assert drawn >= {{"twice", "split"}} and drawn <= rules().keys()
"""
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)


def test_the_fuzzer_draws_every_step():
    kernel = tx.schedule(PRODUCT_OP, N=8).split("i", 4).kernel
    drawn = [random_step(Random(n), kernel) for n in range(3000)]
    assert {step.name for step in drawn} == rules().keys()
    for step in drawn:
        rules()[step.name].signature.bind(*step.args, **dict(step.options))
