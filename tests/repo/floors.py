"""The house: which floor every part of the package lives on, and where foreign libraries are
locked in. The one table.
"""

from __future__ import annotations

FLOORS: dict[str, int] = {
    "support": 0,
    "ir": 1,
    "runtime": 1,
    "poly": 2,
    "passes": 3,
    "lang": 4,
    "autodiff": 4,
    "schedule": 4,
    "targets": 4,
    "autoschedule": 5,
    "aot": 5,
    "ops": 6,
    "compiler": 6,
    "graph": 7,
    "tune": 7,
    "distributed": 8,
    "nn": 9,
    "nnef": 10,
    "onnx": 10,
    "pt2": 10,
    "bridges": 10,
    "tools": 11,
    "__main__": 11,
}
"""A part imports only from lower floors; parts on one floor do not know each other.
`texpr/__init__.py` is above them all.
"""

MAY_IMPORT_BESIDE: dict[str, set[str]] = {"ops": {"compiler"}, "__main__": {"tools"}}
"""Allowed on one floor."""

SUB_FLOORS: dict[str, list[set[str]]] = {
    "ir": [{""}, {"interpreter"}, {"printing"}, {"index", "verifier", "json"}],
    "runtime": [{""}, {"linking"}, {"native"}, {"call", "emulator"}, {"gpu"}],
    "poly": [{"constraints"}, {"program", "dependence", "asynchronous"}],
    "poly/certificate": [{"engine"}, {"rewrites"}, {"certify"}],
    "passes": [{"analysis", "math"}, {"tensor"}, {"lowering"}, {"loop"}],
    "lang": [{"syntax"}, {"elaboration"}, {"listing"}],
    "autodiff": [{"core"}, {"cleanup"}, {"reverse", "forward"}],
    "schedule": [{"structure"}, {"legality"}, {"analysis"}, {"steps"}, {"script"}],
    "schedule/steps": [{"loops", "buffers", "reductions", "algebra", "placement"}, {"hardware"}],
    "autoschedule": [{"core"}, {"cpu", "gpu"}, {"rewrites", "derivatives"}, {"registry"}, {"driver"}],
    "targets": [{"common"}, {"emit"}, {"cpu", "gpu"}, {"registry", "emulate", "all_instructions"}],
    "targets/gpu": [
        {""},
        {"context"},
        {"atomic", "clusters", "warps"},
        {"async_mma", "bulk_copies"},
        {"async_copies", "warpgroups"},
        {"thread_statements"},
        {"emitter"},
        {"ptx"},
    ],
    "graph": [
        {"arrays", "passes"},
        {"fusion", "capture"},
        {"lowering"},
        {"report"},
        {"execution"},
        {"lazy"},
        {"array_api"},
    ],
    "bridges": [{"derived", "derivative_programs"}, {"torch", "jax"}],
    "nn": [
        {"core"},
        {"data"},
        {"modules", "optim"},
        {"losses", "metrics", "checkpoint"},
        {"utils", "training", "pretrained"},
        {"export", "functional", "sklearn"},
    ],
}
"""Folders and files of a part, bottom first: each imports only from those before it, in type
checking too. `` are the other files of the part; what is not listed is free."""

TIES: set[tuple[str, str]] = set()
"""Imports upwards that are still there."""

CYCLES: set[str] = set()
"""Modules that import each other in circles still."""

LOCKED_IN: dict[str, set[str]] = {
    "islpy": {"poly"},
    "lark": {"lang/syntax", "nnef/syntax"},
    "llvmlite": {"targets", "runtime"},
    "ctypes": {"runtime"},
    "cuda": {"runtime"},
}
"""Foreign libraries and the only parts, or folders of parts, that import them."""

CORE = {"numpy", "llvmlite", "lark", "islpy"}
"""What `import texpr` may import besides the standard library."""

EXTRAS = {
    "safetensors",
    "tensorboard",
    "onnx",
    "onnxruntime",
    "ml_dtypes",
    "tqdm",
    "matplotlib",
    "PIL",
    "sklearn",
    "cuda",
    "pygments",
    "pygls",
    "lsprotocol",
    "torch",
    "jax",
    "mpi4py",
}
"""Optional libraries, imported only inside the functions that need them."""

PLUGINS = {
    "texpr/lang/pygments_lexer.py": "pygments",
    "texpr/lang/pygments_python.py": "pygments",
    "texpr/nn/sklearn/estimators.py": "sklearn",
    **dict.fromkeys(
        (
            f"texpr/bridges/torch/{name}.py"
            for name in (
                "autograd_functions",
                "captured_network",
                "dispatched",
                "eager_calls",
                "network",
                "registered",
                "tensor_memory",
            )
        ),
        "torch",
    ),
}
"""Modules that live inside an optional library: it loads them by an entry point, or they add to it.
They import it at the top. The rest of texpr imports them inside functions."""
