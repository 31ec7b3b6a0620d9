"""A compiled kernel as users hold it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from functools import partial
from pathlib import Path
from typing import Any

from texpr import targets
from texpr.compiler.fallback import DefaultSchedule
from texpr.compiler.kernels.c_code import CCode
from texpr.compiler.kernels.call_specification import CallSpecifier, Specification
from texpr.compiler.kernels.certified import with_requested_options
from texpr.compiler.kernels.code_listings import CodeListings
from texpr.compiler.kernels.device_code import DeviceCode, device_code_of, run_on_device
from texpr.compiler.kernels.extern_functions import with_known_sizes
from texpr.compiler.kernels.foreign_calls import call_foreign, input_arrays, run_over_copies
from texpr.compiler.kernels.native_code import NativeCode
from texpr.ir.expr import Var
from texpr.ir.loop import Kernel
from texpr.ir.shapes import Shape
from texpr.ir.tensor import Program
from texpr.runtime import gpu
from texpr.runtime.call import callable
from texpr.runtime.call.fast_path import make_address_function, make_address_runner, make_callable
from texpr.runtime.call.spec import CallSpec, Form
from texpr.support.frozen_dataclass import frozen
from texpr.support.once import once
from texpr.support.suggest import suggests
from texpr.support.tracebacks import hide_frames
from texpr.targets import Target, symbol_of

MOST_SHAPES = 1024
"""Shapes whose callables a kernel keeps."""


@frozen
class AddressCalls:
    """Callables for memory of others, whose addresses are integers.

    Attributes:
        run: takes the addresses of inputs and outputs, in order.
        call: takes those of inputs alone, and gives a new array, a tuple of several; None where
            that cannot be.
    """

    run: Callable[..., object]
    call: Callable[..., Any] | None


@suggests({})
class CompiledKernel(CodeListings, callable.Callable):
    """Kernel for one target. Call it on NumPy arrays: inputs, then optionally outputs (or `out=`).

    Attributes:
        name: of the operator.
        target: what it was compiled for.
        program: the operator, sizes symbolic.
        sizes: those that are constants of this kernel.
        symbolic: the others.
        native: its machine code in this process.
        c_code: its code for C.
    Raises:
        CallError: arguments that do not fit.
    Example:
        >>> dot = tx.op("op dot(A: f32[N], B: f32[N]) -> C: f32 { C = sum(k: A[k] * B[k]) }")
        >>> kernel = tx.schedule(dot, N=2).auto().compile()
        >>> kernel.name, float(kernel(np.float32([1, 2]), np.float32([3, 4])))
        ('dot', 11.0)
    """

    def __init__(
        self,
        make: Callable[[], Kernel],
        target: Target,
        program: Program,
        sizes: Mapping[Var, int],
        schedule: str = "",
        default: DefaultSchedule | None = None,
        constants: Set[str] = frozenset(),
    ) -> None:
        """`make` gives the scheduled loops, when they are needed: a kernel from the disk cache runs
        without them.

        Args:
            schedule: everything that `make` depends on beside the program, as text; empty where the
                disk cache is to be left alone.
            default: the default schedule, if `make` gives its loops.
            constants: names of inputs that have the same values from call to call.
        """
        super().__init__(make, target, program, sizes, schedule, default, constants)
        self.native, self.c_code, self._specifier = NativeCode(self), CCode(self), CallSpecifier(self)
        self._calls: dict[tuple[Shape, ...], tuple[Callable[..., object], Callable[..., object] | None]] = {}
        self._become(self._general)

    def __reduce__(self) -> tuple:
        from texpr.compiler.scheduled_kernels import compiled_again  # it imports this module

        loops = None if self.schedule_text else self.kernel
        return compiled_again, (self.program, self.sizes, self.target.name, self.schedule_text, loops)

    def __repr__(self) -> str:
        return f"<kernel {self.name} for {self.target.name}>"

    def overwriting(self) -> CompiledKernel:
        """This kernel, to be made for callers who place its arrays (`native.overwrites`,
        `native.scratch`), unless it was made already.
        """
        self.native.overwrite()
        return self

    @with_requested_options
    def ready(self) -> CompiledKernel:
        """This kernel, made now and not when it is called first.

        Raises:
            ScheduleError: it is not certified, or a step of its schedule is refused.
            CompileError: LLVM failed.
        """
        self.native.require_certificate()
        return self

    @property
    def address(self) -> int:
        """Address of `i32 kernel(void** slots)`: inputs, outputs, symbolic sizes."""
        return self.native.address

    def _general(self, *arrays: object, **options: object) -> object:
        """A call of any shapes. Native code is asked first for the latest of them, and hands on
        what does not fit them.

        Raises:
            CallError: arguments that do not fit.
        """
        try:
            return self._called(arrays, options)
        except Exception as error:
            hide_frames(error)
            raise

    def _called(self, arrays: tuple[object, ...], options: dict[str, object]) -> object:
        inputs = self.program.inputs
        try:
            shapes = tuple(a.shape for a in arrays[: len(inputs)])  # type: ignore[attr-defined]
            known = self._calls.get(shapes)
        except (AttributeError, TypeError):
            shapes, known = (), None
        if known is None:
            if not shapes or len(shapes) != len(inputs):
                given = input_arrays(self.program, arrays, options)
                shapes = tuple(a.shape for a in given)
            known = self._calls.get(shapes) or self._bound(shapes)
            if len(self._calls) >= MOST_SHAPES:
                self._calls.clear()
            self._calls[shapes] = known
        call, native = known
        if native is not None and native not in self._served:
            self._serve(native)
        return call(*arrays, **options)

    def _bound(self, shapes: tuple[Shape, ...]) -> tuple[Callable[..., object], Callable[..., object] | None]:
        """Callables for arguments of these shapes: one for any form, and one of native code, if it
        can serve them.
        """
        native = self.bind(shapes, self._general) if self.target.native else None
        return self.bind(shapes), native if native is not None and callable.is_native(native) else None

    def on_device(
        self, device: gpu.Device, arrays: Sequence[gpu.DeviceArray], out: Sequence[gpu.DeviceArray] = ()
    ) -> tuple[gpu.DeviceArray, ...]:
        """Queue the kernel on a device's current stream; the outputs, which are new unless given.

        Raises:
            CallError: arrays that do not fit, or are not on this device.
            CompileError: the kernel is not for this device.
            ResourceError: the device has not enough memory.
        """
        return run_on_device(self, self.device_code, self._specification, device, arrays, out)

    @once
    @with_requested_options
    def device_code(self) -> DeviceCode:
        """Code for devices, from the disk cache or made now.

        Raises:
            CompileError: the target cannot express the kernel.
        """
        return device_code_of(self)

    def prepare(self, shapes: tuple[Shape, ...]) -> None:
        """Make the code for a call of these shapes now.

        Raises:
            CallError: the shapes do not fit the kernel, or one of its requirements.
        """
        self._specification(shapes)
        if not self.target.gpu:
            _ = self.address

    def bind(
        self,
        shapes: tuple[Shape, ...],
        otherwise: Callable[..., object] | None = None,
        form: Form | None = None,
    ) -> Callable[..., object]:
        """The fastest callable for inputs of exactly these shapes.

        Args:
            otherwise: called in its place with arrays that are not exactly so; conversions and
                errors unless given.
            form: of the calls it is for.
        Raises:
            CallError: the shapes do not fit the kernel, or one of its requirements.
            ResourceError: an array would be larger than any memory.
        """
        found = self._specification(shapes)
        spec = (
            self._specifier.pinned(found, shapes) if otherwise is not None and self.symbolic else found.spec
        )
        if self.target.gpu:
            return partial(call_foreign, self, lambda *given: run_over_copies(self.device_code, *given))
        if self.target.run is not None:
            run, symbol = self.target.run, symbol_of(self.name)
            return partial(call_foreign, self, lambda *given: run(self.artifact, symbol, *given))
        code = self.native.for_calls
        made = make_callable(code.address, spec, keep=code, otherwise=otherwise, form=form)
        return with_known_sizes(found.sizes, found.packs, made) if code.externs else made

    def bind_addresses(self, shapes: tuple[Shape, ...]) -> AddressCalls | None:
        """Callables for memory of others, with inputs of exactly these shapes. The memory must be
        C-contiguous and aligned to its elements; nothing is checked.

        None where there is more to do: sizes that stay symbolic, values to check, a target that
        does not run here.

        Raises:
            CallError: the shapes do not fit the kernel, or one of its requirements.
            ResourceError: an array would be larger than any memory.
        """
        if not self.target.native or self.symbolic:
            return None
        found = self._specification(shapes)
        if found.spec.checks:
            return None
        code = self.native.for_calls
        run = make_address_runner(code.address, found.spec, keep=code)
        if code.externs:
            return AddressCalls(with_known_sizes(found.sizes, found.packs, run), None)
        return AddressCalls(run, make_address_function(code.address, found.spec, keep=code))

    def call_spec(self, shapes: tuple[Shape, ...]) -> CallSpec:
        """The arguments and checks of a call on inputs of exactly these shapes, all in numbers.

        Raises:
            CallError: the shapes do not fit the kernel, or one of its requirements.
            ResourceError: an array would be larger than any memory.
        """
        return self._specifier.pinned(self._specification(shapes), shapes)

    def _specification(self, shapes: tuple[Shape, ...]) -> Specification:
        """Specification of a call of these shapes."""
        return self._specifier.of(shapes, self.native if self.target.native else None)

    def emulate(self, *arrays: object) -> object:
        """Run foreign code in an emulator on this CPU: GPU threads as fibers, other processors
        under QEMU. Slow, for tests.

        Raises:
            CallError: arrays that do not fit.
            ResourceError: the emulator is not installed.
        """
        return call_foreign(
            self, lambda *given: targets.emulate(self.c_code.artifact, symbol_of(self.name), *given), *arrays
        )

    def save(self, path: str | Path, *, header: str | Path | None = None, name: str = "") -> None:
        """Write code that needs no texpr: a kernel ahead of time.

        Args:
            path: its suffix says what is written: `.o` an object, `.a` a static library, `.so` a
                shared one, `.s` assembly, `.ll` LLVM IR; for a GPU `.ptx` or `.cubin`.
            header: where to write a C header, which says how to call it.
            name: of the function, behind `texpr_`; else that of the operator. Kernels of one
                program need different ones.
        Raises:
            CompileError: another suffix, a header for a GPU, a name that C does not take, or code
                that does not link.
            ResourceError: a tool that the form needs is not installed.
            OSError: the files cannot be written; what was there before is there still.
        """
        self.c_code.save(path, header, name)
