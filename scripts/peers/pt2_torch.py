"""Archives of PyTorch with what PyTorch computes of them; runs in an environment with PyTorch.

    python scripts/peers/pt2_torch.py small FILE
    python scripts/peers/pt2_torch.py networks FOLDER NAME...

`small` writes a zip file of small programs, each exported as it is and decomposed into core
operators, with arguments and results: the tests' data. `networks` writes networks of torchvision
and transformers with random weights.
"""

from __future__ import annotations

import io
import json
import sys
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import torch
from pt2_functions import arithmetic, attention, elements, places, reductions, shapes, windows, writes
from torch import nn
from torch._higher_order_ops.while_loop import while_loop
from torch.nn import functional as F

LARGE = {"inception_v3": 299, "swin_t": 224, "vit_b_16": 224, "alexnet": 224}
"""Sides of images, 64 for the others."""


class Case(nn.Module):
    """A function of tensors as a module."""

    def __init__(self, function, **buffers):
        super().__init__()
        self.function = function
        for name, value in buffers.items():
            self.register_buffer(name, value)

    def forward(self, *args):
        return self.function(self, *args)


class Layers(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1, self.c2 = nn.Conv1d(3, 4, 3, padding="same"), nn.Conv2d(3, 6, 3, 2, 1, groups=3)
        self.c3, self.t2 = nn.Conv3d(3, 2, 2, dilation=2), nn.ConvTranspose2d(6, 3, 3, 2, 1, output_padding=1)
        self.even = nn.Conv2d(3, 2, 4, padding="same", bias=False)
        self.b, self.g, self.i = nn.BatchNorm2d(6), nn.GroupNorm(2, 6), nn.InstanceNorm2d(6, affine=True)
        self.l, self.r, self.f = nn.LayerNorm(8), nn.RMSNorm(8), nn.Linear(8, 5)
        self.local, self.d = nn.LocalResponseNorm(3), nn.Dropout(0.5)
        self.b.running_mean.uniform_(-1, 1)
        self.b.running_var.uniform_(0.5, 2)

    def forward(self, x):
        h = self.c2(x)
        s = self.f(self.d(self.l(x)))
        return {
            "c1": self.c1(x[:, :, 0]),
            "h": h,
            "c3": self.c3(x[:, :, None].expand(-1, -1, 4, -1, -1)),
            "t2": self.t2(h),
            "even": self.even(x),
            "b": self.b(h),
            "g": self.g(h),
            "i": self.i(h),
            "r": self.r(x),
            "s": s,
            "local": self.local(h),
            "one": self.c2(x[0]),
            "einsum": torch.einsum("nchw, kchw -> nk", x, x),
            "mv": x[0, 0] @ s[0, 0, 0, :1].expand(8),
            "bmm": torch.bmm(x[:, 0], x[:, 1]),
            "addmm": torch.addmm(x[0, 0], x[0, 1], x[0, 2], beta=0.5, alpha=2),
            "mm": x[0, 0] @ x[0, 1],
            "inner": torch.inner(x[0, 0], x[0, 1, :3]),
            "baddbmm": torch.baddbmm(x[:, 0], x[:, 1], x[:, 2]),
            "ln": F.layer_norm(x, (8, 8)),
            "bn": F.batch_norm(h, None, None, training=True),
        }


class Nested(nn.Module):
    """Tied weights, a buffer outside of the state, nested arguments, a number, a size that varies."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(10, 4)
        self.out = nn.Linear(4, 10, bias=False)
        self.out.weight = self.embed.weight
        self.register_buffer("shift", torch.arange(4.0), persistent=False)

    def forward(self, tokens, scale, *, more):
        h = self.embed(tokens) + self.shift
        length = tokens.shape[1]
        logits = self.out(h).reshape(tokens.shape[0], -1, 10)
        return {"logits": logits * scale, "rest": (more["q"] * 2, [h.mean(1), length * 2], None)}


class InPlace(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros((), dtype=torch.int64))
        self.n = nn.BatchNorm2d(3, momentum=0.2)

    def forward(self, x):
        h = F.relu_(self.n(x))
        h += 1
        y = h.mul_(2.0)
        z = torch.zeros_like(x).copy_(h).fill_(0.5) + h
        self.calls.add_(1)
        return y, z, self.calls + 0


class Recurrent(nn.Module):
    """Recurrent layers, and parts of a program that are chosen or without gradients."""

    def __init__(self):
        super().__init__()
        self.lstm, self.gru = nn.LSTM(4, 3, 2, bidirectional=True), nn.GRU(4, 3, batch_first=True)
        self.rnn, self.relu = nn.RNN(4, 3, bias=False), nn.RNN(4, 3, nonlinearity="relu")
        self.linear = nn.Linear(4, 4)

    def forward(self, x):
        with torch.no_grad():
            still = self.linear(x)
        found = {name: getattr(self, name)(x) for name in ("lstm", "gru", "rnn", "relu")}

        def first(x):
            return self.linear(x), x.sum(0)

        def second(x):
            return x * 2, x.mean(0)

        total = x.sum()
        chosen = torch.cond(total > -1e9, first, second, (x,)), torch.cond(total > 1e9, first, second, (x,))
        return found | {"still": still, "chosen": chosen}


class Repeated(nn.Module):
    """A part of a program that runs as long as values say, with weights and a buffer in it."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)
        self.register_buffer("limit", torch.tensor(0.5))

    def forward(self, x, n):
        def holds(n, x):
            return (n < 9) & (x.abs().sum() > self.limit)

        def step(n, x):
            return n + 1, torch.tanh(self.linear(x)) * 0.7

        n, x = while_loop(holds, step, (n, x))
        return x * 2, n


class Kept(nn.Module):
    """A buffer whose parts are written, as language models keep what they have read."""

    def __init__(self):
        super().__init__()
        self.register_buffer("rows", torch.zeros(3, 4))

    def forward(self, x):
        self.rows[1:].transpose(0, 1)[2] = x
        return self.rows.sum(1)


def made() -> dict:
    """Small programs: module, arguments, those by name, dynamic shapes."""
    torch.manual_seed(0)
    x, y, k = torch.rand(3, 4) * 1.8 - 0.9, torch.rand(3, 4) + 0.5, torch.tensor([[0, 1, 2, 3]] * 3)
    big, tokens, length = (
        torch.randn(4, 5, 6),
        torch.randint(0, 10, (2, 5)),
        torch.export.Dim("length", max=64),
    )
    table = Case(places, table=torch.arange(12.0).reshape(4, 3) / 4 - 1)
    wide, place = torch.randn(4, 4), torch.tensor([0, 3, 1, 1])
    q, mask = torch.randn(1, 4, 5, 8), torch.rand(1, 1, 5, 7) > 0.4
    mask[0, 0, 2] = False
    return {
        "elements": (Case(elements), (x, y, k), {}, None),
        "arithmetic": (Case(arithmetic), (x, y, k, x > 0), {}, None),
        "shapes": (Case(shapes), (big, torch.tensor([1, 5])), {}, None),
        "places": (table, (wide, place), {}, None),
        "reductions": (Case(reductions), (big, k), {}, None),
        "layers": (Layers().eval(), (torch.randn(2, 3, 8, 8),), {}, None),
        "windows": (Case(windows), (torch.randn(1, 2, 8, 7),), {}, None),
        "attention": (Case(attention), (q, torch.randn(1, 4, 7, 8), mask), {}, None),
        "nested": (
            Nested(),
            (tokens, 3.0),
            {"more": {"q": torch.ones(2)}},
            {"tokens": {1: length}, "scale": None, "more": {"q": None}},
        ),
        "writes": (Case(writes), (big,), {}, None),
        "recurrent": (Recurrent().eval(), (torch.randn(2, 5, 4),), {}, None),
        "repeated": (Repeated().eval(), (torch.randn(2, 3), torch.zeros(1, dtype=torch.int64)[0]), {}, None),
        "kept": (Kept(), (torch.randn(2),), {}, None),
        "in_place": (InPlace().train(), (torch.randn(4, 3, 5, 5),), {}, None),
    }


def slim(data: bytes) -> bytes:
    """An archive without what no reader of weights and graphs needs: examples, which are pickled, and texts
    of where nodes come from in the source.
    """
    found = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as given, zipfile.ZipFile(found, "w") as new:
        for entry in given.infolist():
            content = given.read(entry)
            if "/sample_inputs/" in entry.filename:
                continue
            if entry.filename.endswith("models/model.json"):
                program = json.loads(content)
                for node in program["graph_module"]["graph"]["nodes"]:
                    node["metadata"] = {k: v for k, v in node["metadata"].items() if k == "nn_module_stack"}
                content = json.dumps(program).encode()
            new.writestr(zipfile.ZipInfo(entry.filename), content)
    return found.getvalue()


def saved(program) -> bytes:
    """The archive of a program."""
    file = io.BytesIO()
    torch.export.save(program, file)
    return file.getvalue()


def leaves(value, name: str = "") -> dict[str, np.ndarray]:
    """Arrays of nested results by their places."""
    if isinstance(value, torch.Tensor):
        return {name: value.detach().numpy()}
    if hasattr(value, "items"):
        return {k: v for key, part in value.items() for k, v in leaves(part, f"{name}/{key}").items()}
    if isinstance(value, tuple | list):
        return {k: v for n, part in enumerate(value) for k, v in leaves(part, f"{name}/{n}").items()}
    return {} if value is None else {name: np.asarray(value)}


def write_arrays(file, args, kwargs, results, exact=None) -> None:
    """Arguments and results by their places."""
    arrays: dict[str, Any] = {
        **leaves(args, "args"),
        **leaves(kwargs, "kwargs"),
        **leaves(results, "results"),
        **leaves(exact, "exact"),
    }
    np.savez(file, **arrays)


def write_small(path: Path) -> None:
    """The data of the tests."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as file:
        for name, (module, args, kwargs, dynamic) in made().items():
            program = torch.export.export(module, args, kwargs, dynamic_shapes=dynamic)
            file.writestr(f"{name}.pt2", slim(saved(program)))
            file.writestr(f"{name}_core.pt2", slim(saved(program.run_decompositions())))
            arrays = io.BytesIO()
            copies = [a.clone() if isinstance(a, torch.Tensor) else a for a in args]
            write_arrays(arrays, args, kwargs, module(*copies, **kwargs))
            file.writestr(f"{name}.npz", arrays.getvalue())
            print(name, len(program.graph.nodes), flush=True)


def network(name: str):
    """A network with random weights, and arguments."""
    torch.manual_seed(0)
    if name in ("bert", "gpt2"):
        return of_transformers(name)
    import torchvision

    more = {"aux_logits": True, "init_weights": False} if name in ("googlenet", "inception_v3") else {}
    model, side = getattr(torchvision.models, name)(weights=None, **more), LARGE.get(name, 64)
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.momentum = 1.0  # statistics of the data: results of many layers depend on the image
    for parameter in model.parameters():
        if parameter.ndim == 2 and not parameter.any():
            nn.init.normal_(parameter, std=0.02)  # a head that begins as zeros
    model.train()
    with torch.no_grad():
        model(torch.randn(4, 3, side, side))
    return model.eval(), (torch.randn(2, 3, side, side),), {}


def of_transformers(name: str):
    """BERT or GPT-2 of a small size."""
    import transformers as t

    tokens, mask = torch.randint(0, 200, (2, 12)), torch.ones(2, 12, dtype=torch.int64)
    mask[1, 8:] = 0
    if name == "bert":
        sizes = {
            "hidden_size": 64,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "intermediate_size": 128,
        }
        return t.BertModel(t.BertConfig(**sizes, vocab_size=200)).eval(), (tokens,), {"attention_mask": mask}
    sizes = {
        "n_embd": 64,
        "n_layer": 2,
        "n_head": 4,
        "vocab_size": 200,
        "n_positions": 64,
        "use_cache": False,
    }
    return t.GPT2LMHeadModel(t.GPT2Config(**sizes)).eval(), (tokens,), {}


def write_networks(folder: Path, names: list[str]) -> None:
    """Archives, arguments and results of networks, also those in f64."""
    folder.mkdir(exist_ok=True)
    for name in names:
        module, args, kwargs = network(name)
        with torch.no_grad():
            result, program = module(*args, **kwargs), torch.export.export(module, args, kwargs)
            (folder / f"{name}.pt2").write_bytes(saved(program))
            wide = [a.double() if a.is_floating_point() else a for a in args]
            write_arrays(folder / f"{name}.npz", args, kwargs, result, module.double()(*wide, **kwargs))
        print(name, flush=True)


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    what, to, *rest = sys.argv[1:]
    write_small(Path(to)) if what == "small" else write_networks(Path(to), rest)
