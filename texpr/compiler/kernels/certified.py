"""The loops of a compiled kernel and their certificate."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from functools import wraps
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from texpr.compiler import kernel_cache
from texpr.compiler.fallback import DefaultSchedule, Fallback, find_fallback, record_fallback
from texpr.ir.expr import Var
from texpr.ir.loop import Kernel
from texpr.ir.printing.loop import show_kernel
from texpr.ir.tensor import Program
from texpr.support.errors import CertificateError, CertificateWarning
from texpr.support.late import late
from texpr.support.once import once
from texpr.support.options import current, of_blocks, remembered
from texpr.support.warn import warn
from texpr.targets import Target

if TYPE_CHECKING:
    from texpr.compiler import pass_pipeline
    from texpr.poly.certificate import Certificate
    from texpr.schedule.script import script
else:
    pass_pipeline = late("texpr.compiler.pass_pipeline")
    script = late("texpr.schedule.script.script")

UNPROVEN = "every step was proven, the finished loops are not: compare with tx.interpret, or report them"
UNCERTIFIED = f'{UNPROVEN}; tx.options(certify="warn") compiles them all the same'
"""The way out of a kernel that is not certified."""
Method = TypeVar("Method", bound=Callable[..., Any])


class _Requested(Protocol):
    asked_with: Mapping[str, Any]
    """The options of the with-blocks in which the kernel was asked for."""


def with_requested_options(method: Method) -> Method:
    """A method that compiles: with the options of the with-blocks in which the kernel was asked
    for.
    """

    @wraps(method)
    def compiled(owner: _Requested, *arguments: Any, **named: Any) -> Any:
        with remembered(owner.asked_with):
            return method(owner, *arguments, **named)

    return compiled  # type: ignore[return-value]


def _certifies() -> bool:
    """True if loops are certified, and no pass is watched."""
    options = current()
    return options.certify is not False and not options.verify and not options.print


class CertifiedLoops:
    """Scheduled loops for a target, which are certified before they are compiled.

    Attributes:
        name: of the operator.
        target: the processor that code is made for.
        program: the operator, sizes symbolic.
        sizes: those that are constants of this kernel.
        symbolic: the others.
        schedule_text: everything that the loops depend on beside the program, as text; empty where
            the disk cache is to be left alone.
        constants: names of inputs that have the same values from call to call.
    """

    def __init__(
        self,
        make: Callable[[], Kernel],
        target: Target,
        program: Program,
        sizes: Mapping[Var, int],
        schedule_text: str,
        default: DefaultSchedule | None,
        constants: Set[str] = frozenset(),
    ) -> None:
        """`make` gives the scheduled loops, when they are needed: a kernel from the disk cache runs
        without them.

        Args:
            default: the default schedule, if `make` gives its loops: a plainer one serves where it
                is not certified.
        """
        self.constants = constants
        self._make, self.target, self.program, self.sizes, self._default = (
            make,
            target,
            program,
            dict(sizes),
            default,
        )
        self.schedule_text, self.symbolic = (
            schedule_text,
            tuple(v for v in program.sizes if v not in self.sizes),
        )
        self.name, self.asked_with = program.name, of_blocks()
        self.fallback: Fallback | None = None
        self._doubted = False

    def disk_key(self, variant: str = "") -> str:
        """The key of its code in the disk cache; empty where that is to be left alone.

        Args:
            variant: what else the code depends on.
        """
        if not self.schedule_text or not kernel_cache.usable():
            return ""
        return kernel_cache.key_of(self.program, self.sizes, self.schedule_text + variant, self.target)

    @property
    def kernel(self) -> Kernel:
        """The scheduled loop nest."""
        if self.fallback is not None:
            return self._fallback_kernel
        return self._presumed if self.is_presumed else self._scheduled

    @property
    def is_presumed(self) -> bool:
        """True if the steps of the loops are not proven, since the loops are certified before they
        run.
        """
        presumed = self._default is not None and self._default.presumed is not None
        return presumed and not self._doubted and self.fallback is None and _certifies()

    def doubt(self) -> None:
        """Make the loops with proofs of their steps from now on."""
        self._doubted = True

    @once
    def _presumed(self) -> Kernel:
        assert self._default is not None and self._default.presumed is not None
        return self._default.presumed()

    @once
    def _scheduled(self) -> Kernel:
        return self._make()

    @once
    def _fallback_kernel(self) -> Kernel:
        assert self.fallback is not None and self._default is not None
        return self._default.replay(script.parse_script(self.fallback.script))

    @once
    def certificate(self) -> Certificate:
        """The proof that this kernel computes its operator, made when it was compiled
        (`options(certify=...)`) or now.

        Raises:
            CertificateError: something is not proven.
        """
        return self._proof()

    def _proof(self) -> Certificate:
        """The proof, of plainer loops where the loops have none."""
        try:
            return pass_pipeline.certificate(self.kernel, self.program, self.sizes)
        except CertificateError as error:
            if self.is_presumed:
                self.doubt()
                return self._proof()
            if self.fallback is not None or self._default is None:
                raise
            found = find_fallback(self.name, self._default, error, self._certify)
            if found is None:
                raise
        self.fall_back(found[0])
        return found[1]

    def _certify(self, kernel: Kernel) -> Certificate:
        pass_pipeline.prepared(kernel, self.target)
        return pass_pipeline.certificate(kernel, self.program, self.sizes)

    def fall_back(self, fallback: Fallback) -> None:
        """Use a plainer schedule from now on."""
        self.fallback = fallback
        record_fallback(fallback)

    def prove(self) -> str:
        """The certificate in words; empty if the kernel has none and may be compiled without.

        Raises:
            CertificateError: something is not proven.
        """
        if current().certify is False:
            return ""
        try:
            return str(self.certificate)
        except CertificateError as error:
            error.help = UNCERTIFIED
            if current().certify != "warn":
                raise
            error.help = UNPROVEN
            warn(str(error), CertificateWarning)
            return ""

    @with_requested_options
    def explain(self) -> str:
        """The schedule of this kernel and its certificate in words: of a default schedule which
        template took which nest and why those before it did not, and why it was left for a plainer
        one, if it was.

        Raises:
            CertificateError: something is not proven.
        """
        try:
            proof = str(self.certificate)
        except CertificateError as error:
            if current().certify is True:
                raise
            proof = f"no certificate of {self.name}: {error.message}"
        chosen = "" if self._default is None else self._default.explain()
        return "\n".join(filter(None, (proof, chosen, str(self.fallback or ""))))

    def __str__(self) -> str:
        return show_kernel(self.kernel)
