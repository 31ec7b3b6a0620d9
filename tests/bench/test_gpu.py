"""`make gpu` runs to its end where no GPU is, and says what it found."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from bench.gpu.__main__ import _Run, main
from bench.gpu.report import Checked, Timed, report
from bench.gpu.rows import rows
from bench.gpu.wheels import Missing, environment, prepare

OPERATORS = "op double(X: f32[N]) -> Y: f32[N] { Y[i] = 2 * X[i] }\n"


def test_all_of_it_on_the_emulated_device(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "ops.tx").write_text(OPERATORS)
    page = tmp_path / "gpu.md"
    assert (
        main(["--emulate", "--files", str(tmp_path / "ops.tx"), "--rows", "3,6,7", "--report", str(page)])
        == 0
    )
    text = page.read_text()
    assert text.strip() == capsys.readouterr().out.strip()
    assert (
        "**Emulated: every GPU thread was a fiber of the CPU. The times say nothing, nothing ran on a GPU.**"
        in text
    )
    assert "| ops.tx | 1 / 1 | 1 / 1 |\n| **all** | 1 / 1 | 1 / 1 |\n\n## Times" in text
    timed = [
        line
        for line in text.splitlines()
        if line.startswith(("| attention bf16 ", "| gelu f32 ", "| transformer step f32, "))
    ]
    assert len(timed) == 3 and all(float(row.split("|")[2]) > 0 for row in timed)


def test_a_row_that_fails_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "ops.tx").write_text(OPERATORS)
    arguments = ["--emulate", "--files", str(tmp_path / "ops.tx"), "--rows", "6"]
    for said, status in (("IndexError: out of range", 1), ("no time was left", 0)):
        row = Timed("gelu", 0.9, 0, 1, {"error": said})
        monkeypatch.setattr("bench.gpu.__main__._Run.times", lambda run, which, row=row: [row])
        assert main(arguments) == status and f"| gelu | {said} |" in capsys.readouterr().out


def test_what_a_process_says_is_kept(tmp_path: Path):
    log = tmp_path / "gpu.log"
    run = _Run("emulated", True, environment(""), 60, str(log))
    assert "error" in run.record("--rows", "99")
    assert (
        log.read_text().startswith("== bench.gpu.measure emulated --rows 99\nTraceback ")
        and "IndexError" in log.read_text()
    )


def test_a_row_that_ends_the_process(monkeypatch: pytest.MonkeyPatch):
    """Those before it and behind it are timed; where time is short, what was not timed says so."""
    run, asked = _Run("emulated", True, environment(""), 60), list[str]()

    def process(module: str, *more: str, timeout: float) -> tuple[int | None, str, str]:
        if module == "bench.gpu.list":
            return 0, '[["a", 1, 0, 0], ["b", 1, 0, 0], ["c", 1, 0, 0]]', ""
        asked.append(more[2])
        return (1, '{"ours": 1}\n', "SystemError: gone\n") if len(asked) == 1 else (None, '{"ours": 3}\n', "")

    monkeypatch.setattr(run, "_process", process)
    assert [t.found for t in run.times(None)] == [
        {"ours": 1},
        {"error": "SystemError: gone"},
        {"ours": 3},
    ] and asked == ["0,1,2", "2"]
    run.seconds = 0
    assert [t.found for t in run.times([1])] == [{"error": "no time was left"}]


def test_no_such_device(capsys: pytest.CaptureFixture[str]):
    assert main(["--device", "cuda:63"]) == 1
    assert capsys.readouterr().err.startswith("nothing was run: ")


def test_the_report():
    about = {"device": "GPU of tests", "copy": 2e12}
    timed = [
        Timed(
            "product",
            0.9,
            2 * 10**12,
            0,
            {"ours": 0.01, "peer": 0.008, "peer name": "torch", "apart": 1e-3, "first": 3.0},
        ),
        Timed(
            "softmax",
            0.9,
            0,
            10**9,
            {"ours": 0.5e-3, "first": 1.0, "kernels": [["map", "8x8", 1, 1.0, 1, 1]]},
        ),
        Timed(
            "step",
            1.0,
            0,
            0,
            {
                "ours": 0.5e-3,
                "first": 1.0,
                "kernels": [
                    ["product", "8x8 8x8", 3, 0.003, 2 * 10**9, 10**6],
                    ["map", "8x8", 1, 0.001, 0, 2 * 10**9],
                ],
            },
        ),
        Timed("attention", 0.8, 1, 0, {"error": "no"}),
    ]
    checked = [Checked("a.tx", (3, 4, 1, 1), ["cuda:0: f: Y differs"]), Checked("b.tx", (2, 2, 0, 0))]
    assert (
        report(about, checked, timed, 12.3, "make gpu")
        == """# On a GPU

Written by `make gpu` in 12 s.

| | |
|---|---|
| device | GPU of tests |
| copy | 2000 GB/s, read and written |

## The operator library

Results on the device against the interpreter's, at small sizes.

| file | operators | gradients |
|---|---|---|
| a.tx | 3 / 4 | 1 / 1 |
| b.tx | 2 / 2 | 0 / 0 |
| **all** | 5 / 6 | 1 / 1 |

* cuda:0: f: Y differs

## Times

Medians. The ratio is torch's time over texpr's, or, of what is bound by memory, the share of the rate of a copy. `apart`: from torch's \
result, relative to the largest element.

| what | texpr ms | rate | torch ms | ratio | bar | apart | first run s |
|---|---|---|---|---|---|---|---|
| product | 10.000 | 200.0 TFLOP/s | 8.000 (torch) | 0.80, below | 0.9 | 1.0e-03 | 3.0 |
| softmax | 0.500 | 2000 GB/s |  | 1.00 | 0.9 |  | 1.0 |
| step | 0.500 |  |  |  | 1.0 |  | 1.0 |
| attention | no | | | | 0.8 | | |

## Kernels: step

The most expensive ones, each waited for: some 10 us of each call are no work of the kernel.

| kernel | calls | ms | TFLOP/s | GB/s | shapes |
|---|---|---|---|---|---|
| product | 3 | 3.000 | 2.0 | 1 | 8x8 8x8 |
| map | 1 | 1.000 | 0.0 | 2000 | 8x8 |
"""
    )


def test_wheels_are_unpacked(tmp_path: Path):
    with zipfile.ZipFile(tmp_path / "lonely-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("lonely/__init__.py", "here = True\n")
    folder = prepare(str(tmp_path), ("json", "lonely"))
    assert (Path(folder) / "lonely" / "__init__.py").read_text() == "here = True\n"
    assert folder in environment(folder)["PYTHONPATH"].split(":") and environment("", A="b")["A"] == "b"
    assert prepare("", ("json",)) == ""
    with pytest.raises(Missing) as error:
        prepare(str(tmp_path), ("absent_library",))
    assert str(error.value).startswith("absent_library: not installed, and no wheels of them in ")


def test_rows_are_what_was_promised():
    names = [r.name for r in rows(False)]
    assert (
        names[:3] == ["product bf16 4096", "product bf16 8192", "product f32 4096"]
        and len(names) == len(rows(True)) == 8
    )
    assert {r.bar for r in rows(False)} == {0.8, 0.9, 1.0}
