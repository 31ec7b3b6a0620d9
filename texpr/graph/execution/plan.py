"""A captured program, compiled, with memory of its own: data in, run, results out."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from texpr import aot
from texpr.graph.capture.capture import Capture
from texpr.graph.capture.symbolic import Symbolic
from texpr.graph.capture.variable import Variable
from texpr.graph.execution import plan_records
from texpr.graph.execution.arena import Arena
from texpr.graph.execution.compile import Compiled, Settings, compile_program
from texpr.graph.execution.in_place_updates import LaunchOrder, order_in_place_updates
from texpr.graph.execution.interface import Interface
from texpr.graph.execution.memory import Memory
from texpr.graph.execution.parcels import Arrival, Parcel, events, soonest
from texpr.graph.execution.placement import Placement, choose_placement, to_host
from texpr.graph.execution.plan_records import Origin
from texpr.graph.execution.runner import Runner
from texpr.graph.lowering.launch_sequence import Launches
from texpr.graph.report.plan_report import PlanReport
from texpr.graph.report.timing import Timing
from texpr.ir.dtypes import DType
from texpr.ir.expr import Tensor
from texpr.ir.tensor import Program
from texpr.ir.verifier.program import verify_program
from texpr.runtime import gpu
from texpr.support.errors import CallError, CompileError
from texpr.support.gc_pause import uncollected
from texpr.support.late import late
from texpr.support.once import once
from texpr.support.options import current

if TYPE_CHECKING:
    from texpr.graph.execution import c_library
else:
    c_library = late("texpr.graph.execution.c_library")


class Plan(PlanReport):
    """A compiled program that owns its intermediate tensors.

    A run is one native call, which calls the kernels in order, and, where variables are updated in
    place, another one for the kernels that do so: these run when all others have succeeded, and
    cannot fail. Other variables that the program assigns to are written to their spare arrays and
    exchanged then. So a run that fails or is interrupted changes nothing: Ctrl-C comes before all
    changes or waits for the last of them. One run at a time; runs of other plans may go on
    meanwhile.

    On a device, kernels are queued and nobody waits for them until values are asked for (`value`);
    from its second run on, the launches are one graph.

    Args:
        capture: the program.
        results: what `run` returns, besides the assignments that the capture holds.
        device: where it runs, unless the variables say so: they must be there.
        prepack: kernels may keep what they compute of variables alone, which the program does not
            assign to: copies of weights in the order in which they are read.
        opt, disable, reassociate: in the place of the options of these names (`tx.options`).
        parcels: further results, which leave while the program runs (`Parcel`).
        arrivals: variables whose values come while it runs (`Arrival`).
        origin: what the program was captured from: `found` gives the plan by that in other processes,
            with the `note`.
    Attributes:
        launches: the kernels of one run, in order.
        decisions: what was fused and what not, and why.
        views: tensors that are other tensors' memory.
        events: what happens between launches: parcels that begin, arrivals that are waited for.
        placement: where it runs.
        runner: what runs it.
    Raises:
        CallError: `disable` names no pass, or variables lie on different devices, or parcels and
            arrivals are not on the CPU.
    """

    def __init__(
        self,
        capture: Capture,
        results: Sequence[Symbolic],
        *,
        opt: int | None = None,
        disable: Collection[str] | None = None,
        reassociate: bool | None = None,
        device: str | None = None,
        prepack: bool = False,
        parcels: Sequence[Parcel] = (),
        arrivals: Sequence[Arrival] = (),
        origin: Origin | None = None,
        note: str = "",
    ) -> None:
        placement = choose_placement(device, capture.variables, capture.updates)
        if (parcels or arrivals) and placement.name != gpu.HOST:
            raise CallError(
                f"the program runs on {placement.name}, and values leave and come on the CPU alone",
                code="device",
                help='move the model first: model.to("cpu")',
            )
        interface = Interface.of(capture, results, parcels)
        if current().verify:
            verify_program(interface.captured())
        settings = Settings.of(opt, disable, reassociate)
        with uncollected():
            compiled = compile_program(
                interface.captured(),
                interface.constants,
                placement,
                settings,
                interface.unchanged if prepack else set(),
                # Whoever computes activations twice wants memory more than time: gradients wait in
                # what activations leave, and variables change where they lie, without second arrays.
                set(interface.updates.values()) if capture.regions else set(),
            )
        if origin is not None and placement.name == gpu.HOST and not capture.regions:
            plan_records.keep(origin, settings, interface, compiled.key, note)
        self._complete(placement, interface, settings, compiled, arrivals)

    @classmethod
    def found(cls, origin: Origin) -> tuple[Plan, str] | None:
        """The plan that was kept for an origin with the options of now, and the note that was kept with
        it; None where there is none on this machine.
        """
        settings, placement = (
            Settings.of(None, None, None),
            choose_placement(None, origin.variables.values(), ()),
        )
        with uncollected():
            record = plan_records.find(origin, settings) if placement.name == gpu.HOST else None
        if record is None:
            return None
        plan = cls.__new__(cls)
        plan._complete(placement, record.interface, settings, record.compiled)
        return plan, record.note

    def _complete(
        self,
        placement: Placement,
        interface: Interface,
        settings: Settings,
        compiled: Compiled,
        arrivals: Sequence[Arrival] = (),
    ) -> None:
        """Memory, and what runs the kernels."""
        self.placement, self._interface, self._compiled = placement, interface, compiled
        made = compiled.launches
        self.views, self._starts = made.views, made.starts
        with uncollected():  # kernels are compiled to know what they may write over
            order = self._ordered(made, settings)
            self.launches, self.decisions = order.all, (*made.decisions, *order.decisions)
            arrays = {t: a for p, tensors in interface.sent.items() for t, a in zip(tensors, p.arrays)}
            self._memory = Memory(
                placement, interface, made.views, order, settings.in_place, arrays, made.starts
            )
        awaited = {a: [interface.variables[v] for v in a.variables] for a in arrivals}
        self.events = between = events(order.first, interface.sent, awaited, self._memory.root)
        self.runner = Runner(placement, interface, order, self._memory, between)

    @property
    def arena(self) -> Arena:
        """Places of intermediate tensors and results in runs on arrays that stay."""
        return self._memory.arena

    @once
    def captured(self) -> Program:
        """The program as it was captured."""
        return self._interface.captured()

    @once
    def program(self) -> Program:
        """The captured program after all passes: what the kernels compute."""
        return self._compiled.program()

    def _ordered(self, made: Launches, settings: Settings) -> LaunchOrder:
        """The launches in order: what is sent first is computed first, and what updates variables
        in place comes last.
        """
        interface, launches = self._interface, made.order

        def root(tensor: Tensor) -> Tensor:
            return made.views.get(tensor, tensor)

        if interface.sent:
            launches = soonest(launches, list(interface.sent.values()), root)
        order = LaunchOrder(self.placement.with_scratch(launches))
        if not settings.in_place or self.placement.name != gpu.HOST:
            return order
        kept = {*interface.results, *chain(*interface.sent.values())}
        return order_in_place_updates(order.first, interface.updated_tensors, kept, root)

    def __call__(self, *arrays: Any) -> tuple[Any, ...]:
        """Run on these data, which are read where they lie; the results are new arrays, on the
        device where the program runs.

        Raises:
            CallError: arrays, or their values, are not what the program takes; it is called by what
                it runs, such as an `extern op`.
        """
        found = self.runner.served(arrays)
        return self.runner.call(arrays) if found is None else found

    @property
    def result_dtypes(self) -> tuple[DType, ...]:
        """The dtypes of the results."""
        return tuple(t.dtype for t in self._interface.results)

    @property
    def inputs(self) -> tuple[Any, ...]:
        """Arrays to fill before `run`, one per data input; on a device, use `fill`."""
        return self.runner.inputs

    @property
    def results(self) -> tuple[Any, ...]:
        """Arrays that hold the results after `run`, until the next one; on a device, use `value`."""
        return self.runner.results

    def fill(self, position: int, array: Any) -> None:
        """Set a data input, by its position. Arrays of NumPy's are copied to the device where the
        program runs.

        Raises:
            CallError: on a device: a value outside its range.
        """
        self.runner.fill(position, array)

    def value(self, position: int) -> np.ndarray:
        """A result of the last run as an array of NumPy's; on the host, the one of `results`."""
        return to_host(self.results[position])

    def run(self) -> None:
        """Run on what `inputs` hold.

        Raises:
            CallError: a value outside its range.
        """
        self.runner.run()

    def compute(self) -> None:
        """Run without the assignments: variables keep their values until `commit`, for which
        inputs, and the variables that the program reads, must stay as they are.

        Raises:
            CallError: a value outside its range.
        """
        self.runner.compute()

    @property
    def assigned(self) -> tuple[Variable, ...]:
        """The variables that a run assigns to."""
        return tuple(self._interface.updates)

    def commit(self) -> None:
        """Let the variables have the values that follow from the last `compute`; nothing if they
        have, or if it failed.

        Raises:
            KeyboardInterrupt: before all variables have changed, or after.
        """
        self.runner.commit()

    def profile(self, repeats: int = 20) -> list[Timing]:
        """The time of each launch, measured on what the memory holds now. Results stay; nothing is
        assigned, by a `commit` afterwards neither.
        """
        return self.runner.profile(repeats)

    def save(
        self,
        path: str | Path,
        *,
        header: str | Path | None = None,
        target: str = "native",
        weights: str = "inside",
        name: str = "",
    ) -> None:
        """Write the program as one function of C, which needs no texpr: see the header.

        Args:
            path: its suffix says what is written: `.o` an object, `.a` a static library, `.so` a
                shared one, `.s` assembly, `.ll` LLVM IR.
            header: where to write a C header.
            target: a CPU.
            weights: the values that the variables have now are `inside` of the code, or `beside`
                it, in a file of its name with `.weights` at its end, whose content the caller gives
                as the last argument. A program that assigns to its variables does so there.
            name: of the function, behind `texpr_`; else that of the capture.
        Raises:
            CompileError: what cannot be saved so.
            ResourceError: a tool that the form needs is not installed.
            OSError: the files cannot be written.
        """
        if self.placement.name != gpu.HOST:
            raise CompileError(
                f"the program runs on {self.placement.name}, and files are for CPUs",
                code="save",
                help='move the model first: model.to("cpu")',
            )
        library = c_library.export(self._exported(name or self._interface.name), target, weights)
        aot.save(path, library.artifact, library.function, header, library.weights)

    def _exported(self, name: str) -> c_library.Exported:
        interface = self._interface
        variables = {t: v.held() for v, t in interface.variables.items()}
        constants = {t: to_host(self._memory.fixed[t]) for t in interface.constants}
        return c_library.Exported(
            name,
            self.launches,
            interface.data,
            interface.results,
            variables,
            constants,
            interface.updated_tensors,
            self.views,
            self._starts,
        )

    @property
    def memory_bytes(self) -> int:
        """Bytes of intermediate tensors and results."""
        return self.arena.size

    @property
    def held_bytes(self) -> int:
        """Bytes of all memory that the plan holds, that of variables and constants aside."""
        return self._memory.held_bytes
