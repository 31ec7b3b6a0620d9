"""Models from files: read by the library `onnx`, looked through for what could hurt, checked."""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Iterable, Iterator
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from texpr.compiler import kernel_cache
from texpr.nn.reader_advice import advise_reader, refuse_folder
from texpr.onnx.converters import NEWEST, OLDEST, find
from texpr.onnx.element_types import FROM_ONNX, bytes_in_file, name_of
from texpr.onnx.external_values import check_external, place_of
from texpr.onnx.large_values import (
    HERE,
    OTHER_VALUES,
    is_here,
    leave_external,
    length_here,
    values_here,
    version_of,
    without_large_values,
    wrong_length,
)
from texpr.onnx.model_errors import UnsupportedOp
from texpr.onnx.narrow_types import NARROW, Narrow
from texpr.onnx.onnx_package import library
from texpr.onnx.text_values import TEXT, Texts
from texpr.onnx.validation import refuse_large
from texpr.onnx.values import Known
from texpr.runtime import disk_cache
from texpr.support.errors import CheckpointError, ResourceError
from texpr.support.version import digest, identity

MOST_BYTES = 2 << 30
"""Of a file without its external data; what a protobuf can be."""
MOST_NODES = 1_000_000
DEEPEST = 16
"""Nesting depth that subgraphs may have."""
MOST_DIGESTED = 1 << 24
"""Bytes of a model without its large values, up to which it is known that it was checked before."""
_CHECKED = b"checked"
FEW_BYTES = 1024
"""Of an initializer, which are no matter to copy."""
VALUES = ("raw_data", *OTHER_VALUES)
"""Fields of an onnx.TensorProto that hold its values, one of them."""
EXTERNAL = 1
"""onnx.TensorProto.EXTERNAL"""


def read_model(source: Any) -> Any:
    """A checked onnx.ModelProto; of a file, large values are read by `array_of`.

    Args:
        source: a path, the bytes of a file, or an onnx.ModelProto.
    Raises:
        CheckpointError: it is damaged, refers to data outside of its folder, or breaks a rule of
            ONNX.
        UnsupportedOp: operators, versions or element types that texpr does not have; all of them
            are listed.
        ResourceError: it is larger or nested deeper than the limits.
        OSError: the file cannot be read.
    """
    model = _parsed(source)
    key = _checks_key(model) if isinstance(source, str | os.PathLike) else ""
    if key and disk_cache.shared().get(key) == _CHECKED:
        return model
    _check_all(model)
    if key:
        disk_cache.shared().put(key, _CHECKED)
    return model


def _checks_key(model: Any) -> str:
    """The key of a record that says that a model from a file was checked, by all of it but the values that
    lie in files; empty where there is to be none.
    """
    if not kernel_cache.usable() or model.ByteSize() > MOST_DIGESTED:
        return ""
    # Where values lie in a file is a text of this process, which no model can say.
    parts = model.SerializeToString(deterministic=True).split(HERE.encode())
    return "\0".join(("checked", identity(), library().__version__, digest(parts)))


def _check_all(model: Any) -> None:
    _check_texts(model)
    nodes = list(all_nodes(model))
    tensors = list(_all_tensors(model, nodes))
    if any(map(_is_elsewhere, tensors)):
        raise CheckpointError(
            "the model has data in other files, and it is not known where they are",
            code="onnx",
            help="load the model by its path",
        )
    _check_versions(model)
    _check_names(model)
    _check_supported(model, nodes, tensors)
    for t in tensors:
        _check_tensor(t)
    _check(model)


def _parsed(source: Any) -> Any:
    onnx = library()
    if isinstance(source, onnx.ModelProto):
        return source
    try:
        if isinstance(source, bytes | bytearray | memoryview):
            return onnx.load_model_from_string(bytes(source))
        path = Path(source)
        refuse_folder(path, ".onnx", "onnx")
        about = os.stat(path)
        if not stat.S_ISREG(about.st_mode):  # one that may never end
            raise CheckpointError(f"{path} is not a file", code="onnx")
        if about.st_size > MOST_BYTES:
            raise ResourceError(
                f"{path} has {about.st_size:,} bytes, the limit is {MOST_BYTES:,}",
                code="onnx",
                help="keep its data in other files",
            )
        model = _without_copies(path, about.st_size) or onnx.load_model(path, load_external_data=False)
        return _with_external_values(model, path.parent)
    except (OSError, ResourceError, CheckpointError):
        raise
    except TypeError:
        raise CheckpointError(
            f"a model is a path, bytes or an onnx.ModelProto, not a {type(source).__name__}", code="onnx"
        ) from None
    except Exception as error:  # the library raises what protobuf, its checker and the system raise
        held = isinstance(source, bytes | bytearray | memoryview)
        raise CheckpointError(
            f"{'the model' if held else source} cannot be read as ONNX: {_first_line(error)}",
            code="onnx",
            help="" if held or Path(source).suffix == ".onnx" else advise_reader(source),
        ) from None


