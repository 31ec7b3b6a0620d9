"""Examples of operators, schedules, kernels and devices."""

from __future__ import annotations

DOT = 'dot = tx.op("op dot(A: f32[N], B: f32[N]) -> C: f32 { C = sum(k: A[k] * B[k]) }")'
SCHEDULE = f'{DOT}\ns = tx.schedule(dot, N=64).split("k", 8)'
KERNEL = f"{DOT}\nkernel = tx.schedule(dot, N=2).compile()"
ARRAY = 'device = tx.gpu.find_device("emulated")\nx = tx.gpu.to_device(device, np.float32([1, 2, 3, 4]))'
CLASSES = {
    "tx.Op": (
        DOT,
        {
            "program": "type(dot.program()).__name__",
            "kernel_for": "dot.kernel_for(dot.program(), ((2,), (2,))).name",
            "inputs_by_name": 'sorted(dot.inputs_by_name((np.ones(2),), {"B": np.ones(2)}))',
            "source": "print(dot.source)",
            "text": "print(dot.text())",
        },
    ),
    "tx.Schedule": (
        SCHEDULE,
        {
            "auto": 'print(tx.schedule(dot, N=64).auto("x86-64-v3").script())',
            "explain": 'print(tx.schedule(dot, N=64).auto("x86-64-v3").explain())',
            "script": "s.script()",
            "replay": "tx.schedule(dot, N=64).replay(s.script()).script() == s.script()",
            "derived": 's.derived(["A"]).script()',
            "derived_from": 'tx.schedule(tx.grad(dot, wrt="A"), N=64).derived_from(s).script()',
            "stages": "[name for name, kernel, notes in s.stages()]",
            "certificate": "str(s.certificate()).splitlines()[0]",
            "compile": "s.compile().name",
        },
    ),
    "tx.CompiledKernel": (
        KERNEL,
        {
            "overwriting": "kernel.overwriting().name",
            "ready": "kernel.ready() is kernel",
            "address": "kernel.address > 0",
            "on_device": 'device = tx.gpu.find_device("emulated")\n'
            "x = tx.gpu.to_device(device, np.float32([1, 2]))\n"
            'far = tx.schedule(dot, N=2).auto("sm_80").compile("sm_80")\n'
            "(y,) = far.on_device(device, [x, x])\ny.numpy()",
            "prepare": "kernel.prepare(((2,), (2,)))",
            "bind": "call = kernel.bind(((2,), (2,)))\nfloat(call(np.float32([1, 2]), np.float32([3, 4])))",
            "bind_addresses": "kernel.bind_addresses(((2,), (2,))) is not None",
            "call_spec": "type(kernel.call_spec(((2,), (2,)))).__name__",
            "emulate": 'far = tx.schedule(dot, N=2).auto("sm_80").compile("sm_80")\n'
            "float(far.emulate(np.float32([1, 2]), np.float32([3, 4])))",
            "save": 'kernel.save("dot.o", header="dot.h")\n"dot" in open("dot.h").read()',
        },
    ),
    "tx.debug.Watched": (
        'scaled = tx.op("op scaled(X: f32[N]) -> Y: f32[N] { m = max(i: X[i])  Y[i] = X[i] / m }")\n'
        'seen = tx.debug.watch(scaled, "m", to=None)',
        {"interpret": 'y = seen.interpret(np.float32([1, 2]))\nfloat(seen.values[0]["m"])'},
    ),
    "tx.gpu.Device": (
        'device = tx.gpu.find_device("emulated")',
        {
            "facts": "type(device.facts).__name__",
            "stream": "device.stream",
            "on": 'with device.on(device.stream):\n    y = tx.ones(3, device="emulated") + 1\ny.tolist()',
            "order": "device.order(device.stream, device.stream)",
            "synchronize": "device.synchronize()",
            "memory": "type(device.memory()).__name__",
            "release": "device.release()",
        },
    ),
    "tx.gpu.DeviceArray": (
        ARRAY,
        {
            "used_here": "x.used_here() > 0",
            "numpy": "x.numpy()",
            "copy": "x.copy().numpy()",
            "set": "x.set(7)\nx.numpy()",
            "view": "x.view(8, (2,), np.float32).numpy()",
            "reshape": "x.reshape(2, 2).numpy()",
        },
    ),
    "tx.gpu.Stream": (
        'stream = tx.gpu.Stream("emulated")',
        {"synchronize": 'with stream:\n    y = tx.ones(3, device="emulated") + 1\nstream.synchronize()'},
    ),
    "tx.gpu.Event": (
        'device = tx.gpu.find_device("emulated")\nevent = tx.gpu.Event("emulated")',
        {
            "record": "event.record()\ndevice.synchronize()\nevent.reached()",
            "wait": "event.record()\nevent.wait()",
            "reached": "event.record()\ndevice.synchronize()\nevent.reached()",
            "milliseconds_since": 'start = tx.gpu.Event("emulated")\nstart.record()\n'
            'end = tx.gpu.Event("emulated")\nend.record()\ndevice.synchronize()\nend.milliseconds_since(start) >= 0',
        },
    ),
}
