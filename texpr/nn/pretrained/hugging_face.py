"""Folders of Hugging Face: `config.json` says the network, safetensors in one file or several hold
its weights.
"""

from __future__ import annotations

import errno
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, overload

import numpy as np

from texpr.ir.dtypes import BF16, F16, F32, F64, DType, numpy_dtype
from texpr.nn.checkpoint import load as load_weights
from texpr.nn.checkpoint import read_weights
from texpr.nn.core.bare_parameters import bare_parameters
from texpr.nn.core.inputs import as_input
from texpr.nn.core.module import Module, compare_states
from texpr.nn.pretrained.configuration import check
from texpr.nn.pretrained.decoders import Gpt2, Llama
from texpr.nn.pretrained.encoders import Bert, BertAnswers, BertMasked, BertTexts, BertTokens, ViT
from texpr.nn.reader_advice import advise_reader
from texpr.support.errors import CallError, CheckpointError, json_fault
from texpr.support.files import read_file
from texpr.support.tracebacks import boundary

KNOWN: dict[str, Callable[[Mapping[str, Any]], Module]] = {
    "GPT2LMHeadModel": Gpt2,
    "LlamaForCausalLM": Llama,
    "BertModel": Bert,
    "BertForMaskedLM": BertMasked,
    "BertForSequenceClassification": BertTexts,
    "BertForTokenClassification": BertTokens,
    "BertForQuestionAnswering": BertAnswers,
    "ViTForImageClassification": ViT,
}
"""Networks by the names of their classes in transformers."""
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

    Folders hold GPT2LMHeadModel, LlamaForCausalLM, BertModel, BertForMaskedLM,
    BertForSequenceClassification, BertForTokenClassification, BertForQuestionAnswering or
    ViTForImageClassification, with `model.safetensors` or several files and
    `model.safetensors.index.json`. Networks are of the dtype of their weights, f16 and bf16 too, of
    f32 where these have several. Those of language models have `generate(tokens, max_new_tokens)`.

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
        raise CheckpointError(f"{path} is not valid JSON: {json_fault(error)}", code="checkpoint") from None
    if not isinstance(found, dict):
        raise CheckpointError(f"{path} is no JSON object", code="checkpoint")
    return found


def _without_configuration(folder: Path) -> Exception:
    """The error for a path that is no folder of Hugging Face."""
    if not folder.exists():
        return FileNotFoundError(
            errno.ENOENT,
            "no such folder, and names of the Hub are not downloaded: "
            "huggingface_hub.snapshot_download(name) gives a folder",
            str(folder),
        )
    what = "a folder without config.json" if folder.is_dir() else "a file, expected a folder"
    return CheckpointError(
        f"{folder} is {what}",
        code="checkpoint",
        help=advise_reader(folder) or "transformers' save_pretrained(folder) writes config.json and weights",
    )


def _network(folder: Path) -> Module:
    """The network of a folder with its weights."""
    place = folder / "config.json"
    if not place.exists():
        raise _without_configuration(folder)
    sizes = _document(place)
    classes = sizes.get("architectures")
    name = classes[0] if isinstance(classes, list) and classes else None
    if not isinstance(name, str) or name not in KNOWN:
        raise CheckpointError(
            f"{place} is of the network {name!r}, which is not known",
            code="checkpoint",
            help=f"known are {', '.join(KNOWN)}; tx.onnx.load and tx.pt2.load read networks that are exported",
        )
    weights, dtype = _weights(folder)
    try:
        check(name, sizes, len(weights))
        with bare_parameters(dtype):
            model = KNOWN[name](sizes)
    except KeyError as error:
        raise CheckpointError(f"{place} lacks {error.args[0]!r}", code="checkpoint") from None
    except (TypeError, ValueError, AttributeError) as error:
        raise CheckpointError(f"{place} does not fit: {error}", code="checkpoint") from None
    _give(model, _named(model, weights), folder)
    return model.eval()


def _give(model: Module, weights: Mapping[str, np.ndarray], folder: Path) -> None:
    """Let the parameters of a network have values, all of them."""
    own = model._named_state()
    shapes = {n: (a.shape, a.dtype.name) for n, a in weights.items()}
    missing, unexpected, wrong = compare_states(own, shapes)
    for what, names in (("missing", missing), ("unexpected", unexpected)):
        wrong += [f"{what}: {', '.join(names)}"] if names else []
    if wrong:
        raise CheckpointError(
            f"the arrays of {folder} do not fit its config.json", code="checkpoint", notes=wrong
        )
    for variable in dict.fromkeys(own.values()):
        name = next(n for n, v in own.items() if v is variable)
        variable.replace(as_input(weights[name], variable.dtype).array)


