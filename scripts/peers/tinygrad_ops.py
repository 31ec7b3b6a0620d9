"""tinygrad's tests of operators, tried on tensors of texpr by the methods and functions that exist:

    python scripts/peers/tinygrad_ops.py [--file FILE] [--only NAME,...] [--part K/N] [--all]

Needs an environment with texpr and torch: `make tinygrad-ops`. The tests are test/backend/test_ops.py of
github.com/tinygrad/tinygrad at `COMMIT`, downloaded unless a file is given. A case is a call of its
`helper_test_op`: a function of tensors, by tinygrad's names, beside torch's. Values and shapes of the
results are compared, and gradients of their sum; dtypes are counted by themselves, since integers and
floats meet as in NumPy here. Prints what differs or is refused, and the counts. 1 where a value differs.

`absent` are methods that texpr does not have; `refused` raise an error of texpr's; `failed` another one.
"""

from __future__ import annotations

import argparse
import re
import sys
import types
import unittest
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from unittest import mock
from urllib.request import urlopen

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).parents[2]))

import texpr as tx  # noqa: E402
from texpr import ops  # noqa: E402

COMMIT = "a9069c177a"
ADDRESS = f"https://raw.githubusercontent.com/tinygrad/tinygrad/{COMMIT}/test/backend/test_ops.py"
DTYPES = {
    "default_float": "f32",
    "default_int": "i32",
    "float": "f32",
    "half": "f16",
    "int": "i32",
    "bool": "bool",
    **{f"float{n}": f"f{n}" for n in (16, 32, 64)},
    **{f"{k}int{n}": f"{k or 'i'}{n}" for k in ("", "u") for n in (8, 16, 32, 64)},
    "bfloat16": "bf16",
}
"""tinygrad's dtypes."""
_UNKNOWN = re.compile(r"has no (argument )?`")


class Absent(Exception):
    """A name of tinygrad's that texpr does not have."""


class Names(type):
    """`Tensor.relu` is a method, or else a function of texpr."""

    def __getattr__(cls, name: str) -> Any:
        for home in (tx.Tensor, tx, ops):
            found = getattr(home, name, None)
            if found is not None:
                return found
        raise Absent(name)

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, tx.Tensor)


class Tensor(metaclass=Names):
    """Tensors as tinygrad makes them: lists of floats are f32, of integers i32."""

    def __new__(cls, data: Any, dtype: Any = None, device: object = None, requires_grad: bool = False) -> Any:
        array = np.asarray(data)
        known = (
            array.dtype.type if isinstance(data, np.ndarray) else {"f": "f4", "i": "i4"}.get(array.dtype.kind)
        )
        found = tx.tensor(array.astype(known or array.dtype), dtype=dtype)
        return found.requires_grad_() if requires_grad and found.dtype.is_float else found


class Dtypes:
    """`dtypes.int32` is the name of texpr."""

    def __getattr__(self, name: str) -> str:
        if name not in DTYPES:
            raise Absent(name)
        return DTYPES[name]


class Anything:
    """Settings of tinygrad's that its tests ask for: none is set."""

    DEFAULT = interface = ""

    def __getattr__(self, name: str) -> Anything:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __call__(self, *given: object, **named: object) -> Any:
        return given[1] if len(given) > 1 else self

    def __bool__(self) -> bool:
        return False

    def __getitem__(self, key: object) -> Anything:
        return self

    def __contains__(self, key: object) -> bool:
        return False

    def __int__(self) -> int:
        return 0

    def __lt__(self, other: object) -> bool:
        return True

    def __ge__(self, other: object) -> bool:
        return False

    def __enter__(self) -> Anything:
        return self

    def __exit__(self, *reason: object) -> None:
        pass


