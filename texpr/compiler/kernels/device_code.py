"""Compiled kernels on the arrays of a device."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from texpr import targets
from texpr.compiler.fallback import Fallback
from texpr.compiler.kernels.call_specification import Specification
from texpr.compiler.kernels.certified import CertifiedLoops
from texpr.ir.dtypes import numpy_dtype
from texpr.ir.expr import Tensor, Var
from texpr.ir.loop import Kernel
from texpr.ir.shapes import Shape
from texpr.runtime import gpu
from texpr.runtime.call.spec import CallSpec, DistinctCheck, RangeCheck
from texpr.runtime.disk_cache import shared
from texpr.support.errors import CallError
from texpr.support.late import late
from texpr.support.options import current
from texpr.targets import Artifact, Target

if TYPE_CHECKING:
    from texpr.compiler import pass_pipeline
    from texpr.targets import Plan
else:
    pass_pipeline = late("texpr.compiler.pass_pipeline")


class DeviceCode:
    """A kernel for GPUs as text, loaded into each device when it is first used there.

    Attributes:
        text: LLVM IR as emitted.
        certificate: what was proven of its loops, in words; empty if nothing was.
    """

    def __init__(
        self, target: Target, text: str, launches: Callable[[Mapping[Var, int]], Plan], certificate: str
    ) -> None:
        """Args: launches: gives what is launched at symbolic sizes."""
        self.text, self.certificate = text, certificate
        self._target, self._launches = target, launches
        self._code = gpu.Code(text, lambda: pass_pipeline.assembly(text, target))
        self._loaded: dict[str, gpu.Loaded] = {}

    def bound(
        self, device: gpu.Device, arrays: Sequence[gpu.DeviceArray], sizes: Mapping[Var, int]
    ) -> gpu.Bound:
        """The launches on inputs and outputs, for these symbolic sizes."""
        if device.name not in self._loaded:
            self._loaded[device.name] = targets.load_on(device, self._target, self._code)
        ready = self._launches(sizes)
        return self._loaded[device.name].bind(
            ready.launches, arrays, ready.scratch, list(sizes.values()), ready.maps
        )


def device_code_of(kernel: CertifiedLoops) -> DeviceCode:
    """The code of a kernel for GPUs, from the disk cache or made now.

    Raises:
        ScheduleError: it is not certified, or a step of its schedule is refused.
        CompileError: the target cannot express the kernel.
    """
    key = "" if kernel.symbolic else kernel.disk_key()
    key = key and f"device\0{key}"
    found = find(key, kernel.target) if key else None
    if found is not None and (found[0].certificate or current().certify is False):
        if found[1] is not None:
            kernel.fall_back(found[1])
        return found[0]
    certificate = kernel.prove()
    made = emitted(kernel.kernel, kernel.target, certificate)
    if key:
        keep(key, made, kernel.fallback)
    return made


def emitted(kernel: Kernel, target: Target, certificate: str) -> DeviceCode:
    """The code of scheduled loops.

    Raises:
        CompileError: the target cannot express the kernel.
    """
    final = pass_pipeline.prepared(kernel, target)
    text, launches = targets.emit_llvm(final, target)
    artifact = Artifact(target, text, "", "", b"", launches, final.temporaries)
    if final.sizes:
        return DeviceCode(target, text, lambda sizes: targets.plan(artifact, sizes), certificate)
    return _fixed(target, text, targets.plan(artifact, {}), certificate)


def _fixed(target: Target, text: str, ready: Plan, certificate: str) -> DeviceCode:
    return DeviceCode(target, text, lambda sizes: ready, certificate)


def keep(key: str, code: DeviceCode, fallback: Fallback | None) -> None:
    """Keep the code of a kernel without symbolic sizes on disk."""
    ready = code._launches({})
    data = {
        "text": code.text,
        "launches": ready.launches,
        "scratch": ready.scratch,
        "maps": ready.maps,
        "certificate": code.certificate,
        "fallback": fallback and fallback.to_json(),
    }
    shared().put(key, json.dumps(data).encode())


def find(key: str, target: Target) -> tuple[DeviceCode, Fallback | None] | None:
    """The code that was kept under a key, and the plainer schedule it was made of, if it was.

    A damaged record, or one of another form, counts as absent.
    """
    record = shared().get(key)
    try:
        match None if record is None else json.loads(record):
            case {
                "text": str(text),
                "launches": list(launches),
                "scratch": list(scratch),
                "maps": list(maps),
                "certificate": str(certificate),
                "fallback": fallback,
            }:
                code = _fixed(
                    target,
                    text,
                    targets.Plan(_tuples(launches), _tuples(scratch), _tuples(maps)),
                    certificate,
                )
                return code, Fallback.from_json(fallback)
    except ValueError:
        pass
    return None


def _tuples(value: Any) -> Any:
    """Lists of JSON as the tuples that they were."""
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def run_on_device(
    kernel: CertifiedLoops,
    code: DeviceCode,
    specify: Callable[[tuple[Shape, ...]], Specification],
    device: gpu.Device,
    arrays: Sequence[gpu.DeviceArray],
    out: Sequence[gpu.DeviceArray],
) -> tuple[gpu.DeviceArray, ...]:
    """See `CompiledKernel.on_device`.

    Args:
        specify: says what a call on inputs of some shapes takes.
    """
    program = kernel.program
    if len(arrays) != len(program.inputs):
        raise CallError(
            f"{kernel.name} takes {len(program.inputs)} arrays, {len(arrays)} were given",
            code="arguments",
            help=f"inputs in order: {', '.join(t.name for t in program.inputs)}; outputs by out=",
        )
    found = specify(tuple(a.shape for a in arrays))
    for tensor, array in zip(program.inputs, arrays):
        _check(device, tensor, array)
    check_values(found.spec, arrays, found.sizes)
    shapes = found.output_shapes(program)
    if out and len(out) != len(program.outputs):
        raise CallError(
            f"{kernel.name} has {len(program.outputs)} outputs, {len(out)} were given",
            code="arguments",
            help=f"give {', '.join(t.name for t in program.outputs)}, or none of them",
        )
    outputs = list(out) or [
        gpu.empty(device, shape, numpy_dtype(t.dtype)) for t, shape in zip(program.outputs, shapes)
    ]
    for tensor, array, shape in zip(program.outputs, outputs, shapes):
        _check(device, tensor, array)
        if array.shape != shape:
            raise CallError(
                f"the output `{tensor.name}` is {list(array.shape)}, expected {list(shape)}",
                code="shape",
                help="leave it out, and it is made",
            )
        if any(array.owner is each.owner for each in arrays):
            raise CallError(
                f"the output `{tensor.name}` shares memory with an input",
                code="output",
                help="let it be a new one",
            )
    code.bound(device, [*arrays, *outputs], {v: found.sizes[v] for v in kernel.symbolic})(device.stream)
    return tuple(outputs)


def _check(device: gpu.Device, tensor: Tensor, array: gpu.DeviceArray) -> None:
    if array.device is not device:
        raise CallError(
            f"`{tensor.name}` lies on {array.device.name}, others on {device.name}",
            code="device",
            help=f'move it: .to("{device.name}")',
        )
    if array.dtype != numpy_dtype(tensor.dtype):
        raise CallError(
            f"`{tensor.name}` is {array.dtype}, expected {numpy_dtype(tensor.dtype)}",
            code="dtype",
            help=f"convert it: x.astype({tensor.dtype.name!r})",
        )


def check_values(spec: CallSpec, arrays: Sequence[gpu.DeviceArray], sizes: Mapping[Var, int]) -> None:
    """Check the declared ranges of inputs on the host, on copies: a device would read out of
    bounds.
    """
    checks = [c for c in spec.checks if isinstance(c, RangeCheck | DistinctCheck)]
    if checks:
        asked = {c.position for c in checks}
        copies = [a.numpy() if k in asked else a for k, a in enumerate(arrays)]
        names = {v.name: n for v, n in sizes.items()}
        for check in checks:
            check(copies, names)  # type: ignore[arg-type]
