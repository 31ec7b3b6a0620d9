"""Archives that are damaged, or made to harm: refused with the place, before anything is asked for."""

from __future__ import annotations

import io
import json
import random
import resource
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import texpr as tx
from tests.pt2.programs import archive

MODEL, WEIGHTS = "models/model.json", "data/weights/model_weights_config.json"


def changed(
    parts: dict[str, Callable[[bytes], bytes | None]],
    compressed: int = zipfile.ZIP_STORED,
    of: str = "nested",
) -> bytes:
    """A small archive with other parts; None leaves one out."""
    found = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(archive(of))) as old, zipfile.ZipFile(found, "w", compressed) as new:
        for name in old.namelist():
            short = name.partition("/")[2]
            content = parts.get(short, lambda data: data)(old.read(name))
            if content is not None:
                new.writestr(name, content)
    return found.getvalue()


def document(name: str, change: Callable[[Any], object], of: str = "nested") -> bytes:
    """A small archive with a change in one of its documents."""

    def written(data: bytes) -> bytes:
        value = json.loads(data)
        change(value)
        return json.dumps(value).encode()

    return changed({name: written}, of=of)


def entry(**values: Any) -> bytes:
    """With other values in the table of weights."""
    return document(WEIGHTS, lambda d: d["config"]["embed.weight"].update(values))


def meta(**values: Any) -> bytes:
    """With another shape of a weight."""
    return document(WEIGHTS, lambda d: d["config"]["embed.weight"]["tensor_meta"].update(values))


def node(k: int, **values: Any) -> bytes:
    """With another node."""
    return document(MODEL, lambda d: d["graph_module"]["graph"]["nodes"][k].update(values))


def ints(*values: int) -> list[dict[str, int]]:
    return [{"as_int": v} for v in values]


def zipped(compressed: int = zipfile.ZIP_STORED, **parts: bytes) -> bytes:
    found = io.BytesIO()
    with zipfile.ZipFile(found, "w", compressed) as file:
        for name, data in parts.items():
            file.writestr(name.replace("__", "/").replace("_json", ".json"), data)
    return found.getvalue()


