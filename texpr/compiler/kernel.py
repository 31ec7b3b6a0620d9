"""A compiled kernel as users hold it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import prod
from pathlib import Path

import numpy as np

from texpr import aot as ahead
from texpr.compiler import kernel_cache as stored
from texpr.compiler import on_device, pipeline
from texpr.compiler.aliasing import overwritten
from texpr.compiler.call_checks import check_requirements, input_checks, refuse_endless, refuse_far, refuse_huge, refuse_many
from texpr.compiler.certified import Certified, as_asked
from texpr.compiler.extern import extern_functions, externs_of, knowing
from texpr.compiler.fallback import DefaultSchedule
from texpr.compiler.gpu_resources import occupancy_of
from texpr.compiler.kernel_cache import Built
from texpr.compiler.workspace import is_self_contained, scratch_bytes, with_scratch
from texpr.ir.build import integer
from texpr.ir.dtypes import ML_DTYPES, numpy_dtype
from texpr.ir.expr import Expr, Tensor, Var
from texpr.ir.loop import Kernel
from texpr.ir.printing.expr import show
from texpr.ir.shapes import Shape, bind_sizes, caller_shape, evaluate_size, flat_shape
from texpr.ir.tensor import Program
from texpr.ir.traverse import variables
from texpr.passes import specialize
from texpr.runtime import gpu
from texpr.runtime.call import callable
from texpr.runtime.call.extern import NativeFunction
from texpr.runtime.call.fast_path import make_callable
from texpr.runtime.call.spec import Argument, CallSpec, Check, Computed, DistinctCheck, Extent, Form, RangeCheck
from texpr.runtime.native import loader
from texpr.support.errors import CallError, CertificateError, CompileError
from texpr.support.once import once
from texpr.support.options import current
from texpr.support.suggest import suggests
from texpr.targets import Artifact, Target, emulate, symbol_of

MOST_SHAPES = 1024
"""Shapes whose callables a kernel keeps."""


@suggests({})
class CompiledKernel(Certified, callable.Callable):
    """A kernel for one target. Call it on NumPy arrays: inputs, then optionally outputs (or `out=`).

    Attributes:
        name: of the operator.
        target: what it was compiled for.
        program: the operator, sizes symbolic.
        sizes: those that are constants of this kernel.
        symbolic: the others.
    """

    def __init__(self, make: Callable[[], Kernel], target: Target, program: Program, sizes: Mapping[Var, int], schedule: str = "",
                 default: DefaultSchedule | None = None) -> None:
        """`make` gives the scheduled loops, when they are needed: a kernel from the disk cache runs without them.

        Args:
            schedule: everything that `make` depends on beside the program, as text; empty where the disk cache is to be left alone.
            default: the default schedule, if `make` gives its loops.
        """
        super().__init__(make, target, program, sizes, default)
        self._schedule, self._overwriting = schedule, False
        self.symbolic = tuple(v for v in program.sizes if v not in self.sizes)
        self._calls: dict[tuple[Shape, ...], tuple[Callable[..., object], Callable[..., object] | None]] = {}
        self._last: tuple[tuple[Shape, ...], tuple[CallSpec, Mapping[Var, int], Mapping[Var, Shape]] | None] = (), None
        self._become(self._general)

    def __reduce__(self) -> tuple:
        from texpr.compiler.schedule import compiled_again  # it imports this module

        loops = None if self._schedule else self.kernel
        return compiled_again, (self.program, self.sizes, self.target.name, self._schedule, loops)

    def __repr__(self) -> str:
        return f"<kernel {self.name} for {self.target.name}>"

    @once
    @as_asked
    def artifact(self) -> Artifact:
        """All that LLVM made: for reading and for saving."""
        self._prove()
        return pipeline.build(self.kernel, self.target)

    @property
    def llvm(self) -> str:
        """LLVM IR after LLVM's own passes.

        Raises:
            CompileError: another compiler makes the target's code.
        """
        if not self.artifact.llvm:
            raise CompileError(f"LLVM does not compile kernels for {self.target.name}", code="target", help=".text is what is compiled")
        return self.artifact.llvm

    @property
    def text(self) -> str:
        """What the target wrote of the kernel: LLVM IR before LLVM's passes, or another language."""
        return self.artifact.emitted

    @property
    def asm(self) -> str:
        """Assembly."""
        return self.artifact.assembly

    @property
    def ptx(self) -> str:
        """PTX, on a GPU target."""
        if not self.target.gpu:
            raise CompileError(f"{self.target.name} has no PTX", code="target",
                               help="compile for a GPU target; .asm is the assembly")
        return self.artifact.assembly

    def occupancy(self) -> str:
        """Of each launch on a GPU: what ptxas says that it needs, and how many of its blocks run at once on a processor; a line each.

        Raises:
            CompileError: the target is no GPU.
            ResourceError: ptxas is not installed.
        """
        if not self.target.gpu:
            raise CompileError(f"{self.target.name} is no GPU: no blocks of threads run there", code="target",
                               help="compile for a GPU target")
        return occupancy_of(self.artifact)

    @once
    def _loaded(self) -> loader.Loaded:
        return loader.load(self._built.code, symbol_of(self.name), {name: f.address for name, f in self._externs.items()})

    @once
    @as_asked
    def _built(self) -> Built:
        """Object code and what calls have to know, from the disk cache or made now."""
        if not self.target.native:
            raise CompileError(f"code for {self.target.name} does not run in this process", code="target",
                               help="kernel.emulate(...) runs it in an emulator; kernel.save(...) writes it to a file")
        schedule = f"{self._schedule}, over inputs" if self._overwriting else self._schedule
        key = stored.key_of(self.program, self.sizes, schedule, self.target) if self._schedule and stored.usable() else ""
        found = stored.find(key, self.program) if key else None
        if found is None or not found.certificate and current().certify is not False:
            return self._build(key)
        if found.fallback is not None:
            self._fall_back(found.fallback)
        return found

    def overwriting(self) -> CompiledKernel:
        """This kernel, to be made for callers who place its arrays (`overwrites`, `scratch`), unless it was made already."""
        self._overwriting = self.target.native and "_built" not in self.__dict__
        return self

    @property
    def overwrites(self) -> tuple[tuple[int, int], ...]:
        """Positions of inputs, and of outputs that may lie in their memory: the kernel computes the same, and the input is gone."""
        return self._built.overwrites if self._overwriting else ()

    @property
    def self_contained(self) -> bool:
        """Whether it asks neither for memory nor for functions of others: once begun it ends, unless Ctrl-C interrupts it."""
        return self._built.self_contained

    @property
    def scratch(self) -> tuple[int, ...]:
        """Bytes of buffers that callers give behind the outputs: of a kernel that was made for those who place its arrays."""
        return self._built.scratch

    @as_asked
    def ready(self) -> CompiledKernel:
        """This kernel, made now and not when it is called first.

        Raises:
            ScheduleError: it is not certified, or a step of its schedule is refused.
            CompileError: LLVM failed.
        """
        if not self._built.certificate and current().certify is not False:
            raise CertificateError(f"the loops of {self.name} are not certified", code="certificate")
        return self

    @once
    @as_asked
    def _called(self) -> CompiledKernel:
        """The same for calls, which give no memory."""
        return CompiledKernel(self._make, self.target, self.program, self.sizes, self._schedule, self._default)

    def _build(self, key: str) -> Built:
        built = self._compiled(key)
        if built is None:  # the default schedule was left while LLVM compiled it
            built = self._compiled(key)
        assert built is not None
        if key:
            stored.keep(key, built)
        return built

    def _compiled(self, key: str) -> Built | None:
        """Compile the loops and certify them meanwhile; None where they were left for plainer ones."""
        loops = self.kernel
        over = overwritten(pipeline.certified_loops(loops)) if self._overwriting else ()
        final = replace(pipeline.prepared(loops, self.target), overwrites=over)
        final = with_scratch(final) if self._overwriting and not current().guard else final  # which buffers of its own are, too
        with pipeline.object_code(final, self.target, kept=not key) as code:
            certificate = self._prove()
            if self.kernel is not loops:
                return None
            buffers, externs = stored.buffers_of(loops.temporaries), bool(externs_of(loops))
            duration, brief, needs = pipeline.duration(final), pipeline.brief_up_to(final), (is_self_contained(final), scratch_bytes(final))
            return Built(code(), certificate, buffers, duration, brief, externs, over, *needs, self.fallback)

    @once
    def _externs(self) -> dict[str, NativeFunction]:
        """What the code calls; it has to outlive it."""
        return extern_functions(self.kernel, self.program) if self._built.externs else {}

    @property
    def address(self) -> int:
        """Address of `i32 kernel(void** slots)`: inputs, outputs, symbolic sizes."""
        return self._loaded.address

    def _general(self, *arrays: object, **options: object) -> object:
        """A call of any shapes. Native code is asked first for the latest of them, and hands on what does not fit them.

        Raises:
            CallError: arguments that do not fit.
        """
        inputs = self.program.inputs
        try:
            shapes = tuple(a.shape for a in arrays[: len(inputs)])  # type: ignore[attr-defined]
            known = self._calls.get(shapes)
        except (AttributeError, TypeError):
            shapes, known = (), None
        if known is None:
            if not shapes or len(shapes) != len(inputs):
                given = _arrays(self.program, arrays, options)
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
        """What takes arguments of these shapes in any form, and what native code is asked, if it can serve them."""
        native = self.bind(shapes, self._general) if self.target.native else None
        return self.bind(shapes), native if native is not None and callable.is_native(native) else None

    def on_device(self, device: gpu.Device, arrays: Sequence[gpu.DeviceArray], out: Sequence[gpu.DeviceArray] = ()
                  ) -> tuple[gpu.DeviceArray, ...]:
        """Queue the kernel on a device's current stream; the outputs, which are new unless given.

        Raises:
            CallError: arrays that do not fit, or are not on this device.
            CompileError: the kernel is not for this device.
            ResourceError: the device has not enough memory.
        """
        return on_device.run_on_device(self, self._device_code, device, arrays, out)

    def bound_on(self, device: gpu.Device, arrays: Sequence[gpu.DeviceArray]) -> gpu.Bound:
        """The kernel's launches on inputs and outputs in its flat shapes, sizes constant: for those who run it again and again.

        Raises:
            CompileError: the kernel is not for this device.
            ResourceError: the device has not enough memory.
        """
        return self._device_code.bound(device, arrays, {})

    def specified(self, shapes: tuple[Shape, ...]) -> on_device.Specified:
        """What a call on inputs of these shapes takes, checked, its sizes, and the shapes of the outputs.

        Raises:
            CallError: the shapes do not fit the kernel, or one of its requirements.
        """
        spec, sizes, packs = self._specification(shapes)
        return spec, sizes, tuple(caller_shape(t, sizes, packs) for t in self.program.outputs)

    @once
    @as_asked
    def _device_code(self) -> on_device.DeviceCode:
        """Code for devices, from the disk cache or made now."""
        kept = bool(self._schedule) and not self.symbolic and stored.usable()
        key = f"device\0{stored.key_of(self.program, self.sizes, self._schedule, self.target)}" if kept else ""
        found = on_device.find(key, self.target) if key else None
        if found is not None and (found[0].certificate or current().certify is False):
            if found[1] is not None:
                self._fall_back(found[1])
            return found[0]
        certificate = self._prove()
        made = on_device.emitted(self.kernel, self.target, certificate)
        if key:
            on_device.keep(key, made, self.fallback)
        return made

    def prepare(self, shapes: tuple[Shape, ...]) -> None:
        """Make the code for a call of these shapes now.

        Raises:
            CallError: the shapes do not fit the kernel, or one of its requirements.
        """
        self._specification(shapes)
        if not self.target.gpu:
            _ = self.address

    def bind(self, shapes: tuple[Shape, ...], otherwise: Callable[..., object] | None = None, form: Form | None = None
             ) -> Callable[..., object]:
        """The fastest callable for inputs of exactly these shapes.

        Args:
            otherwise: called in its place with arrays that are not exactly so; conversions and errors unless given.
            form: of the calls it is for.
        Raises:
            CallError: the shapes do not fit the kernel, or one of its requirements.
            ResourceError: an array would be larger than any memory.
        """
        spec, sizes, packs = self._specification(shapes)
        if otherwise is not None and self.symbolic:
            spec = self._pinned(spec, shapes, sizes, packs)
        if self.target.native and self._built.scratch:
            return self._called.bind(shapes, otherwise, form)
        if self.target.gpu:
            return partial(self._foreign, self._over_copies)
        if self.target.run is not None:
            return partial(self._foreign, type(self)._by_the_target)
        made = make_callable(self.address, spec, keep=self, otherwise=otherwise, form=form)
        return knowing(sizes, packs, made) if self._externs else made

    def _specification(self, shapes: tuple[Shape, ...]) -> tuple[CallSpec, Mapping[Var, int], Mapping[Var, Shape]]:
        """What a call of these shapes takes, checked, and its sizes and packs. The last one is kept: it is bound twice."""
        known, found = self._last
        if known != shapes or found is None:
            found = self._specify(shapes)
            self._last = shapes, found
        return found

    def _specify(self, shapes: tuple[Shape, ...]) -> tuple[CallSpec, Mapping[Var, int], Mapping[Var, Shape]]:
        program = self.program
        sizes, packs = bind_sizes(program.inputs, shapes)
        for size, n in self.sizes.items():
            if sizes[size] != n:
                raise CallError(f"{self.name} was compiled for {size.name} = {n}, and {size.name} = {sizes[size]} here", code="shape",
                                help=f"leave {size.name} out of tx.schedule(...) to keep it symbolic")
        check_requirements(self.name, program.requires, sizes)
        refuse_huge(self.name, (*program.inputs, *program.outputs, *program.temporaries), sizes)
        refuse_far(program, sizes)
        if prod(n for n in sizes.values() if n > 1) >= 1 << 62:  # else no product of sizes is so large, and loops need not be made
            refuse_endless(self.kernel, sizes)
        spec = CallSpec(self.name, self._arguments(shapes, sizes, packs), (), input_checks(program.inputs, sizes))
        if self.target.native:
            spec = replace(spec, duration=self._built.duration, brief_up_to=self._built.brief_up_to)
            for buffer in self._built.buffers:
                refuse_many(self.name, buffer.name, buffer.item, [evaluate_size(e, sizes) for e in buffer.extents])
        return self._symbolic(spec, sizes) if self.symbolic else spec, sizes, packs

    def _arguments(self, shapes: tuple[Shape, ...], sizes: Mapping[Var, int], packs: Mapping[Var, Shape]) -> tuple[Argument, ...]:
        inputs = [_argument(t, shape) for t, shape in zip(self.program.inputs, shapes)]
        return (*inputs, *(_argument(t, caller_shape(t, sizes, packs), output=True) for t in self.program.outputs))

    def _pinned(self, spec: CallSpec, shapes: tuple[Shape, ...], sizes: Mapping[Var, int], packs: Mapping[Var, Shape]) -> CallSpec:
        """The same for these shapes alone, which were checked."""
        return replace(spec, arguments=self._arguments(shapes, sizes, packs), sizes=tuple(sizes[v] for v in self.symbolic),
                       checks=input_checks(self.program.inputs, sizes))

    def _symbolic(self, spec: CallSpec, sizes: Mapping[Var, int]) -> CallSpec:
        """Where every dimension that callers see is one of the kernel's, sizes are taken from the arrays; elsewhere they are told."""
        program = specialize(self.program, self.sizes)
        tensors = (*program.inputs, *program.outputs)
        if any(d.pack or len(d.sizes) > 1 for t in tensors for d in t.dims):
            return replace(spec, sizes=tuple(sizes[v] for v in self.symbolic))
        arguments = tuple(_argument(t, tuple(map(_extent, t.shape)), t in program.outputs) for t in tensors)
        checks: list[Check] = [RangeCheck(k, t.name, _extent(t.value_range[0]), _extent(t.value_range[1]))
                               for k, t in enumerate(program.inputs) if t.value_range is not None]
        checks += [DistinctCheck(k, t.name, _extent(t.shape[-1])) for k, t in enumerate(program.inputs) if t.distinct and t.dims]
        return replace(spec, arguments=arguments, sizes=tuple(v.name for v in self.symbolic), checks=tuple(checks))

    def emulate(self, *arrays: object) -> object:
        """Run foreign code in an emulator on this CPU: GPU threads as fibers, other processors under QEMU. Slow, for tests.

        Raises:
            CallError: arrays that do not fit.
            ResourceError: the emulator is not installed.
        """
        return self._foreign(lambda *given: emulate(self._alone, symbol_of(self.name), *given[1:]), *arrays)

    @once
    def _alone(self) -> Artifact:
        return self.alone(self.name)

    @as_asked
    def alone(self, name: str) -> Artifact:
        """The kernel under another name, as code that needs no texpr: serial loops, the C library's memory."""
        self._prove()
        return pipeline.build_alone(replace(self.kernel, name=name), self.target)

    def _over_copies(self, _: object, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray], sizes: Mapping[Var, int]) -> None:
        """Run on a device over copies of the arrays."""
        device = gpu.find_device(current().device) or gpu.find_device(gpu.DEFAULT)
        assert device is not None
        made = [gpu.empty(device, a.shape, a.dtype) for a in outputs]
        self._device_code.bound(device, [*(gpu.to_device(device, a) for a in inputs), *made], sizes)(device.stream)
        for array, result in zip(outputs, made):
            np.copyto(array, result.numpy())

    def _by_the_target(self, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray], sizes: Mapping[Var, int]) -> None:
        """Run by the loader that the target has."""
        assert self.target.run is not None
        self.target.run(self.artifact, symbol_of(self.name), inputs, outputs, sizes)

    def _foreign(self, run: Callable[..., None], *arrays: object, out: object = None) -> object:
        """Run code that is not of this process over copies of the arrays in the kernel's flat shapes; arrays of a device run it there."""
        for array in arrays if self.target.gpu else ():
            handler = getattr(type(array), "__texpr_kernel__", None)
            if handler is not None and (results := handler(array, self, arrays, out)) is not NotImplemented:
                return results
        given = _arrays(self.program, arrays, {})
        sizes, packs = bind_sizes(self.program.inputs, tuple(a.shape for a in given))
        check_requirements(self.name, self.program.requires, sizes)
        refuse_far(self.program, sizes)
        for check in input_checks(self.program.inputs, sizes):
            check(given, {})
        inputs = [np.ascontiguousarray(_of_dtype(t, a)).reshape(flat_shape(t, sizes)) for t, a in zip(self.program.inputs, given)]
        outputs = [np.empty(flat_shape(t, sizes), numpy_dtype(t.dtype)) for t in self.program.outputs]
        run(self, inputs, outputs, {v: sizes[v] for v in self.symbolic})
        opened = [o.reshape(caller_shape(t, sizes, packs)) for t, o in zip(self.program.outputs, outputs)]
        wanted = out if isinstance(out, tuple) else () if out is None else (out,)
        for target, result in zip((*arrays[len(given) :], *wanted), opened):
            np.copyto(target, result, casting="no")  # type: ignore[arg-type]
        return opened[0] if len(opened) == 1 else tuple(opened)

    def save(self, path: str | Path, *, header: str | Path | None = None, name: str = "") -> None:
        """Write code that needs no texpr: a kernel ahead of time.

        Args:
            path: its suffix says what is written: `.o` an object, `.a` a static library, `.so` a shared one, `.s` assembly, `.ll` LLVM IR;
                for a GPU `.ptx` or `.cubin`.
            header: where to write a C header, which says how to call it.
            name: of the function, behind `texpr_`; else that of the operator. Kernels of one program need different ones.
        Raises:
            CompileError: another suffix, a header for a GPU, a name that C does not take, or code that does not link.
            ResourceError: a tool that the form needs is not installed.
            OSError: the files cannot be written; what was there before is there still.
        """
        name = name or self.name
        ahead.check_symbol(name)
        ahead.save(path, self._alone if name == self.name else self.alone(name), self._for_c(name), header)

    @as_asked
    def _for_c(self, name: str) -> ahead.Function:
        _, _, proof = self._prove().partition(": ")
        facts = [f"Proven: {proof.splitlines()[0]}."] if proof else []
        return ahead.function_of(replace(self.kernel, name=name), self.target, facts)