def stubs() -> dict[str, types.ModuleType]:
    """Modules in the place of tinygrad's."""
    nothing = Anything()
    contents: dict[str, dict[str, Any]] = {
        "tinygrad": {"Tensor": Tensor, "Device": nothing, "dtypes": Dtypes()},
        "tinygrad.helpers": {n: nothing for n in ("getenv", "DEV", "Context")} | {"DEBUG": 0, "IMAGE": 0},
        "tinygrad.tensor": {"_to_np_dtype": lambda name: {"f32": np.float32, "i32": np.int32}[name]},
        "tinygrad.renderer": {},
        "tinygrad.renderer.nir": {"NIRRenderer": type("NIRRenderer", (), {})},
    }
    found = {}
    for name, values in contents.items():
        found[name] = types.ModuleType(name)
        vars(found[name]).update(values)
    return found


class Cases:
    """Outcomes of cases, in the place of the suite's helpers."""

    def __init__(self, everything: bool) -> None:
        self.counts: Counter[str] = Counter()
        self.dtypes, self.test, self.number, self._everything = 0, "", 0, everything
        self.absent: Counter[str] = Counter()

    def begin(self, test: str) -> None:
        """Cases belong to this test from here on."""
        self.test, self.number = test, 0

    def note(self, kind: str, reason: str = "") -> None:
        """Count an outcome."""
        self.counts[kind] += 1
        if self._everything or kind in ("differs", "failed", "refused"):
            print(f"{kind:8} {self.test} {self.number}: {reason[:300]}".replace("\n", " "), flush=True)
        if kind == "absent":
            self.absent[reason] += 1

    def tried(self, compare: Callable[[], str]) -> None:
        """Run a comparison, and count what comes of it."""
        self.number += 1
        try:
            words = compare()
        except Absent as error:
            return self.note("absent", str(error))
        except AttributeError as error:
            return self.note("absent", str(error).split(":")[0])
        except tx.Error as error:
            absent = _UNKNOWN.search(str(error)) is not None
            return self.note("absent" if absent else "refused", str(error))
        except TypeError as error:
            absent = "unexpected keyword" in str(error)
            return self.note("absent" if absent else "failed", f"{error}")
        except Exception as error:
            return self.note("failed", f"{type(error).__name__}: {error}")
        self.note("differs" if words else "passed", words)

    def compared(
        self,
        shapes: Sequence[tuple[int, ...]] | None,
        theirs: Callable[..., Any],
        ours: Callable[..., Any] | None = None,
        atol: float = 1e-6,
        rtol: float = 1e-3,
        grad_atol: float = 1e-4,
        grad_rtol: float = 1e-3,
        forward_only: bool = False,
        vals: Sequence[Any] | None = None,
        low: float = -2,
        high: float = 2,
    ) -> None:
        """In the place of `helper_test_op`."""

        def compare() -> str:
            given = inputs(shapes, vals, low, high, forward_only)
            expected, own = theirs(*given), [converted(t) for t in given]
            found = (ours or theirs)(*own)
            self.dtypes += found.numpy().dtype != expected.detach().numpy().dtype
            words = different(found, expected, atol, rtol)
            if words or forward_only or not given:
                return words
            expected_gradients = torch.autograd.grad(theirs(*given).sum(), given, allow_unused=True)
            (ours or theirs)(*own).sum().backward()
            for k, (t, g) in enumerate(zip(own, expected_gradients)):
                if g is not None and (t.grad is not None or g.abs().max() > 0):
                    gradient = tx.zeros(*g.shape) if t.grad is None else t.grad
                    if words := different(gradient, g, grad_atol, grad_rtol):
                        return f"gradient {k}: {words}"
            return ""

        self.tried(compare)

    def raised(
        self,
        shapes: Sequence[tuple[int, ...]] | None,
        theirs: Callable[..., Any],
        ours: Callable[..., Any] | None = None,
        expected: Any = None,
        forward_only: bool = False,
        exact: bool = False,
        vals: Sequence[Any] | None = None,
        low: float = -1.5,
        high: float = 1.5,
    ) -> None:
        """In the place of `helper_test_exception`: an error of any kind will do that names a cause."""

        def compare() -> str:
            own = [converted(t) for t in inputs(shapes, vals, low, high, forward_only)]
            try:
                np.asarray((ours or theirs)(*own))
            except (tx.Error, TypeError, ValueError, IndexError) as error:
                if isinstance(error, AttributeError):
                    raise
                return ""
            return "accepted, an error was expected"

        self.tried(compare)


