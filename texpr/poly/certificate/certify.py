"""The certificate: a proof that the final loops compute the program, and the statement of how
they round otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from html import escape

import islpy as isl

from texpr.ir.build import compare, conjunction
from texpr.ir.dtypes import F32, I64
from texpr.ir.expr import Expr, Read, Tensor, Var, index
from texpr.ir.index.overflow import USUAL_SIZE
from texpr.ir.index.uncollapse import parted
from texpr.ir.instructions import INSTRUCTIONS, Instruction
from texpr.ir.loop import ExternCall, For, If, Kernel, Poll, Stmt, Store, instruction_of
from texpr.ir.printing.loop import source_kernel
from texpr.ir.store_kind import ATOMIC
from texpr.ir.tensor import Program
from texpr.ir.traverse import equal, substitute
from texpr.poly.certificate.engine.barrier_intervals import split_at_barriers
from texpr.poly.certificate.engine.buffer_renaming import rename_reused_buffers
from texpr.poly.certificate.engine.dead_statements import remove_dead_statements
from texpr.poly.certificate.engine.exposed_uses import uncovered
from texpr.poly.certificate.engine.instance_pairs import Access
from texpr.poly.certificate.engine.isl_frame import Frame, NotAffine, Parameters
from texpr.poly.certificate.engine.obligations import (
    OBLIGATIONS,
    Context,
    Proof,
    Refuted,
    ReusedBuffer,
    UndefinedCopy,
    instances,
)
from texpr.poly.certificate.engine.privatization import privatize_buffers
from texpr.poly.certificate.engine.program_semantics import Semantics, index_in_bounds
from texpr.poly.certificate.engine.races import check_races
from texpr.poly.certificate.engine.reductions import Reductions, name_of
from texpr.poly.certificate.engine.statement_extraction import Buffer, Statement, extract, parameters_of
from texpr.poly.certificate.engine.value_equality import (
    Disagreement,
    check_call,
    check_store,
    equality_test,
    require_equal,
)
from texpr.poly.certificate.engine.write_back import remove_write_back
from texpr.poly.certificate.rewrites.registry import derive, sentences
from texpr.poly.constraints.proof_thread import one_at_a_time
from texpr.poly.constraints.solver import OutOfQuota, run_within_quota
from texpr.support.errors import CertificateError
from texpr.support.frozen_dataclass import frozen, replace

MEANINGS = {
    "values": "every store computes its instance of its equation, from the right elements",
    "bounds": "every element used exists",
    "initialised": "every element used was written before",
    "covered": "every element of every output is computed",
    "once": "no sum is started twice, and no element defined twice that data chooses",
    "sums": "every sum has all its terms, once each, before it is used",
    "order": "sums run in the order of the program, or may not",
    "races": "iterations that run at once use no common element",
}
"""The statement of each obligation, in the order of the table."""


@frozen
class Certificate:
    """The statement that a kernel was proven to compute its program, and how it rounds otherwise.

    Attributes:
        kernel: the name of the kernel.
        obligations: the number of questions of each obligation, and seconds.
        reassociated: outputs and intermediates whose sums run in another order than the program's.
        contracted: which multiply-adds may be rounded once: "all", those of "sums", or "" none.
        flushed: outputs and intermediates whose sums take denormal numbers for zeros, since an
            instruction does.
        reduced_precision: outputs and intermediates whose sums an instruction holds in fewer bits
            than their type has.
        rewrites: for each algebraic rewrite, by the public name of its step, the outputs and
            intermediates that it changed (`certificate.rewrites.registry`).
    """

    kernel: str
    obligations: Mapping[str, tuple[int, float]]
    reassociated: tuple[str, ...]
    contracted: str
    flushed: tuple[str, ...] = ()
    reduced_precision: tuple[str, ...] = ()
    rewrites: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def bit_exact(self) -> bool:
        """True if the kernel gives the very bits of the program."""
        return not (self.reassociated or self.contracted or self.rewrites)

    @property
    def seconds(self) -> float:
        """The time that the proof took."""
        return sum(seconds for _, seconds in self.obligations.values())

    @property
    def rounding(self) -> str:
        """Differences of the results from the program's: "bit-exact", or a sentence for each
        reason.
        """
        if self.bit_exact:
            return "bit-exact"
        found = [f"reassociated: {', '.join(self.reassociated)}"] if self.reassociated else []
        found += [f"flushed: denormal numbers are zeros in {', '.join(self.flushed)}"] if self.flushed else []
        found += (
            [
                f"reduced_precision: sums have about 13 bits of a fraction in "
                f"{', '.join(self.reduced_precision)}"
            ]
            if self.reduced_precision
            else []
        )
        found += sentences(self.rewrites)
        return "; ".join(
            [*found, *([f"contracted: {_CONTRACTED[self.contracted]}"] if self.contracted else [])]
        )

    def __str__(self) -> str:
        lines = [f"certificate of {self.kernel}: {self.rounding}"]
        for name, (questions, seconds) in self.obligations.items():
            lines.append(f"  {name:<12} {questions:>4} questions {seconds * 1e3:>8.1f} ms   {MEANINGS[name]}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{name}</td><td>{questions}</td><td>{seconds * 1e3:.1f}</td><td>{escape(MEANINGS[name])}</td></tr>"
            for name, (questions, seconds) in self.obligations.items()
        )
        return (
            f"<table><caption>{escape(self.kernel)}: {escape(self.rounding)}</caption>"
            f"<tr><th>obligation</th><th>questions</th><th>ms</th><th></th></tr>{rows}</table>"
        )


_CONTRACTED = {"all": "a * b + c is rounded once", "sums": "products are added to sums in one rounding"}
QUOTA = 20_000_000
"""isl operations per certificate; about ten seconds."""


@one_at_a_time
def certify(kernel: Kernel, program: Program) -> Certificate:
    """Prove that a kernel computes what a program says, from the loops alone.

    That sums on data seldom wrap is seldom needed and makes isl slow, so it is only known to a
    second attempt.

    Args:
        program: after the tensor passes, over the sizes of the kernel.
    Raises:
        CertificateError: an obligation does not hold, or is not proven; with the store, the
            smallest sizes and the instance.
    """
    try:
        return _prove(kernel, program, no_wrap=False)
    except CertificateError as error:
        if not error.label or not any(t.dtype == I64 and t.value_range is None for t in kernel.inputs):
            raise
        try:
            return _prove(kernel, program, no_wrap=True)
        except CertificateError:
            raise error from None


def _prove(kernel: Kernel, program: Program, *, no_wrap: bool) -> Certificate:
    """As `certify`; `no_wrap` says whether sums on data are known not to wrap where the data are
    near to 0.
    """
    stores: dict[Store, Store] = {}

    uncollapsed = parted(kernel)

    def prove() -> Certificate:
        stores.update(uncollapsed.origin)
        sequential, origin = split_at_barriers(uncollapsed.kernel)
        parameters = parameters_of(kernel)
        parameters.no_wrap = no_wrap
        parameters.alias(program.sizes)
        parameters.inputs |= set(program.inputs)
        _check_interface(kernel, program)
        facts = _facts(kernel, program, parameters)
        implementation, rewrites = program, {}
        if kernel.program is not None and not equal(kernel.program.equations, program.equations):
            implementation = kernel.program
            rewrites = derive(program, implementation, parameters, facts)
        direct, source = remove_write_back(sequential, parameters, facts)
        origin = {
            **uncollapsed.origin,
            **{new: uncollapsed.origin.get(old, old) for new, old in origin.items()},
        }
        stores.update(origin | {new: origin.get(old, old) for new, old in source.items()})
        named = dict(
            zip((*kernel.inputs, *kernel.outputs), (*implementation.inputs, *implementation.outputs))
        )
        proof = Proof(extract(direct, parameters), Semantics(implementation), named, facts)
        return replace(_search(proof, implementation, uncollapsed.kernel, stores), rewrites=rewrites)

    try:
        return run_within_quota(prove, QUOTA)
    except Refuted as e:
        raise _error(kernel, e, stores) from None
    except OutOfQuota as e:
        if "operations" in str(e):
            raise CertificateError(
                f"{kernel.name} is not proven within the quota",
                code="certificate",
                help="give the sizes as constants: tx.schedule(op, N=...)",
            ) from None
        raise CertificateError(
            f"{kernel.name} is not proven: isl gave up ({e})",
            code="certificate",
            help='report the operator; tx.options(certify="warn") compiles it all the same',
        ) from None


def _check_interface(kernel: Kernel, program: Program) -> None:
    """Check that the kernel has the sizes of the program, writes no input, calls outside code
    once, and has distinct loops and stores.
    """
    names = [v.name for v in kernel.sizes]
    missing = {v.name for v in program.sizes} - set(names)
    if missing:
        raise Refuted("bounds", f"it has no size {min(missing)}", None)
    if len(set(names)) < len(names):
        raise Refuted("bounds", "two of its sizes have one name", None)
    statements = list(_all_statements(kernel.body))
    if any(isinstance(s, Store) and s.tensor in kernel.inputs for s in statements):
        raise Refuted("values", "it writes an input", None)
    if any(
        isinstance(s, For | If) and any(isinstance(inner, ExternCall) for inner in s.body) for s in statements
    ):
        raise Refuted("values", "outside code is called in a loop or under a condition", None)
    identities = [s.var if isinstance(s, For) else s for s in statements if isinstance(s, For | Store)]
    if len(set(identities)) < len(identities):
        raise Refuted("values", "two loops have one variable, or a store stands at two places", None)


def _all_statements(body: Sequence[Stmt]) -> Iterator[Stmt]:
    """All statements, as often as they occur. Depth is that of the loop nest."""
    for s in body:
        yield s
        if isinstance(s, For | If):
            yield from _all_statements(s.body)


def _error(kernel: Kernel, e: Refuted, stores: Mapping[Store, Store]) -> CertificateError:
    sizes, instance = e.witness()
    notes = []
    if sizes or instance:
        where = f"at {_values(sizes)}: " if sizes else ""
        notes.append(f"{where}iteration ({_values(instance)})" if instance else f"at {_values(sizes)}")
    at = (e.statement.call or e.statement.node) if e.statement is not None else kernel
    span = source_kernel(kernel)[1].get(id(stores.get(at, at) if isinstance(at, Store) else at))
    return CertificateError(
        f"the loops of {kernel.name} are not proven to compute it: {e.text}",
        span,
        code="certificate",
        label=e.obligation,
        notes=notes,
        witness={"sizes": dict(sizes), "instance": dict(instance)} if sizes or instance else None,
        help='a step or a pass is wrong, or the proof is not found; tx.options(certify="warn") compiles it '
        "all the same",
    )


def _values(values: Mapping[str, int]) -> str:
    return ", ".join(f"{k}={v}" for k, v in values.items())


def _search(proof: Proof, program: Program, kernel: Kernel, stores: dict[Store, Store]) -> Certificate:
    """The first proof that succeeds: of the kernel, without stores that nobody reads, with buffers
    made in inner loops, with a place for every value of buffers that are used for several.

    Raises:
        Refuted: none does.
    """
    postponed: list[tuple[Proof, Refuted]] = []
    privatized = False
    while True:
        try:
            return _check_affine(proof, program, kernel)
        except Refuted as e:
            if (
                isinstance(e, UndefinedCopy)
                and (found := _with_undefined_copies(proof, e, program, kernel, stores)) is not None
            ):
                return found
            if (reduced := remove_dead_statements(proof)) is not None:
                proof = replace(reduced, suspects=())
            elif not privatized and (private := privatize_buffers(proof)) is not None:
                postponed.append((proof, e))
                proof, privatized = private, True
            else:
                proof = _next_proof(proof, e, postponed, stores)


def _with_undefined_copies(
    proof: Proof, e: UndefinedCopy, program: Program, kernel: Kernel, stores: dict[Store, Store]
) -> Certificate | None:
    """The certificate of the proof in which a copy may have undefined instances; None if it
    fails.
    """
    assert e.statement is not None
    if e.statement.node in proof.undefined_copies:
        return None
    try:
        more = replace(proof, undefined_copies=proof.undefined_copies | {e.statement.node}, reassociated={})
        return _search(more, program, kernel, dict(stores))
    except Refuted:
        return None


def _next_proof(
    proof: Proof, e: Refuted, postponed: list[tuple[Proof, Refuted]], stores: dict[Store, Store]
) -> Proof:
    """The proof to try after a refutation: with more buffers renamed, or one that was postponed.

    Raises:
        Refuted: there is none.
    """
    while True:
        try:
            return _rename_buffers(proof, e, stores)
        except Refuted:
            if not postponed:
                raise
            proof, e = postponed.pop()


def _rename_buffers(proof: Proof, e: Refuted, stores: dict[Store, Store]) -> Proof:
    """The proof with an element for each value of the buffers that are reused.

    Raises:
        Refuted: it is refuted for another reason, or for the first of them there is no name for its
            values.
    """
    if not isinstance(e, ReusedBuffer):
        raise e
    for each in (e, *e.others):
        try:
            proof, source = rename_reused_buffers(proof, each)
        except Refuted:
            if each is e:
                raise
            continue  # it may follow from what is told apart now
        stores.update({new: stores.get(old, old) for new, old in source.items()})
    return replace(proof, suspects=e.suspects)


def _check_affine(proof: Proof, program: Program, kernel: Kernel) -> Certificate:
    try:
        return _check_obligations(proof, program, kernel)
    except NotAffine as e:
        raise Refuted("values", str(e), None) from None


def _check_obligations(proof: Proof, program: Program, kernel: Kernel) -> Certificate:
    nest = proof.nest
    _same_shapes(proof)
    sums = Reductions(proof)
    with proof.obligation("values"):
        sums.tracer.number_places()
    for s in nest.statements:
        s.frame.same_data = equality_test(proof, s)
    _check_stores(proof, sums)
    for call, readers in nest.calls:
        check_call(proof, sums.tracer, call, readers)
    for k, output in enumerate(kernel.outputs):
        _check_output(proof, sums, nest.buffers[output], program.outputs[k])
    for buffer in nest.buffers.values():
        if buffer.updates:
            sums.check_buffer(buffer, complete=False)
    check_races(proof, sums, kernel)
    reordering = list(_reordering(proof))
    flushed = tuple(
        dict.fromkeys([*(name for name, each in reordering if each.flushes_denormals), *_atomic_sums(proof)])
    )
    reduced = tuple(dict.fromkeys(name for name, each in reordering if each.reduced_precision))
    obligations = {name: (proof.counts[name].questions, proof.counts[name].seconds) for name in OBLIGATIONS}
    return Certificate(kernel.name, obligations, tuple(proof.reassociated), kernel.fma, flushed, reduced)


def _check_stores(proof: Proof, sums: Reductions) -> None:
    """Stores compute what they say, those first that did not before.

    Raises:
        Refuted: one does not. Of buffers that are used for several values, all are told at once:
            each proof takes as long as this one.
    """
    statements = proof.nest.statements
    for group in (proof.suspects, [k for k in range(len(statements)) if k not in proof.suspects]):
        reused: dict[int, ReusedBuffer] = {}
        for k in group:
            try:
                check_store(proof, sums.tracer, statements[k])
            except ReusedBuffer as e:
                reused[k] = e
            except Refuted:
                if not reused:  # else it may follow from those
                    raise
        if reused:
            of_buffers = {e.tensor: e for e in reversed(reused.values())}
            first, *others = reversed(of_buffers.values())
            first.others, first.suspects = tuple(others), tuple(reused)
            raise first


def _reordering(proof: Proof) -> Iterator[tuple[str, Instruction]]:
    """The sums of floats that instructions compute in an order of their own, which the stores
    must permit.
    """
    names = {name: each for name, each in INSTRUCTIONS.items() if each.flushes_denormals or each.reorders}
    for u in proof.nest.statements:
        used = next((names[name] for name in map(instruction_of, u.loops) if name in names), None)
        if used is not None:
            if not u.store.reassoc:
                raise Refuted(
                    "order", "an instruction adds floats in an order of its own, which nothing permits", u
                )
            yield name_of(proof.semantics.definitions[u.store.equation]), used


def _atomic_sums(proof: Proof) -> Iterator[str]:
    """Sums of f32 by atomic updates: GPUs flush denormal numbers in them to 0."""
    for u in proof.nest.statements:
        if u.store.mode is ATOMIC and u.store.update == "add" and u.store.tensor.dtype == F32:
            yield name_of(proof.semantics.definitions[u.store.equation])


def _facts(kernel: Kernel, program: Program, parameters: Parameters) -> isl.Set:
    """Facts about the sizes: they are at least 0, as are all extents of arrays, and calls check the
    requirements of the program.

    Requirements of the kernel are not believed: nobody checks them. Where sums on data matter,
    calls of larger sizes are refused (`ir.index.overflow`).
    """
    frame = Frame(parameters, ())
    conditions = [compare("<=", index(0), v) for v in kernel.sizes]
    conditions += [compare("<=", index(0), n) for t in (*program.inputs, *program.outputs) for n in t.shape]
    conditions += program.requires
    conditions += [compare("<", v, index(USUAL_SIZE)) for v in kernel.sizes] if parameters.no_wrap else []
    mine = {v.name: v for v in kernel.sizes}
    conditions = [
        substitute(c, {v: mine[v.name] for v in program.sizes}) for c in conditions
    ]  # products of sizes have one column
    plain = frame.abstract(conjunction(*conditions))
    return frame.holds(conjunction(plain, frame.bounds())).params()


def _same_shapes(proof: Proof) -> None:
    """Prove that inputs and outputs have the shapes and types of the program."""
    frame = Frame(proof.nest.parameters, ())
    sizes = Context(proof, frame, frame.universe().intersect_params(proof.facts))
    for mine, theirs in proof.program_tensors.items():
        if (
            mine.rank != theirs.rank
            or mine.dtype != theirs.dtype
            or not all(map(sizes.equal, mine.shape, theirs.shape))
        ):
            raise Refuted("bounds", f"{mine.name} is not the array that the program says", None)


def _check_output(proof: Proof, sums: Reductions, buffer: Buffer, output: Tensor) -> None:
    """Every element of an output that the program defines is computed, once, and holds what the
    program says of it.

    Operators define all elements of their outputs. Of what one kernel of a plan hands to another,
    some may have no definition; nobody reads those.
    """
    with proof.obligation("covered"):
        uses = _uses_of_output(proof, sums, buffer, output)
        for use in uses:
            sums.tracer.check_no_undefined_copy(buffer, use)
    with proof.obligation("values"):
        for d in buffer.definitions:
            _check_claim(proof, d, sums.tracer.claim(d), Read(output, d.indices))
    if any(d.is_fold for d in proof.semantics.by_target.get(output, ())):
        for use in uses:
            sums.check_complete(buffer, use)


def _uses_of_output(proof: Proof, sums: Reductions, buffer: Buffer, output: Tensor) -> list[Access]:
    """The uses, after the end, of every element of an output that the program defines.

    Raises:
        Refuted: one of them is not computed.
    """
    indices = tuple(Var(f"x{k}") for k in range(output.rank))
    whole = _at_end(proof, indices, indices, index_in_bounds(indices, output.shape))
    if any(d.data() for d in buffer.definitions):
        sums.check_all_written(buffer, whole)
        return [whole]
    valued = sums.tracer.valued_definitions(buffer)
    if uncovered(whole, valued, proof.facts).is_empty():
        return [whole]
    defined = [d for d in proof.semantics.by_target.get(output, ()) if not d.is_fold]
    uses = [_at_end(proof, d.axes, d.element, conjunction(d.domain, d.stored)) for d in defined] or [whole]
    for use in uses:
        if not (missing := uncovered(use, valued, proof.facts)).is_empty():
            at = buffer.definitions[-1] if buffer.definitions else None
            raise Refuted(
                "covered", f"an element of {output.name} is not computed", at, use.statement.frame, missing
            )
    return uses


def _at_end(proof: Proof, variables: tuple[Var, ...], element: tuple[Expr, ...], condition: Expr) -> Access:
    """A read of elements after all that the kernel does."""
    frame = Frame(proof.nest.parameters, variables)
    return Access(
        Statement(Poll(), (), (), (), 1 << 40, frame, traced_conditions=[condition]), element, False
    )


def _check_claim(proof: Proof, d: Statement, claimed: Expr, wanted: Read) -> None:
    try:
        require_equal(proof.semantics, claimed, wanted, instances(proof, d))
    except Disagreement as e:
        raise Refuted(
            "values",
            f"{wanted.tensor.name} is written where another element belongs",
            d,
            d.frame,
            e.context.set,
        ) from None
