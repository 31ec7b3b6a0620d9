"""PyTorch's own databases of modules and optimizers, tried on `texpr.nn` by the names that exist:

    python scripts/peers/torch_databases.py [--only modules|optimizers] [--names Conv2d,Adam] [--all]

Needs an environment with texpr, torch and expecttest: `make torch-databases` makes one. A case is an
input of `torch.testing._internal.common_modules.module_db`, in training and in evaluation: the module
is made with the same arguments, takes PyTorch's state_dict, and its outputs and gradients are compared
in f64; or one of `common_optimizers.optim_db`: five steps on the same gradients. Prints what differs
or is refused, and the counts. 1 where a value differs.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.testing._internal.common_modules import module_db
from torch.testing._internal.common_optimizers import optim_db

sys.path.insert(0, str(Path(__file__).parents[2]))

import texpr as tx  # noqa: E402
from texpr import nn  # noqa: E402

BAR = 1e-7
"""Largest difference, relative to the largest value: a few functions of PyTorch have constants in f32."""
STEPS = 5
COARSE = {"Muon": 1e-3}
"""Differences that are allowed: PyTorch iterates in bf16."""
OTHERWISE = {"LPPool1d", "LPPool2d", "LPPool3d"}
"""Modules whose documentation says where they are not PyTorch's: |x|^p for x^p."""
RANDOM = {"FractionalMaxPool2d", "FractionalMaxPool3d"}
"""Modules with numbers of their own generator: only shapes are compared."""
Row = tuple[str, str]


def converted(value: Any, leaves: list[Any]) -> Any:
    """An argument of PyTorch's as one of texpr's; tensors that require gradients go to `leaves`."""
    if isinstance(value, torch.Tensor):
        found = tx.tensor(value.detach().numpy().copy(), requires_grad=value.requires_grad)
        if value.requires_grad:
            leaves.append((value, found))
        return found
    if isinstance(value, list | tuple):
        return type(value)(converted(each, leaves) for each in value)
    if isinstance(value, dict):
        return {key: converted(each, leaves) for key, each in value.items()}
    if isinstance(value, torch.dtype):
        return {torch.float64: "f64", torch.float32: "f32"}[value]
    if isinstance(value, torch.nn.TransformerEncoderLayer):
        return encoder_layer(value)
    return replaced_function(value)


def encoder_layer(layer: Any) -> Any:
    """A layer that is an argument of another module's constructor."""
    return nn.TransformerEncoderLayer(
        layer.self_attn.embed_dim,
        layer.self_attn.num_heads,
        layer.linear1.out_features,
        layer.dropout.p,
        activation=replaced_function(layer.activation),
        batch_first=layer.self_attn.batch_first,
        norm_first=layer.norm_first,
        bias=layer.linear1.bias is not None,
    )


def replaced_function(value: Any) -> Any:
    """A function of PyTorch's that is given as an argument, such as an activation."""
    names = {torch.nn.functional.relu: "relu", torch.nn.functional.gelu: "gelu"}
    return names.get(value, value) if callable(value) else value


def flat(outputs: Any) -> Iterator[Any]:
    """The tensors of nested results."""
    if isinstance(outputs, list | tuple):
        for each in outputs:
            yield from flat(each)
    elif outputs is not None:
        yield outputs


def difference(expected: torch.Tensor, found: Any) -> float:
    """The largest difference, relative to the largest value; infinite for another shape."""
    e, f = expected.detach().numpy(), np.asarray(found.detach() if hasattr(found, "detach") else found)
    if e.shape != f.shape or (np.isnan(e) != np.isnan(f)).any():
        return float("inf")
    if not e.size:
        return 0.0
    e, f = np.nan_to_num(e), np.nan_to_num(f)
    return float(np.abs(e - f).max() / max(np.abs(e).max(), 1.0))


