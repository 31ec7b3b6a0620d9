"""The machine code of a kernel in this process: from the disk cache, or compiled while its loops
are certified.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from texpr.compiler import kernel_cache
from texpr.compiler.kernel_cache import Built
from texpr.compiler.kernels.certified import CertifiedLoops, with_requested_options
from texpr.compiler.kernels.extern_functions import extern_functions
from texpr.runtime import disk_cache
from texpr.runtime.call.native_callbacks import NativeFunction
from texpr.runtime.native import loader
from texpr.support.errors import CertificateError, CompileError
from texpr.support.gc_pause import uncollected
from texpr.support.late import late
from texpr.support.once import once
from texpr.support.options import current
from texpr.targets import symbol_of

if TYPE_CHECKING:
    from texpr.compiler.kernels import native_compilation
else:
    native_compilation = late("texpr.compiler.kernels.native_compilation")


class NativeCode:
    """Object code of certified loops, and its address once it is loaded.

    Attributes:
        loops: the kernel.
        overwriting: made for callers who place the arrays (`overwrites`) and give memory
            (`scratch`, `prepacked`).
    """

    def __init__(self, loops: CertifiedLoops) -> None:
        self.loops, self.overwriting = loops, False
        self.asked_with = loops.asked_with

    def overwrite(self) -> None:
        """Make it for callers who place its arrays, unless it was made already."""
        self.overwriting = self.loops.target.native and "built" not in self.__dict__

    @once
    @with_requested_options
    def built(self) -> Built:
        """Object code and what calls have to know, from the disk cache or made now."""
        loops = self.loops
        if not loops.target.native:
            raise CompileError(
                f"code for {loops.target.name} does not run in this process",
                code="target",
                help="kernel.emulate(...) runs it in an emulator; kernel.save(...) writes it to a file",
            )
        key = self.key
        found = kernel_cache.find(key, loops.program) if key else None
        if found is None or not found.certificate and current().certify is not False:
            return self._build(key)
        if found.fallback is not None:
            loops.fall_back(found.fallback)
        return found

    @property
    def key(self) -> str:
        """Its key in the disk cache; empty where that is to be left alone."""
        return self.loops.disk_key(", over inputs" if self.overwriting else "")

    @with_requested_options
    def missing_key(self) -> str:
        """The key in the disk cache of code that is neither there nor in this process; empty where
        it is, or that cache is left alone.
        """
        if not self.loops.target.native or "built" in self.__dict__:
            return ""
        key = self.key
        return "" if not key or disk_cache.shared().has(key) else key

    def require_certificate(self) -> None:
        """Make the code now.

        Raises:
            CertificateError: it was made without a certificate, and one is wanted.
        """
        if not self.built.certificate and current().certify is not False:
            raise CertificateError(f"the loops of {self.loops.name} are not certified", code="certificate")

    @once
    def loaded(self) -> loader.Loaded:
        """The code in executable memory."""
        functions = {name: f.address for name, f in self.externs.items()}
        return loader.load(self.built.code, symbol_of(self.loops.name), functions)

    @property
    def address(self) -> int:
        """Address of `i32 kernel(void** slots)`: inputs, outputs, symbolic sizes."""
        return self.loaded.address

    @once
    def externs(self) -> dict[str, NativeFunction]:
        """The functions that the code calls; they have to outlive it."""
        return extern_functions(self.loops.kernel, self.loops.program) if self.built.externs else {}

    @property
    def overwrites(self) -> tuple[tuple[int, int], ...]:
        """Positions of inputs, and of outputs that may lie in their memory: the kernel computes
        the same, and the input is gone.
        """
        return self.built.overwrites if self.overwriting else ()

    @property
    def self_contained(self) -> bool:
        """True if it asks neither for memory nor for functions of others: once begun it ends,
        unless Ctrl-C interrupts it.
        """
        return self.built.self_contained

    @property
    def scratch(self) -> tuple[int, ...]:
        """Bytes of buffers that callers give behind the outputs: of a kernel that was made for
        those who place its arrays.
        """
        return self.built.scratch

    @property
    def prepacked(self) -> tuple[int, ...]:
        """Bytes of buffers that callers keep from call to call and give behind those of `scratch`.
        The last one is of a byte, 0 where constant inputs have other values than in the call
        before.
        """
        return self.built.prepacked

    @property
    def packed(self) -> tuple[int, ...]:
        """Positions of inputs that are read for the buffers of `prepacked` alone."""
        return self.built.packed

    @once
    def for_calls(self) -> NativeCode:
        """The code for calls, which give no memory: this one, where it asks for none."""
        return NativeCode(self.loops) if self.scratch or self.prepacked else self

    def _build(self, key: str) -> Built:
        built = None
        while built is None:  # the loops were left for others while LLVM compiled them
            built = self._compile(key)
        if key:
            kernel_cache.keep(key, built)
        return built

    def _compile(self, key: str) -> Built | None:
        with uncollected():
            return native_compilation.compiled(self.loops, self.overwriting, kept=not key)
