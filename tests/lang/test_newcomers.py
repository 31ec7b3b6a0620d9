"""What people write who come from NumPy, torch, einsum or C: the help says how it is written
here.
"""

from __future__ import annotations

import pytest

import texpr as tx

BODIES = {
    "Y[i] = X[i]^2": "a power is written x ** y; exclusive or is bit_xor(x, y)",
    "Y[i] = np.exp(X[i])": "functions stand without a module: exp(...)",
    "Y[i] = math.sqrt(X[i])": "functions stand without a module: sqrt(...)",
    "Y[i] = torch.relu(X[i])": "write max(x, 0)",
    "Y[i] = np.where(X[i] > 0, X[i], 0)": "a choice is written: if c then a else b",
    "Y[i] = X.sum()": "there are no methods: sum(...) takes what stands before the point",
    "Y[i] = X[i].exp()": "there are no methods: exp(...) takes what stands before the point",
    "Y[i] = if True then X[i] else 0": "it is written true",
    "b[i] = False": "it is written false",
    "Y[i] = None": "every element has a value: write the number that stands there",
    "Y[i] = NaN": "it is written nan",
    "Y[i] = -Inf": "it is written inf",
    "Y[i] = pi * X[i]": "write the number: 3.141592653589793",
    "Y[i] = X[i] + Z[i]": "where N and M are one size, give both one name; else guard the read: Z[i | 0]",
    "Y[i] = sigma(X[i])": "it is called sigmoid(x)",
    "Y[i] = X[i] mod 2": "the remainder is x % y",
    "Y[i] = X[i] <> 0": "different is written !=",
    "Y[i] = k[i] << 1": "a shift is a function: shl(x, n)",
    "return X": "there is no `return`: an equation says each element of an output, Y[i] = X[i]",
}


HEADS = {
    "op f(X: c64[N]) -> Y: f32[N] { Y[i] = 0 }": "there are no complex numbers: keep the real and the "
    "imaginary part in two tensors",
    "op f(X: str[N]) -> Y: f32[N] { Y[i] = 0 }": "there are no texts: use numbers",
    "op f(X: tensor[N]) -> Y: f32[N] { Y[i] = 0 }": "an element type stands before the sizes: f32[N]",
    "op f(X) -> Y { Y[i] = X[i] }": "an input has a name and a type: X: f32[N]",
    "op f(f32 X[N]) -> Y: f32[N] { Y[i] = X[i] }": "the name stands first, then the type: X: f32[N]",
    "op f(X: f32[N]) { Y[i] = X[i] }": "an output has a name and a type: op f(X: f32[N]) -> Y: f32[N] { ... "
    "}",
}


@pytest.mark.parametrize(
    ("text", "help"),
    [
        *(
            (f"op f(X: f32[N], Z: f32[M], k: i32[N]) -> Y: f32[N] {{ {body} }}", help)
            for body, help in BODIES.items()
        ),
        *HEADS.items(),
    ],
)
def test_help(text: str, help: str):
    with pytest.raises(tx.Error) as e:
        tx.op(text)
    assert str(e.value).splitlines()[-1] == f"  help: {help}"


def test_an_output_in_other_letters():
    with pytest.raises(tx.Error) as e:
        tx.op("op f(X: f32[N]) -> Y: f32[N] { y[i] = X[i] }")
    assert "`y` is another name: <op>:1:32" in str(e.value)