def _without_copies(path: Path, size: int) -> Any:
    """The model of a file whose large values stay there until they are asked for (`array_of`); None
    where none are large.
    """
    with open(path, "rb") as file:
        small = without_large_values(file, size, version_of(file))
    return None if small is None else library().load_model_from_string(small)


def _with_external_values(model: Any, folder: Path) -> Any:
    """The model of a file, with small values from other files of its folder; large ones of initializers
    stay there until they are asked for.
    """
    nodes = list(all_nodes(model))
    elsewhere = [t for t in _all_tensors(model, nodes) if _is_elsewhere(t)]
    if not elsewhere:
        return model
    _check_texts(model)
    check_external(elsewhere, folder)
    for t in model.graph.initializer:
        if _is_elsewhere(t):
            leave_external(t, *place_of(t, folder))
    for t in filter(_is_elsewhere, _all_tensors(model, nodes)):
        library().external_data_helper.load_external_data_for_tensor(t, str(folder))
        t.ClearField("data_location")
        t.ClearField("external_data")
    return model


def _is_elsewhere(t: Any) -> bool:
    """True if the values of a tensor are neither in the model nor in its file."""
    return t.data_location == EXTERNAL and not is_here(t)


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


def _check(model: Any) -> None:
    onnx = library()
    kinds = [
        v.type.tensor_type
        for v in (*model.graph.input, *model.graph.output)
        if v.type.HasField("tensor_type")
    ]
    bare = [kind for kind in kinds if not kind.HasField("shape")]
    try:
        for kind in bare:  # many exporters leave shapes out, and the checker alone asks for them
            kind.shape.SetInParent()
        onnx.checker.check_model(without_data(model))  # it is given a copy of all that it is to check
    except Exception as error:
        raise CheckpointError(
            f"the model breaks a rule of ONNX: {_first_line(error)}",
            code="onnx",
            notes=str(error).strip().splitlines()[1:4],
        ) from None
    finally:
        for kind in bare:
            kind.ClearField("shape")


def without_data(model: Any, at_least: int = FEW_BYTES) -> Any:
    """A copy of a model whose initializers of so many bytes or more are empty, as are `Constant` nodes
    of values that were left in its file.
    """
    copy = library().ModelProto()
    _merge(copy, model, "graph")
    _merge(copy.graph, model.graph, "initializer", "node")
    for t in model.graph.initializer:
        new = copy.graph.initializer.add()
        if bytes_in_file(t.data_type, prod(t.dims)) < at_least:
            new.CopyFrom(t)
        else:
            new.name, new.data_type = t.name, t.data_type
            new.dims.append(0)
    for node in model.graph.node:
        new = copy.graph.node.add()
        new.CopyFrom(node)
        for a in new.attribute:
            if a.HasField("t") and is_here(a.t):
                a.t.ClearField("external_data")
                a.t.ClearField("data_location")
                a.t.dims[:] = [0]
    return copy


def _merge(to: Any, message: Any, *but: str) -> None:
    """Copy all fields of a message but those of some names."""
    for field, value in message.ListFields():
        if field.name in but:
            continue
        if hasattr(value, "ListFields"):
            getattr(to, field.name).CopyFrom(value)
        elif hasattr(value, "extend"):
            getattr(to, field.name).extend(value)
        else:
            setattr(to, field.name, value)


def _check_texts(model: Any) -> None:
    """Refuse names that are no text: protobuf gives damaged ones as bytes."""
    stack = [model]
    while stack:
        message = stack.pop()
        if message.DESCRIPTOR.name == "TensorProto":  # whose data are not to be copied for this
            _check_text(message.DESCRIPTOR.fields_by_name["name"], [message.name])
            stack += message.external_data
            continue
        for field, value in message.ListFields():
            if field.type == field.TYPE_MESSAGE:
                stack += [value] if hasattr(value, "ListFields") else value
            elif field.type == field.TYPE_STRING:
                _check_text(field, [value] if isinstance(value, str | bytes) else value)


