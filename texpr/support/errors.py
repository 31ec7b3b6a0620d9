"""Errors that texpr raises for mistakes of users. A mistake of ours is an `AssertionError`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from texpr.support.fixes import Fix, said
from texpr.support.source import Span


class Error(Exception):
    """A mistake in what texpr was given: what was found, where, and a way out.

    Args:
        message: lower case, what was found and what was expected.
        span: where in the user's text, if there is a text.
        code: the kind of mistake, one word, shown as `error[code]`.
        label: what is wrong right under the caret.
        notes: further lines, such as the smallest counterexample.
        help: what to write instead.
        fixes: ways out in the order of preference, in the place of `help`. Those that propose text
            are tried before they are shown.

    Attributes:
        fixed: the program with the first change that `help` proposes; None where it proposes none.
        tried: each way out that proposes text and works, with the program that it leads to.
    """

    def __init__(
        self,
        message: str,
        span: Span | None = None,
        *,
        code: str = "",
        label: str = "",
        notes: Sequence[str] = (),
        help: str = "",
        fixes: Sequence[Fix] = (),
    ) -> None:
        super().__init__(message)
        self.message, self.span, self.code = message, span, code
        self.label, self.notes, self.help = label, tuple(notes), help or said(fixes)
        self.fixes = tuple(fixes)
        self.fixed: str | None = None
        self.tried: tuple[tuple[Fix, str], ...] = ()

    def __str__(self) -> str:
        lines = [f"error[{self.code}]: {self.message}" if self.code else self.message]
        if self.span is not None:
            lines += [f"  --> {self.span}", self.span.caret(self.label)]
        lines += [f"    {note}" for note in self.notes]
        if self.help:
            lines.append(f"  help: {self.help}")
        return "\n".join(lines)


class ParseError(Error):
    """The text is not in the language."""


class CheckError(Error):
    """The text parses but means nothing: names, shapes, dtypes, bounds, coverage."""


class CertificateWarning(RuntimeWarning):
    """A kernel was compiled without a certificate, under `options(certify="warn")`."""


class ScheduleError(Error):
    """A scheduling step that does not apply or would change the answer.

    Attributes:
        witness: the smallest example: `sizes`, the iterations `first` and `second`, the `tensor`
            and the `element` that both use; empty where there is none.
        details: what the step knows of its refusal, for those who explain it.
        rerun: what `replay` does; None where there are no two results.
    """

    def __init__(
        self,
        message: str,
        span: Span | None = None,
        *,
        witness: Mapping[str, object] | None = None,
        rerun: Callable[[], object] | None = None,
        details: object = None,
        **rest,
    ) -> None:
        super().__init__(message, span, **rest)
        self.witness, self.details = dict(witness or {}), details
        self.rerun = rerun

    def replay(self) -> object:
        """Run the kernel as it is and as the step would have it, at the sizes of the witness;
        printed, it shows what differs first.

        Raises:
            ScheduleError: the step was not refused for a dependence, so there are no two results.
        """
        if self.rerun is None:
            raise ScheduleError(
                "this refusal has no two results to compare",
                code="replay",
                help="replay() is for steps that would change the answer (error[order])",
            )
        return self.rerun()


class CertificateError(ScheduleError):
    """The finished loops of a kernel are not proven to compute its operator."""


class CompileError(Error):
    """The target cannot express the kernel."""


class CallError(Error, TypeError, ValueError):
    """Arguments that do not fit the operator or the kernel."""


class CheckpointError(Error):
    """A file of weights that is damaged, unsafe, or of another model."""


class ResourceError(Error):
    """A stated limit on text, code, memory or time was exceeded."""