def _weights(folder: Path) -> tuple[dict[str, np.ndarray], DType]:
    """The arrays of all files of a folder, and the dtype of a network with them.

    Raises:
        CheckpointError: an index names a file that is not beside it, or files have other arrays than
            it says.
    """
    if not (folder / INDEX).exists():
        if not (folder / SINGLE).exists() and any(folder.glob("*.bin")):
            raise CheckpointError(
                f"the weights of {folder} are pickled, and pickles run code that a file brings along",
                code="checkpoint",
                help="transformers' save_pretrained(folder) writes safetensors",
            )
        if not (folder / SINGLE).exists():
            raise CheckpointError(
                f"{folder} has no weights: neither {SINGLE} nor {INDEX}",
                code="checkpoint",
                help="transformers' save_pretrained(folder) writes safetensors",
            )
        found, kinds = read_weights(folder / SINGLE)
        return _alike(found, kinds)
    table = _document(folder / INDEX).get("weight_map")
    if not isinstance(table, dict):
        raise CheckpointError(f"{folder / INDEX} has no object `weight_map`", code="checkpoint")
    found, kinds = {}, set()
    files = sorted(set(map(str, table.values())))
    for file in files:
        if not file or Path(file).name != file or "\\" in file or file in (".", ".."):
            raise CheckpointError(
                f"{folder / INDEX}: `{file}` is not the name of a file beside it", code="checkpoint"
            )
        if not (folder / file).exists():
            raise CheckpointError(f"{folder / INDEX}: `{file}` is not there", code="checkpoint")
    for file in files:
        arrays, dtypes = read_weights(folder / file)
        others = [n for n in arrays if table.get(n) != file]
        if others:
            raise CheckpointError(
                f"{folder / file} has `{others[0]}`, and {INDEX} does not say so", code="checkpoint"
            )
        found, kinds = found | arrays, kinds | dtypes
    lost = [n for n in table if n not in found]
    if lost:
        raise CheckpointError(f"{folder / table[lost[0]]} lacks `{lost[0]}`", code="checkpoint")
    return _alike(found, kinds)


_WIDTHS = {"float16": F16, "bfloat16": BF16, "float64": F64}


def _alike(arrays: dict[str, np.ndarray], kinds: set[str]) -> tuple[dict[str, np.ndarray], DType]:
    """Arrays of floats in one dtype, and that one: theirs, or f32 where they have several."""
    floats = [k for k in kinds if k.startswith(("float", "bfloat"))]
    dtype = _WIDTHS.get(floats[0], F32) if len(floats) == 1 else F32
    held = np.float32 if dtype == BF16 else np.dtype(numpy_dtype(dtype))
    narrow = {n: a.astype(held, copy=False) if a.dtype.kind == "f" else a for n, a in arrays.items()}
    return narrow, dtype


def _named(model: Module, weights: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Weights under the model's names: some files leave out the name of the whole body, a weight that
    is there under another name too, or add tables that the network computes and heads that it does
    not have. Old files of BERT have other names in normalisations.
    """
    own = model._named_state()
    old = ((".LayerNorm.gamma", ".LayerNorm.weight"), (".LayerNorm.beta", ".LayerNorm.bias"))
    for before, after in old:
        weights = {n.removesuffix(before) + after if n.endswith(before) else n: a for n, a in weights.items()}
    first = next(iter(own)).partition(".")[0]
    found = {n if n in own or f"{first}.{n}" not in own else f"{first}.{n}": a for n, a in weights.items()}
    for name, variable in own.items():
        twin = next((n for n, v in own.items() if v is variable and n in found), None)
        if name not in found and twin is not None:
            found[name] = found[twin]
    tables = (".attn.bias", ".attn.masked_bias", ".rotary_emb.inv_freq", ".position_ids")
    heads = ("bert.pooler.", "cls.") if first == "bert" else ("cls.",) if first == "embeddings" else ()
    return {n: a for n, a in found.items() if n in own or not (n.endswith(tables) or n.startswith(heads))}