def _check_text(field: Any, values: Iterable[str | bytes]) -> None:
    for v in values:
        if isinstance(v, bytes):
            raise CheckpointError(
                f"the model is damaged: {field.full_name} is no text: {v[:40]!r}",
                code="onnx",
                help="export or download it again",
            )


def all_nodes(model: Any) -> Iterator[Any]:
    """All nodes of a model, those of subgraphs and functions included.

    Raises:
        ResourceError: too many of them, or nested too deep.
    """
    stack = [(model.graph.node, 0), *((f.node, 0) for f in model.functions)]
    stack += [(a.g.node, 1) for f in model.functions for a in f.attribute_proto if a.HasField("g")]
    count = 0
    while stack:
        nodes, depth = stack.pop()
        if depth > DEEPEST:
            raise ResourceError(f"subgraphs are nested deeper than {DEEPEST}", code="onnx")
        for node in nodes:
            count += 1
            if count > MOST_NODES:
                raise ResourceError(f"the model has more than {MOST_NODES:,} nodes", code="onnx")
            yield node
            stack += [(g.node, depth + 1) for g in subgraphs(node)]


def subgraphs(node: Any) -> Iterator[Any]:
    """The graphs among the attributes of a node."""
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield attribute.g
        yield from attribute.graphs


def _all_tensors(model: Any, nodes: list[Any]) -> Iterator[Any]:
    for graph in (model.graph, *(g for n in nodes for g in subgraphs(n))):
        yield from graph.initializer
        for sparse in graph.sparse_initializer:
            yield from (sparse.values, sparse.indices)
    defaults = [a for f in model.functions for a in f.attribute_proto]
    for attribute in (*defaults, *(a for n in nodes for a in n.attribute)):
        if attribute.HasField("t"):
            yield attribute.t
        yield from attribute.tensors


def _check_tensor(t: Any) -> None:
    """Refuse a tensor whose dimensions and data do not fit each other, or whose data come in parts
    or in several fields, before any memory is asked for.
    """
    if any(n < 0 for n in t.dims):
        raise CheckpointError(f"the tensor `{t.name}` has dimensions {list(t.dims)}", code="onnx")
    if t.HasField("segment"):
        raise CheckpointError(
            f"the tensor `{t.name}` is a part of one that comes in several, which is not read",
            code="onnx",
            help="save the model with each tensor whole: onnx.save(model, path)",
        )
    fields = [name for name in VALUES if (t.HasField(name) if name == "raw_data" else len(getattr(t, name)))]
    if len(fields) > 1:
        raise CheckpointError(
            f"the tensor `{t.name}` has values in {' and in '.join(fields)}",
            code="onnx",
            help="one of these fields has them; export the model again",
        )
    count = prod(t.dims)
    if t.data_type == TEXT.number and fields not in (["string_data"], []):
        raise CheckpointError(f"the tensor `{t.name}` of texts has values in {fields[0]}", code="onnx")
    if t.HasField("raw_data") or is_here(t):
        given = length_here(t) if is_here(t) else len(t.raw_data)
        if bytes_in_file(t.data_type, count) != given:
            raise wrong_length(t, given)
        return
    given = len(getattr(t, library().helper.tensor_dtype_to_field(t.data_type)))
    if given != (bytes_in_file(t.data_type, count) if t.data_type in NARROW else count):
        raise CheckpointError(
            f"the tensor `{t.name}` of {name_of(t.data_type)}{list(t.dims)} needs {count:,} elements and has "
            f"{given:,}",
            code="onnx",
        )


def _check_versions(model: Any) -> None:
    for entry in model.opset_import:
        if entry.domain in ("", "ai.onnx") and not OLDEST <= entry.version <= NEWEST:
            raise UnsupportedOp(
                f"the model uses version {entry.version} of ONNX's operators; {OLDEST} to {NEWEST} are read",
                code="onnx",
                help="onnx.version_converter.convert_version changes it",
            )


def _check_names(model: Any) -> None:
    """Refuse names that are defined twice, as far as the checker of ONNX does not."""
    named = {
        "operator set": ["" if entry.domain == "ai.onnx" else entry.domain for entry in model.opset_import],
        "function": [f"{f.domain}.{f.name}" for f in model.functions],
        "input": [v.name for v in model.graph.input],
        "output": [v.name for v in model.graph.output],
        "initializer": [
            *(t.name for t in model.graph.initializer),
            *(t.values.name for t in model.graph.sparse_initializer),
        ],
    }
    for what, names in named.items():
        twice = sorted(n for n, times in Counter(names).items() if times > 1)
        if twice:
            raise CheckpointError(
                f"the model breaks a rule of ONNX: the {what} `{twice[0]}` is defined twice", code="onnx"
            )


