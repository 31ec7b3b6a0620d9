"""PP-OCR finds, turns and reads text that Pillow draws."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from bench.pretrained.packaged import PACKAGED
from tests.models.running import loaded

Image = pytest.importorskip("PIL.Image")
ImageDraw = pytest.importorskip("PIL.ImageDraw")
ImageFont = pytest.importorskip("PIL.ImageFont")

pytestmark = pytest.mark.timeout(900)  # each width of a picture is compiled
LINES = ("Tensor expressions", "proven by polyhedra", "2026")


def drawn(text: str, width: int, height: int, size: int, at: tuple[int, int]):
    """Black text on white."""
    picture = Image.new("RGB", (width, height), "white")
    ImageDraw.Draw(picture).text(at, text, fill="black", font=ImageFont.load_default(size))
    return picture


def pixels(picture) -> np.ndarray:
    """Of -1 to 1, blue first, as the networks were trained."""
    values = np.asarray(picture, np.float32)[:, :, ::-1] / 127.5 - 1
    return np.ascontiguousarray(values.transpose(2, 0, 1))[None]


def fitted(picture, width: int):
    """48 rows high, and so many columns wide: the rest is gray."""
    columns = min(width, max(1, round(picture.width * 48 / picture.height)))
    found = np.zeros((1, 3, 48, width), np.float32)
    found[..., :columns] = pixels(picture.resize((columns, 48), Image.Resampling.BILINEAR))
    return found


def signs() -> list[str]:
    """Those that the network knows, from its file."""
    model = onnx.load(PACKAGED["ocr recognition"].path)
    text = next(p.value for p in model.metadata_props if p.key == "character")
    return ["", *text.splitlines(), " "]


def read(picture) -> str:
    """A line of text: the best sign of each place, repetitions and blanks left out."""
    width = -(-picture.width * 48 // picture.height // 32) * 32
    best = loaded("ocr recognition")(fitted(picture, width))[0].argmax(1)
    known = signs()
    return "".join(known[k] for k, before in zip(best, [0, *best]) if k and k != before)


@pytest.mark.parametrize("line", LINES)
def test_lines_are_read(line):
    font = ImageFont.load_default(32)
    picture = drawn(line, int(font.getlength(line)) + 16, 44, 32, (8, 2))
    assert read(picture).replace(" ", "") == line.replace(" ", "")


def test_which_side_is_up():
    model = loaded("ocr orientation")
    upright = drawn("Tensor expressions", 320, 48, 32, (8, 4))
    for picture, wanted in ((upright, 0), (upright.rotate(180), 1)):
        scores = model(fitted(picture, 192))[0]
        assert scores.argmax() == wanted and scores.max() > 0.9


def boxes(chances: np.ndarray) -> list[tuple[int, int, int, int]]:
    """Left, top, right and bottom of the rows of pixels that are text; lines stand below each
    other.
    """
    rows = (chances > 0.3).any(1)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], rows, [False]]).astype(int)))
    found = []
    for top, bottom in zip(edges[::2], edges[1::2]):
        columns = np.flatnonzero((chances[top:bottom] > 0.3).any(0))
        found.append((int(columns[0]), int(top), int(columns[-1]) + 1, int(bottom)))
    return found


def test_text_in_a_picture_is_found_and_read():
    picture = Image.new("RGB", (416, 288), "white")
    tops = (40, 120, 200)
    for line, top in zip(LINES, tops):
        ImageDraw.Draw(picture).text((40, top), line, fill="black", font=ImageFont.load_default(32))
    found = boxes(loaded("ocr detection")(pixels(picture))[0, 0])
    assert len(found) == len(LINES)
    for (left, top, right, bottom), line, wanted in zip(found, LINES, tops):
        assert wanted - 8 < top < bottom < wanted + 48 and left > 24
        grown = (max(0, left - 10), top - 8, right + 10, bottom + 8)
        assert read(picture.crop(grown)).replace(" ", "") == line.replace(" ", "")
