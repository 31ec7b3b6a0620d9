"""Schedules of derivatives, made out of those of the operators they come from.

Every step of the operator's schedule is tried on each nest of the derivative that stands for the
nest it was written for, on the loops and tensors that stand there for those it names
(`correspondence`). What is proven there is taken; what is not is left out, and the record says why.
Steps about tensors go over to derivatives: where the operator reads `X`, its gradient writes `dX`,
so `cache_read("X", ...)` becomes `cache_write("dX", ...)`; and nests that the operator runs in one
loop are brought together in the gradient, at the last of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from texpr.autoschedule.derivatives.correspondence import Correspondence
from texpr.ir.loop import For, Kernel
from texpr.schedule.script.script import Step
from texpr.schedule.structure.loops import all_loops, find_loops, qualified
from texpr.support.errors import ResourceError, ScheduleError
from texpr.support.frozen_dataclass import frozen

_LOOPS: dict[str, slice] = {
    "split": slice(0, 1),
    "fuse": slice(0, 2),
    "unroll": slice(0, 1),
    "vectorize": slice(0, 1),
    "parallel": slice(0, 1),
    "vectorize_scalable": slice(0, 1),
    "merge": slice(0, 2),
    "bind": slice(0, 1),
    "rfactor": slice(0, 1),
    "peel": slice(0, 1),
    "partition": slice(0, 1),
    "unroll_and_jam": slice(0, 1),
    "fission": slice(0, 1),
    "skew": slice(0, 2),
    "reverse": slice(0, 1),
    "annotate": slice(0, 1),
    "tensorize": slice(0, 1),
    "reorder": slice(0, None),
    "tile": slice(0, None),
    "cache_read": slice(1, 2),
    "cache_write": slice(1, 2),
    "prefetch": slice(1, 2),
    "expand_dim": slice(1, 2),
    "factor_out": slice(0, None),
    "premultiply": slice(0, 1),
}
"""The positional arguments of steps that name loops. A tensor comes before them."""
_AT = ("compute_at", "reverse_compute_at")
_FEWEST = {"reorder": 2, "tile": 1, "factor_out": 1}
"""Steps that can do without some of their loops, and how many are worth having."""
_DUAL = {"cache_read": "cache_write", "cache_write": "cache_read"}


@frozen
class Origin:
    """A step of the operator's schedule and what became of it.

    Attributes:
        taken: the steps that it gave.
        left: steps that were tried and refused, each with the reason; a reason alone where there
            was nothing to try.
    """

    step: Step
    taken: tuple[Step, ...]
    left: tuple[tuple[Step | None, str], ...]


@frozen
class Derivation:
    """The derivation of a schedule from another one; printed, it lists the corresponding loops, and
    for every step the steps taken, the parts left out, and the reasons.

    Attributes:
        name: of the derivative.
        source: of the operator.
        roles: for nests of the derivative those they stand for, each with the loops that have other
            names there.
    """

    name: str
    source: str
    roles: dict[str, list[tuple[str, dict[str, str]]]]
    origins: tuple[Origin, ...]

    @property
    def steps(self) -> list[Step]:
        """The steps of the derived schedule."""
        return [step for origin in self.origins for step in origin.taken]

    @property
    def left(self) -> list[tuple[Step | None, str]]:
        """The parts left out, with reasons."""
        return [each for origin in self.origins for each in origin.left]

    def __str__(self) -> str:
        lines = [f"{self.name}: {len(self.steps)} steps, from {len(self.origins)} of {self.source}"]
        for nest, roles in self.roles.items():
            others = (
                label + (f" ({', '.join(f'{a} is {b}' for a, b in loops.items())})" if loops else "")
                for label, loops in roles
            )
            lines.append(f"  {nest} stands for {', '.join(others)}")
        for origin in self.origins:
            lines.append(f"  {origin.step}")
            lines += [f"    + {step}" for step in origin.taken]
            lines += [
                f"    - {reason}" if step is None else f"    - {step}: {reason}"
                for step, reason in origin.left
            ]
        return "\n".join(lines)


def derive(operator: Kernel, steps: Sequence[Step], derivative: Kernel) -> tuple[Derivation, Kernel]:
    """The steps for a derivative's naive kernel that the steps of an operator's naive kernel
    give, and the kernel after them.
    """
    work = _Work(operator, derivative)
    origins = tuple(work.follow(step) for step in steps)
    return Derivation(derivative.name, operator.name, work.roles, origins), work.after


@frozen
class _Try:
    """A step for one nest of the derivative; `swapped` if it is on loops that only play the part
    of those of the operator.
    """

    nest: str
    step: Step
    swapped: bool = False


@frozen
class _Names:
    """The loops and the buffers that a kernel has, in their order."""

    loops: tuple[tuple[str, str], ...]
    buffers: tuple[str, ...]


@dataclass
class _Result:
    taken: list[Step] = field(default_factory=list)
    left: list[tuple[Step | None, str]] = field(default_factory=list)


class _Work:
    """Both kernels as they are now.

    Attributes:
        loops: for a loop of the operator, by label and name, what stands for it in each nest of the
            derivative: the name, and whether it only plays its part.
        buffers: the same for buffers that steps made, names alone.
        roles: see `Derivation`.
    """

    def __init__(self, operator: Kernel, derivative: Kernel) -> None:
        self.same = Correspondence(operator, derivative)
        self.before, self.after = operator, derivative
        self.loops: dict[tuple[str, str], dict[str, tuple[str, bool]]] = {}
        self.buffers: dict[str, dict[str, str]] = {}
        self.done: set[Step] = set()
        self.roles: dict[str, list[tuple[str, dict[str, str]]]] = {}
        for label in self.same.before:
            for nest in self.same.nests(label):
                found = self.same.loops(label, nest)
                for name, each in found.items():
                    self.loops.setdefault((label, name), {})[nest] = each
                if nest != label and nest in self.same.followers(label):
                    self.roles.setdefault(nest, []).append(
                        (label, {v: other for v, (other, _) in found.items() if v != other})
                    )

    def follow(self, step: Step) -> Origin:
        """Applies a step to the operator's kernel, and what it gives to the derivative's."""
        result = _Result()
        after = step.apply(self.before)
        made = _new(_names(self.before), _names(after))
        for each in list(self._candidates(step)):
            if isinstance(each, str):
                result.left.append((None, each))
            elif each.step not in self.done:
                self._take(each, made, result)
        self.before = after
        return Origin(step, tuple(result.taken), tuple(result.left))

    def _take(self, each: _Try, made: _Names, result: _Result) -> None:
        try:
            kernel = each.step.apply(self.after)
        except (ScheduleError, ResourceError) as error:
            result.left.append((each.step, error.message))
            return
        result.taken.append(each.step)
        self.done.add(each.step)
        here = _new(_names(self.after), _names(kernel))
        for loop, name in _pairs(made.loops, [v for label, v in here.loops if label == each.nest]):
            self.loops.setdefault(loop, {})[each.nest] = (name, each.swapped)
        for buffer, other in zip(made.buffers, here.buffers):
            self.buffers.setdefault(buffer, {})[each.nest] = other
        self.after = kernel

    def _candidates(self, step: Step) -> Iterator[_Try | str]:
        """The steps to try; or why there is none."""
        if step.name in _AT:
            yield from self._together(step)
        elif step.name == "specialize":
            yield from self._specialized(step)
        elif step.name in _LOOPS:
            yield from self._on_loops(step)
        elif step.args and step.name != "allow_fma":  # which is of the whole kernel, its argument no tensor
            yield from self._on_tensor(step)
        else:
            yield _Try("", step)

    def _on_loops(self, step: Step) -> Iterator[_Try | str]:
        found = [find_loops(self.before, name)[0] for name in step.args[_LOOPS[step.name]]]  # type: ignore[arg-type]
        nests = self._nests(found[0].tensor) if found else []
        if not nests:
            yield f"nothing in {self.after.name} stands for {found[0].tensor if found else step}"
        for owner, nest in nests:
            loops = [self._loop(n, owner, nest) for n in found]
            here = [loop for loop in loops if loop is not None]
            if len(here) < _FEWEST.get(step.name, len(loops)):
                yield "; ".join(self._absent(n, owner, nest) for n, loop in zip(found, loops) if loop is None)
                continue
            swapped = any(self._entry(n, owner)[1] for n, loop in zip(found, loops) if loop is not None)
            yield self._moved(
                step, found[0].tensor, owner, here, [loop is not None for loop in loops], swapped
            )

    def _moved(
        self, step: Step, label: str, nest: str, loops: list[str], present: list[bool], swapped: bool
    ) -> _Try | str:
        """The step with the loops of another nest, and the tensor that stands there for the one
        it names.
        """
        where = _LOOPS[step.name]
        sizes = tuple(
            (
                k,
                tuple(n for n, here in zip(v, present) if here)
                if k == "sizes" and isinstance(v, tuple)
                else v,
            )
            for k, v in step.options
        )
        name, first = step.name, step.args[: where.start]
        if first:
            name, tensor = self._used(step, str(first[0]), label, nest)
            if tensor is None:
                return f"{nest} has nothing for {first[0]}"
            first = (tensor,)
        rest = step.args[where.stop :] if where.stop is not None else ()
        return _Try(nest, Step(name, (*first, *loops, *rest), sizes), swapped)

    def _used(self, step: Step, tensor: str, label: str, nest: str) -> tuple[str, str | None]:
        """The corresponding step and tensor of a nest, where the step is applied to `tensor`; the
        tensor is None if there is none.
        """
        if tensor in self.buffers:
            return step.name, self.buffers[tensor].get(nest)
        before, after = self.same.before.get(label), self.same.after[nest]
        if before is None or label == nest:
            return step.name, tensor
        if tensor in before.updates or any(swapped for _, swapped in self.same.loops(label, nest).values()):
            return step.name, self.same.part(label, tensor, nest)
        side, other = (
            (after.writes, after.reads) if step.name == "cache_write" else (after.reads, after.writes)
        )
        if tensor in side:
            return step.name, tensor
        dual = next((t for t in self.same.derivatives(tensor) if t in other), None)
        return _DUAL.get(step.name, step.name), dual if step.name in _DUAL else None

    def _nests(self, label: str) -> list[tuple[str, str]]:
        """The nests that stand for one, and the labels of their loops: those of a buffer that a
        step made are its own.
        """
        if label in self.buffers:
            return list(self.buffers[label].items())
        return [(nest, nest) for nest in self.same.followers(label)]

    def _entry(self, loop: For, nest: str) -> tuple[str | None, bool]:
        if loop.tensor in self.buffers:
            return loop.var.name, False  # loops of copies are named alike
        return self.loops.get((loop.tensor, loop.var.name), {}).get(nest, (None, False))

    def _loop(self, loop: For, nest: str, label: str) -> str | None:
        """The qualified loop that stands in a nest for a loop of the operator, if it is there
        now.
        """
        name = f"{label}.{self._entry(loop, nest)[0]}"
        return name if any(qualified(n) == name for n in all_loops(self.after)) else None

    def _absent(self, loop: For, nest: str, label: str) -> str:
        name, _ = self._entry(loop, nest)
        return (
            f"no loop of {label} stands for {qualified(loop)}"
            if name is None
            else f"{label}.{name} is no longer there"
        )

    def _together(self, step: Step) -> Iterator[_Try | str]:
        """`compute_at("T", "Y.i")`: the nests that stand for those of T and of Y, in the last
        one's loop for i, consumers first.
        """
        tensor, loop = str(step.args[0]), find_loops(self.before, step.args[1])[0]  # type: ignore[arg-type]
        labels = [n for n in self.same.before if loop.tensor == n or tensor in (n, n.rpartition(".")[0])]
        wanted = {nest for label in labels for nest in self.same.nests(label)}
        order = [nest for nest in self.same.after if nest in wanted]
        last = next((nest for nest in reversed(order) if self._is_shared(loop, nest)), None)
        if last is None:
            yield f"nothing in {self.after.name} is computed along {qualified(loop)}"
            return
        at, outputs = self._loop(loop, last, last), {t.name for t in self.after.outputs}
        for nest in reversed(order[: order.index(last)]):
            if outputs & self.same.after[nest].writes:
                yield f"{nest} is given to the caller, and stays where it is"
            else:
                yield _Try(
                    nest, Step("compute_at", (nest, at), step.options if step.name == "compute_at" else ())
                )

    def _is_shared(self, loop: For, nest: str) -> bool:
        """True if a loop over elements stands in the nest for this one, along the same dimensions."""
        name, swapped = self._entry(loop, nest)
        equations = self.same.after[nest]
        return (
            self._loop(loop, nest, nest) is not None
            and not swapped
            and (name in equations.axes or name not in equations.loops)
        )

    def _specialized(self, step: Step) -> Iterator[_Try | str]:
        """With the loops of all nests that stand for those named; nests of which none is named
        are all copied.
        """
        known = {name for n in all_loops(self.before) for name in (n.var.name, qualified(n))}
        named = [find_loops(self.before, each)[0] for each in step.args if each in known]  # type: ignore[arg-type]
        here = dict.fromkeys(
            at for n in named for owner, nest in self._nests(n.tensor) if (at := self._loop(n, owner, nest))
        )
        if named and not here:
            yield f"nothing in {self.after.name} stands for {', '.join(map(qualified, named))}"
        else:
            yield _Try(
                "",
                Step("specialize", (*here, *(each for each in step.args if each not in known)), step.options),
            )

    def _on_tensor(self, step: Step) -> Iterator[_Try | str]:
        """A step about a tensor or a buffer alone: on it where the derivative has it, and on its
        derivatives. What is cheap enough to be computed where it is read (`inline`) has derivatives
        that need not be.
        """
        name, *rest = step.args
        made = self.buffers.get(str(name), {})
        derivatives = () if step.name == "inline" else self.same.derivatives(str(name))
        found = list(made.items()) or [(t, t) for t in (str(name), *derivatives)]
        here = {t.name for t in self.after.temporaries}
        if not any(t in here for _, t in found):
            yield f"{self.after.name} has no buffer for {name}"
        yield from (_Try(nest, Step(step.name, (t, *rest), step.options)) for nest, t in found if t in here)


def _names(kernel: Kernel) -> _Names:
    return _Names(
        tuple(dict.fromkeys((n.tensor, n.var.name) for n in all_loops(kernel))),
        tuple(t.name for t in kernel.temporaries),
    )


def _new(before: _Names, after: _Names) -> _Names:
    """The loops and buffers that are new."""
    return _Names(
        tuple(n for n in after.loops if n not in before.loops),
        tuple(t for t in after.buffers if t not in before.buffers),
    )


def _pairs(new: Sequence[tuple[str, str]], made: Sequence[str]) -> list[tuple[tuple[str, str], str]]:
    """New loops of the operator with those of a nest of the derivative: those of one name, then
    the others in their order.
    """
    pairs = [(loop, loop[1]) for loop in new if loop[1] in made]
    rest = (
        [loop for loop in new if loop[1] not in made],
        [name for name in made if all(name != other for _, other in pairs)],
    )
    return pairs + list(zip(*rest)) if len(rest[0]) == len(rest[1]) else pairs