def _check_supported(model: Any, nodes: list[Any], tensors: list[Any]) -> None:
    onnx = library()
    versions = opsets(model)
    own = {(f.domain, f.name) for f in model.functions}
    lacking: dict[str, int] = {}
    for node in nodes:
        domain = "" if node.domain == "ai.onnx" else node.domain
        defined = (node.domain, node.op_type) in own or definition(
            onnx, domain, node.op_type, versions.get(domain, 1)
        )
        if defined or find(domain, node.op_type):
            continue
        name = f"{domain or 'ai.onnx'}.{node.op_type}, version {versions.get(domain, '?')}"
        lacking[name] = lacking.get(name, 0) + 1
    notes = [f"{name}: {n} node{'s' * (n > 1)}" for name, n in sorted(lacking.items())]
    types = {t.data_type for t in tensors} | ({elem_type(v) for v in model.graph.input} - {0})
    notes += [f"element type {name_of(t)}" for t in sorted(types - {*FROM_ONNX, *NARROW, TEXT.number})]
    if notes:
        raise UnsupportedOp(
            "the model needs what texpr does not have", code="onnx", notes=notes, help=_advice(lacking)
        )


def _advice(lacking: dict[str, int]) -> str:
    return "the reference page `ONNX operators` lists those that are read" if lacking else ""


def definition(onnx: Any, domain: str, name: str, version: int) -> Any:
    """The schema of an operator which ONNX defines by others, or None."""
    try:
        schema = onnx.defs.get_schema(name, version, domain)
    except onnx.defs.SchemaError:
        return None
    return schema if schema.has_function or schema.has_context_dependent_function else None


def opsets(holder: Any) -> dict[str, int]:
    """The version of each domain that a model or a function uses."""
    return {
        ("" if entry.domain == "ai.onnx" else entry.domain): entry.version for entry in holder.opset_import
    }


def elem_type(value: Any) -> int:
    """Of a tensor, or of the tensors of a sequence or an optional; 0 where it says none."""
    kind = value.type
    while not kind.HasField("tensor_type"):
        if kind.HasField("sequence_type"):
            kind = kind.sequence_type.elem_type
        elif kind.HasField("optional_type"):
            kind = kind.optional_type.elem_type
        else:
            return 0
    return kind.tensor_type.elem_type


def array_of(t: Any, path: Path | None = None) -> Any:
    """The values of an onnx.TensorProto, as `Known`, `Narrow` or `Texts`.

    Args:
        path: of the model's file, where they may have been left.
    Raises:
        CheckpointError: they are no longer there.
    """
    if path is not None and is_here(t):
        return Known(values_here(t, path), FROM_ONNX[t.data_type])
    if t.data_type == TEXT.number:
        return Texts(np.array([*t.string_data, None], object)[:-1].reshape(tuple(t.dims)))
    array = library().numpy_helper.to_array(t)
    if t.data_type in NARROW:
        kind = NARROW[t.data_type]
        return Narrow(Known.of(kind.bytes_of(array)), kind)
    return Known.of(array)


def dense(sparse: Any) -> Known:
    """The values of an onnx.SparseTensorProto.

    Raises:
        CheckpointError: a place outside of its dimensions.
    """
    values, places = array_of(sparse.values), array_of(sparse.indices).array
    shape = tuple(sparse.dims)
    refuse_large(f"the sparse tensor `{sparse.values.name}`", shape, values.dtype, True)
    columns = places.T if places.ndim == 2 else np.unravel_index(np.clip(places, 0, prod(shape) - 1), shape)
    inside = places.ndim == 2 or not places.size or 0 <= places.min() and places.max() < prod(shape)
    if (
        not inside
        or len(columns) != len(shape)
        or any(c.size and not 0 <= c.min() <= c.max() < n for c, n in zip(columns, shape))
    ):
        raise CheckpointError(
            f"the sparse tensor `{sparse.values.name}` has places outside of {list(shape)}", code="onnx"
        )
    whole = np.zeros(shape, values.array.dtype)
    whole[tuple(columns)] = values.array
    return Known(whole, values.dtype)
