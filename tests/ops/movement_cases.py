"""Elements in other places: indices, padding, parts and copies, against NumPy."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from tests.ops.table import Array, Case, between, given, index, normal, small

ANY = ("f4", "f8", "i4", "u1")
AXES = (((3, 5), 0), ((2, 7, 3), 1), ((4,), 0))


def put(x: Array, where: Array, u: Array, axis: int, change: Callable[[Array, Array], Array]) -> Array:
    """x[..., where[m], ...] = change(x[..., where[m], ...], u[m]) for every m in turn."""
    y, w, u = (np.moveaxis(a, axis, 0) for a in (x.copy(), where, u))
    for m in range(w.shape[0]):
        for rest in np.ndindex(w.shape[1:]):
            at = (w[(m, *rest)], *rest)
            y[at] = change(y[at], u[(m, *rest)])
    return np.moveaxis(y, 0, axis)


def embedded(weight: Array, places: Array) -> Array:
    return weight[places]


def segments(x: Array, which: Array) -> Array:
    y = np.zeros((4, *x.shape[1:]), x.dtype)
    np.add.at(y, which, x)
    return y


def indexing() -> Iterator[Case]:
    for shape, axis in AXES:
        n, where = shape[axis], {"axis": axis}
        some = (*shape[:axis], 6, *shape[axis + 1 :])
        yield Case("take", (small(*shape), index(n, 2, 3)), lambda x, i, a=axis: np.take(x, i, a), where, ANY)
        yield Case(
            "index_select", (small(*shape), index(n, 6)), lambda x, i, a=axis: np.take(x, i, a), where, ANY
        )
        yield Case(
            "gather",
            (small(*shape), index(n, *some)),
            lambda x, i, a=axis: np.take_along_axis(x, i, a),
            where,
            ANY,
        )
        for name, change in (
            ("scatter_add", np.add),
            ("scatter_multiply", np.multiply),
            ("scatter_max", np.maximum),
            ("scatter_min", np.minimum),
            ("scatter", lambda old, new: new),
        ):
            yield Case(
                name,
                (small(*shape), index(n, *some), small(*some)),
                lambda x, i, u, a=axis, f=change: put(x, i, u, a, f),
                where,
                ("f4", "f8", "i4"),
            )
        yield Case("embedding", (normal(7, 3), index(7, *shape)), embedded)
        yield Case("embedding_sum", (normal(7, 3), index(7, *shape)), lambda w, i: w[i].sum(-2), slack=4)
        yield Case("one_hot", (index(5, *shape),), lambda i: np.eye(5)[i], {"C": 5})
        yield Case("segment_sum", (small(*shape), index(4, shape[0])), segments, {"S": 4}, ("f4", "f8", "i4"))
        yield Case("histogram", (index(6, *shape),), lambda x: np.bincount(x.ravel(), minlength=6), {"B": 6})
        yield Case(
            "histogram_weighted",
            (index(6, *shape), normal(*shape)),
            lambda x, w: np.bincount(x.ravel(), w.ravel(), minlength=6),
            {"B": 6},
            slack=4,
        )
        yield Case(
            "histogram_float",
            (between(-0.5, 2.5, *shape),),
            lambda x: np.histogram(x, 5, (0, 2))[0],
            {"bins": 5, "hi": 2.0},
        )
    yield Case(
        "histogram_float",
        (given([0, 0.25, 0.5, 1, 1.25, -0.5]),),
        lambda x: np.histogram(x, 4, (0, 1))[0],
        {"bins": 4},
    )


PADDINGS = (("pad", "constant"), ("pad_edge", "edge"), ("pad_reflect", "reflect"), ("pad_circular", "wrap"))


def padding() -> Iterator[Case]:
    for shape, axis in AXES:
        for name, mode in PADDINGS:
            for before, after in ((2, 1), (0, 2)):
                pads = [(before, after) if a == axis else (0, 0) for a in range(len(shape))]
                yield Case(
                    name,
                    (small(*shape),),
                    lambda x, p=pads, m=mode: np.pad(x, p, m),
                    {"axis": axis, "before": before, "after": after},
                    ANY,
                )
    yield Case(
        "pad",
        (small(3, 5),),
        lambda x: np.pad(x, ((0, 0), (1, 4)), constant_values=7),
        {"axis": 1, "before": 1, "after": 4, "value": 7},
    )
    for name, mode in (("pad2d", "constant"), ("pad2d_reflect", "reflect"), ("pad2d_edge", "edge")):
        for top, bottom, left, right, shape in (
            (1, 2, 3, 0, (2, 3, 4, 5)),
            (0, 1, 1, 2, (3, 3)),
            (2, 0, 0, 0, (1, 3, 3)),
        ):
            pads = [(0, 0)] * (len(shape) - 2) + [(top, bottom), (left, right)]
            yield Case(
                name,
                (small(*shape),),
                lambda x, p=pads, m=mode: np.pad(x, p, m),
                {"top": top, "bottom": bottom, "left": left, "right": right},
                ANY,
            )


def replaced(x: Array, u: Array, axis: int, start: int, step: int) -> Array:
    y = np.moveaxis(x.copy(), axis, 0)
    y[start : start + step * u.shape[axis] : step] = np.moveaxis(u, axis, 0)
    return np.moveaxis(y, 0, axis)


def parts() -> Iterator[Case]:
    for shape, axis in AXES:
        n, where = shape[axis], {"axis": axis}
        front, back = shape[:axis], shape[axis + 1 :]
        x = (small(*shape),)
        for start, count, step in ((1, 2, 1), (0, 2, 2), (n - 1, 1, 3)):
            yield Case(
                "slice",
                x,
                lambda x, a=axis, s=start, n=count, t=step: x.take(s + t * np.arange(n), a),
                where | {"start": start, "count": count, "step": step},
                ANY,
            )
            yield Case(
                "slice_put",
                (*x, small(*front, count, *back)),
                lambda x, u, a=axis, s=start, t=step: replaced(x, u, a, s, t),
                where | {"start": start, "step": step},
                ANY,
            )
        yield Case(
            "concat",
            (*x, small(*front, 6, *back)),
            lambda x, z, a=axis: np.concatenate([x, z], a),
            where,
            ANY,
        )
        yield Case("stack", (*x, *x), lambda x, z, a=axis: np.stack([x, z], a), where, ANY)
        yield Case(
            "split",
            x,
            lambda x, a=axis: (x.take(np.arange(x.shape[a] - 1), a), x.take([-1], a)),
            where | {"after": 1},
            ANY,
        )
        yield Case("tile", x, lambda x, a=axis: np.concatenate([x] * 3, a), where | {"times": 3}, ANY)
        yield Case("repeat", x, lambda x, a=axis: x.repeat(3, a), where | {"times": 3}, ANY)
        yield Case("expand", x, lambda x, a=axis: np.stack([x] * 3, a), where | {"times": 3}, ANY)
        yield Case("flip", x, lambda x, a=axis: np.flip(x, a), where, ANY)
        for shift in (1, -2, n):
            if abs(shift) <= n:
                yield Case(
                    "roll", x, lambda x, a=axis, s=shift: np.roll(x, s, a), where | {"shift": shift}, ANY
                )


def matrices() -> Iterator[Case]:
    for shape in ((3, 5), (2, 4, 3), (2, 1, 5, 5)):
        x = (small(*shape),)
        yield Case("transpose", x, lambda x: np.swapaxes(x, -1, -2), dtypes=ANY)
        for k in (0, 1, -2):
            yield Case("tril", x, lambda x, k=k: np.tril(x, k), {"k": k}, ANY)
            yield Case("triu", x, lambda x, k=k: np.triu(x, k), {"k": k}, ANY)
        yield Case("diag", x, lambda x: x[..., None] * np.eye(x.shape[-1], dtype=x.dtype), dtypes=ANY)
        yield Case(
            "diagonal", (small(*shape, shape[-1]),), lambda x: np.diagonal(x, axis1=-2, axis2=-1), dtypes=ANY
        )
    for first, between_, shape in ((0, 0, (3, 5)), (1, 1, (2, 3, 4, 5)), (0, 2, (2, 3, 4, 5, 1))):
        yield Case(
            "swap_axes",
            (small(*shape),),
            lambda x, a=first, b=first + between_ + 1: np.swapaxes(x, a, b),
            {"first": first, "between": between_},
            ANY,
        )
    for rank in (3, 4, 5):
        for shape in ((2, 3, 4, 5, 2), (3, 1, 17, 1, 1)):
            yield Case(
                f"flatten{rank}", (small(*shape[:rank]),), lambda x: x.reshape(x.shape[0], -1), dtypes=ANY
            )
    for count in (2, 3, 4):
        for shape, axis in (((2, 3, 2, 2, 5), 1), ((3, 1, 2, 4), 0)):
            yield Case(
                f"merge{count}",
                (small(*shape),),
                lambda x, a=axis, n=count: x.reshape(*x.shape[:a], -1, *x.shape[a + n :]),
                {"axis": axis},
                ANY,
            )
    for shape, axis, d in (((6, 2), 0, 2), ((2, 3, 12), 2, 4), ((5,), 0, 1)):
        yield Case(
            "unflatten",
            (small(*shape),),
            lambda x, a=axis, d=d: x.reshape(*x.shape[:a], d, -1, *x.shape[a + 1 :]),
            {"axis": axis, "D": d},
            ANY,
        )
        yield Case("pick", (small(*shape),), lambda x, a=axis: x.take(1, a), {"axis": axis, "at": 1}, ANY)
    for r, q in ((2, 2), (1, 3), (3, 1)):
        yield Case(
            "pixel_shuffle",
            (small(2, 2 * r * q, 3, 4),),
            lambda x, r=r, q=q: (
                x.reshape(2, 2, r, q, 3, 4).transpose(0, 1, 4, 2, 5, 3).reshape(2, 2, 3 * r, 4 * q)
            ),
            {"R": r, "Q": q},
            ANY,
        )
        yield Case(
            "pixel_unshuffle",
            (small(2, 2, 3 * r, 4 * q),),
            lambda x, r=r, q=q: (
                x.reshape(2, 2, 3, r, 4, q).transpose(0, 1, 3, 5, 2, 4).reshape(2, 2 * r * q, 3, 4)
            ),
            {"R": r, "Q": q},
            ANY,
        )
        yield Case(
            "channel_shuffle",
            (small(2, 6, 5),),
            lambda x, r=r: x.reshape(2, r, -1, 5).swapaxes(1, 2).reshape(2, 6, 5),
            {"G": r},
            ANY,
        )


def generated() -> Iterator[Case]:
    for n, m, k in ((3, 5, 0), (4, 4, -1), (1, 2, 1)):
        yield Case("eye", (), lambda n=n, m=m, k=k: np.eye(n, m, k), {"N": n, "M": m, "k": k})
        yield Case(
            "arange",
            (),
            lambda n=n, k=k: 0.5 * k + 0.25 * np.arange(n),
            {"N": n, "start": 0.5 * k, "step": 0.25},
        )
        yield Case("arange_int", (), lambda n=n, k=k: k + 3 * np.arange(n), {"N": n, "start": k, "step": 3})
        yield Case(
            "linspace", (), lambda m=m, k=k: np.linspace(k, 3, m), {"N": m, "start": float(k), "stop": 3.0}
        )
        yield Case("full", (), lambda m=m, k=k: np.full(m, k + 0.5), {"N": m, "value": k + 0.5})
        yield Case("full_like", (small(n, m),), lambda x: np.full_like(x, 3), {"value": 3}, ANY)


CASES = (*indexing(), *padding(), *parts(), *matrices(), *generated())
