"""Operators of ai.onnx.ml with labels of numbers, beside ONNX's reference."""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx

onnx = pytest.importorskip("onnx")

from onnx import helper, numpy_helper  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402

from tests.onnx.models import run  # noqa: E402

F, RNG = np.float32, np.random.default_rng(0)
ML = "ai.onnx.ml"
X = RNG.normal(size=(6, 3)).astype(F)
WHOLE = RNG.integers(-3, 4, (6, 3))
GAPS = X.copy()
GAPS[0, 1], GAPS[2, 2] = np.nan, 2.5
W = RNG.normal(size=9).astype(F).tolist()
VECTORS = RNG.normal(size=15).astype(F).tolist()
TRANSFORMS = ("NONE", "SOFTMAX")


def computed(op, *arrays, outputs=1, version=3, **attributes):
    """What texpr gives; inputs are constants, so that nothing is compiled."""
    return run(op, arrays, version, outputs, constants=range(len(arrays)), domain=ML, **attributes)


def check(op, *arrays, outputs=1, version=3, bound=1e-5, **attributes):
    """Equal to ONNX's reference."""
    found = computed(op, *arrays, outputs=outputs, version=version, **attributes)
    names = [f"x{k}" for k in range(len(arrays))]
    node = helper.make_node(op, names, [f"y{k}" for k in range(outputs)], domain=ML, **attributes)
    sets = [helper.make_opsetid("", 21), helper.make_opsetid(ML, version)]
    graph = helper.make_graph(
        [node],
        "g",
        [
            helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
            for n, a in zip(names, arrays)
        ],
        [helper.make_tensor_value_info(f"y{k}", 1, None) for k in range(outputs)],
    )
    wanted = ReferenceEvaluator(helper.make_model(graph, opset_imports=sets)).run(
        None, dict(zip(names, arrays))
    )
    for y, w in zip(found if outputs > 1 else (found,), wanted, strict=True):
        assert y.dtype == w.dtype and y.shape == w.shape
        np.testing.assert_allclose(y, w, rtol=bound, atol=bound)


def tensor(values, t):
    return numpy_helper.from_array(np.array(values, t))


def test_features():
    check("Scaler", X, offset=[1.0, 2.0, 3.0], scale=[0.5, 2.0, -1.0])
    check("Imputer", GAPS, imputed_value_floats=[1.0, 2.0, 3.0], replaced_value_float=np.nan)
    check("Imputer", WHOLE, imputed_value_int64s=[7, 8, 9], replaced_value_int64=2)
    check("Normalizer", X, norm="MAX")
    check("Normalizer", X, norm="L2")
    check("FeatureVectorizer", X, WHOLE[:, :2].astype(F), inputdimensions=[2, 4])
    check("OneHotEncoder", WHOLE, cats_int64s=[-1, 0, 2], zeros=1)
    assert computed("Scaler", WHOLE, offset=[1.0], scale=[0.5]).dtype == F  # the reference gives integers


def test_labels_of_numbers():
    check(
        "LabelEncoder",
        WHOLE,
        version=2,
        keys_int64s=[-1, 0, 2],
        values_floats=[0.5, 1.5, 2.5],
        default_float=9.0,
    )
    check("LabelEncoder", WHOLE, version=2, keys_int64s=[-1, 0, 2, -1], values_int64s=[5, 6, 7, 8])
    check("LabelEncoder", GAPS, version=2, keys_floats=[2.5, 1.0], values_int64s=[5, 6], default_int64=3)
    tables = {"keys_tensor": tensor([1, 2, -3], "i2"), "values_tensor": tensor([1.5, 2.5, 3.5], "f8")}
    check("LabelEncoder", WHOLE.astype("i2"), version=4, **tables, default_tensor=tensor([7], "f8"))
    tables = {"keys_tensor": tensor([np.nan, 2.5], "f4"), "values_tensor": tensor([1, 2], "i8")}
    found = computed("LabelEncoder", GAPS, version=4, **tables, default_tensor=tensor([-1], "i8"))
    assert found[0, 1] == 1 and found[2, 2] == 2 and (found == -1).sum() == 16  # as in ONNX Runtime


def test_linear_models():
    check("LinearRegressor", X, targets=2, coefficients=W[:6], intercepts=[0.5, -1.0])
    check("LinearRegressor", X, coefficients=W[:3], intercepts=[0.5])
    for transform in TRANSFORMS:
        check(
            "LinearClassifier",
            X,
            outputs=2,
            coefficients=W,
            intercepts=[0.1, 0.2, 0.3],
            classlabels_ints=[5, 7, 9],
            post_transform=transform,
        )
        for labels in ([5, 7], [5]):
            check(
                "LinearClassifier",
                X,
                outputs=2,
                coefficients=W[:3],
                intercepts=[0.1],
                classlabels_ints=labels,
                post_transform=transform,
            )


