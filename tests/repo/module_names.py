"""The house: which modules may share a name."""

from __future__ import annotations

MAY_REPEAT = {"__init__", "__main__", "protocol", "registry"}
"""Names that say what a file is of its folder."""

_CHECKER = "a rewrite: its step, and its checker for certificates"
_STEPS = ("poly/certificate/rewrites", "schedule/steps/algebra")
_TREE = (
    "nodes of the IR, and what is done to them as a whole: printed, verified, interpreted, written as JSON"
)
_FEATURE = "a feature of hardware: its proof or step, its code, its emulation"
ONE_SUBJECT: dict[str, tuple[str, tuple[str, ...]]] = {
    **{
        name: (_CHECKER, _STEPS)
        for name in (
            "drop_padding",
            "exp_to_exp2",
            "factor_out",
            "mask_to_zero",
            "online_softmax",
            "reciprocal",
            "tanh_to_sigmoid",
        )
    },
    "expr": (_TREE, ("ir", "ir/printing", "ir/verifier")),
    "tensor": (_TREE, ("ir", "ir/printing", "ir/interpreter")),
    "loop": (_TREE, ("ir", "ir/printing", "ir/interpreter")),
    "program": (_TREE, ("ir/json", "ir/verifier")),
    "async_mma": (_FEATURE, ("schedule/steps/hardware", "targets/gpu", "runtime/emulator")),
    "bulk_copies": (_FEATURE, ("targets/gpu", "runtime/emulator")),
    "clusters": (_FEATURE, ("targets/gpu", "runtime/emulator")),
    "swizzle": (_FEATURE, ("ir", "schedule/steps/buffers")),
    "shared_memory": (_FEATURE, ("autoschedule/gpu", "targets/gpu")),
    "atomic": (_FEATURE, ("schedule/steps/reductions", "targets/gpu")),
    "multicast": (_FEATURE, ("poly/asynchronous", "schedule/steps/hardware")),
    "scalable_vectors": (_FEATURE, ("autoschedule/cpu", "targets/cpu")),
    "machine": ("the machine: its record for compilers, its name for readers", ("ir", "tools")),
    "qemu": (_FEATURE, ("targets/common", "runtime/process")),
    "tf32": (
        "the type of tensor cores: its numbers, the step that rounds to it, and the checker of that",
        ("passes/math", "poly/certificate/rewrites", "schedule/steps/algebra"),
    ),
    "random": (
        "counter-based random numbers: their definition, and their expansion",
        ("ir/interpreter", "passes/math"),
    ),
    "unroll": (
        "unrolled loops: the mark, and the pass that writes them out",
        ("schedule/steps/loops", "passes/loop"),
    ),
    "nontemporal": (
        "non-temporal stores: the step, and where default schedules use it",
        ("schedule/steps/hardware", "autoschedule/cpu/elementwise"),
    ),
    "prefetch": (
        "software prefetch: the step, and where default schedules use it",
        ("schedule/steps/hardware", "autoschedule/cpu/finishing"),
    ),
}
"""Modules of one name that are about one thing: what it is, and their folders."""
