"""Images of another size and images that are sampled: what is chosen stays what it is, in every
version.
"""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("onnx")

import texpr as tx  # noqa: E402
from tests.onnx.models import run  # noqa: E402

nan, inf = np.nan, np.inf
F = np.float32


def resized(x, scales, version=19, **attributes):
    scales = np.array(scales, F)
    if version == 7:
        return run("Upsample", [x], 7, scales=list(map(float, scales)), **attributes)
    if version <= 10:
        return run(
            "Upsample" if version == 9 else "Resize", [x, scales], version, constants=(1,), **attributes
        )
    return run(
        "Resize",
        [x, None if version > 11 else np.zeros(0, F), scales],
        version,
        constants=(1, 2) if version == 11 else (2,),
        **attributes,
    )


AWKWARD = [
    np.array([1, nan, 3, inf], F),
    np.array([-inf, 0, -0.0, nan], np.float16),
    np.array([16777217, 2**31 - 1, -(2**31), 5], np.int32),
    np.array([2**53 + 1, 2**63 - 1, -(2**63), 5]),
    np.array([255, 254, 0, 1], np.uint8),
    np.array([True, False, True, True]),
]


@pytest.mark.parametrize("version", [7, 9, 10, 11, 13, 18, 19])
def test_chosen_elements_stay_what_they_are(version):  # ONNX Runtime, as far as it has the types
    for x in AWKWARD:
        y = resized(x, [2], version, mode="nearest")
        assert y.dtype == x.dtype and y.tobytes() == np.repeat(x, 2).tobytes()
        assert resized(x, [1], version, mode="linear").tobytes() == x.tobytes() or x.dtype == bool


@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_neighbours_without_weight_do_not_count(mode):
    x = np.array([1, 2, nan, 4, 5, 6, 7, 8], F)
    y = resized(x, [2], mode=mode, coordinate_transformation_mode="asymmetric")
    assert np.array_equal(np.delete(y[::2], 2), np.delete(x, 2))
    assert (
        np.isnan(y[3:6]).all() and not np.isnan(y[[1, 11, 13]] if mode == "linear" else y[[0, 11, 13]]).any()
    )
    assert np.array_equal(
        resized(np.array([1, 2, inf], F), [2], mode="linear"), np.array([1, 1.25, 1.75, inf, inf, inf], F)
    )


def test_integers_of_images():
    """ONNX Runtime cuts linear interpolation of integers, and both round cubics and what is
    antialiased.
    """
    x = np.array([255, 254, 0, 1], np.uint8).reshape(1, 1, 1, 4)
    assert resized(x, [1, 1, 1, 2], mode="linear").tolist() == [[[[255, 254, 254, 190, 63, 0, 0, 1]]]]
    assert resized(x, [1, 1, 1, 0.5], mode="linear", antialias=1).tolist() == [[[[223, 32]]]]
    assert resized(np.array([127, -128, 0, 1], np.int8), [2], mode="cubic").tolist() == [
        127,
        65,
        -84,
        -126,
        -38,
        14,
        5,
        1,
    ]
    large = np.array([2**31 - 1, 2**31 - 3], np.int32)
    assert resized(large, [2], mode="linear", coordinate_transformation_mode="asymmetric").tolist()[:3] == [
        2**31 - 1,
        2**31 - 2,
        2**31 - 3,
    ]


def test_a_smaller_image_of_version_10_takes_the_next_element():  # ONNX Runtime
    x = np.array([[1, 2, 3, 4], [5, 6, 7, 8]], F)
    assert resized(x, [0.6, 0.6], 10, mode="nearest").tolist() == [[1, 3]]
    assert resized(np.arange(10, dtype=F), [0.7], 10, mode="nearest").tolist() == [0, 2, 3, 5, 6, 8, 9]
    assert resized(
        np.arange(10, dtype=F),
        [0.7],
        13,
        mode="nearest",
        nearest_mode="floor",
        coordinate_transformation_mode="asymmetric",
    ).tolist() == [0, 1, 2, 4, 5, 7, 8]


