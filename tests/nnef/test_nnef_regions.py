"""Regions of interest in NNEF beside loops that are their definitions, and beside ONNX's RoiAlign and
MaxRoiPool where these mean the same.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import texpr as tx
from tests.nnef.models import folder, graph, run

R = np.random.default_rng(5)
X = R.normal(size=(2, 3, 7, 9)).astype("f4")
PLAIN, OUTSIDE = [[0, 0, 4, 6], [1.4, 2.5, 5.6, 7], [-1.5, 3, 6.5, 4]], [[-3, -2.5, 20, 20], [30, 1, 40, 3]]
EMPTY = [[2, 2, 2, 2], [0, 8, 5, 1]]
ROIS = np.array([*PLAIN, *OUTSIDE, *EMPTY], "f4")
IMAGES = np.array([[0], [1], [1], [0], [1], [0], [1]])


def pooled(x, rois, images, out, of):
    """Section 4.6.1 of the standard, cell by cell."""
    found = np.zeros((len(rois), x.shape[1], *out))
    for r, (corners, (image,)) in enumerate(zip(rois, images)):
        edges = [int(np.floor(v + 0.5)) for v in corners.astype("f8")]
        for cell in np.ndindex(*out):
            slices = []
            for i, n, first, last, extent in zip(
                cell, out, edges[: len(out)], edges[len(out) :], x.shape[2:], strict=True
            ):
                extents = max(last - first, 0)
                start = first + i * (extents // n)
                stop = start - (-extents // n)
                slices.append(slice(min(max(start, 0), extent), min(max(stop, 0), extent)))
            part = x[(image, slice(None), *slices)].reshape(x.shape[1], -1)
            if part.size:
                found[(r, slice(None), *cell)] = of(part, axis=1)
    return found


def resampled(x, rois, images, out, method):
    """Section 4.6.2: samples by the formulas of multilinear upsampling, between elements."""
    found = np.zeros((len(rois), x.shape[1], *out))
    for r, (corners, (image,)) in enumerate(zip(rois.astype("f8"), images)):
        for cell in np.ndindex(*out):
            spots = []
            for k, (i, n) in enumerate(zip(cell, out)):
                extent = corners[len(out) + k] - corners[k]
                spot = {
                    "symmetric": (i + 0.5) * extent / n - 0.5,
                    "asymmetric": i * extent / n,
                    "aligned": i * (extent - 1) / max(n - 1, 1),
                }[method]
                spots.append(np.clip(corners[k] + spot, 0, x.shape[2 + k] - 1))
            for corner in product((0, 1), repeat=len(out)):
                low = np.floor(spots).astype(int)
                weight = np.prod([s - a if c else 1 - (s - a) for s, a, c in zip(spots, low, corner)])
                place = [min(a + c, n - 1) for a, c, n in zip(low, corner, x.shape[2:])]
                found[(r, slice(None), *cell)] += weight * x[(image, slice(None), *place)]
    return found


@pytest.mark.parametrize("out", [(2, 3), (1, 1), (8, 2)])
@pytest.mark.parametrize(("name", "of"), [("max_roi_pool", np.max), ("avg_roi_pool", np.mean)])
def test_regions_are_pooled(tmp_path, name, of, out):
    body = f"y = {name}(x, rois, images, output_size = {list(out)});"
    found = run(tmp_path / "net", body, x=X, rois=ROIS, images=IMAGES)
    np.testing.assert_allclose(found, pooled(X, ROIS, IMAGES, out, of), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("out", [(2, 3), (1, 4)])
@pytest.mark.parametrize("method", ["symmetric", "asymmetric", "aligned"])
def test_regions_are_resampled(tmp_path, method, out):
    body = f"y = roi_resample(x, rois, images, output_size = {list(out)}, method = '{method}');"
    found = run(tmp_path / "net", body, x=X, rois=ROIS, images=IMAGES)
    np.testing.assert_allclose(found, resampled(X, ROIS, IMAGES, out, method), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("axes", "dtype"), [(1, "f4"), (3, "f4"), (2, "f8"), (2, "f2")])
def test_ranks_and_dtypes(tmp_path, axes, dtype):
    x = R.normal(size=(2, 2, 5, 4, 3)[: 2 + axes]).astype(dtype)
    rois = np.tile([[0.5], [3.25]], (1, axes)).reshape(1, -1).astype(dtype)
    given = {"x": x, "rois": rois, "images": IMAGES[1:2]}
    out, near = [2] * axes, 2e-3 if dtype == "f2" else 1e-5
    for k, (body, wanted) in enumerate(
        {
            f"y = max_roi_pool(x, rois, images, output_size = {out});": pooled(x, rois, [[1]], out, np.max),
            f"y = avg_roi_pool(x, rois, images, output_size = {out});": pooled(x, rois, [[1]], out, np.mean),
            f"y = roi_resample(x, rois, images, output_size = {out});": resampled(
                x, rois, [[1]], out, "symmetric"
            ),
        }.items()
    ):
        body = f"v = variable<scalar>(shape = [1], label = 'v'); {body}"  # floats are as the variables
        found = run(tmp_path / str(k), body, {"v": np.zeros(1, dtype)}, **given)
        assert found.dtype == dtype
        np.testing.assert_allclose(found.astype("f8"), wanted, rtol=near, atol=near)


def test_aligned_regions_are_those_of_onnx(tmp_path):
    onnx_run = pytest.importorskip("tests.onnx.models").run
    rois = np.array([[0.5, 1, 4.25, 6], [1.4, 2.5, 5.6, 7]], "f4")
    corners, images = rois[:, [1, 0, 3, 2]], IMAGES[:2]  # x before y
    body = "y = avg_roi_align(x, rois, images, output_size = [2, 3], sampling_rate = [2, 2]);"
    found = run(tmp_path / "align", body, x=X, rois=rois, images=images)
    wishes = {"output_height": 2, "output_width": 3, "sampling_ratio": 2}
    wanted = onnx_run("RoiAlign", [X, corners, images[:, 0]], 16, **wishes)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)
    even = np.array([[0, 1, 4, 7], [2, 2, 6, 8]], "f4")  # cells of equal length are the bins of Fast R-CNN
    found = run(tmp_path / "pool", "y = max_roi_pool(x, rois, images, output_size = [2, 3]);",
                x=X, rois=even, images=images)  # fmt: skip
    ends = even[:, [1, 0, 3, 2]] - np.array([0, 0, 1, 1], "f4")  # ends belong to ONNX's regions
    wanted = onnx_run("MaxRoiPool", [X, np.hstack([images.astype("f4"), ends])], 1, pooled_shape=[2, 3])
    np.testing.assert_array_equal(found, wanted)


def test_far_regions_and_no_numbers(tmp_path):
    rois = np.array([[1e30, -1e30, np.inf, 1e30], [np.nan, 0, 3, np.nan], [-1e30, -1e30, 1e30, 1e30]], "f4")
    given = {"x": X, "rois": rois, "images": np.array([[0], [7], [-1]])}
    for k, name in enumerate(("max_roi_pool", "avg_roi_pool", "roi_resample")):
        body = f"y = {name}(x, rois, images, output_size = [2, 2]);"
        assert run(tmp_path / str(k), body, None, **given).shape == (3, 3, 2, 2)


def test_regions_of_a_loaded_model(tmp_path):
    text = graph(
        "y = max_roi_align(x, rois, images, output_size = [2, 2], sampling_rate = [2, 1]);",
        x=[2, 3, 7, 9], rois=[7, 4], images="external<integer>(shape = [7, 1])",
    )  # fmt: skip
    model = tx.nnef.load(folder(tmp_path / "net", text))
    wanted = resampled(X, ROIS, IMAGES, (4, 2), "symmetric").reshape(7, 3, 2, 2, 2).max(3)
    np.testing.assert_allclose(model(X, ROIS, IMAGES), wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("shape", "rois", "images", "size", "message"),
    [
        ([1, 1, 4, 4], [2, 4], [2, 1], [0, 1], r"an output of \[0, 1\]"),
        ([1, 1, 4, 4], [2, 4], [2, 1], [2], r"an output of \[2\] for an input of shape \[1, 1, 4, 4\]"),
        ([1, 1, 4, 4], [2, 5], [2, 1], [2, 2], r"regions of shape \[2, 5\].*they are \[N, 4\] and \[N, 1\]"),
        ([1, 1, 4, 4], [2, 4], [3, 1], [2, 2], r"batch indices of shape \[3, 1\]"),
        ([1, 4], [2, 0], [2, 1], [], r"an output of \[\] for an input of shape \[1, 4\]"),
    ],
)
def test_calls_that_are_refused(tmp_path, shape, rois, images, size, message):
    given = {"x": np.zeros(shape, "f4"), "rois": np.zeros(rois, "f4"), "images": np.zeros(images, "i8")}
    for k, name in enumerate(("max_roi_pool", "roi_resample")):
        with pytest.raises(tx.CallError, match=message):
            run(tmp_path / str(k), f"y = {name}(x, rois, images, output_size = {size});", None, **given)
