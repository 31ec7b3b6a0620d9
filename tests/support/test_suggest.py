"""Names that are not there: what is said, that asking is cheap, and that everything advised
exists.
"""

from __future__ import annotations

import ast
import copy
import pickle
import re
import traceback

import numpy as np
import pytest

import texpr as tx
from texpr import nn, ops
from texpr.support import elsewhere
from texpr.support.suggest import UnknownName, did_you_mean

F = tx.op("op f(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] }")
HERE = {
    "tx": tx,
    "texpr": tx,
    "nn": nn,
    "ops": ops,
    "np": np,
    "f": F,
    "s": tx.schedule(F),
    "m": nn.Linear(3, 4),
    "x": tx.tensor([1.0, 2.0]),
    "k": tx.schedule(F).compile(),
    "p": nn.Linear(3, 4).weight,
}

ATTRIBUTES = {
    "s.vectorise": "Schedule has no `vectorise`: did you mean `vectorize`?",
    "s.parallelize": "Schedule has no `parallelize`: did you mean `s.parallel(loop)`?",
    "s.tile2": "Schedule has no `tile2`: did you mean `tile`?",
    "s.compute_root": "Schedule has no `compute_root`: every tensor is computed at the root until "
    "`s.compute_at(tensor, loop)` moves it",
    "m.cuda": 'Linear has no `cuda`: `m.to("cuda")` moves it',
    "m.wieght": "Linear has no `wieght`: did you mean `weight`?",
    "m.trian": "Linear has no `trian`: did you mean `train`?",
    "x.cuda": 'Tensor has no `cuda`: `x.to("cuda")` moves it',
    "x.resize": "Tensor has no `resize`: did you mean `x.reshape(...)`?",
    "x.detatch": "Tensor has no `detatch`: did you mean `detach`?",
    "p.resize": "Parameter has no `resize`: did you mean `x.reshape(...)`?",
    "f.compile": "Op has no `compile`: `tx.schedule(f).auto().compile()` makes a kernel",
    "k.llwm": "CompiledKernel has no `llwm`: did you mean `llvm`?",
    "nn.Lienar": "texpr.nn has no `Lienar`: did you mean `Linear`?",
    "nn.Conv2D": "texpr.nn has no `Conv2D`: did you mean `Conv2d`?",
    "nn.BatchNorm": "texpr.nn has no `BatchNorm`: did you mean `BatchNorm1d`, `BatchNorm2d` or "
    "`BatchNorm3d`?",
    "nn.CrossEntropy": "texpr.nn has no `CrossEntropy`: did you mean `CrossEntropyLoss`?",
    "nn.LazyLinear": "texpr.nn has no `LazyLinear`: sizes are said where a module is made",
    "nn.optim.Adamm": "texpr.nn.optim has no `Adamm`: did you mean `Adam`?",
    "nn.optim.lr_scheduler.StepLr": "texpr.nn.optim.lr_scheduler has no `StepLr`: did you mean `StepLR`?",
    "nn.init.kaiming": "texpr.nn.init has no `kaiming`: did you mean `kaiming_normal_` or "
    "`kaiming_uniform_`?",
    "nn.data.Dataloader": "texpr.nn.data has no `Dataloader`: did you mean `DataLoader`?",
    "nn.utils.clip_grad_norm": "texpr.nn.utils has no `clip_grad_norm`: did you mean `clip_grad_norm_`?",
    "nn.callbacks.EarlyStoping": "texpr.nn.training.callbacks has no `EarlyStoping`: did you mean "
    "`EarlyStopping`?",
    "tx.logspace": "texpr has no `logspace`: make it with NumPy: `tx.tensor(np.logspace(...))`",
    "tx.layer_norm": "texpr has no `layer_norm`: did you mean `texpr.ops.layer_norm`?",
    "tx.no_gard": "texpr has no `no_gard`: did you mean `no_grad`?",
    "tx.pmap": "texpr has no `pmap`: did you mean `tx.vmap`?",
    "ops.Softmax": "texpr.ops has no `Softmax`: did you mean `softmax`?",
    "ops.bmm": "texpr.ops has no `bmm`: did you mean `ops.batched_matmul`?",
    "tx.onnx.laod": "texpr.onnx has no `laod`: did you mean `load`?",
    "tx.targets.emulat": "texpr.targets has no `emulat`: did you mean `emulate`?",
    "nn.xyzzyplugh": "texpr.nn has no `xyzzyplugh`",
}


@pytest.mark.parametrize("text", ATTRIBUTES)
def test_attributes(text: str):
    with pytest.raises(AttributeError) as e:
        eval(text, dict(HERE))
    assert str(e.value) == ATTRIBUTES[text]