def test_what_is_outside_of_a_crop_is_not_told_by_nan():
    x, roi = np.array([nan, 2, 3, 4], F), np.array([-0.5, 1.0], F)
    for t, first in ((F, nan), (np.int32, 0)):
        y = run(
            "Resize",
            [x.astype(F) if t is F else np.array([0, 2, 3, 4], t), roi, None, np.array([4])],
            19,
            constants=(1, 3),
            mode="nearest",
            coordinate_transformation_mode="tf_crop_and_resize",
            extrapolation_value=9.0,
        )
        np.testing.assert_array_equal(y, np.array([9, first, 2, 4], t))


def test_images_without_elements():
    for shape, scales, wanted in (
        ((0, 3), [2, 2], (0, 6)),
        ((2, 0), [2, 1], (4, 0)),
        ((2, 3), [1, 0.2], (2, 0)),
    ):
        for version in (9, 10, 11, 19):
            if version > 9 or min(scales) >= 1:
                assert resized(np.zeros(shape, F), scales, version).shape == wanted
    with pytest.raises(tx.CallError, match=r"Resize: \[2, 3\] elements of an image of \[2, 0\]"):
        run("Resize", [np.zeros((2, 0), F), None, None, np.array([2, 3])], 19, constants=(3,))
    with pytest.raises(tx.CallError, match="Resize: (1 scales of 2 axes|Number of elements)"):
        resized(np.zeros((2, 3), F), [2])


SQUARES = (np.arange(16, dtype=F) ** 2).reshape(1, 1, 4, 4)


@pytest.mark.parametrize(("version", "mode"), [(16, "bicubic"), (20, "cubic")])
def test_cubics_read_the_border_instead_of_being_moved_to_it(version, mode):
    """Places inside: the reference, ONNX Runtime and torch. Outside, ONNX Runtime and torch
    differ from the reference.
    """
    grid = np.array([[[[-0.9, 0.3], [0.2, 0.9], [1, -1], [-1, 1], [1.5, -1.7], [inf, -inf]]]], F)
    y = run("GridSample", [SQUARES, grid], version, mode=mode, padding_mode="border", align_corners=0)
    np.testing.assert_allclose(y.ravel(), [71.47584, 202.65709, 5.6484375, 149.08594, 9, 9], rtol=1e-6)
    y = run(
        "GridSample",
        [SQUARES, np.array([[[[1.5, -1.7]]]], F)],
        version,
        mode=mode,
        padding_mode="border",
        align_corners=1,
    )
    np.testing.assert_allclose(y.ravel(), [9.1757765], rtol=1e-6)


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("aligned", [0, 1])
def test_places_that_are_infinitely_far(mode, aligned):
    grid = np.array([[[[inf, -inf], [-inf, inf]]]], F)
    for padding, wanted in (("zeros", [0, 0]), ("border", [9, 144])):
        y = run("GridSample", [SQUARES, grid], 20, mode=mode, padding_mode=padding, align_corners=aligned)
        assert y.ravel().tolist() == wanted


@pytest.mark.parametrize(
    ("mode", "wanted"),
    [("nearest", [1, 2, 2, 4, 4, 8, 8, 8]), ("linear", [1.25, 1.75, 2.5, 3.5, 5, 7, 8, 8])],
)
def test_places_of_tensorflow_in_version_11(
    mode, wanted
):  # (i + 0.5) / scale, by the definition and ONNX Runtime
    x = np.array([1, 2, 4, 8], np.float32).reshape(1, 1, 1, 4)
    found = run(
        "Resize",
        [x, np.zeros(0, np.float32), np.array([1, 1, 1, 2], np.float32)],
        11,
        mode=mode,
        coordinate_transformation_mode="tf_half_pixel_for_nn",
    )
    assert found.ravel().tolist() == wanted
