"""What callers may pass to a kernel, and what they are told otherwise."""

from __future__ import annotations

import array
import gc
import inspect
import pickle
import sys
import threading

import numpy as np
import pytest

from tests.runtime import kernels
from tests.runtime.kernels import F32, I32
from texpr.runtime import host
from texpr.runtime.call.spec import Argument, CallSpec, Computed, RangeCheck
from texpr.support.errors import CallError, ResourceError

add, short, trivial, outer = kernels.add(), kernels.add("short"), kernels.add("trivial"), kernels.outer()
A, B = np.arange(6, dtype=np.float32), np.full(6, 0.5, np.float32)
SUM = A + B


def misaligned(values):
    raw = np.zeros(values.nbytes + 1, np.uint8)
    view = raw[1:].view(values.dtype)
    view[...] = values
    assert not view.flags.aligned or values.itemsize == 1
    return view


def unpickled(values):
    result = pickle.loads(pickle.dumps(values))
    return result


class Arraylike:
    def __init__(self, values):
        self.values = values

    def __array__(self, dtype=None, copy=None):
        return self.values


class Exporter:
    """DLPack only."""

    def __init__(self, values):
        self.values = values

    def __dlpack__(self, **rest):
        return self.values.__dlpack__(**rest)

    def __dlpack_device__(self):
        return self.values.__dlpack_device__()


class Subclass(np.ndarray):
    pass


