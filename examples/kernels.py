"""Write two operators as mathematics, schedule them, and run them: a fused softmax, and a 3x3 blur
on a photograph.

    python examples/kernels.py [FOLDER]     # pictures go to FOLDER, build/demo unless given
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import texpr as tx

softmax = tx.op("""
op softmax(X: f32[N, D]) -> Y: f32[N, D] {
  m[i]    = max(j: X[i, j])
  e[i, j] = exp(X[i, j] - m[i])
  Y[i, j] = e[i, j] / sum(k: e[i, k])
}
""")

blur = tx.op("""
op blur(X: f32[C, H, W]) -> Y: f32[C, H, W] {
  Y[c, y, x] = sum(r in 0..3, q in 0..3: X[c, y + r - 1, x + q - 1 | clamp]) / 9
}
""")


def numpy_softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def numpy_blur(x: np.ndarray) -> np.ndarray:
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1)), mode="edge")
    _, height, width = x.shape
    return sum(padded[:, r : r + height, q : q + width] for r in range(3) for q in range(3)) / np.float32(9)


def photograph() -> np.ndarray:
    """scikit-learn's photograph of a temple, (channel, y, x) in 0..1."""
    from sklearn.datasets import load_sample_image

    return np.ascontiguousarray(
        np.moveaxis(load_sample_image("china.jpg"), 2, 0), dtype=np.float32
    ) / np.float32(255)


def save_picture(path: Path, before: np.ndarray, after: np.ndarray) -> None:
    """The two pictures beside each other, enlarged so that the blur can be seen."""
    from PIL import Image

    both = np.concatenate(
        [p[:, 60:220, 240:400].repeat(3, axis=1).repeat(3, axis=2) for p in (before, after)], axis=2
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.moveaxis((both * 255).round().astype(np.uint8), 0, 2)).save(path)


def milliseconds(functions: dict[str, Callable[[], object]], repeats: int = 15) -> dict[str, float]:
    """The median time of each, taken in turn so that all meet the same machine."""
    times: dict[str, list[float]] = {name: [] for name in functions}
    for turn in range(repeats + 1):
        for name, function in functions.items():
            start = time.perf_counter()
            function()
            if turn:
                times[name].append((time.perf_counter() - start) * 1e3)
    return {name: statistics.median(each) for name, each in times.items()}


def compare(
    operator: tx.Op, x: np.ndarray, reference: Callable[[np.ndarray], np.ndarray], **sizes: int
) -> np.ndarray:
    """Print both loop nests and the times; the operator's result."""
    naive, scheduled = tx.schedule(operator, **sizes), tx.schedule(operator, **sizes).auto()
    print(f"\n=== {operator.__name__}: the loop nest before scheduling\n{naive}")
    print(f"=== the schedule\n{scheduled.script()}\n=== the loop nest after it\n{scheduled}")
    slow, fast = naive.compile(), scheduled.compile()
    result, want = np.empty_like(x), reference(x)
    fast(x, result)
    np.testing.assert_allclose(result, want, rtol=2e-6, atol=1e-7)
    out = np.empty_like(x)
    times = milliseconds(
        {"before": lambda: slow(x, out), "after": lambda: fast(x, out), "NumPy": lambda: reference(x)}
    )
    print(
        f"=== {operator.__name__} on {'x'.join(map(str, x.shape))}: "
        + ", ".join(f"{name} {ms:.3f} ms" for name, ms in times.items())
        + f"  ({times['NumPy'] / times['after']:.1f}x NumPy)"
    )
    return result


def main(folder: str = "build/demo") -> None:
    rows = np.random.default_rng(0).standard_normal((2048, 1024)).astype(np.float32)
    compare(softmax, rows, numpy_softmax, N=2048, D=1024)
    picture = photograph()
    channels, height, width = picture.shape
    blurred = compare(blur, picture, numpy_blur, C=channels, H=height, W=width)
    save_picture(Path(folder) / "blur.png", picture, blurred)
    print(f"=== {folder}/blur.png shows the photograph before and after")


if __name__ == "__main__":
    main(*sys.argv[1:])