ARGUMENTS = {
    "nn.Linear(3, 4, biass=False)": "Linear has no argument `biass`; did you mean `bias`?",
    "nn.Conv2d(1, 2, kernel=3)": "Conv2d has no argument `kernel`; did you mean `kernel_size`?",
    "nn.optim.SGD(m.parameters(), learning_rate=1)": "SGD has no argument `learning_rate`; did you mean "
    "`lr`?",
    "nn.Dropout(rate=0.1)": "Dropout has no argument `rate`; did you mean `p`?",
    "nn.optim.lr_scheduler.StepLR(1, step=1)": "StepLR has no argument `step`; did you mean `step_size`?",
    "nn.data.DataLoader([1], batchsize=3)": "DataLoader has no argument `batchsize`; did you mean "
    "`batch_size`?",
    "nn.callbacks.EarlyStopping(patiense=1)": "EarlyStopping has no argument `patiense`; did you mean "
    "`patience`?",
    "nn.Trainer(m, losss=1)": "Trainer has no argument `losss`; did you mean `loss`?",
    'tx.tensor([1], dtyp="f32")': "tensor has no argument `dtyp`; did you mean `dtype`?",
    "tx.grad(f, argnums=0)": "grad has no argument `argnums`; did you mean `wrt`?",
    "x.sum(axes=0)": "sum has no argument `axes`; did you mean `axis`?",
    "x.mean(keep_dims=True)": "mean has no argument `keep_dims`; did you mean `keepdims`?",
    "p.sum(axes=0)": "sum has no argument `axes`; did you mean `axis`?",
    's.split("i", factr=3)': "split has no argument `factr`; did you mean `factor`?",
    "ops.softmax(x, axes=0)": "softmax has no argument `axes`; did you mean `axis`?",
    "f(x, y=1)": "f has no argument `y`; known are X, out",
}


@pytest.mark.parametrize("text", ARGUMENTS)
def test_arguments(text: str):
    with pytest.raises(TypeError) as e:
        eval(text, dict(HERE))
    assert isinstance(e.value, tx.CallError)
    assert f"{e.value.message}; {e.value.help}" == ARGUMENTS[text]


@pytest.mark.parametrize(
    ("name", "help"),
    [
        ("cuda", "did you mean `sm_90`?"),
        ("avx2", "did you mean `x86-64-v3`?"),
        ("x86_64", "did you mean `x86-64`?"),
        ("sm90", "did you mean `sm_90`?"),
    ],
)
def test_targets(name: str, help: str):
    with pytest.raises(tx.CompileError) as e:
        tx.schedule(F).compile(name)
    assert e.value.help == help


@pytest.mark.parametrize(
    "text", ["tx.Tensor([1, 2])", "tx.Tensor(3)", 'tx.Tensor([1], "f32")', "tx.Tensor((2, 3), np.float32)"]
)
def test_tensors_are_made_by_a_function(text: str):
    with pytest.raises(tx.CallError, match="a tensor is made by tx.tensor"):
        eval(text, dict(HERE))


def test_classes_of_ones_own():
    class Net(nn.Module):
        def __init__(self, width: int, *, depth: int = 2) -> None:
            super().__init__()
            self.first = nn.Linear(width, depth)

        @property
        def broken(self) -> int:
            return self.first.missing

    with pytest.raises(tx.CallError, match="Net has no argument `deepth`"):
        Net(3, **{"deepth": 2})
    with pytest.raises(AttributeError, match="Linear has no `missing`"):
        _ = Net(3).broken
    with pytest.raises(AttributeError, match="Net has no `frist`: did you mean `first`"):
        _ = Net(3).frist


def test_whoever_only_asks_is_told_nothing_is_there():
    assert (
        not hasattr(HERE["x"], "resize")
        and getattr(HERE["m"], "cuda", None) is None
        and not hasattr(nn, "Lienar")
    )
    made = []
    error = UnknownName("tx", "zeros", lambda: made.append(1) or "")
    assert not made and str(error) == "tx has no `zeros`"
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is AttributeError and str(again) == str(error)
    assert copy.deepcopy(HERE["m"]) is not HERE["m"]


def test_a_traceback_suggests_once():
    with pytest.raises(AttributeError) as e:
        _ = HERE["s"].vectorise
    shown = traceback.format_exception_only(e.value)
    assert shown == ["AttributeError: Schedule has no `vectorise`: did you mean `vectorize`?\n"]


TABLES = (
    elsewhere.MODULE,
    elsewhere.NETWORKS,
    elsewhere.TENSOR,
    elsewhere.LAYER,
    elsewhere.SCHEDULE,
    elsewhere.OPERATOR,
    elsewhere.FUNCTION,
)


def test_what_is_advised_exists():
    for help in {help for table in TABLES for help in table.values()}:
        for code in re.findall(r"`([^`]*)`", help):
            tree = ast.parse(code if not code.startswith("with ") else f"{code} pass")
            chains = [n for n in ast.walk(tree) if isinstance(n, ast.Attribute)]
            assert chains or re.search(r"[@+*/~!=<>&|%[-]|print|str", code) or code in HERE, code
            for chain in chains:
                root = next(n for n in ast.walk(chain) if not isinstance(n, ast.Attribute))
                if isinstance(root, ast.Name):
                    eval(ast.unparse(chain), dict(HERE))


def test_what_exists_is_not_in_the_tables():
    owners = (tx, nn, HERE["x"], HERE["m"], HERE["s"], F, ops)
    for owner, table in zip(owners, TABLES):
        assert [n for n in table if hasattr(owner, n)] == []


def test_few_names_are_listed_and_many_are_not():
    assert did_you_mean("qqqq", ["a", "b"]) == "known are a, b"
    assert did_you_mean("qqqq", [f"n{k}" for k in range(30)]) == ""
    assert did_you_mean("qqqq", []) == ""