FORMS = {
    "as it is": lambda x: x,
    "every second": lambda x: np.repeat(x, 2)[::2],
    "backwards": lambda x: x[::-1].copy()[::-1],
    "misaligned": misaligned,
    "big-endian": lambda x: x.astype(">f4"),
    "unpickled": unpickled,
    "read-only": lambda x: np.frombuffer(x.tobytes(), np.float32),
    "subclass": lambda x: x.view(Subclass),
    "list": lambda x: x.tolist(),
    "tuple of ints": lambda x: tuple(int(v) for v in x) if (x == x.astype(int)).all() else tuple(x.tolist()),
    "__array__": Arraylike,
    "DLPack": Exporter,
    "memoryview": memoryview,
    "array.array": lambda x: array.array("f", x.tolist()),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize(
    "call",
    [
        lambda k, a, b: k(a, b),
        lambda k, a, b: k(a, B=b),
        lambda k, a, b: k(B=b, A=a),
        lambda k, a, b: k(a, b, np.zeros(6, np.float32)),
        lambda k, a, b: k(a, b, out=np.zeros(6, np.float32)),
        lambda k, a, b: k(a, b, out=(np.zeros(6, np.float32),)),
        lambda k, a, b: k(a, b, out=None),
    ],
)
def test_inputs_of_every_form(form, call):
    for kernel in (add, short, trivial):
        result = call(kernel, form(A), form(B))
        assert type(result) is np.ndarray and result.dtype == F32
        assert (result == SUM).all()


def test_a_broadcast_view_is_read():
    assert (add(A, np.broadcast_to(np.float32(0.5), 6)) == SUM).all()


def test_empty_arrays():
    empty = np.zeros(0, np.float32)
    assert add(empty, empty).shape == (0,)
    assert add([], []).shape == (0,)
    assert add(empty, empty, out=empty) is empty
    assert [x.shape for x in outer(empty, B)] == [(0, 6), ()]


@pytest.mark.parametrize(
    "number", [2, 2.5, True, np.float32(2.5), np.float64(2.5), np.int8(2), np.array(2.5), np.array(2)]
)
def test_numbers_for_rank_0(number):
    scalar = kernels.slow()
    assert scalar(1, number) == np.float32(number)
    assert scalar(np.int64(1), X=number).shape == ()


def test_outputs_are_written_where_they_are():
    for form in (
        lambda x: x,
        misaligned,
        lambda x: np.zeros(12, np.float32)[::2],
        lambda x: x[::-1],
        lambda x: x.astype(">f4"),
    ):
        for kernel in (add, short, trivial):
            target = form(np.zeros(6, np.float32))
            assert kernel(A, B, out=target) is target
            assert (target == SUM).all()
            target = form(np.zeros(6, np.float32))
            assert kernel(A, B, target) is target
            assert (target == SUM).all()


@pytest.mark.parametrize("shift", range(-6, 7))
def test_an_output_over_an_input(shift):
    memory = np.arange(20, dtype=np.float32)
    source, target = memory[7:13], memory[7 + shift : 13 + shift]
    expected = source + B
    assert add(source, B, out=target) is target
    assert (target == expected).all()


def test_in_place():
    x = A.copy()
    assert add(x, x, x) is x
    assert (x == A + A).all()


def test_several_outputs():
    result = outer(A, B)
    assert result._fields == ("C", "D") and type(result).__name__ == "outer"
    assert (result.C == np.outer(A, B)).all() and result.D == A[0]
    c, d = np.empty((6, 6), np.float32), np.empty((), np.float32)
    assert outer(A, B, c, d)[0] is c
    assert outer(A, B, out=(None, d)).D is d
    assert outer(A[::-1], B, out=[c, None]).C is c
    assert (c == np.outer(A[::-1], B)).all() and d == A[0]


def complaint(kernel, *arguments, **keywords):
    with pytest.raises(CallError) as error:
        kernel(*arguments, **keywords)
    return str(error.value)


read_only = SUM.copy()
read_only.flags.writeable = False

COMPLAINTS = [
    (
        lambda: add(A.astype(np.float64), B),
        "error[dtype]: `A` is float64, expected float32\n  help: use A.astype(np.float32)",
    ),
    (
        lambda: add(A, B.astype(np.int32)),
        "error[dtype]: `B` is int32, expected float32\n  help: use B.astype(np.float32)",
    ),
    (lambda: add(A.astype(complex), B), "error[dtype]: `A` is complex128, expected float32"),
    (
        lambda: add(A.astype(object), B),
        "error[type]: `A` is an array of Python objects, expected an array of float32",
    ),
    (
        lambda: add(A.astype(np.longdouble), B),
        "error[dtype]: `A` is float128, expected float32\n  help: use A.astype(np.float32)",
    ),
    (
        lambda: add(np.zeros(6, "f4,i4"), B),
        "error[dtype]: `A` is [('f0', '<f4'), ('f1', '<i4')], expected float32",
    ),
    (
        lambda: add(np.ma.array(A), B),
        "error[type]: `A` is a masked array; masks are not supported\n  help: use A.filled(...)",
    ),
    (lambda: add(None, B), "error[type]: `A` is a NoneType, expected an array of float32"),
    (lambda: add("abc", B), "error[type]: `A` is a str, expected an array of float32"),
    (lambda: add(b"abcdef", B), "error[type]: `A` is a bytes, expected an array of float32"),
    (lambda: add({}, B), "error[type]: `A` is a dict, expected an array of float32"),
    (lambda: add([1j] * 6, B), "error[dtype]: `A` is complex128, expected float32"),
    (
        lambda: add([2**70] * 6, B),
        "error[type]: `A` is a list of Python objects, expected an array of float32",
    ),
    (lambda: add([1e300] * 6, B), "error[range]: `A` has a value that does not fit float32"),
    (lambda: add(A, B, np.zeros(6)), "error[dtype]: the output `C` is float64, expected float32"),
    (lambda: add(A, B[:5]), "error[shape]: axis 0 of `B` has extent 5, expected N = 6 (axis 0 of `A`)"),
    (
        lambda: add(A, B, out=np.zeros(5, np.float32)),
        "error[shape]: axis 0 of `C` has extent 5, expected N = 6 (axis 0 of `A`)",
    ),
    (lambda: add(A.reshape(2, 3), B), "error[shape]: `A` has shape (2, 3), expected 1 axis: [N]"),
    (lambda: add(A, 3), "error[shape]: `B` has shape (), expected 1 axis: [N]"),
    (
        lambda: add(A, B, out=np.zeros((6, 1), np.float32)),
        "error[shape]: the output `C` has shape (6, 1), expected 1 axis: [N]",
    ),
    (lambda: add(A, B, read_only), "error[output]: the output `C` is read-only"),
    (lambda: add(A, B, out=[0.0]), "error[type]: the output `C` is a float, expected a NumPy array"),
    (
        lambda: add(A, B, out=np.lib.stride_tricks.as_strided(A.copy(), (6,), (0,))),
        "error[output]: elements of the output `C` share memory (a broadcast or overlapping view)",
    ),
    (
        lambda: outer(A, B, *[np.zeros((6, 6), np.float32)]),
        "error[arguments]: outer got 3 arrays; it takes A, B, out",
    ),
    (lambda: add(A), "error[arguments]: add misses `B`; it takes A, B, out"),
    (lambda: add(), "error[arguments]: add misses `A`, `B`; it takes A, B, out"),
    (lambda: add(A, B, A, B), "error[arguments]: add got 4 arrays; it takes A, B, out"),
    (lambda: add(A, B, SUM, out=SUM), "error[arguments]: add got 3 arrays and `out`; it takes A, B, out"),
    (lambda: add(A, B, oot=SUM), "error[arguments]: add has no argument `oot`; it takes A, B, out"),
    (lambda: add(A, B, A=A), "error[arguments]: add got `A` twice, by position and by name"),
    (lambda: add(A, B, out=(SUM, SUM)), "error[arguments]: add has 1 output; `out` has 2 entries"),
    (lambda: outer(A, B, out=SUM), "error[arguments]: outer has 2 outputs; pass out=(C, D)"),
]


@pytest.mark.parametrize("call, text", COMPLAINTS, ids=range(len(COMPLAINTS)))
def test_complaints(call, text):
    with pytest.raises(CallError) as error:
        call()
    assert str(error.value) == text


def test_outputs_that_share_memory():
    memory = np.zeros(37, np.float32)
    text = "error[output]: the outputs `C` and `D` share memory"
    assert complaint(outer, A, B, memory[:36].reshape(6, 6), memory[3:4].reshape(())) == text
    assert outer(A, B, memory[:36].reshape(6, 6), memory[36:].reshape(())).D == A[0]


def test_a_matrix_is_taken_with_a_warning():
    with pytest.warns(UserWarning, match="`A` is a np.matrix; it is used as a plain 2-D array") as warned:
        assert (
            complaint(add, A.view(np.matrix), B) == "error[shape]: `A` has shape (1, 6), expected 1 axis: [N]"
        )
    assert warned[0].filename == __file__


def test_an_array_protocol_that_fails():
    class Broken:
        def __array__(self, dtype=None, copy=None):
            raise RuntimeError("it needs a gradient")

    assert (
        complaint(add, Broken(), B)
        == f"error[type]: `A` is a {__name__}.Broken that NumPy cannot read: it needs a gradient"
    )


def test_integers():
    ints = kernels.kernel(
        kernels.RESULT, "result", Argument("X", I32, ("N",)), Argument("Y", I32, ("N",), True), sizes=("N",)
    )
    assert ints([0, 1]).shape == (2,)
    assert ints([False, True]).shape == (2,)
    assert (
        complaint(ints, [0.0, 1.0])
        == "error[dtype]: `X` is float64, expected int32\n  help: use X.astype(np.int32)"
    )
    assert complaint(ints, [0, 2**31]) == "error[range]: `X` has a value that does not fit int32"


def test_a_huge_output_is_refused():
    column = np.lib.stride_tricks.as_strided(np.zeros(1, np.float32), (1 << 22,), (0,)).copy()
    have = host.memory_bytes() / 2**30
    with pytest.raises(ResourceError) as error:
        outer(column, column)
    assert str(error.value) == f"the output `C: float32[M, N]` needs 65536.0 GiB; this machine has {have:.1f}"


def test_computed_extents():
    grow = kernels.kernel(
        kernels.RESULT,
        "result",
        Argument("X", I32, ("N",)),
        Argument("Y", I32, (Computed("N - 2", lambda sizes: sizes["N"] - 2),), True),
        sizes=("N",),
    )
    assert grow(np.zeros(5, np.int32)).shape == (3,)
    assert grow(np.zeros(5, np.int32), out=np.zeros(3, np.int32)).shape == (3,)
    text = "error[shape]: axis 0 of `Y` has extent 4, expected N - 2 = 3"
    assert complaint(grow, np.zeros(5, np.int32), out=np.zeros(4, np.int32)) == text
    assert (
        complaint(grow, np.zeros(1, np.int32))
        == "error[shape]: axis 0 of the output `Y` would have extent -1 (N - 2)"
    )


def test_sizes_that_only_outputs_have():
    fill = kernels.kernel(
        kernels.RESULT, "result", Argument("X", I32, (1,)), Argument("Y", I32, ("N",), True), sizes=("N",)
    )
    x = np.zeros(1, np.int32)
    assert (
        complaint(fill, x) == "error[shape]: axis 0 of the output `Y` (N) follows from no input; pass `out`"
    )
    assert fill(x, np.zeros(7, np.int32)).shape == (7,)


def test_constant_extents():
    six = kernels.kernel(kernels.RESULT, "result", Argument("X", I32, (6,)), Argument("Y", I32, (2, 3), True))
    assert six(np.zeros(6, np.int32)).shape == (2, 3)
    assert complaint(six, np.zeros(5, np.int32)) == "error[shape]: axis 0 of `X` has extent 5, expected 6"


INTEGERS = [np.dtype(f"{kind}{size}") for kind in "iu" for size in (1, 2, 4, 8)]


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
@pytest.mark.parametrize("lo, hi", [(0, "V"), (-3, 4), ("V", 100)])
def test_values_out_of_range(dtype, lo, hi):
    check = RangeCheck(0, "idx", lo, hi)
    idx, table, out = (
        Argument("idx", dtype, ("N",)),
        Argument("T", F32, ("V",)),
        Argument("Y", F32, ("N",), True),
    )
    gather = kernels.kernel(kernels.ZERO, "zero", idx, table, out, sizes=("N", "V"), checks=(check,))
    low, high = lo if lo != "V" else 6, hi if hi != "V" else 6
    limits = np.iinfo(dtype)
    for count in (1, 2, 31, 200):
        for value in sorted({low - 1, low, high - 1, high, 0, limits.min, limits.max}):
            if not limits.min <= value <= limits.max:
                continue
            values = np.full(count, max(low, 0), dtype)
            values[count // 2] = value
            for given in (values, misaligned(values), values.astype(dtype.newbyteorder(">"))):
                if low <= value < high:
                    assert gather(given, A).shape == (count,)
                else:
                    bounds = f"{lo}..{hi}" + (f" = {low}..{high}" if "V" in (lo, hi) else "")
                    assert (
                        complaint(gather, given, A)
                        == f"error[range]: `idx[{count // 2}]` is {value}, expected a value in {bounds}"
                    )
    assert gather(np.zeros(0, dtype), A).shape == (0,)


def test_range_checks_are_on_the_fast_path():
    check = RangeCheck(0, "idx", 0, "V")
    arguments = Argument("idx", I32, ("N",)), Argument("T", F32, ("V",)), Argument("Y", F32, ("N",), True)
    library = kernels.link(kernels.ZERO, "zero")
    spec = CallSpec("zero", arguments, ("N", "V"), (check,))
    gather = kernels.make_callable(library["zero"], spec, library, otherwise=lambda *given: "otherwise")
    assert gather(np.zeros(3, np.int32), A).shape == (3,)
    assert gather(np.full(3, 6, np.int32), A) == "otherwise"


def test_results_other_than_success():
    result = kernels.kernel(kernels.RESULT, "result", Argument("X", I32, ()), Argument("Y", I32, (), True))
    assert result(0).shape == ()
    for arguments in ((np.array(2, np.int32),), (2,)):
        with pytest.raises(ResourceError) as error:
            result(*arguments)
        assert str(error.value) == "result ran out of memory for its intermediate arrays"


def counts(*objects):
    gc.collect()
    return [sys.getrefcount(each) for each in objects]


@pytest.mark.parametrize("kernel", [add, short, trivial], ids=["add", "short", "trivial"])
def test_references_are_balanced(kernel):
    a, b, c = A.copy(), B.copy(), SUM.copy()
    calls = [
        lambda: kernel(a, b, c),
        lambda: kernel(a, b, out=c),
        lambda: kernel(a, b),
        lambda: kernel(a, B=b, out=c),
        lambda: kernel(a, b[::-1]),
        lambda: outer(a, b),
        lambda: outer(a, b, np.empty((6, 6), np.float32), np.empty((), np.float32)),
        lambda: pytest.raises(CallError, kernel, a, b[:3]),
        lambda: pytest.raises(CallError, kernel, a, None),
        lambda: pytest.raises(CallError, kernel, a, b, oot=c),
    ]
    for call in calls:
        call()
        before = counts(a, b, c, F32, None, np.ndarray, kernel)
        for _ in range(200):
            call()
        after = counts(a, b, c, F32, None, np.ndarray, kernel)
        assert all(abs(x - y) < 20 for x, y in zip(before, after)), (before, after)


def test_the_results_own_their_memory_only_once():
    results, plain = [add(A, B) for _ in range(100)], [A.copy() for _ in range(100)]
    counted, expected = ([sys.getrefcount(each) for each in some] for some in (results, plain))
    assert counted == expected  # 3, or 2 from Python 3.14 on
    assert len({each.ctypes.data for each in results}) == 100


def test_a_kernel_is_freed():
    class Owner:
        pass

    alive = []
    for _ in range(3):
        owner = Owner()
        library = kernels.link(kernels.ADD, "add")
        arguments = Argument("A", F32, ("N",)), Argument("B", F32, ("N",)), Argument("C", F32, ("N",), True)
        kernel = kernels.make_callable(library["add"], CallSpec("add", arguments, ("N",)), (library, owner))
        assert (kernel(A, B) == SUM).all() and (kernel(A, B=B) == SUM).all()
        alive.append(__import__("weakref").ref(owner))
        del kernel, owner, library
    gc.collect()
    assert [reference() for reference in alive] == [None] * 3


def test_threads_at_once():
    rows = [np.full(1000, k, np.float32) for k in range(8)]
    wrong = []

    def work(row):
        for _ in range(500):
            if not (add(row, row) == row + row).all() or not (add(row, B=row[::-1]) == row + row).all():
                wrong.append(row)

    workers = [threading.Thread(target=work, args=(row,)) for row in rows]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong


def test_it_describes_itself():
    assert add.__name__ == "add"
    assert str(inspect.signature(add)) == "(A, B, *, out=None)"
    assert add.__doc__ == "add(A: float32[N], B: float32[N]) -> C: float32[N]"


def test_large_outputs_use_memory_again():
    big = np.ones(1 << 20, np.float32)
    for make in (lambda: add(big, big), lambda: add(big, B=big)):
        first = make()
        assert first.flags.owndata and first.ctypes.data % 64 == 0 and (first == 2).all()
        address = first.ctypes.data
        del first
        again = make()
        assert again.ctypes.data == address
        again.resize(1 << 21)
        assert (again[: 1 << 20] == 2).all() and (again[1 << 20 :] == 0).all()
        again.resize(10)
        assert (again == 2).all()
    assert np.empty(1 << 20, np.float32).ctypes.data != again.ctypes.data
    assert np._core.multiarray.get_handler_name() == "default_allocator"


@pytest.mark.parametrize("elements", [1 << 14, (1 << 14) + 1, 1 << 18])
def test_outputs_that_threads_share_begin_at_a_line(elements: int):
    """Where rows end in the middle of lines, threads would take lines from each other, and each
    second vector would lie in two.
    """
    one = np.ones(elements, np.float32)
    held = [make() for make in (lambda: add(one, one), lambda: add(one, B=one)) for _ in range(5)]
    assert all(a.ctypes.data % 64 == 0 for a in held)


def test_something_else_may_take_what_does_not_fit():
    library = kernels.link(kernels.ADD, "add")
    arguments = Argument("A", F32, ("N",)), Argument("B", F32, ("N",)), Argument("C", F32, ("N",), True)
    spec = CallSpec("add", arguments, ("N",))
    kernel = kernels.make_callable(
        library["add"], spec, library, otherwise=lambda *given, **named: (given, named)
    )
    assert (kernel(A, B) == SUM).all()
    assert kernel(A, 3) == ((A, 3), {})
    assert kernel(A, C=B) == ((A,), {"C": B})
    assert kernel(A, B, out=[B]) == ((A, B), {"out": [B]})
    computed = CallSpec("add", arguments, ("N",), (lambda arrays, sizes: None,))
    kernel = kernels.make_callable(
        library["add"], computed, library, otherwise=lambda *given, **named: (given, named)
    )
    assert kernel(A, B=B) == ((A,), {"B": B})


def test_outputs_in_a_tuple_need_no_python():
    library = kernels.link(kernels.OUTER, "outer")
    names = ("A", ("M",)), ("B", ("N",)), ("C", ("M", "N")), ("D", ())
    spec = CallSpec(
        "outer", tuple(Argument(n, F32, shape, k > 1) for k, (n, shape) in enumerate(names)), ("M", "N")
    )
    kernel = kernels.make_callable(
        library["outer"], spec, library, otherwise=lambda *given, **named: (given, named)
    )
    c, d = np.zeros((6, 6), np.float32), np.zeros((), np.float32)
    for out in ((c, d), outer(A, B)):
        found = kernel(A, B, out=out)
        assert found.C is out[0] and found.D is out[1] and (out[0] == np.outer(A, B)).all() and out[1] == A[0]
    counts = sys.getrefcount(c), sys.getrefcount(d)
    for _ in range(10):
        kernel(A, B, out=(c, d))
    assert (sys.getrefcount(c), sys.getrefcount(d)) == counts
    for out in ((c,), (c, d, d), [c, d], c, (c, None), (c, 1), (c, c), ()):
        assert kernel(A, B, out=out) == ((A, B), {"out": out})
