"""The language of NNEF: fragments, arrays, conditions, and its errors with their places."""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx
from tests.nnef.models import folder, graph, run
from texpr.support.errors import CheckpointError

X = np.array([[1, -2, 3], [-4, 5, -6]], "f4")


def test_fragments_are_replaced_by_what_they_are_defined_by(tmp_path):
    text = """version 1.0;
    extension KHR_enable_fragment_definitions;
    extension KHR_enable_operator_expressions;
    fragment twice<?>( x: tensor<?>, by: scalar = 2.0 ) -> ( z: tensor<?> ) { z = x * by; }
    fragment both( x: tensor<scalar> ) -> ( up: tensor<scalar>, down: tensor<scalar> )
    {
        up = twice(x);
        down = -twice(x, by = 3.0);
    }
    graph net(x) -> (y, z) { x = external(shape = [2, 3]); (y, z) = both(x); }
    """
    y, z = tx.nnef.load(folder(tmp_path / "net", text))(X)
    assert np.array_equal(y, 2 * X) and np.array_equal(z, -3 * X)


def test_arrays_conditions_and_comprehensions(tmp_path):
    bodies = {
        "a = [1, 2, 3]; y = x * scalar(a[1] + length_of(a[1:]));": 4 * X,
        "parts = unstack(x, axis = 0); y = stack([for p in parts yield p + 1.0], axis = 0);": X + 1,
        "y = add_n([for i in range_of([5, 6, 7]) if i != 1 yield x * scalar(i)]);": 2 * X,
        "[a, b] = unstack(x, axis = 0); y = a if (2 in [1, 2]) && !false else b;": X[0],
        "(a, b) = moments(x, axes = [1]); y = a;": X.mean(1, keepdims=True),
        "y = copy_n(x, times = 3)[-1];": X,
        "y = concat([x] * 2, axis = 0);": np.concatenate([X, X]),
        "y = x ^ 2.0 - -x / 2.0;": X * X + X / 2,
        "y = reshape(x, shape = shape_of(x)[1:] + [2]);": X.reshape(3, 2),
        "n = 7 / 2; y = x * scalar(n);": 3 * X,
        "y = select(x > 0.0 || x < -3.0, 1.0, x);": np.where((X > 0) | (X < -3), 1, X),
        "b = sqrt(4.0); y = x * b;": 2 * X,
        "c = constant(shape = [3], value = [1.0, 2.0, 3.0]); y = x + unsqueeze(c, axes = [0]);": X
        + [1, 2, 3],
    }
    for k, (body, wanted) in enumerate(bodies.items()):
        assert np.allclose(run(tmp_path / str(k), body, x=X), wanted, rtol=1e-6), body


def test_shapes_are_aligned_at_the_first_axis(tmp_path):
    c = np.array([10, 20], "f4")
    assert np.array_equal(run(tmp_path / "net", "y = x + c;", x=X, c=c), X + c[:, None])


REFUSED = {
    "graph": "found the end of the text, expected a name",
    "y = x +;": "found `;`, expected an expression",
    "y = x @ x;": "found `@`, which cannot stand here",
    "y = x + z;": "`z` is used before it is defined",
    "y = magic(x);": "the model needs operations that texpr does not have",
    "y = conv(x, filter = x, pad = []);": "`conv` has no parameter `pad`; it has input, filter, bias, "
    "border, padding, stride, dilation, groups",
    "y = relu(x, x);": "`relu` takes 1 arguments and got 2",
    "y = relu();": "`relu` needs `x`",
    "y = relu(x, x = x);": "`relu` gets `x` twice",
    "y = relu(x = x, x = x);": "`x` is given twice",
    "y = relu(x = x, x);": "an argument by position behind one by name",
    "y = x; y = x;": "`y` is defined twice",
    "z = x;": "the output `y` is never computed",
    "y, z = relu(x);": "2 names for one value",
    "a = [1, 2][2]; y = x;": "item 2 of 2",
    "a = 1 / 0; y = x;": "`/` fails: integer division or modulo by zero",
    "a = 10 ^ 9999; y = x;": "an integer of more than 4,096 bits",
    "a = [0] * 99999999999; y = x;": "an array of more than 1,048,576 items",
    "a = true + 1; y = x;": "`+` between a logical value and an integer",
    "a = !3; y = x;": "`!` of an integer",
    "a = 1 if 2 else 3; y = x;": "a condition is true or false",
    "w = variable(shape = [2], label = '../../w'); y = x;": "the label '../../w' leads outside of the model",
    "w = variable(shape = [2], label = '/w'); y = x;": "the label '/w' leads outside of the model",
    "w = variable(shape = [2], label = 'w'); y = x;": "`w.dat`, the file of a variable, is not there",
    "y = relu(variable(shape = [2], label = 'w'));": "`variable` stands alone behind `=`",
    "w = variable(shape = [a], label = 'w'); y = x;": "an extent of a shape is an integer",
    "y = " + "(" * 400 + "x" + ")" * 400 + ";": "",
    "y = " + "-" * 400 + "x;": "nesting deeper than 300",
    "y = " + "1" * 500 + ";": "a number of 500 characters; 400 are read",
}