@pytest.mark.parametrize("kernel", ["POLY", "RBF"])
def test_support_vectors(kernel):
    about = {
        "kernel_type": kernel,
        "kernel_params": [0.4, 0.3, 3.0],
        "support_vectors": VECTORS,
        "version": 1,
    }
    check("SVMRegressor", X, **about, n_supports=5, coefficients=W[:5], rho=[0.2])
    if kernel == "POLY":
        return
    check("SVMRegressor", X, **about, n_supports=5, coefficients=W[:5], rho=[0.2], one_class=1)
    two = {**about, "vectors_per_class": [2, 3], "classlabels_ints": [3, 4], "outputs": 2, "rho": [0.2]}
    check("SVMClassifier", X, **two, coefficients=W[:5])
    check("SVMClassifier", X, **two, coefficients=np.abs(W[:5]).tolist())
    check("SVMClassifier", X, **two, coefficients=W[:5], prob_a=[-1.2], prob_b=[0.1])
    three = {**about, "vectors_per_class": [2, 1, 2], "classlabels_ints": [3, 4, 9], "outputs": 2}
    three |= {"rho": [0.2, 0.1, -0.3], "coefficients": (W + W)[:10]}
    check("SVMClassifier", X, **three)
    coupled(three)


def coupled(three):
    """Chances of three classes solve what Wu, Lin and Weng ask for, to libsvm's bound; the reference has
    another matrix.
    """
    a, b = np.array([-1.2, -0.8, -2.0]), np.array([0.1, 0.2, 0.0])
    _, scores = computed("SVMClassifier", X, **three)
    _, chances = computed("SVMClassifier", X, **three, prob_a=a.tolist(), prob_b=b.tolist())
    for row, found in zip(1 / (1 + np.exp(scores * a + b)), chances):
        r = np.zeros((3, 3))
        r[[0, 0, 1], [1, 2, 2]], r[[1, 2, 2], [0, 0, 1]] = row, 1 - row
        q = np.diag((r**2).sum(0)) - r.T * r
        slope = q @ found
        assert abs(found.sum() - 1) < 1e-5 and np.abs(slope - found @ slope).max() < 0.005 / 3 + 1e-5


def test_linear_machines():
    check("SVMRegressor", X, version=1, kernel_type="LINEAR", coefficients=W[:3], rho=[0.2])
    for labels in ([3, 4, 9], [3, 4]):
        given = {"coefficients": W[: 3 * len(labels)], "rho": [0.2], "classlabels_ints": labels}
        check("SVMClassifier", X, outputs=2, version=1, kernel_type="LINEAR", **given)


