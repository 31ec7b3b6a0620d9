"""One training step of several ranks: each on its batch, all with the same update."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np

from texpr.compiler import op
from texpr.distributed import Communicator
from texpr.distributed.communication_thread import Pending
from texpr.graph import Capture, Plan, Symbolic, Variable
from texpr.graph.execution.parcels import Parcel
from texpr.ir.dtypes import numpy_dtype
from texpr.ir.tensor import Invoke
from texpr.nn.core.bounded_cache import LruCache
from texpr.nn.core.module import Module, structure
from texpr.nn.core.parameter import Parameter
from texpr.nn.core.rank_sums import summing
from texpr.nn.modules.synchronized import SyncBatchNorm
from texpr.nn.optim import Optimizer
from texpr.nn.training.data_parallel.compared_programs import described, dotted_names, program_lines
from texpr.nn.training.data_parallel.gradient_buckets import Buckets
from texpr.nn.training.data_parallel.replayed_states import States
from texpr.nn.training.step import CapturedLoss, LossFunction, LossPlan, Spec, TrainingStep
from texpr.runtime.call.signal_guard import deferred_interrupts
from texpr.runtime.slabs import ALIGNMENT, block

_HEAD = ALIGNMENT // 8
"""Words in front of what a rank sends of its states: the loss, its weight beside others, and what is
left of the line.
"""

_WEIGHTED = op("""op weighted<T: float>(loss: T, weight: f64) -> w: T {
  w = if weight == 0 then 0 else loss * T(weight)
}""")
_COUNTED = op("""op counted<T: float>(loss: T, weight: f64) -> w: f64 {
  w = if loss - loss == 0 then weight else 0
}""")


class Turn(NamedTuple):
    """A batch of a round.

    Attributes:
        rank: whose batch it is.
        loss: before the update.
        weight: what the loss divides by.
        is_sum: the loss of several batches is the sum of theirs.
        row: what the rank has sent.
        specs: shapes and dtypes of the batch.
    """

    rank: int
    loss: float
    weight: float
    is_sum: bool
    row: np.ndarray
    specs: tuple[Spec, ...]

    @property
    def examples(self) -> int:
        """The number of examples in the batch."""
        (shape, _), *_ = self.specs
        return shape[0] if shape else 1


class Prepared:
    """A captured step, before it is compiled: what ranks must agree on.

    Attributes:
        captured: loss and output.
        states: their changes, taken out of the program.
        totals: sums of gradients, those of this batch among them.
        buckets: where these lie.
        text: what must be the same on all ranks, whatever the sizes of their batches.
        number: the same, short.
        lines, exact: the program, which is the same on ranks with batches of the same shapes; short.
        synchronized: ranks add up numbers in its midst.
    """

    def __init__(
        self,
        captured: CapturedLoss,
        states: States,
        totals: dict[Parameter, Symbolic],
        buckets: Buckets,
        about: Sequence[str],
        lines: str,
        names: Mapping[Variable, str],
        synchronized: bool,
    ) -> None:
        self.synchronized = synchronized
        self.captured, self.states, self.totals, self.buckets = captured, states, totals, buckets
        calls = (f"call of {e.program.name}" for e in captured.capture.equations if isinstance(e, Invoke))
        held = (f"{b.name}: {line}" for b in buckets for line in described(b.places, names))
        changed = (f"state {line}" for line in described(states.variables, names))
        self.text = "\n".join([*about, *calls, *held, *changed])
        self.number = _number(self.text)
        self.lines, self.exact = lines, _number(lines)


class ParallelStep(TrainingStep):
    """`TrainingStep` of all ranks: the update that one process makes with `accumulate` times the
    number of ranks.

    A round is a batch on each rank that has one. `open` begins it and says who has; `measure` runs
    the program; `commit_round` makes the changes. All ranks call all three.

    Args:
        comm: the ranks.
        bucket_cap_mb: megabytes (2^20 bytes) of gradients that are reduced at once.
        reduction: "fast", or "ordered" for sums rank by rank, bit for bit those of one process.
        leaves_out: batches whose loss is not finite count for nothing.
    """

    def __init__(
        self,
        model: Module,
        loss: LossFunction,
        optimizer: Optimizer,
        comm: Communicator,
        *,
        bucket_cap_mb: float = 25.0,
        reduction: str = "fast",
        leaves_out: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(model, loss, optimizer, **options)
        self.comm, self._cap, self._reduction, self._leaves_out = comm, bucket_cap_mb, reduction, leaves_out
        self._prepared: LruCache[Prepared] = LruCache()
        self._buckets: dict[frozenset[Parameter], Buckets] = {}
        self._known: dict[int, tuple[Spec, ...]] = {}
        self._present: dict[int, tuple[Spec, ...]] = {}
        self._own: Prepared | None = None
        self._table = np.zeros((comm.size, _HEAD), np.int64)
        self._measured: Pending | None = None
        self._sent = self._absent = False

    def __getstate__(self) -> dict[str, Any]:
        """A copy makes its programs anew, and begins no round in the midst."""
        return self.__dict__ | {"_own": None, "_present": {}, "_measured": None}

    # What ranks agree on

    def open(self, specs: tuple[Spec, ...] | None) -> bool:
        """Begin a round; False where no rank has a batch.

        Args:
            specs: of this rank's batch; None where it has none.
        Raises:
            DistributedError: ranks differ in the program, its buckets, or what they call.
        """
        own = None if specs is None else self._prepare(specs)
        mine = [0, 0, 0] if own is None else [_number(repr(specs)), own.number, own.exact]
        rows = self.comm.allgather(np.array([[*mine, _number(repr(self._options()))]], np.int64))
        present = {rank: key for rank, key in enumerate(rows[:, 0].tolist()) if key}
        if not present:
            self._present, self._own = {}, None
            return False
        known, is_new = {*self._known}, not self._known.keys() >= set(present.values())
        if is_new:
            self._known |= {_number(repr(s)): s for s in self.comm.gather_object(specs) if s is not None}
        self._present = {rank: self._known[key] for rank, key in present.items()}
        self._own = own or self._prepare(next(iter(self._present.values())))
        if is_new or len({rows[rank, 1] for rank in present}) > 1:
            self.comm.compare("the plan and its buckets", self._own.text)
        self._same_programs(rows, present, not known)
        if len(set(rows[:, 3].tolist())) > 1:
            self._take_options(self.comm.broadcast_object(self._options()))
        return True

    def _same_programs(self, rows: np.ndarray, present: Mapping[int, int], is_first: bool) -> None:
        """Compare the programs of ranks whose batches are of the same shapes. In the first round, where
        they are not, all ranks capture that of one batch.
        """
        ranks: dict[int, set[int]] = {}
        for rank, key in present.items():
            ranks.setdefault(key, set()).add(int(rows[rank, 2]))
        several = next((key for key, programs in ranks.items() if len(programs) > 1), None)
        if several is None and is_first and len({*rows[:, 0].tolist()}) > 1:
            several = next(iter(ranks))
        if several is not None:
            self.comm.compare("the program of a step", self._prepare(self._known[several]).lines)

    def _options(self) -> list[dict[str, Any]]:
        """The numbers of the optimizer, which users and schedules change."""
        return [{n: v for n, v in g.items() if n != "params"} for g in self.optimizer.param_groups]

    def _take_options(self, options: Sequence[Mapping[str, Any]]) -> None:
        for group, found in zip(self.optimizer.param_groups, options):
            group.update(found)

    # Programs

    def _prepare(self, specs: Sequence[Spec]) -> Prepared:
        key = tuple(specs), structure(self.model), self.optimizer.structure()
        return self._prepared.get_or_make(key, lambda: self._capture_step(specs))

    def _capture_step(self, specs: Sequence[Spec]) -> Prepared:
        synchronized = [m for m in self.model.modules() if isinstance(m, SyncBatchNorm)]
        with summing(self._summed):
            captured = self._captured(specs)
        names = dotted_names(self.model, self.loss)
        lines = program_lines(captured.capture, names)
        states = States(captured.capture, [b for m in synchronized for b in m.buffers()])
        with captured.capture as capture:
            weight, loss = captured.weight(capture).astype("f64"), captured.loss
            if self._leaves_out:
                weight = _COUNTED(loss, weight)
            if synchronized:  # the gradients of ranks are those of one sum
                loss, weight = _WEIGHTED(loss, weight), capture.constant(np.array(1.0))
            gradients = self._gradients(capture, loss)  # type: ignore[arg-type]
            totals = self._totals(capture, gradients, weight)  # type: ignore[arg-type]
        buckets = self._buckets_of(capture, gradients)
        about = self._about()
        return Prepared(captured, states, totals, buckets, about, lines, names, bool(synchronized))

    def _summed(self, values: np.ndarray) -> np.ndarray:
        """The sum over ranks in the midst of a program; a rank without a batch adds nothing."""
        self.comm.agree(f"sum over ranks of {values.size} numbers in a step")
        found = np.zeros_like(values) if self._absent else values.copy()
        self.comm.thread.submit(found.reshape(-1), "sum", self._reduction).wait()
        return found

    def _buckets_of(self, capture: Capture, gradients: Mapping[Parameter, Symbolic]) -> Buckets:
        """The buckets of these parameters, in the order in which a program has their gradients."""
        key = frozenset(gradients)
        if key not in self._buckets:
            place = {t: k for k, e in enumerate(capture.equations) for t in e.targets}
            order = sorted(gradients, key=lambda p: place.get(gradients[p].tensor, -1))
            self._buckets[key] = Buckets(order, self._cap, self.comm, self._reduction)
        return self._buckets[key]

    def _about(self) -> list[str]:
        """The choices that must be the same on all ranks."""
        groups = [dict(g.flags()) for g in self.optimizer.param_groups]
        return [
            f"accumulate={self.accumulate}, reduction={self._reduction}, precision={self.narrow}",
            f"{type(self.optimizer).__name__} of {len(self.optimizer.parameters)} parameters {groups}",
        ]

    def _planned(self, inputs: tuple[Spec, ...], found: tuple) -> LossPlan:
        sends = self.pending + 1 >= self.accumulate
        key = inputs, found, self.optimizer.structure(), sends
        return self._plans.get_or_make(key, lambda: self._compiled(inputs, sends))

    def _compiled(self, inputs: Sequence[Spec], sends: bool) -> LossPlan:
        """The program of a batch: it hands over the loss first, then gradients, bucket by bucket, or adds
        them up where others follow.
        """
        own = self._prepare(inputs) if sends else self._capture_step(inputs)
        first = self._first_parcel(own)
        if sends:
            parcels = [first, *own.buckets.parcels(own.totals)]
            return LossPlan(own.captured, parcels=[self._joined(parcels)] if own.synchronized else parcels)
        with own.captured.capture as capture:
            for p, total in own.totals.items():
                capture.assign(self._sums[p], total)
        return LossPlan(own.captured, parcels=[first])

    def _joined(self, parcels: Sequence[Parcel]) -> Parcel:
        """All parcels as one. Where layers add up numbers in the midst of a step, they do so before all
        buckets, for ranks must reduce in one order.
        """

        def begin() -> None:
            for k, parcel in enumerate(parcels):
                if k and self._absent:
                    break
                parcel.begin()
            if self._absent:
                assert self._own is not None
                self._own.buckets.send(self._sums)

        results, arrays = [r for p in parcels for r in p.results], [a for p in parcels for a in p.arrays]
        return Parcel("all allreduces", results, arrays, begin)

    def _first_parcel(self, own: Prepared) -> Parcel:
        """The loss, its weight, and what states change by."""
        captured, divisor = own.captured, own.captured.divisor
        row = block(8 * (_HEAD + own.states.words)).view(np.int64)
        row[:] = 0
        numbers = [captured.loss, *([] if divisor.tensor is None else [captured.weight(captured.capture)])]
        places = [np.zeros((), numpy_dtype(n.dtype)) for n in numbers]

        def begin() -> None:
            front = row.view(np.float64)
            front[0] = places[0]
            front[1] = divisor.number if divisor.tensor is None else places[1]
            self._send_row(None if self._absent else row)

        arrays = [*places, *own.states.views(row[_HEAD:])]
        return Parcel("allreduce of losses and states", [*numbers, *own.states.sent()], arrays, begin)

    # A round

    def _send_row(self, row: np.ndarray | None) -> None:
        """Let all ranks have what each has to say of its batch: rows, of which this rank fills
        its own. Integers are added, so floats keep their bits.
        """
        words = _HEAD + max(self._states_of(s).words for s in {*self._present.values()})
        if self._table.shape[1] != words:
            self._table = np.zeros((self.comm.size, words), np.int64)
        self._table[...] = 0
        if row is not None:
            self._table[self.comm.rank, : len(row)] = row
        self._measured = self.comm.thread.submit(self._table.reshape(-1), "sum", "fast")

    def measure(self, plan: LossPlan | None) -> list[Turn]:
        """Run this rank's part of a round, on what the plan's inputs hold.

        Args:
            plan: None where the rank has no batch.
        Returns:
            the batches of all ranks.
        """
        assert self._own is not None, "a round is opened first"
        self._sent = self.pending + 1 >= self.accumulate
        if not self.pending and self.accumulate > 1:  # else they stay 0
            for total in self._sums.values():
                total.data[...] = 0
        with summing(self._summed):
            if plan is not None:
                with self._own.states.ahead(list(self._present).index(self.comm.rank)):
                    plan.compute()
            elif self._own.synchronized:
                self._take_part()
            else:
                self._send_row(None)
                if self._sent:
                    self._own.buckets.send(self._sums)
        assert self._measured is not None
        self._measured.wait()
        is_sum, numbers = self._own.captured.divisor.is_sum, self._table.view(np.float64)
        return [
            Turn(rank, float(numbers[rank, 0]), float(numbers[rank, 1]), is_sum, self._table[rank], specs)
            for rank, specs in self._present.items()
        ]

    def _take_part(self) -> None:
        """Add zeros to the sums that others make in the midst of their programs, in their order."""
        specs, self._absent = next(iter(self._present.values())), True
        try:
            plan = self._planned(specs, structure(self.model))
            for k, (shape, dtype) in enumerate(specs):
                plan.fill(k, np.zeros(shape, numpy_dtype(dtype)))
            plan.compute()
        finally:
            self._absent = False

    def commit_round(self, plan: LossPlan | None, turns: Sequence[Turn]) -> bool:
        """The changes of a round, of the turns that count; False where an update was left out.

        Args:
            plan: of this rank's batch.
        """
        assert self._own is not None
        if not turns:
            self.drop_round()
            return True
        with deferred_interrupts:
            if plan is not None:
                plan.commit()
            for k, turn in enumerate(turns):
                self._states_of(turn.specs).change(turn.row[_HEAD:], k == 0)
                self.total = 1.0 if turn.is_sum else self.total + turn.weight
            self._touched |= dict.fromkeys(p for p in self._sums if p in self._own.totals)
            self.pending += 1
        return self.flush() if self.pending >= self.accumulate else True

    def _states_of(self, specs: Sequence[Spec]) -> States:
        """The changes of states of a batch of these shapes, of whatever rank."""
        return self._prepare(specs).states

    def drop_round(self) -> None:
        """Forget a round none of whose batches counts."""
        for buckets in self._buckets.values():
            buckets.wait()

    def flush(self) -> bool:
        """Update by the gradients that were added up on all ranks, if there are any."""
        if self.pending and not self._sent:
            self._buckets[frozenset(self._touched)].send(self._sums)
        return super().flush()

    def reset(self) -> None:
        """Forget gradients that were added up and not used."""
        self.drop_round()
        super().reset()

    def _update(self) -> Plan:
        buckets = self._buckets[frozenset(self._touched)]
        return self._update_by(buckets.sums, buckets.arrivals())


def _number(text: str) -> int:
    """A number above 0 that tells texts apart."""
    return int.from_bytes(blake2b(text.encode(), digest_size=7).digest(), "little") + 1