def compare_module(cls: Any, name: str, case: Any, training: bool) -> str:
    """What differs in one case, or nothing."""
    made = case.constructor_input
    theirs = cls(*deepcopy(made.args), **deepcopy(made.kwargs)).double().train(training)
    given = case.forward_input or made.__class__()
    torch.manual_seed(0)
    expected = list(flat(theirs(*given.args, **given.kwargs)))  # lazy modules get their parameters here
    leaves: list[Any] = []
    kwargs = {k: v for k, v in made.kwargs.items() if k not in ("device", "dtype")}
    ours = getattr(nn, name)(*converted(made.args, []), **converted(kwargs, []))
    ours = ours.double().train(training)
    args, named = converted(tuple(given.args), leaves), converted(dict(given.kwargs), leaves)
    if any(p.numel() for p in theirs.parameters()) or list(theirs.buffers()):
        if name.startswith("Lazy"):
            ours(*args, **named)
        theirs = fresh_state(cls, made, given, training, theirs)
        ours.load_state_dict(state_of(theirs))
        expected = list(flat(theirs(*given.args, **given.kwargs)))
    found = list(flat(ours(*args, **named)))
    if len(found) != len(expected):
        return f"{len(found)} outputs, expected {len(expected)}"
    if name in RANDOM or drops(theirs, training):
        return "" if all(tuple(f.shape) == tuple(e.shape) for e, f in zip(expected, found)) else "shapes"
    worst = max((difference(e, f) for e, f in zip(expected, found)), default=0.0)
    if worst > BAR:
        return f"outputs differ by {worst:.1e}"
    return compare_gradients(theirs, ours, expected, found, leaves)


def drops(module: Any, training: bool) -> bool:
    """True if a module draws which elements it drops."""
    return training and any(
        getattr(m, "p", getattr(m, "dropout", 0)) not in (0, 0.0, 1, 2, None)
        for m in module.modules()
        if type(m).__name__ in ("Dropout", "RNN", "LSTM", "GRU", "MultiheadAttention")
    )


def fresh_state(cls: Any, made: Any, given: Any, training: bool, used: Any) -> Any:
    """The module before its call, which changes running values; of a lazy module the one with parameters."""
    if type(used) is not cls:
        return used
    module = cls(*deepcopy(made.args), **deepcopy(made.kwargs)).double().train(training)
    torch.manual_seed(1)
    with torch.no_grad():
        for p in module.parameters():
            p.copy_(torch.randn(p.shape, dtype=p.dtype) / 3)
    return module


def state_of(module: Any) -> dict[str, np.ndarray]:
    """Parameters and buffers as arrays."""
    return {name: value.detach().numpy().copy() for name, value in module.state_dict().items()}


def compare_gradients(theirs: Any, ours: Any, expected: Any, found: Any, leaves: list[Any]) -> str:
    """Which gradient differs, or nothing."""
    pairs = [(e, f) for e, f in zip(expected, found) if e.requires_grad and e.dtype == torch.float64]
    if not pairs:
        return ""
    for p in theirs.parameters():
        p.grad = None
    for value, _ in leaves:
        value.grad = None
    weights = [torch.cos(torch.arange(e.numel(), dtype=e.dtype).reshape(e.shape)) for e, _ in pairs]
    (sum((e * w).sum() for (e, _), w in zip(pairs, weights))).backward()
    sum((f * w.numpy()).sum() for (_, f), w in zip(pairs, weights)).backward()
    own = dict(ours.named_parameters())
    every = [(n, p, own[n]) for n, p in theirs.named_parameters()] + [
        ("an input", value, leaf) for value, leaf in leaves
    ]
    for name, p, q in every:
        if (p.grad is None) != (q.grad is None) and p.grad is not None and p.grad.abs().max() > 0:
            return f"the gradient of {name} is absent"
        if p.grad is not None and q.grad is not None and (d := difference(p.grad, q.grad)) > BAR:
            return f"the gradient of {name} differs by {d:.1e}"
    return ""


def modules(wanted: set[str]) -> Iterator[tuple[str, str, Callable[[], str]]]:
    """Cases of the database of modules: a name, a description, a comparison."""
    for info in module_db:
        name = info.name.split(".")[-1]
        if wanted and name not in wanted:
            continue
        if not hasattr(nn, name):
            yield name, "", absent
            continue
        for training in sorted({True, False}, reverse=True):
            cases = info.module_inputs_func(info, "cpu", torch.float64, requires_grad=True, training=training)
            for k, case in enumerate(cases):
                words = f"{name} {k} {case.desc or ''} {'training' if training else 'evaluation'}"
                words += f" {tuple(map(short, case.constructor_input.args))} "
                words += str({n: short(v) for n, v in case.constructor_input.kwargs.items()})
                yield (
                    name,
                    words,
                    lambda i=info, n=name, c=case, t=training: compare_module(i.module_cls, n, c, t),
                )


def short(value: Any) -> Any:
    """An argument in few words."""
    if isinstance(value, torch.nn.Module):
        return type(value).__name__
    return f"tensor{list(value.shape)}" if isinstance(value, torch.Tensor) else value


def absent() -> str:
    raise LookupError