FOREST = {
    "nodes_treeids": [0] * 5 + [1] * 3,
    "nodes_nodeids": [0, 1, 2, 3, 4, 0, 1, 2],
    "nodes_featureids": [0, 1, 0, 0, 0, 2, 0, 0],
    "nodes_modes": ["BRANCH_LEQ", "BRANCH_GT", "LEAF", "LEAF", "LEAF", "BRANCH_LT", "LEAF", "LEAF"],
    "nodes_values": [0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
    "nodes_truenodeids": [1, 2, 0, 0, 0, 1, 0, 0],
    "nodes_falsenodeids": [4, 3, 0, 0, 0, 2, 0, 0],
    "class_treeids": [0, 0, 0, 1, 1, 1],
    "class_nodeids": [2, 3, 4, 1, 2, 2],
}


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_trees_that_classify(transform):
    three = {
        "class_ids": [0, 1, 2, 1, 0, 2],
        "class_weights": [1.0, 2.0, 3.0, -1.0, 5.0, 7.0],
        "base_values": [0.5, 0.0, 1.0],
    }
    check(
        "TreeEnsembleClassifier",
        X,
        outputs=2,
        post_transform=transform,
        classlabels_int64s=[4, 5, 6],
        **three,
        **FOREST,
    )
    one = {"class_ids": [0] * 6, "class_weights": [0.1, -0.2, 0.3, 0.4, 0.5, 0.1]}
    for labels in ([4, 5], [1]):
        check(
            "TreeEnsembleClassifier",
            X,
            outputs=2,
            post_transform=transform,
            classlabels_int64s=labels,
            **one,
            **FOREST,
        )


@pytest.mark.parametrize(
    ("op", "attributes", "words"),
    [
        ("Scaler", {"offset": [1.0, 2.0]}, r"offset has 2 numbers for \[6, 3\]"),
        ("Imputer", {"imputed_value_floats": [1.0, 2.0]}, r"2 numbers, imputed_value_floats, for \[6, 3\]"),
        ("Imputer", {"imputed_value_int64s": [1]}, r"0 numbers, imputed_value_floats"),
        ("Normalizer", {"norm": "L3"}, "norm is `L3`; MAX, L1, L2 are read"),
        ("OneHotEncoder", {"cats_strings": ["a"]}, r"cats_int64s are \[\]"),
        ("OneHotEncoder", {"cats_int64s": [1, 1]}, r"cats_int64s are \[1, 1\]"),
        ("OneHotEncoder", {"cats_int64s": [1], "zeros": 0}, "zeros is 0"),
        ("FeatureVectorizer", {"inputdimensions": [1, 2]}, r"inputdimensions are \[1, 2\]"),
        (
            "FeatureVectorizer",
            {"inputdimensions": [1 << 60]},
            "the limit is constants of 1,073,741,824 bytes",
        ),
        ("FeatureVectorizer", {"inputdimensions": [-1]}, r"inputdimensions are \[-1\]"),
        (
            "LabelEncoder",
            {"keys_strings": ["a"], "values_floats": [1.0]},
            "Input type is not string tensor but key_strings is set",
        ),
        ("LabelEncoder", {"keys_floats": [1.0], "values_floats": [1.0, 2.0]}, "1 keys and 2 values"),
        ("LabelEncoder", {"keys_floats": [1.0]}, "Only one of values"),
        ("LinearRegressor", {"coefficients": [1.0]}, "1 coefficients for 1 rows of 3 features"),
        ("LinearRegressor", {"coefficients": W[:3], "targets": 0}, "3 coefficients for 0 rows"),
        ("LinearRegressor", {"coefficients": W[:3], "intercepts": [1.0, 2.0]}, "2 intercepts for 1 results"),
        ("SVMRegressor", {"coefficients": W[:3]}, "rho has 0 numbers, expected 1"),
        (
            "SVMRegressor",
            {"coefficients": W[:3], "rho": [0.0], "n_supports": 9},
            "3 coefficients for 9 support",
        ),
        (
            "SVMRegressor",
            {
                "coefficients": [1.0],
                "support_vectors": [1.0] * 3,
                "n_supports": 1,
                "rho": [0.0],
                "kernel_type": "POLY",
                "kernel_params": [1.0, 0.0, np.inf],
            },
            r"kernel_params are \[1.0, 0.0, inf\]",
        ),
    ],
)
def test_attributes_that_do_not_fit(op, attributes, words):
    with pytest.raises((tx.CallError, tx.ResourceError), match=words):
        computed(op, X, version=2 if op == "LabelEncoder" else 1, **attributes)


@pytest.mark.parametrize(
    ("op", "attributes", "words"),
    [
        ("LinearClassifier", {"coefficients": W, "classlabels_strings": ["a"]}, "1 labels for 3 scores"),
        ("LinearClassifier", {"coefficients": W, "classlabels_ints": [1, 2]}, "2 labels for 3 scores"),
        ("SVMClassifier", {"coefficients": W, "classlabels_ints": [1, 2]}, "it has no rho"),
        (
            "SVMClassifier",
            {"coefficients": W, "classlabels_ints": [1, 2], "rho": [0.0], "vectors_per_class": [3]},
            r"vectors_per_class are \[3\] for 2 labels",
        ),
        (
            "SVMClassifier",
            {"coefficients": W, "classlabels_ints": [1, 2], "rho": [0.0], "vectors_per_class": [1, 1]},
            "9 coefficients and 1 rho for 2 classes of 2 vectors",
        ),
        ("TreeEnsembleClassifier", {**FOREST, "classlabels_strings": ["a"]}, r"classlabels_int64s are \[\]"),
        ("TreeEnsembleClassifier", {**FOREST, "classlabels_int64s": [7]}, r"classlabels_int64s are \[7\]"),
        (
            "TreeEnsembleClassifier",
            {**FOREST, "classlabels_int64s": [0, 1], "class_ids": [2] * 6, "class_weights": [1.0] * 6},
            "weights of nodes or targets, that there are not",
        ),
    ],
)
def test_classifiers_that_do_not_fit(op, attributes, words):
    with pytest.raises(tx.CallError, match=words):
        computed(op, X, outputs=2, version=1, **attributes)


def test_pairs_of_many_classes_have_a_limit():
    classes, pairs = 1000, 499500
    given = {
        "classlabels_ints": range(classes),
        "vectors_per_class": [1] * classes,
        "coefficients": [0.0] * (classes - 1) * classes,
        "rho": [0.0] * pairs,
    }
    with pytest.raises(tx.ResourceError, match=r"has 1000 \* 499500 elements; the limit is constants of"):
        computed("SVMClassifier", X, outputs=2, version=1, **given)
