"""Partition of the public names into pages, groups and entries."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType
from typing import NamedTuple

import texpr as tx
from scripts.reference.entries import Entry
from texpr import nn

GPU = (
    "Device",
    "DeviceArray",
    "Event",
    "Memory",
    "Stream",
    "find_device",
    "full_name",
    "is_device",
    "missing",
)
"""Names of `tx.gpu` that users call; the others are those of its drivers, for `texpr` itself."""


class Page(NamedTuple):
    """A page of the reference."""

    path: str
    """Below `docs/reference`."""
    title: str
    text: str
    """Opening sentences."""
    modules: tuple[str, ...]
    """Where the objects of the page are defined, below `texpr`; the longest that fits decides."""


NN = (
    Page(
        "nn/layers.md",
        "Layers",
        "Layers of `texpr.nn`: formula, shapes, errors and an example each. Names, arguments, formulas and "
        "weight layouts are those of `torch.nn`. A layer that is called on arrays gives an array, on tensors "
        "a tensor, and inside of another module's `forward` an equation of its program.",
        ("nn.modules",),
    ),
    Page(
        "nn/containers.md",
        "Modules and containers",
        "The base class of layers and networks, parameters and buffers, and containers of modules.",
        ("nn.modules.containers", "nn.core"),
    ),
    Page(
        "nn/losses.md",
        "Losses",
        "Losses of an output and a target, with the names and formulas of `torch.nn`. Without `reduction`, "
        'each is a mean and its result has the shape (). With `reduction="sum"` it is a sum, and with '
        '`reduction="none"` there is one loss per element or example.',
        ("nn.losses",),
    ),
    Page(
        "nn/optimizers.md",
        "Optimizers",
        "Optimizers with the names, formulas and defaults of `torch.optim`. In the formulas, p is a "
        "parameter, g its gradient, and t counts the steps from 1. `Trainer` and `TrainingStep` make the "
        "update a part of the step's program; `step()` makes it after `backward()`.",
        ("nn.optim",),
    ),
    Page(
        "nn/schedulers.md",
        "Learning-rate schedulers",
        "Schedulers of `texpr.nn.optim.lr_scheduler`, with the names and formulas of "
        "`torch.optim.lr_scheduler`. Each changes `lr` of the optimizer's groups when its `step()` is called.",
        ("nn.optim.lr_scheduler",),
    ),
    Page(
        "nn/callbacks.md",
        "Callbacks",
        "Callbacks of `Trainer.fit`: they stop, save, log, or change the learning rate. A function "
        "`f(trainer, epoch, values)` is a callback too: `nn.callbacks.Listener` is its type.",
        ("nn.training.callbacks",),
    ),
    Page(
        "nn/trainer.md",
        "Trainer",
        "The loop of training: epochs, metrics, mixed precision, gradient accumulation, resuming.",
        ("nn.training",),
    ),
    Page(
        "nn/metrics.md",
        "Metrics",
        "Metrics of a whole epoch, equal to those of scikit-learn: by name in `metrics` of a `Trainer`, or "
        "called on outputs and targets. How these are read follows from the trainer's loss.",
        ("nn.metrics",),
    ),
    Page(
        "nn/data.md",
        "Data",
        "Data sets and batches, with the names of `torch.utils.data`. A loader may be saved in the middle of "
        "an epoch.",
        ("nn.data",),
    ),
    Page(
        "nn/init.md",
        "Initial values",
        "Functions of `texpr.nn.init`, with the names and formulas of `torch.nn.init`. Those whose names end "
        "in `_` fill a parameter or an array in place and return it.",
        ("nn.init",),
    ),
    Page(
        "nn/sklearn.md",
        "Estimators",
        "Networks as estimators of scikit-learn, which has to be installed: "
        "[networks in scikit-learn](../../guide/scikit_learn.md).",
        ("nn.sklearn",),
    ),
    Page(
        "nn/utils.md",
        "Utilities",
        "Weights in files, export to C, packed sequences, gradient clipping, parameters as a vector.",
        ("nn.utils", "nn.checkpoint", "nn.pretrained", "nn.export", "nn.modules.packed_sequence"),
    ),
)
API = Page(
    "api.md",
    "Python API",
    "The public names of `texpr` but for tensors and networks: operators, schedules, gradients, tuning, "
    "options, devices, models, other frameworks, errors.",
    (
        "compiler",
        "support",
        "tune",
        "graph.report",
        "ir",
        "onnx",
        "nnef",
        "pt2",
        "bridges",
        "runtime.gpu",
        "aot",
        "lang",
    ),
)
TENSORS = Page(
    "tensors.md",
    "Tensors",
    "The class `tx.Tensor`, functions that make tensors, and `tx.jit`. Methods have the names of NumPy and of "
    "PyTorch.",
    ("graph",),
)
ARRAY_API = Page(
    "array_api.md",
    "The array API standard",
    "Functions of `tx.array_api`, which is what `x.__array_namespace__()` gives: the Python array API standard, "
    "https://data-apis.org/array-api/2024.12/ (`__array_api_version__`). Names, signatures and promotion are the "
    "standard's: numbers of different kinds are refused, floats without a data type are f64. The data types are "
    "`bool`, `int8`, `int16`, `int32`, `int64`, `uint8`, `uint16`, `uint32`, `uint64`, `float32` and `float64`, "
    "the constants `e`, `inf`, `nan`, `newaxis` and `pi`. Not there: complex numbers, and the extensions "
    "`linalg` and `fft`. Results whose shape depends on values (`nonzero`, `unique_all` and its kin) are "
    "computed at once, and refused in traced functions.",
    ("graph.array_api",),
)
DISTRIBUTED = Page(
    "distributed.md",
    "Several processes",
    "The public names of `texpr.distributed`, here `dist`: communicators, and what is done on all ranks of a "
    "program. The guide [Several processes](../guide/distributed.md) says how they work together.",
    ("distributed",),
)
PAGES = (*NN, API, TENSORS, ARRAY_API, DISTRIBUTED)
PUBLIC = {
    "tx": "texpr",
    "nn": "texpr.nn",
    "nn.optim": "texpr.nn.optim",
    "nn.optim.lr_scheduler": "texpr.nn.optim.lr_scheduler",
    "nn.callbacks": "texpr.nn.callbacks",
    "nn.data": "texpr.nn.data",
    "nn.metrics": "texpr.nn.metrics",
    "nn.sklearn": "texpr.nn.sklearn",
    "nn.init": "texpr.nn.init",
    "nn.utils": "texpr.nn.utils",
    "nn.utils.rnn": "texpr.nn.utils.rnn",
    "tx.debug": "texpr.compiler.debug",
    "tx.tuning": "texpr.tune.tuning",
    "nn.parametrizations": "texpr.nn.utils.parametrizations",
    "tx.array_api": "texpr.graph.array_api",
    "tx.gpu": "texpr.runtime.gpu",
    "tx.nnef": "texpr.nnef",
    "tx.onnx": "texpr.onnx",
    "tx.pt2": "texpr.pt2",
    "tx.torch": "texpr.bridges.torch",
    "dist": "texpr.distributed",
    "tx.jax": "texpr.bridges.jax",
}
"""Packages whose names are public, as examples call them."""


def public() -> Iterator[Entry]:
    """Every public name; an object with several names comes once, under its own name if it has it."""
    found: dict[int, list[Entry]] = {}
    for prefix, path in PUBLIC.items():
        module = package(path)
        for name in names(module):
            each = getattr(module, name)
            if not isinstance(each, ModuleType):
                found.setdefault(id(each), []).append(Entry(f"{prefix}.{name}", each))
    for entries in found.values():
        own = [e for e in entries if e.short == getattr(e.object, "__name__", "")] or entries
        aliases = tuple(e.name for e in entries if e.name != own[0].name)
        yield Entry(own[0].name, own[0].object, aliases)


def package(path: str) -> ModuleType:
    return {"texpr": tx, "texpr.nn": nn, "texpr.nn.callbacks": nn.callbacks}.get(path) or import_module(path)


def names(module: ModuleType) -> list[str]:
    """The public names of a module: `__all__`, or functions and classes that it defines."""
    if module.__name__ == "texpr.runtime.gpu":
        return list(GPU)
    listed = getattr(module, "__all__", None)
    if listed is not None:
        return [name for name in listed if is_entry(getattr(module, name))]
    return [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and is_entry(value) and value.__module__ == module.__name__
    ]


def is_entry(found: object) -> bool:
    """True for functions and classes of texpr, not for types of annotations."""
    return (inspect.isclass(found) or callable(found)) and getattr(found, "__module__", "").startswith(
        "texpr"
    )


def page_of(each: Entry) -> Page:
    """The page of an entry, by the module that defines it."""
    module = each.object.__module__.removeprefix("texpr.")
    if each.name == "nn.manual_seed" or each.short == "manual_seed":
        return next(p for p in NN if p.path == "nn/init.md")
    fits = [(len(m), p) for p in PAGES for m in p.modules if module == m or module.startswith(f"{m}.")]
    if not fits:
        raise LookupError(f"{each.name} of texpr.{module} is on no page")
    return max(fits, key=lambda fit: fit[0])[1]


def group_of(each: Entry) -> str:
    """The heading above an entry, by the module that defines it."""
    return GROUPS[each.object.__module__.removeprefix("texpr.")]


GROUPS: dict[str, str] = {
    "nn.modules.activations": "Smooth activations",
    "nn.modules.rectifiers": "Rectifiers and clamps",
    "nn.modules.along_axis": "Softmax and other functions along an axis",
    "nn.modules.adaptive_softmax": "Adaptive softmax",
    "nn.modules.attention": "Attention",
    "nn.modules.convolution": "Convolution",
    "nn.modules.distance": "Distances",
    "nn.modules.dropout": "Dropout",
    "nn.modules.embedding": "Embeddings",
    "nn.modules.fractional": "Fractional pooling",
    "nn.modules.linear": "Linear layers and shapes",
    "nn.modules.normalization": "Normalization",
    "nn.modules.synchronized": "Normalization",
    "nn.modules.padding": "Padding",
    "nn.modules.pooling": "Pooling",
    "nn.modules.recurrent": "Recurrent layers",
    "nn.modules.resizing": "Resizing",
    "nn.modules.transformer": "Transformers",
    "nn.modules.unpooling": "Unpooling",
    "nn.modules.containers": "Containers",
    "nn.modules.packed_sequence": "Sequences of several lengths",
    "nn.utils.rnn": "Sequences of several lengths",
    "nn.utils.clip_grad": "Gradient clipping",
    "nn.utils.recomputation": "Activation checkpointing",
    "nn.utils.parametrizations": "Parametrizations",
    "nn.utils.vectors": "Parameters as a vector",
    "nn.checkpoint": "Weights in files",
    "nn.pretrained.hugging_face": "Weights in files",
    "nn.export": "Export to C",
    "nn.core.module": "Modules",
    "nn.core.parameter": "Parameters and buffers",
    "nn.core.summary": "Modules",
    "nn.losses.loss": "Base of losses",
    "nn.losses.classification": "Classification",
    "nn.losses.linear_cross_entropy": "Classification",
    "nn.losses.regression": "Regression and ranking",
    "nn.losses.sequence": "Sequences",
    "nn.optim.adam": "Adam and its kin",
    "nn.optim.adaptive": "Other adaptive methods",
    "nn.optim.adafactor": "Other adaptive methods",
    "nn.optim.muon": "Orthogonal steps",
    "nn.optim.averaged": "Averaged models",
    "nn.optim.lbfgs": "Quasi-Newton methods",
    "nn.optim.optimizer": "Base of optimizers",
    "nn.optim.sgd": "Gradient descent",
    "nn.optim.lr_scheduler.combined": "Combinations",
    "nn.optim.lr_scheduler.cosine": "Cosine annealing",
    "nn.optim.lr_scheduler.cycles": "Cycles",
    "nn.optim.lr_scheduler.factors": "Factors",
    "nn.optim.lr_scheduler.plateau": "Plateaus",
    "nn.optim.lr_scheduler.scheduler": "Base of schedulers",
    "nn.training.callbacks.callback": "Base of callbacks",
    "nn.training.callbacks.stopping": "Control",
    "nn.training.callbacks.writers": "Files",
    "nn.training.trainer": "Trainer",
    "nn.training.step": "Training step",
    "nn.training.history": "History",
    "nn.training.precision": "Mixed precision",
    "nn.metrics.metric": "Base of metrics",
    "nn.metrics.class_metrics": "Decisions",
    "nn.metrics.score_metrics": "Scores",
    "nn.metrics.error_metrics": "Numbers",
    "nn.data.datasets": "Data sets",
    "nn.data.data_loader": "Batches",
    "nn.data.buckets": "Sequences of several lengths",
    "nn.data.samplers": "Orders of examples",
    "nn.init": "Functions",
    "graph.lazy.random_numbers": "Random numbers",
    "graph.lazy.creation": "Creation and joining",
    "graph.lazy.making": "Tensors of existing data",
    "graph.lazy.lazy_tensor": "Gradients",
    "graph.lazy.gradient_modes": "Gradients",
    "graph.lazy.jit_function": "Compiled functions",
    "graph.lazy.vmap": "Many examples, loops, choices",
    "graph.lazy.control_flow": "Many examples, loops, choices",
    "graph.arrays.array_functions": "Creation and joining",
    "graph.array_api.arranging": "Places, products, orders",
    "graph.array_api.collecting": "Sums, statistics, sets",
    "graph.array_api.creating": "Creation",
    "graph.array_api.data_types": "Data types",
    "graph.array_api.element_functions": "Functions of elements",
    "graph.array_api.inspection": "The namespace itself",
    "graph.report.profile": "Measuring and tuning",
    "tune.search": "Measuring and tuning",
    "tune.tuning": "Measuring and tuning",
    "compiler.fallback": "Measuring and tuning",
    "compiler.op": "Operators",
    "compiler.debug": "Operators",
    "ir.extern": "Operators",
    "compiler.schedule": "Schedules and kernels",
    "compiler.kernels.compiled_kernel": "Schedules and kernels",
    "compiler.derived_operators": "Gradients",
    "compiler.check_grad": "Gradients",
    "support.options": "Options",
    "support.errors": "Errors",
    "support.extras": "Errors",
    "distributed.communicator": "Communicators",
    "distributed.mpi_communicator": "Communicators",
    "distributed.gloo_communicator": "Communicators",
    "distributed.rank_checks": "Communicators",
    "distributed.start": "Start",
    "distributed.gathered_metrics": "Metrics",
    "distributed.same_state": "Parameters and optimizers",
    "nnef.nnef_model": "Models in NNEF",
    "nnef.nnef_export": "Models in NNEF",
    "nnef.skriptnd.skript_library": "Models in NNEF",
    "onnx.model": "Models in ONNX",
    "onnx.model_export": "Models in ONNX",
    "onnx.model_errors": "Errors",
    "pt2.exported_module": "Archives of PyTorch",
    "pt2.unknown_operators": "Errors",
    "bridges.torch.inside_torch": "Other frameworks",
    "bridges.jax.jax_operator": "Other frameworks",
    "nn.sklearn.estimators": "Estimators",
    "runtime.gpu.device": "Devices",
    "runtime.gpu.array": "Devices",
    "runtime.gpu.streams": "Devices",
    "runtime.gpu.pool": "Devices",
}
"""Headings of entries by the modules that define them."""