def optimizers(wanted: set[str]) -> Iterator[tuple[str, str, Callable[[], str]]]:
    """Cases of the database of optimizers, as `modules`."""
    for info in optim_db:
        name = info.optim_cls.__name__
        if wanted and name not in wanted:
            continue
        if not hasattr(nn.optim, name):
            yield name, "", absent
            continue
        for case in info.optim_inputs_func(device="cpu"):
            yield (
                name,
                f"{name} {case.desc} {case.kwargs}",
                lambda i=info, n=name, c=case: compare_optimizer(i.optim_cls, n, c.kwargs),
            )


def compare_optimizer(cls: Any, name: str, kwargs: Mapping[str, Any]) -> str:
    """What differs after five steps on the same gradients, or nothing."""
    random = np.random.default_rng(0)
    shapes = ((3, 4), (5, 5)) if name == "Muon" else ((3, 4), (5,))
    first = [random.standard_normal(s) for s in shapes]
    theirs = [torch.nn.Parameter(torch.from_numpy(v.copy())) for v in first]
    ours = [nn.Parameter(v) for v in first]
    plain = {k: v.item() if isinstance(v, torch.Tensor) else v for k, v in kwargs.items()}
    one, two = cls(theirs, **kwargs), getattr(nn.optim, name)(ours, **plain)
    if name == "LBFGS":
        return compare_closures(one, two, theirs, ours, -1 if kwargs.get("maximize") else 1)
    for _ in range(STEPS):
        for p, q in zip(theirs, ours):
            g = random.standard_normal(p.shape)
            p.grad, q.grad = torch.from_numpy(g), tx.tensor(g.copy())
            if name == "SparseAdam":
                p.grad = p.grad.to_sparse()
        one.step()
        two.step()
    worst = max(difference(p, q.numpy()) for p, q in zip(theirs, ours))
    return f"parameters differ by {worst:.1e}" if worst > COARSE.get(name, BAR) else ""


def compare_closures(one: Any, two: Any, theirs: list[Any], ours: list[Any], sign: int) -> str:
    """The same for an optimizer that computes the loss itself: a sum of fourth powers times a sign."""

    def loss_of(optimizer: Any, parameters: list[Any]) -> Callable[[], Any]:
        def closure() -> Any:
            optimizer.zero_grad()
            loss = sign * sum(((p - 0.5) ** 4).sum() for p in parameters)
            loss.backward()
            return loss

        return closure

    for _ in range(2):
        one.step(loss_of(one, theirs))
        two.step(loss_of(two, ours))
    worst = max(difference(p, q.numpy()) for p, q in zip(theirs, ours))
    return f"parameters differ by {worst:.1e}" if worst > BAR else ""


def outcome(compare: Callable[[], str]) -> Row:
    """`passed`, `differs`, `refused` or `failed` with the reason, or `absent`: texpr has no such name."""
    try:
        words = compare()
    except LookupError:
        return "absent", ""
    except tx.Error as error:
        return "refused", str(error).replace("\n", " ")
    except NotImplementedError as error:
        return "refused", str(error)
    except Exception as error:
        return "failed", f"{type(error).__name__}: {error}".replace("\n", " ")
    return ("differs", words) if words else ("passed", "")


def main() -> int:
    """Try what was asked for, and count."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", choices=("modules", "optimizers"))
    parser.add_argument("--names", default="", help="of modules or optimizers, with commas")
    parser.add_argument("--all", action="store_true", help="print what passed, too")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    wanted = set(filter(None, arguments.names.split(",")))
    wrong = 0
    for title, cases in {"modules": modules, "optimizers": optimizers}.items():
        if arguments.only in (None, title):
            wrong += tried(title, cases(wanted), arguments.all)
    return int(wrong > 0)


def tried(title: str, cases: Iterator[tuple[str, str, Callable[[], str]]], everything: bool) -> int:
    """Print rows and counts of one database; how many cases are wrong."""
    counts, names = Counter(), {}
    for name, words, compare in cases:
        kind, reason = outcome(compare)
        kind = "otherwise" if kind == "differs" and name in OTHERWISE else kind
        counts[kind] += 1
        names.setdefault(name, set()).add(kind)
        if kind != "passed" or everything:
            print(f"{kind:9} {words or name}: {reason[:300]}", flush=True)
    whole = sum(kinds == {"passed"} for kinds in names.values())
    print(f"{title}: {len(names)}, all cases passed for {whole}, absent {counts.pop('absent', 0)}")
    total = sum(counts.values())
    print(f"cases of those that exist: {total}; " + ", ".join(f"{k} {n}" for k, n in sorted(counts.items())))
    return counts["differs"] + counts["failed"]


if __name__ == "__main__":
    sys.exit(main())