CONFIG = "the archive, data/weights/model_weights_config.json: config.embed.weight"
CASES = {
    "empty": (b"", "it does not begin as a zip file does"),
    "no zip": (b"PK" + b"\0" * 99, "its directory cannot be read (File is not a zip file)"),
    "cut": (archive("nested")[:-100], "its directory cannot be read (File is not a zip file)"),
    "compressed": (changed({}, zipfile.ZIP_DEFLATED), "` is compressed"),
    "no name": (
        zipped(a=b"1", m__b=b"").replace(b"m/b", b"\0/b"),
        "the part whose header is at byte 32 has no name",
    ),
    "no format": (zipped(a=b"1"), "it has no part `archive_format`"),
    "old": (
        zipped(serialized_exported_program_json=b"{}"),
        "the archive was written by PyTorch 2.7 or older: its weights are pickled, and pickles run code",
    ),
    "torch.save": (
        zipped(zipfile.ZIP_STORED, **{"m__data.pkl": b""}),
        "the archive is a pickle in a zip file, of torch.save",
    ),
    "TorchScript": (
        zipped(zipfile.ZIP_DEFLATED, m__code=b"def forward(self): pass", **{"m__data.pkl": b"a pickle"}),
        "the archive is a pickle in a zip file, of torch.save or TorchScript",
    ),
    "compiled": (
        zipped(m__archive_format=b"pt2", m__data__aotinductor__model__a=b""),
        "it has compiled code of AOTInductor and no graph",
    ),
    "big endian": (
        changed({"byteorder": lambda _: b"big"}),
        "its numbers are not stored with the lowest byte",
    ),
    "format": (changed({"archive_format": lambda _: b"pt3"}), "archive_format` does not say pt2"),
    "weight": (
        archive("nested").replace(b"\0\0\x80\x3f\0\0\0\x40", b"\0\0\x80\x3f\0\0\0\x41"),
        "the part `archive/data/constants/tensor_0` has other bytes than its checksum says",
    ),
    "no json": (changed({MODEL: lambda d: d[:-9]}), "models/model.json is not valid JSON: "),
    "twice": (changed({MODEL: lambda d: b'{"a": 1, "a": 2}'}), "is not valid JSON: `a` comes twice"),
    "deep": (changed({MODEL: lambda d: b"[" * 100_000}), "is not valid JSON: brackets are nested too deeply"),
    "digits": (changed({MODEL: lambda d: b"9" * 10_000}), "is not valid JSON: Exceeds the limit"),
    "latin": (changed({MODEL: lambda d: b"\xff"}), "is no text"),
    "list": (changed({MODEL: lambda d: b"[]"}), "models/model.json: it is [], expected an object"),
    "version": (
        document(MODEL, lambda d: d["schema_version"].update(major=9)),
        "models/model.json: schema_version: version 9 of the schema; version 8 is read",
    ),
    "no weights": (changed({WEIGHTS: lambda _: None}), "the archive has no values of `embed.weight`"),
    "no file": (entry(path_name="weight_9"), "the part `archive/data/weights/weight_9` is not there"),
    "pickled": (entry(use_pickle=True), f"{CONFIG}: the values of `embed.weight` are pickled"),
    "path": (
        entry(path_name="../weight_0"),
        f"{CONFIG}.path_name: `../weight_0` is not the name of a part beside it",
    ),
    "absolute": (entry(path_name="/etc/passwd"), "`/etc/passwd` is not the name of a part beside it"),
    "no shape": (entry(tensor_meta=None), "nothing says the shape of `embed.weight`"),
    "large": (
        meta(sizes=ints(10_000_000_000, 4)),
        f"{CONFIG}.tensor_meta: f32[10000000000, 4] needs 160,000,000,000 bytes, and `data/weights/weight_0` "
        "has 160",
    ),
    "repeated": (
        meta(sizes=ints(10_000_000_000, 4), strides=ints(0, 0)),
        "f32[10000000000, 4] has more elements than `data/weights/weight_0`",
    ),
    "overflow": (
        meta(sizes=ints(2**62, 2**62)),
        "sizes[0].as_int: 4611686018427387904, expected a number from",
    ),
    "negative": (meta(strides=ints(-1, 1)), "strides[0].as_int: -1, expected a number from 0 to 2^48"),
    "offset": (
        meta(storage_offset={"as_int": 9}),
        "f32[10, 4] needs 196 bytes, and `data/weights/weight_0` has 160",
    ),
    "strides": (meta(strides=ints(1)), "sizes and strides of values must be as many numbers"),
    "dtype": (meta(dtype=10), "dtype: the dtype complex64, which texpr does not have"),
    "number": (meta(dtype="7"), 'dtype: it is "7", expected an integer'),
    "layout": (meta(layout=1), "layout: the layout 1; dense tensors are read"),
    "shape": (
        meta(sizes=ints(20, 2), strides=ints(2, 1)),
        "`embed.weight` has values f32[20, 2], not as declared",
    ),
    "kind": (
        node(0, inputs=[{"name": "self", "arg": {"as_complex": {}}}]),
        "nodes[0].inputs[0].arg.as_complex: an argument of kind `as_complex`, which is not read",
    ),
    "itself": (
        node(0, outputs=[{"as_tensor": {"name": "p_embed_weight"}}]),
        "nodes[0]: `p_embed_weight` has a value already",
    ),
    "unread": (
        document(MODEL, lambda d: d["graph_module"]["graph"]["nodes"].reverse()),
        "is read before anything computes it",
    ),
}


@pytest.mark.parametrize("data, text", CASES.values(), ids=CASES)
def test_refused(data, text):
    with pytest.raises(tx.CheckpointError) as found:
        model = tx.pt2.load(data)
        model(np.zeros((2, 5), np.int64), 3.0, more={"q": np.ones(2, np.float32)})
    assert text in str(found.value)
    assert str(found.value).startswith("error[pt2]: ")


