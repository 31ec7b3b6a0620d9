"""Loads of lanes that lie a few elements apart, from runs of memory."""

from __future__ import annotations

from collections.abc import Sequence

from texpr.ir.affine import Linear, linear
from texpr.ir.build import integer
from texpr.ir.expr import Expr, FloorDiv, Tensor, Var
from texpr.targets.emit.function import memory_type, vector_type
from texpr.targets.emit.loads import Loads

WIDE = 16
"""Lanes for which runs and shuffles cost less than a gather where elements are up to 7 apart; with fewer
lanes up to 4.
"""


class StridedLoads(Loads):
    """Adds loads that take every second element, or every third and so on."""

    def _strided_load(self, tensor: Tensor, indices: tuple[Expr, ...]) -> str | None:
        """Lanes that are a few elements of memory apart, or some lanes each the same element, from runs
        of memory; None for others.

        Nothing is read but what lies between the first and the last element wanted.
        """
        flat, lanes = self._flat(tensor, indices), self.lanes
        varying = [(t, c) for t, c in flat.terms if t is self.lane or self._differs_between_lanes(t)]
        if len(varying) != 1:
            return None
        match varying[0]:
            case (Var(), int(step)) if 2 <= step <= min(lanes, 7 if lanes >= WIDE else 4):
                return self._load_strided_runs(tensor, flat.without(self.lane), step)  # type: ignore[arg-type]
            case (FloorDiv(dividend, divisor) as term, 1):
                above, d = linear(dividend), integer(divisor) or 0
                others = above.without(self.lane)  # type: ignore[arg-type]
                if d < 2 or lanes % d or above.coefficient(self.lane) != 1 or others.constant % d:  # type: ignore[arg-type]
                    return None
                if any(c % d or self._differs_between_lanes(t) for t, c in others.terms):
                    return None
                rest = Linear(
                    tuple((t, c) for t, c in flat.terms if t is not term),
                    flat.constant + others.constant // d,
                )
                first = rest.plus(Linear(tuple((t, c // d) for t, c in others.terms), 0))
                run = self._load_run(
                    tensor, first, lanes // d, [[k * d + r for k in range(lanes // d)] for r in range(d)]
                )
                return self._shuffle(tensor, [run, run], lanes // d, [k // d for k in range(lanes)])
        return None

    def _load_strided_runs(self, tensor: Tensor, first: Linear, step: int) -> str:
        """A strided load: each `step`-th element, one for each lane: from as many runs, the last of
        which ends with the last element wanted.
        """
        lanes = self.lanes
        starts = [*(lanes * part for part in range(step - 1)), step * (lanes - 1) + 1 - lanes]
        part_of = [min(step * k // lanes, step - 1) for k in range(lanes)]
        runs = []
        for part, start in enumerate(starts):
            wanted = {step * k - start: k for k in range(lanes) if part_of[k] == part}
            runs.append(
                self._load_run(
                    tensor,
                    Linear(first.terms, first.constant + start),
                    lanes,
                    [[wanted.get(p) for p in range(lanes)]],
                )
            )
        value = runs[0]
        for part in range(1, step):  # those of the first run move when it meets the second one
            there = [step * k if part_of[k] == 0 and part == 1 else k for k in range(lanes)]
            picks = [
                lanes + step * k - starts[part] if part_of[k] == part else at for k, at in enumerate(there)
            ]
            value = self._shuffle(tensor, [value, runs[part]], lanes, picks)
        return value

    def _load_run(
        self, tensor: Tensor, first: Linear, count: int, users: Sequence[Sequence[int | None]]
    ) -> str:
        """A load of neighbouring elements, masked by the lanes that are on.

        Args:
            users: lists of the lanes that want each element.
        """
        element, space, align = memory_type(tensor.dtype), self.space(tensor), self.alignment(tensor)
        t = vector_type(element, count)
        if self.mask is None:
            start = self._element(self.pointers[tensor], element, first, space)
            return self._emit_load(tensor, f"load {t}, ptr{space} {start}, align {align}")
        wanted = ""
        for each in users:
            picks = ", ".join(f"i32 {self.lanes if k is None else k}" for k in each)
            on = self.function.define(
                f"shufflevector {self.mask}, {self.mask.type} zeroinitializer, <{count} x i32> <{picks}>"
            )
            wanted = self.function.define(f"or <{count} x i1> {wanted}, {on}") if wanted else on
        address = self.function.pure(
            f"getelementptr {element}, ptr{space} {self.pointers[tensor]}, {self.position(first)}"
        )
        return self._masked_load(tensor, count, address, f"<{count} x i1> {wanted}")

    def _shuffle(self, tensor: Tensor, runs: Sequence[str], count: int, picks: Sequence[int]) -> str:
        t = vector_type(memory_type(tensor.dtype), count)
        chosen = ", ".join(f"i32 {k}" for k in picks)
        return self.function.define(
            f"shufflevector {t} {runs[0]}, {t} {runs[1]}, <{len(picks)} x i32> <{chosen}>"
        )
