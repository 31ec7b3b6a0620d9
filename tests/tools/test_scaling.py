"""The command that predicts trainings on many ranks, on a small network."""

from __future__ import annotations

import json
import sys
from argparse import Namespace

import pytest

from texpr import nn
from texpr.__main__ import main
from texpr.tools.bench import scaling
from texpr.tools.bench.scaling_networks import NETWORKS, Network

COMMAND = ["bench", "scaling", "--rounds", "2"]


@pytest.fixture
def small(monkeypatch) -> None:
    def make() -> nn.Module:
        return nn.Sequential(nn.Linear(5, 4), nn.ReLU(), nn.Linear(4, 3))

    tiny = Network(make, (8, 5), 3, lambda p: nn.optim.SGD(p, lr=0.1))
    monkeypatch.setattr(scaling, "NETWORKS", {"tiny": tiny})


def test_efficiencies_and_reductions(small, capsys):
    bounds = ["--latency", "0", "--bandwidth", "inf", "--adding", "inf", "--bucket-cap-mb", "1e-4"]
    assert main([*COMMAND, "--ranks", "6", *bounds]) == 0
    head, _, title, _, columns, row, _, ranks, _, names, *rows = capsys.readouterr().out.splitlines()
    assert head == "latency 0 ns, bandwidth unlimited, adding unlimited, allreduce: best"
    assert (
        title == "Efficiency of N ranks, the share of N times the rate of one rank:"
        and ranks == "Reductions of 6 ranks:"
    )
    assert columns.split() == ["network", "step,", "ms", "2", "4", "6"]
    assert row.split()[0] == "tiny" and row.split()[2:] == ["1.000"] * 3
    assert names.split("  ")[0] == "network"
    assert [" ".join(r.split()[1:-4]) for r in rows] == [
        "losses and states",
        *(f"bucket {k}" for k in range(4)),
    ]


def test_slow_networks_are_less_efficient(small, capsys):
    assert main([*COMMAND, "--ranks", "4", "--latency", "1s", "--bandwidth", "1kB/s"]) == 0
    row = capsys.readouterr().out.splitlines()[5].split()
    assert 0 <= float(row[3]) <= float(row[2]) < 0.1


def test_ranks_of_this_machine_are_compared(small, capsys, monkeypatch):
    """The rank that measures is a world of one, as the launcher would start several."""
    arguments = [*COMMAND, "--only", "tiny"]

    def on_ranks(ranks: int, asked: Namespace) -> dict:
        assert (ranks, asked.only) == (2, "tiny")
        capsys.readouterr()
        assert main([*arguments, "--worker"]) == 0
        return json.loads(capsys.readouterr().out.splitlines()[-1])

    monkeypatch.setattr(scaling, "_on_ranks", on_ranks)
    assert main([*arguments, "--measure", "2"]) == 0
    row = capsys.readouterr().out.splitlines()[-1].split()
    assert row[:2] == ["tiny", "2"] and len(row) == 7
    assert float(row[4]) == pytest.approx(float(row[3]) / float(row[2]), abs=0.6)


def test_ranks_that_fail_are_an_error(monkeypatch, capsys, small):
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(scaling.sys, "executable", "/bin/false")
    assert main([*COMMAND, "--measure", "2"]) == 1
    assert capsys.readouterr().err == "error[launch]: 2 ranks ended with status 1\n"


WRONG = {
    "--latency 2": "argument --latency: 2: expected a time with its unit, ns, us, ms or s: 2us",
    "--bandwidth 12": "argument --bandwidth: 12: expected a rate above 0 with its unit, bytes or bits a second: "
    "12GB/s, 100Gbit/s",
    "--ranks 1": "argument --ranks: 1: expected an integer from 2 to 1048576",
    "--measure 0": "argument --measure: 0: expected an integer from 2 to 64",
    "--measure 2,x": "argument --measure: x: expected an integer from 2 to 64",
    "--rounds 0": "argument --rounds: 0: expected an integer of at least 1",
    "--bucket-cap-mb nan": "argument --bucket-cap-mb: nan: expected megabytes above 0",
}


@pytest.mark.parametrize("given", WRONG)
def test_wrong_arguments(given: str, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["bench", "scaling", *given.split()])
    assert ended.value.code == 2
    assert capsys.readouterr().err.splitlines()[-1].endswith(f"error: {WRONG[given]}")


def test_networks_that_there_are_not(capsys):
    assert main(["bench", "scaling", "--only", "gpt"]) == 1
    assert capsys.readouterr().err == "error[arguments]: --only gpt: expected some of mlp, cnn, transformer\n"


@pytest.mark.parametrize("name", NETWORKS)
def test_networks_take_their_batches(name: str):
    network = NETWORKS[name]
    x, y = network.batch()
    assert x.shape == network.shape and 0 <= y.min() and y.max() < network.classes
    assert len(y) == (x.size if network.words else len(x))


OWN = """
import numpy as np
from texpr import nn
from beside import WIDTH

def regression():
    model = nn.Linear(WIDTH, 1)
    x = np.ones((6, WIDTH))
    return model, nn.MSELoss(), nn.optim.SGD(model.parameters(), lr=0.1), x, x[:, :1]

def wrong():
    return nn.Linear(2, 1), 3

def failing():
    raise ValueError("no data here")
"""


@pytest.fixture
def own(tmp_path, monkeypatch):
    """A file of a user, who is in its folder."""
    (tmp_path / "own_training.py").write_text(OWN)
    (tmp_path / "beside.py").write_text("WIDTH = 3")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    for name in ("own_training", "beside"):
        monkeypatch.delitem(sys.modules, name, raising=False)


@pytest.mark.parametrize("place", ["own_training.py:regression", "own_training:regression"])
def test_networks_of_users(own, capsys, place):
    assert main([*COMMAND, "--ranks", "4", "--network", place]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[5:] if "regression" in line] == ["regression"] * 3
    assert "mlp" not in "".join(lines)


EXPECTED = "the function is to give a model, a loss, an optimizer, data and targets, not "
REFUSED = {
    "own_training.py": "expected FILE.py:FUNCTION or MODULE:FUNCTION",
    "none.py:f": "FileNotFoundError: there is no file none.py",
    "no_such_module:f": "ModuleNotFoundError: No module named 'no_such_module'",
    "own_training.py:none": "there is no function `none`",
    "own_training.py:wrong": f"{EXPECTED}(Linear, int)",
    "own_training.py:failing": "ValueError: no data here",
}


@pytest.mark.parametrize("place", REFUSED)
def test_networks_of_users_that_cannot_be_made(own, capsys, place):
    assert main([*COMMAND, "--network", place]) == 1
    assert capsys.readouterr().err == f"error[arguments]: --network {place}: {REFUSED[place]}\n"


def test_networks_of_one_name(own, capsys):
    assert main([*COMMAND, *["--network", "own_training.py:regression"] * 2]) == 1
    said = "error[arguments]: --network own_training.py:regression: another one is called `regression`\n"
    assert capsys.readouterr().err == said


def test_worlds_are_powers_of_two_and_the_largest():
    assert scaling.worlds_up_to(2) == [2]
    assert scaling.worlds_up_to(6) == [2, 4, 6]
    assert scaling.worlds_up_to(1024) == [2**k for k in range(1, 11)]
