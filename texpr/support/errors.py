"""Errors that texpr raises for mistakes of users. A mistake of ours is an `AssertionError`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from texpr.support.fixes import Fix, said
from texpr.support.source import Span

VERSION = 1
"""Version of the keys of `Error.to_dict`."""


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
        witness: the smallest example of the mistake: `sizes`, and values of indices in `instance`; of
            a refused step, the iterations `first` and `second`, the `tensor` and the `element` that
            both use. Empty where there is none.
        fixed: the program with the first change that `help` proposes; None where it proposes none.
        tried: each way out that proposes text and works, with the program that it leads to.
    Example:
        >>> try:
        ...     tx.op("op f(X: f32[N]) -> Y: f32[N] { Y[i] = X[i + 1] }")
        ... except tx.Error as error:
        ...     print(error.code, error.witness)
        ...     print(error.fixed)
        bounds {'sizes': {'N': 1}, 'instance': {'i': 0}}
        op f(X: f32[N]) -> Y: f32[N] { Y[i] = X[i + 1 | 0] }
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
        self.witness: dict[str, object] = {}
        self.fixed: str | None = None
        self.tried: tuple[tuple[Fix, str], ...] = ()

    def to_dict(self) -> dict[str, object]:
        """The error as data that JSON takes, for editors, logs and other programs. The keys stand in
        `docs/reference/errors.md`; `version` counts their changes.

        Example:
            >>> try:
            ...     bad = tx.op("op f(X: f32[N]) -> Y: f32[N] { Y[i] = X[i + 1] }")
            ... except tx.Error as error:
            ...     found = error.to_dict()
            >>> found["code"], found["place"]["line"], found["witness"]["sizes"]
            ('bounds', 1, {'N': 1})
        """
        return {
            "version": VERSION,
            "class": type(self).__name__,
            "code": self.code,
            "message": self.message,
            "label": self.label,
            "notes": [str(note) for note in self.notes],
            "help": self.help,
            "place": None if self.span is None else self.span.to_dict(),
            "witness": _witness(self.witness),
            "alternatives": [{"help": fix.words, "program": program} for fix, program in self.tried],
            "text": str(self),
        }

    def __str__(self) -> str:
        lines = [f"error[{self.code}]: {self.message}" if self.code else self.message]
        if self.span is not None:
            lines += [f"  --> {self.span}", self.span.caret(self.label)]
        lines += [f"    {note}" for note in self.notes]
        if self.help:
            lines.append(f"  help: {self.help}")
        return "\n".join(lines)


def _witness(witness: Mapping[str, object]) -> dict[str, object] | None:
    """A witness in the names of `Error.to_dict`."""
    if not witness:
        return None
    found = [dict(at) for k in ("instance", "first", "second") if isinstance(at := witness.get(k), Mapping)]
    element = witness.get("element")
    return {
        "sizes": _integers(witness.get("sizes")),
        "instances": [_integers(at) for at in found],
        "tensor": witness.get("tensor"),
        "element": [int(k) for k in element] if isinstance(element, Sequence) else None,
    }


def _integers(values: object) -> dict[str, int]:
    return {str(k): int(v) for k, v in values.items()} if isinstance(values, Mapping) else {}


class ParseError(Error):
    """The text is not in the language.

    Example:
        >>> try:
        ...     tx.op("op f(X: f32[N]) -> Y: f32[N] { Y[i] = X[i }")
        ... except tx.ParseError as error:
        ...     print(error.message)
        found `}`, expected `,`, `]` or `|`
    """


class CheckError(Error):
    """The text parses but means nothing: names, shapes, dtypes, bounds, coverage.

    Attributes:
        holds: the comparison of sizes that makes it right, as its note says it; empty where none does.
    Example:
        >>> try:
        ...     tx.op("op add(X: f32[N], Z: f32[M]) -> Y: f32[N] { Y[i] = X[i] + Z[i] }")
        ... except tx.CheckError as error:
        ...     print(error.code, error.witness, error.holds)
        bounds {'sizes': {'N': 2, 'M': 1}, 'instance': {'i': 1}} N <= M
    """

    holds: str = ""


class CertificateWarning(RuntimeWarning):
    """A kernel was compiled without a certificate, under `options(certify="warn")`.

    Example:
        >>> import warnings
        >>> double = tx.op("op double(X: f32[N]) -> Y: f32[N] { Y[i] = 2 * X[i] }")
        >>> with warnings.catch_warnings(), tx.options(certify="warn"):
        ...     warnings.simplefilter("error", tx.CertificateWarning)  # an error again
        ...     double([1, 2])
        array([2., 4.], dtype=float32)
    """


class ScheduleError(Error):
    """A scheduling step that does not apply or would change the answer.

    Attributes:
        details: what the step knows of its refusal, for those who explain it.
        rerun: what `replay` does; None where there are no two results.
    Example:
        >>> total = tx.op("op total(X: f32[N]) -> y: f32 { y = sum(i: X[i]) }")
        >>> try:
        ...     tx.schedule(total).parallel("i")
        ... except tx.ScheduleError as error:
        ...     print(error.code, error.witness["first"], error.witness["second"])
        order {'i': 0} {'i': 1}
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
        self.witness.update(witness or {})
        self.details = details
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
    """The finished loops of a kernel are not proven to compute its operator.

    Example:
        >>> from dataclasses import replace
        >>> double = tx.op("op double(X: f32[N]) -> Y: f32[N] { Y[i] = 2 * X[i] }")
        >>> s = tx.schedule(double)
        >>> (loop,) = s.kernel.body
        >>> s.kernel = replace(s.kernel, body=(loop, loop))  # as a wrong step might
        >>> try:
        ...     s.certificate()
        ... except tx.CertificateError as error:
        ...     print(error.code)
        certificate
    """


class CompileError(Error):
    """The target cannot express the kernel.

    Example:
        >>> double = tx.op("op double(X: f32[N]) -> Y: f32[N] { Y[i] = 2 * X[i] }")
        >>> try:
        ...     tx.schedule(double).auto("z80")
        ... except tx.CompileError as error:
        ...     print(error.code, error.message)
        target there is no target 'z80'
    """


class CallError(Error, TypeError, ValueError):
    """Arguments that do not fit the operator or the kernel.

    Example:
        >>> total = tx.op("op total(X: f32[N]) -> y: f32 { y = sum(i: X[i]) }")
        >>> try:
        ...     total(np.ones(3))
        ... except tx.CallError as error:
        ...     print(error.code, error.help)
        dtype use X.astype(np.float32)
    """


class CheckpointError(Error):
    """A file of weights that is damaged, unsafe, or of another model.

    Example:
        >>> import safetensors
        >>> nn.save(nn.Linear(2, 3), "linear.safetensors")
        >>> try:
        ...     nn.load(nn.Linear(2, 4), "linear.safetensors")
        ... except tx.CheckpointError as error:
        ...     print(error.code)
        checkpoint
    """


class ResourceError(Error):
    """A stated limit on text, code, memory or time was exceeded.

    Example:
        >>> try:
        ...     tx.op(" " * 2_000_000)
        ... except tx.ResourceError as error:
        ...     print(error.help)
        tx.options(text_limit=...) changes that
    """


def json_fault(error: ValueError | RecursionError) -> str:
    """The reason why a text is no JSON. Of brackets in brackets, Python's words depend on its version."""
    return "brackets are nested too deeply" if isinstance(error, RecursionError) else str(error)
