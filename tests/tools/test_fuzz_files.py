"""The part of the fuzzer that reads damaged files of models."""

from __future__ import annotations

from collections import Counter
from random import Random

import numpy as np
import pytest

import texpr as tx
from texpr.__main__ import main
from texpr.tools.fuzz import damaged_files, model_formats
from texpr.tools.fuzz.damaged_files import file_of, is_foreign, trial
from texpr.tools.fuzz.damaged_models import changed
from texpr.tools.fuzz.model_formats import Format, archive, formats


def test_the_small_archive_is_valid(tmp_path):
    path = tmp_path / "m.pt2"
    path.write_bytes(archive())
    model = tx.pt2.load(path)
    assert list(model.state_dict()) == ["weight", "bias"]
    assert np.allclose(model(np.ones((2, 4), np.float32)), 5)


@pytest.mark.parametrize("name", formats())
def test_the_valid_file_of_each_format_is_read(name, tmp_path):
    path = tmp_path / f"m{formats()[name].suffix}"
    path.write_bytes(formats()[name].make())
    formats()[name].read(path)


def test_fields_of_models_are_changed():
    pytest.importorskip("onnx")
    data = formats()["onnx"].make()
    made = [changed(Random(k), data) for k in range(20)]
    assert made == [changed(Random(k), data) for k in range(20)] and len(set(made)) > 10


@pytest.mark.parametrize("name", formats())
def test_damaged_files_are_refused_or_read(name):
    counts: Counter[str] = Counter()
    tried = 0
    for number in range(10_000):
        found, data = file_of(7, number)
        if found == name:
            assert trial(name, data, counts) is None
            tried += 1
        if tried == 150:
            break
    assert counts[f"{name} | refused"] > 30 and counts[f"{name} | read"] > 3


@pytest.mark.parametrize(
    "read, kind",
    [
        (lambda path: 1 // 0, "bad: ZeroDivisionError"),
        (lambda path: np.ones(1 << 27), "bad: memory"),
        (lambda path: open("/etc/hostname").close(), "bad: another file is opened"),
    ],
)
def test_what_goes_wrong_is_found(read, kind, monkeypatch):
    monkeypatch.setattr(damaged_files, "formats", lambda: {"bad": Format(".bad", bytes, read)})
    finding = trial("bad", b"", Counter())
    assert finding is not None and finding.kind == kind and finding.detail


def test_files_that_are_foreign(tmp_path):
    assert not is_foreign(str(tmp_path / "a"), str(tmp_path)) and not is_foreign(np.__file__, "/x")
    assert is_foreign("/etc/passwd", str(tmp_path)) and is_foreign("../a", "/x/y")


def test_command(tmp_path, capsys):
    code = main(
        ["fuzz", "--only", "files", "--seed", "3", "--files", "40", "--findings", str(tmp_path / "f")]
    )
    printed = capsys.readouterr().out
    assert code == 0 and "40 files, 0 kinds of findings" in printed and "pt2" in printed
    (tmp_path / "m.pt2").write_bytes(archive()[:200])
    assert main(["fuzz", "--replay", str(tmp_path / "m.pt2")]) == 0
    assert "nothing goes wrong" in capsys.readouterr().out


def test_chosen_formats(tmp_path, capsys):
    command = ["fuzz", "--seed", "3", "--files", "20", "--findings", str(tmp_path / "f")]
    assert main([*command, "--only", "files", "--format", "skriptnd", "pt2"]) == 0
    counted = [line.split()[1] for line in capsys.readouterr().out.splitlines() if line.startswith("   ")]
    assert counted == ["pt2", "skriptnd"]
    assert main([*command, "--format", "pt2"]) == 1
    assert capsys.readouterr().err == (
        "error[arguments]: fuzz: --format is of files of models, which are one part of several here\n"
        "  help: --only files --format pt2\n"
    )


def test_a_training_that_changes_though_it_is_refused_is_found(tmp_path, monkeypatch):
    pytest.importorskip("safetensors")
    trainer = model_formats._trainer()

    def careless(self, path):
        self.model[0].bias.data = self.model[0].bias.held() + 1
        raise tx.CheckpointError("refused", code="checkpoint")

    monkeypatch.setattr(type(trainer), "load", careless)
    finding = trial("training", b"", Counter())
    assert finding is not None and finding.kind == "training: AssertionError" and "0.bias" in finding.detail