def _arrays(kernel: Program, arrays: tuple[object, ...], options: Mapping[str, object]) -> list[np.ndarray]:
    names = [t.name for t in kernel.inputs]
    given = list(arrays[: len(names)]) + [options[n] for n in names[len(arrays) :] if n in options]
    if len(given) < len(names):
        missing = next(n for n in names[len(arrays) :] if n not in options)
        raise CallError(f"{kernel.name} takes {len(names)} arrays ({', '.join(names)}), {len(given)} were given", code="arguments",
                        help=f"where {missing} has a default, tx.schedule(op, {missing}=None) makes a kernel without it")
    return [np.asarray(a) for a in given]


def _of_dtype(tensor: Tensor, array: np.ndarray) -> np.ndarray:
    """The array in native byte order; its dtype must be the tensor's."""
    wanted = numpy_dtype(tensor.dtype)
    if array.dtype.newbyteorder("=") != wanted:
        raise CallError(f"`{tensor.name}` is {array.dtype}, expected {wanted}", code="dtype", help=f"use {tensor.name}.astype({wanted})")
    return array.astype(wanted, copy=False)


def _argument(tensor: Tensor, shape: tuple[Extent, ...], output: bool = False) -> Argument:
    return Argument(tensor.name, numpy_dtype(tensor.dtype), shape, output, ML_DTYPES.get(tensor.dtype, ""))


def _extent(e: Expr) -> Extent:
    """A size as the call path takes it: a number, a name, or something to compute."""
    if (n := integer(e)) is not None:
        return n
    if isinstance(e, Var):
        return e.name
    used = variables(e)
    return Computed(show(e), lambda sizes: evaluate_size(e, {v: sizes[v.name] for v in used}))
