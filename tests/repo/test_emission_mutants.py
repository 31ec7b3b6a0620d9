"""`scripts/mutate_emission.py`: what it changes, and that pages without access tell."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.guarded import run

SCRIPTS = Path(__file__).parent.parent.parent / "scripts"
sys.path.insert(0, str(SCRIPTS))

from emission_mutants import KINDS, mutants  # noqa: E402

TEXT = """define internal i32 @"texpr_f.body"(ptr noalias %t0, i64 %n0) alwaysinline #0 {
  %v1 = getelementptr inbounds float, ptr %t0, i64 %n0
  %v2 = load <8 x float>, ptr %v1, align 1
  %v3 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 1 %v1, <8 x i1> %v9, <8 x float> zeroinitializer)
  br i1 %v8, label %then4, label %else5
  %v6 = select i1 %v7, ptr %v1, ptr @tx_nothing
  %v12 = getelementptr float, ptr %t0, i64 0
else5:
  br i1 %v8, label %then6, label %else7
then6:
  store <8 x float> %v2, ptr %slot1, align 4
else7:
  %v10 = load <8 x float>, ptr %slot1, align 4
  %v11 = select <8 x i1> %v9, <8 x float> %v3, <8 x float> %v10
  store <8 x float> %v3, ptr %v1, align 1
  call void @llvm.masked.store.v8f32.p0(<8 x float> %v2, ptr align 1 %v1, <8 x i1> %v9)
}
define i32 @"texpr_f"(ptr %args) #0 {
  %v1 = load <8 x float>, ptr %args, align 1
}"""
CHANGED = {
    "guard": ["  br i1 true, label %then4, label %else5"],
    "nothing": ["  %v6 = getelementptr i8, ptr %v1, i64 0"],
    "mask": ["  %v3 = load <8 x float>, ptr %v1, align 1", "  store <8 x float> %v2, ptr %v1, align 1"],
    "alignment": ["  store <8 x float> %v3, ptr %v1, align 64"],
    "element": ["  %v1 = getelementptr float, ptr %t0, i64 %mutant1"] * 2
    + ["  %v12 = getelementptr float, ptr %t0, i64 %mutant6"] * 2,
    "fewer lanes": [
        "  %v2 = insertelement <8 x float> %mutant2, float 77.0, i64 7",
        "  store <7 x float> %mutant14, ptr %v1, align 1",
    ],
    "other lane": ["  store <8 x float> %mutant10, ptr %slot1, align 4"],
    "more lanes": [
        "  %v2 = shufflevector <9 x float> %mutant2, <9 x float> %mutant2, "
        "<8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>",
        "  store <9 x float> %mutant14, ptr %v1, align 1",
    ],
    "shifted mask": [
        "  %v3 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 1 %v1, <8 x i1> %mutant3, <8 x float> "
        "zeroinitializer)",
        "  call void @llvm.masked.store.v8f32.p0(<8 x float> %v2, ptr align 1 %v1, <8 x i1> %mutant15)",
    ],
}


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_changed(kind: str):
    found = [m for m in mutants("f", TEXT) if m.kind == kind]
    assert [m.changes[-1][1][-1] for m in found] == CHANGED[kind]
    for m in found:
        assert m.applied(TEXT) != TEXT
        assert m.applied(TEXT).endswith("ptr %args, align 1\n}")


def run_kinds(name: str, kinds: list[str]) -> None:
    """A kernel is right, and no longer where a mutant of one of these kinds is made of it."""
    import mutate_emission

    import texpr as tx

    case = dict(mutate_emission.hand_written())[name]
    with tx.options(guard="end", threads=1):
        text = mutate_emission.text_of_kernel(case.kernel, "native")
        assert mutate_emission.survives(case, "native", text)
        made = [m for m in mutants(name, text) if m.kind in kinds]
        assert {m.kind for m in made} == set(kinds)
        assert [m.key for m in made if mutate_emission.survives(case, "native", m.applied(text))] == []


@pytest.mark.parametrize(
    ("name", "kinds"), [("behind the end", ["nothing", "element"]), ("one element is updated", ["guard"])]
)
def test_wrong_memory_is_seen(name: str, kinds: list[str]):
    run("tests.repo.test_emission_mutants:run_kinds", name, kinds, text=name)