@pytest.mark.parametrize("body", REFUSED)
def test_what_is_wrong_is_refused_with_its_place(tmp_path, body):
    text = graph(body, x=[2, 3]) if body != "graph" else "version 1.0;\ngraph"
    place = folder(tmp_path / "net", text)
    if not REFUSED[body]:  # brackets alone are no depth
        assert np.array_equal(tx.nnef.load(place)(X), X)
        return
    with pytest.raises(CheckpointError) as error:
        tx.nnef.load(place)(X)
    assert error.value.message == REFUSED[body]
    line = 2 if body == "graph" or "never" in REFUSED[body] else 5
    assert error.value.span is not None and str(error.value.span).startswith(f"{place}/graph.nnef:{line}:")


def test_a_whole_error(tmp_path):
    place = folder(tmp_path / "net", graph("y = magic(x) + magic(x) + spell(x);", x=[2]))
    with pytest.raises(CheckpointError) as error:
        tx.nnef.load(place)
    assert str(error.value) == (
        "error[nnef]: the model needs operations that texpr does not have\n"
        f"  --> {place}/graph.nnef:5:27\n"
        "  5 | y = magic(x) + magic(x) + spell(x);\n"
        "    |                           ^^^^^^^^\n"
        "    magic: 2 calls\n"
        "    spell: 1 call\n"
        "  help: the reference page `NNEF operations` lists those that are read"
    )


def test_errors_of_operations_name_the_place(tmp_path):
    place = folder(tmp_path / "net", graph("y = reshape(x, shape = [4]);", x=[2, 3]))
    with pytest.raises(tx.CallError) as error:
        tx.nnef.load(place)(X)
    assert error.value.message == "reshape: [2, 3] has 6 elements, [4] does not fit"
    assert error.value.notes[0] == f"in `reshape`, {place}/graph.nnef:5:5"


def test_fragments_that_call_themselves_end(tmp_path):
    text = """version 1.0;
    fragment f(x: tensor<scalar>) -> (y: tensor<scalar>) { y = f(x); }
    graph net(x) -> (y) { x = external(shape = [2, 3]); y = f(x); }"""
    with pytest.raises(tx.ResourceError, match="fragments are nested deeper than 48"):
        tx.nnef.load(folder(tmp_path / "net", text))(X)


def test_deep_expressions_in_deep_fragments_are_refused_with_their_place(tmp_path):
    deep = "".join(
        f"fragment f{k}(x: tensor<scalar>) -> (y: tensor<scalar>) {{ y = {'-' * 200}f{k + 1}(x); }}\n"
        for k in range(20)
    )
    text = f"""version 1.0;
    fragment f20(x: tensor<scalar>) -> (y: tensor<scalar>) {{ y = x; }}
    {deep}
    graph net(x) -> (y) {{ x = external(shape = [2, 3]); y = f0(x); }}"""
    place = folder(tmp_path / "net", text)
    with pytest.raises(tx.ResourceError, match="expressions and fragments are nested too deep") as error:
        tx.nnef.load(place)(X)
    assert str(error.value.span).startswith(f"{place}/graph.nnef:24:")


def test_the_grammar_has_no_conflicts():
    from importlib.resources import files

    from lark import Lark

    grammar = files("texpr.nnef.syntax").joinpath("nnef_1.lark").read_text(encoding="utf-8")
    goals = ["document", "declarations"]
    Lark(grammar, parser="lalr", lexer="basic", start=goals, keep_all_tokens=True, strict=True)
