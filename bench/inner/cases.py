"""The operators of the bench, with the sizes and in the layouts that it times."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from types import SimpleNamespace

import texpr as tx
from bench.x86.peers.with_texpr import LAST, PANEL, TEXT
from bench.x86.rows import CLASSES, Row
from texpr.ir.dtypes import DTYPES

Shapes = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Case:
    """A row of the bench in one of its layouts.

    Attributes:
        name: class and row, and the layout where there are several.
        kind: the operator.
        dtype: of its inputs.
        constants: what it takes after `;`.
        shapes: of its inputs.
    """

    name: str
    kind: str
    dtype: str
    constants: dict[str, int]
    shapes: Shapes

    def schedule(self) -> tx.Schedule:
        """Its naive loops, for these sizes."""
        op = getattr(operators(), self.kind)
        program = op.program(
            {v: DTYPES[self.dtype] for v in ("T",) if self.kind == "gemm"} or None,
            dict(self.constants) or None,
        )
        given = zip(program.inputs, self.shapes, strict=True)
        sizes = {d: n for t, shape in given for d, n in zip(t.shape, shape, strict=True)}
        return tx.Schedule(program, {v: sizes[v] for v in program.sizes})

    def assembly(self, target: str) -> str:
        """What the default schedule becomes there. Nothing is proven again."""
        with tx.options(certify=False):
            return self.schedule().auto(target).compile(target).asm


@cache
def operators() -> SimpleNamespace:
    """The operators of the bench."""
    return tx.load(TEXT)


def of_bench(
    kind: str, target: str, dtype: str = "", constants: dict[str, int] | None = None, **sizes: int
) -> str:
    """The assembly of an operator of the bench with its default schedule, for any sizes."""
    program = getattr(operators(), kind).program({"T": DTYPES[dtype]} if dtype else None, constants)
    return tx.Schedule(program, {v: sizes[v.name] for v in program.sizes}).auto(target).compile(target).asm


def cases() -> Iterator[Case]:
    """All rows; images and weights with channels last, and weights in panels, are cases of their
    own.
    """
    for each in CLASSES:
        for row in each.rows:
            for layout, kind, shapes in _layouts(row):
                yield Case(f"{each.name}: {row.name}{layout}", kind, row.dtype, dict(row.constants), shapes)


def _layouts(row: Row) -> Iterator[tuple[str, str, Shapes]]:
    shapes = tuple(row.shapes.values())
    yield "", row.kind, shapes
    if row.kind not in LAST:
        return
    (n, c, h, w), (k, *between, r, q) = shapes
    image, last = (n, h, w, c), (r, q, *between, k)
    yield ", nhwc", f"{row.kind}_last", (image, last)
    if between and k % PANEL == 0:
        yield ", panels", "conv_panels", (image, (k // PANEL, r, q, *between, PANEL))