def test_all_unknown_operators_at_once():
    def change(d):
        nodes = d["graph_module"]["graph"]["nodes"]
        nodes[0]["target"] = nodes[1]["target"] = "torch.ops.aten.fly.default"
        nodes[2]["inputs"].append({"name": "speed", "arg": {"as_int": 1}, "kind": 2})
        nodes[3]["target"] = "torch.ops.mine.walk.default"

    with pytest.raises(tx.pt2.UnknownOperators) as found:
        tx.pt2.load(document(MODEL, change))
    lines = str(found.value).splitlines()
    assert lines[0] == "error[pt2]: the archive needs operators that texpr does not read"
    assert "    fly.default: 2 nodes" in lines and "    mine.walk.default: 1 node" in lines
    assert any(" with the argument `speed`: 1 node" in line for line in lines)


def test_packed_sequences_say_what_to_do():
    with pytest.raises(tx.pt2.UnknownOperators) as found:
        tx.pt2.load(node(0, target="torch.ops.aten._pack_padded_sequence.default"))
    assert str(found.value) == (
        "error[pt2]: the archive needs operators that texpr does not read\n"
        "    _pack_padded_sequence.default: 1 node\n"
        "  help: packed sequences are not read, since lengths are values of a tensor; let the network take "
        "padded sequences and a mask, and export it again"
    )


def test_loops_over_sizes_are_refused():
    def change(d):
        d["graph_module"]["graph"]["nodes"][0]["inputs"][2]["arg"] = {"as_ints": [0, 1]}

    model = tx.pt2.load(document(MODEL, change, of="repeated"))
    with pytest.raises(tx.CallError) as found:
        model(np.ones((2, 3), np.float32), 0)
    lines = str(found.value).splitlines()
    assert lines[0] == ("error[pt2]: higher_order.while_loop: a loop whose number of steps is that of sizes")
    assert lines[-1] == "  help: let it carry tensors: torch.tensor(0) instead of 0"


def test_wrong_arguments_of_a_node():
    wrong = [
        {"name": "self", "arg": {"as_int": 3}, "kind": 1},
        {"name": "dim", "arg": {"as_int": 1}, "kind": 1},
    ]
    model = tx.pt2.load(node(0, target="torch.ops.aten.unsqueeze.default", inputs=wrong))
    with pytest.raises(tx.CheckpointError) as found:
        model(np.zeros((2, 5), np.int64), 3.0, more={"q": np.ones(2, np.float32)})
    assert "error[pt2]: node 0, unsqueeze.default" in str(found.value)
    assert "has arguments that do not fit it: " in str(found.value)


def test_a_node_that_works_in_a_number():
    inputs = [{"name": "self", "arg": {"as_int": 3}, "kind": 1}]
    model = tx.pt2.load(node(0, target="torch.ops.aten.relu_.default", inputs=inputs))
    with pytest.raises(tx.CheckpointError, match="has arguments that do not fit it: "):
        model(np.zeros((2, 5), np.int64), 3.0, more={"q": np.ones(2, np.float32)})


@given(st.integers(0, 2**32))
def test_damaged(seed: int):
    """A few bytes are changed: read, or refused by an error of texpr, with little memory."""
    r = random.Random(seed)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(10):
        try:
            tx.pt2.load(_spoilt(r))
        except tx.Error as error:
            assert str(error)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300_000


def _spoilt(r: random.Random) -> bytes:
    """Bytes anywhere, or in a document, whose checksum is right again."""

    def spoil(data: bytes) -> bytes:
        new = bytearray(data)
        for _ in range(r.choice((1, 2, 8))):
            new[r.randrange(len(new))] = r.choice((r.randrange(256), ord("9"), ord("-"), ord('"')))
        return bytes(new)

    part = r.choice((None, MODEL, WEIGHTS))
    return spoil(archive("nested")) if part is None else changed({part: spoil})