def inputs(shapes: Any, vals: Any, low: float, high: float, forward_only: bool) -> list[torch.Tensor]:
    """The tensors of a case, as the suite makes them."""
    if shapes is None:
        found = [torch.tensor(v, requires_grad=not forward_only) for v in vals]
    else:
        np.random.seed(0)
        data = [np.random.uniform(low=low, high=high, size=s).astype(np.float32) for s in shapes]
        found = [torch.tensor(d, requires_grad=not forward_only) for d in data]
    return [t.type(torch.int32) if t.dtype == torch.int64 else t for t in found]


def converted(tensor: torch.Tensor) -> Any:
    """A tensor of texpr's with the same values."""
    found = tx.tensor(tensor.detach().numpy().copy())
    return found.requires_grad_() if tensor.requires_grad else found


def different(found: Any, expected: torch.Tensor, atol: float, rtol: float) -> str:
    """How values or shapes differ, or nothing."""
    own, theirs = np.asarray(found.detach()), expected.detach().numpy()
    if own.shape != theirs.shape:
        return f"shape {own.shape}, expected {theirs.shape}"
    if np.allclose(own.astype("f8"), theirs.astype("f8"), rtol, atol, equal_nan=True):
        return ""
    worst = np.nanmax(np.abs(own.astype("f8") - theirs.astype("f8")))
    return f"values differ by {worst:.1e}"


def loaded(text: str, cases: Cases) -> type[unittest.TestCase]:
    """The class of tests, with `cases` in the place of its helpers."""
    module = types.ModuleType("test_ops")
    with mock.patch.dict(sys.modules, stubs()):
        exec(compile(text, "test_ops.py", "exec"), vars(module))
    vars(module)["helper_test_op"] = cases.compared
    module.TestOps.helper_test_exception = staticmethod(cases.raised)
    return module.TestOps


def run(tests: type[unittest.TestCase], cases: Cases, only: set[str], part: tuple[int, int]) -> None:
    """Run tests: those that are named, the k-th of n parts of them."""
    names = [n for n in unittest.TestLoader().getTestCaseNames(tests) if not only or n in only]
    for name in names[part[0] - 1 :: part[1]]:
        cases.begin(name)
        test, result = tests(name), unittest.TestResult()
        test.run(result)
        for _, problem in [*result.errors, *result.failures]:
            last = next(line for line in reversed(problem.strip().splitlines()) if not line.startswith(" "))
            absent = re.match(r".*(Absent|UnknownName|unexpected keyword|AttributeError)", last)
            kind = "absent" if absent else "refused" if ": error[" in last else "failed"
            cases.note(kind, f"outside of a case: {last}")


def _downloaded() -> str:
    with urlopen(ADDRESS, timeout=60) as page:
        return page.read().decode()


def main() -> int:
    """Try what was asked for, and count."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--file", type=Path, help="test_ops.py; downloaded unless given")
    parser.add_argument("--only", default="", help="names of tests, with commas")
    parser.add_argument("--part", default="1/1", help="K/N: each N-th test from the K-th on")
    parser.add_argument("--all", action="store_true", help="print what passed and what is absent, too")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    try:
        text = _downloaded() if given.file is None else given.file.read_text(encoding="utf-8")
    except OSError as error:  # `URLError` is one
        print(f"{given.file or ADDRESS} cannot be read: {error}; --file takes a copy of it", file=sys.stderr)
        return 2
    cases = Cases(given.all)
    first, of = map(int, given.part.split("/"))
    run(loaded(text, cases), cases, set(filter(None, given.only.split(","))), (first, of))
    total = sum(cases.counts.values())
    print(f"cases: {total}; " + ", ".join(f"{k} {n}" for k, n in sorted(cases.counts.items())))
    print(f"other dtypes than torch's: {cases.dtypes}")
    print("absent most often: " + ", ".join(f"{n} {k}" for n, k in cases.absent.most_common(12)))
    return int(cases.counts["differs"] + cases.counts["failed"] > 0)


if __name__ == "__main__":
    sys.exit(main())
