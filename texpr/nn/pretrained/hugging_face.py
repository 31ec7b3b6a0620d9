"""Folders of Hugging Face: `config.json` says the network, safetensors in one file or several hold
its weights.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, overload

import numpy as np

from texpr.nn.checkpoint import load as load_weights
from texpr.nn.checkpoint import read_weights
from texpr.nn.core.module import Module
from texpr.nn.pretrained.decoders import Gpt2, Llama
from texpr.nn.pretrained.encoders import Bert, ViT
from texpr.support.errors import CallError, CheckpointError
from texpr.support.files import read_file
from texpr.support.tracebacks import boundary

KNOWN: dict[str, Callable[[Mapping[str, Any]], Module]] = {
    "GPT2LMHeadModel": Gpt2,
    "LlamaForCausalLM": Llama,
    "BertModel": Bert,
    "ViTForImageClassification": ViT,
}
"""Networks by the names of their classes in transformers."""
_FIXED: dict[str, tuple[tuple[str, tuple[Any, ...]], ...]] = {
    "GPT2LMHeadModel": (
        ("activation_function", ("gelu_new", "gelu_pytorch_tanh")),
        ("scale_attn_by_inverse_layer_idx", (False,)),
        ("scale_attn_weights", (True,)),
    ),
    "LlamaForCausalLM": (("hidden_act", ("silu",)), ("rope_scaling", (None,))),
    "BertModel": (("hidden_act", ("gelu",)), ("position_embedding_type", ("absolute", None))),
    "ViTForImageClassification": (("hidden_act", ("gelu",)),),
}
"""Values of a configuration that the networks are for."""
_LONGEST = 1 << 24
"""Bytes of a configuration, or of an index of files."""
INDEX, SINGLE = "model.safetensors.index.json", "model.safetensors"


@overload
def load(model: str | Path) -> Module:
    """The network of a folder."""


@overload
def load(
    model: Module, path: str | Path, strict: bool = True, check_finite: bool = False
) -> tuple[list[str], list[str]]:
    """Names that the file lacks, and those that the model does not have."""


@boundary
def load(
    model: Module | str | Path,
    path: str | Path | None = None,
    strict: bool = True,
    check_finite: bool = False,
) -> Any:
    """Read weights: of a safetensors file into a model, all of them or after an error none; or of a
    folder of Hugging Face, whose `config.json` says which network to build.

    Folders hold GPT2LMHeadModel, LlamaForCausalLM, BertModel or ViTForImageClassification, with
    `model.safetensors` or several files and `model.safetensors.index.json`.

    Args:
        model: a module; or the folder, and no path.
        path: the file.
        strict: names in the file must be exactly the model's.
        check_finite: refuse NaN and infinite values.
    Returns:
        of a file, names that it lacks, and names that the model does not have, both empty when
        strict; of a folder, the network, in evaluation mode.
    Raises:
        CallError: `model` is no module and no folder.
        CheckpointError: a file is damaged, or is of another model, every difference is listed; the
            folder is of an unknown network, or names files outside of it.
        MissingExtra: safetensors is not installed.
        OSError: a file cannot be read.
    Example:
        >>> model = nn.Linear(3, 2)
        >>> nn.save(model, "linear.safetensors")
        >>> nn.load(model, "linear.safetensors", strict=False)
        ([], [])
    """
    if path is None and isinstance(model, str | Path):
        return _network(Path(model))
    if path is None:
        raise CallError(
            "nn.load takes a module and a path, or a folder",
            code="arguments",
            help="nn.load(model, path), or nn.load(folder)",
        )
    return load_weights(model, path, strict, check_finite)  # type: ignore[arg-type]


def _document(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(read_file(path, _LONGEST))
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{path} is not valid JSON: {error}", code="checkpoint") from None
    if not isinstance(found, dict):
        raise CheckpointError(f"{path} is no JSON object", code="checkpoint")
    return found


def _network(folder: Path) -> Module:
    """The network of a folder with its weights."""
    place = folder / "config.json"
    sizes = _document(place)
    classes = sizes.get("architectures")
    name = classes[0] if isinstance(classes, list) and classes else None
    if name not in KNOWN:
        raise CheckpointError(
            f"{place} is of the network {name!r}, which is not known",
            code="checkpoint",
            help=f"known are {', '.join(KNOWN)}; tx.onnx.load and tx.pt2.load read networks that are exported",
        )
    _check(place, name, sizes)
    try:
        model = KNOWN[name](sizes)
    except KeyError as error:
        raise CheckpointError(f"{place} lacks {error.args[0]!r}", code="checkpoint") from None
    except (TypeError, ValueError, AttributeError, ZeroDivisionError) as error:
        raise CheckpointError(f"{place} has sizes that do not fit: {error}", code="checkpoint") from None
    weights = _weights(folder)
    kinds = {a.dtype.name for a in weights.values() if a.dtype.kind == "f"}
    if "float16" in kinds and "float32" not in kinds:
        model.half()
    model.load_state_dict(_named(model, weights))
    return model.eval()


def _check(place: Path, name: str, sizes: Mapping[str, Any]) -> None:
    """Refuse what the network does not compute."""
    for key, values in _FIXED[name]:
        if key in sizes and sizes[key] not in values:
            raise CheckpointError(
                f"{place}: {key} is {sizes[key]!r}, and {name} is read for {values[0]!r}", code="checkpoint"
            )
    rope = sizes.get("rope_parameters")
    kind = rope.get("rope_type", "default") if isinstance(rope, dict) else "default"
    if kind != "default":
        raise CheckpointError(f"{place}: rope_type is {kind!r}, and 'default' is read", code="checkpoint")


def _weights(folder: Path) -> dict[str, np.ndarray]:
    """The arrays of all files of a folder.

    Raises:
        CheckpointError: an index names a file that is not beside it.
    """
    if not (folder / INDEX).exists():
        return read_weights(folder / SINGLE)
    table = _document(folder / INDEX).get("weight_map")
    files = set(table.values()) if isinstance(table, dict) else set()
    found: dict[str, np.ndarray] = {}
    for file in sorted(map(str, files)):
        if Path(file).name != file or file in (".", ".."):
            raise CheckpointError(
                f"{folder / INDEX}: `{file}` is not the name of a file beside it", code="checkpoint"
            )
        found |= read_weights(folder / file)
    return found


def _named(model: Module, weights: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Weights under the model's names: some files leave out the name of the whole body, a weight that
    is there under another name too, or add tables that the network computes.
    """
    own = model._named_state()
    first = next(iter(own)).partition(".")[0]
    found = {n if n in own or f"{first}.{n}" not in own else f"{first}.{n}": a for n, a in weights.items()}
    for name, variable in own.items():
        twin = next((n for n, v in own.items() if v is variable and n in found), None)
        if name not in found and twin is not None:
            found[name] = found[twin]
    tables = (".attn.bias", ".attn.masked_bias", ".rotary_emb.inv_freq", ".position_ids")
    return {n: a for n, a in found.items() if n in own or not n.endswith(tables)}
