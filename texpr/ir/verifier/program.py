"""Invariants of well-formed Programs and Kernels. Passes take valid values and give valid values; a
complaint is a bug of ours.
"""

from __future__ import annotations

from collections.abc import Iterable

from texpr.ir.dtypes import BOOL, I64
from texpr.ir.expr import Const, Expr, Tensor, Var
from texpr.ir.extern import is_extern
from texpr.ir.loop import (
    ATOMIC_UPDATES,
    Alloc,
    Barrier,
    Commit,
    CommitProducts,
    ExternCall,
    For,
    If,
    Kernel,
    Poll,
    Prefetch,
    Stmt,
    Store,
    Wait,
    WaitProducts,
    copy_of,
)
from texpr.ir.loop_kind import UNROLLED, VECTOR, InstructionNest, is_valid
from texpr.ir.store_kind import ASYNCHRONOUS, ATOMIC, NONTEMPORAL
from texpr.ir.tensor import Equation, Invoke, Program
from texpr.ir.traverse import walk
from texpr.ir.verifier.expr import UPDATES, WRITE_GUARDS, check, verify_expr
from texpr.support.frozen_dataclass import frozen


def verify_program(program: Program) -> None:
    """Check a program and the programs it calls.

    Raises:
        AssertionError: what is wrong, with the node printed.
    """
    todo, seen = [program], set()
    while todo:
        current = todo.pop()
        if current in seen:
            continue
        seen.add(current)
        _verify_one(current)
        todo += [unit.program for unit in current.equations if isinstance(unit, Invoke)]


def _verify_one(program: Program) -> None:
    tensors = (*program.inputs, *program.outputs, *program.temporaries)
    _verify_tensors(program, tensors, program.sizes)
    for condition in program.requires:
        verify_expr(condition, program.sizes, (), in_kernel=False)
        check(condition.dtype == BOOL, "a requirement is bool", condition)
    defined: set[Tensor] = set()
    for unit in program.equations:
        targets = unit.targets
        if isinstance(unit, Invoke):
            _verify_invoke(unit, tensors)
        else:
            _verify_equation(unit, program, tensors)
            check(
                unit.update is None or unit.target in defined,
                f"{unit.target.name} is updated before it is defined",
                unit.value,
            )
        for target in targets:
            check(target not in program.inputs, f"the input {target.name} is defined", unit)
        defined.update(targets)
    missing = [] if is_extern(program) else [t.name for t in program.outputs if t not in defined]
    check(not missing, f"no equation defines {', '.join(missing)}", program)


def _verify_tensors(node: Program | Kernel, tensors: Iterable[Tensor], sizes: tuple[Var, ...]) -> None:
    check(len(set(sizes)) == len(sizes), "a size is listed twice", node)
    names: set[str] = {size.name for size in sizes}
    check(len(names) == len(sizes), f"two sizes of {node.name} have one name", node)
    for tensor in tensors:
        check(tensor.name not in names, f"the name {tensor.name} is used twice in {node.name}", node)
        names.add(tensor.name)
        for size in (*tensor.shape, *(tensor.value_range or ())):
            verify_expr(size, sizes, (), in_kernel=True)
            check(size.dtype == I64, f"a size of {tensor.name} is not i64", size)
        for dim in tensor.dims:
            check(
                len(dim.sizes) == 1 or (len(dim.sizes) > 1 and not dim.pack),
                f"{tensor.name} has a malformed dimension",
                node,
            )
        lies = tensor.swizzle
        check(
            lies is None or (tensor.scope == "shared" and lies.is_one_to_one),
            f"{tensor.name} has a malformed swizzle",
            node,
        )


def _verify_equation(equation: Equation, program: Program, tensors: Iterable[Tensor]) -> None:
    target, scope, known = equation.target, set(program.sizes), set(tensors)
    check(
        len(equation.indices) == target.rank,
        f"{len(equation.indices)} indices for {target.name} of rank {target.rank}",
        equation.value,
    )
    check(equation.update in UPDATES, f"no update {equation.update}", equation.value)
    for axis in equation.axes:
        for bound in (axis.lo, axis.hi):
            verify_expr(bound, scope, known, in_kernel=False)
        check(axis.lo.dtype == axis.hi.dtype == I64, "a range is i64", axis)
        check(axis.var not in scope, f"{axis.var.name} is bound twice", axis.var)
        scope.add(axis.var)
    for e in equation.indices:
        scope |= verify_expr(e, scope, known, in_kernel=False)
        check(e.dtype == I64, "an index is i64", e)
    if equation.where is not None:
        scope |= verify_expr(equation.where, scope, known, in_kernel=False)
        check(equation.where.dtype == BOOL, "a condition is bool", equation.where)
    verify_expr(equation.value, scope, known, in_kernel=False)
    check(
        equation.value.dtype == target.dtype,
        f"{target.name} is {target.dtype}, its value {equation.value.dtype}",
        equation.value,
    )
    guard = equation.guard
    if guard is not None:
        check(
            guard.mode in WRITE_GUARDS and guard.value is None,
            f"no guard {guard.mode} on a write",
            equation.value,
        )


def _verify_invoke(unit: Invoke, tensors: Iterable[Tensor]) -> None:
    callee = unit.program
    known = set(tensors)
    for given, wanted, what in (
        (unit.args, callee.inputs, "arguments"),
        (unit.targets, callee.outputs, "results"),
    ):
        check(len(given) == len(wanted), f"{callee.name} has {len(wanted)} {what}, not {len(given)}", unit)
        for mine, its in zip(given, wanted):
            check(mine in known, f"{mine.name} is no tensor of the caller", unit)
            check(
                mine.dtype == its.dtype,
                f"{its.name} of {callee.name} is {its.dtype}, {mine.name} is {mine.dtype}",
                unit,
            )


@frozen
class _Place:
    """A statement, and the variables and tensors in scope there."""

    statement: Stmt
    scope: frozenset[Var]
    tensors: frozenset[Tensor]


def _places(body: Iterable[Stmt], scope: frozenset[Var], tensors: frozenset[Tensor]) -> list[_Place]:
    """The statements of a body, last first; a buffer is in scope after its `Alloc`."""
    found: list[_Place] = []
    for s in body:
        if isinstance(s, Alloc):
            check(s.tensor not in tensors, f"{s.tensor.name} is declared twice", s.tensor)
            tensors |= {s.tensor}
        found.append(_Place(s, scope, tensors))
    return found[::-1]


def verify_kernel(kernel: Kernel) -> None:
    """Check a kernel.

    Raises:
        AssertionError: what is wrong, with the node printed.
    """
    tensors = (*kernel.inputs, *kernel.outputs, *kernel.temporaries)
    allocated = tuple(node.tensor for node in walk(kernel) if isinstance(node, Alloc))
    _verify_tensors(kernel, (*tensors, *allocated), kernel.sizes)
    bound = set(kernel.sizes)
    todo = _places(kernel.body, frozenset(kernel.sizes), frozenset(tensors))
    while todo:
        place = todo.pop()
        match place.statement:
            case For(var, _, body) as loop:
                check(var not in bound, f"{var.name} is bound twice", var)
                check(bool(body), f"the loop {var.name} has no statements", var)
                bound.add(var)
                _verify_loop(loop, place)
                todo += _places(body, place.scope | {var}, place.tensors)
            case If(cond, body):
                _verify_value(cond, place)
                check(bool(body), "a condition has no statements", cond)
                check(cond.dtype == BOOL, "a condition is bool", cond)
                todo += _places(body, place.scope, place.tensors)
            case Store() as store:
                check(
                    store.tensor not in kernel.inputs,
                    f"a store to the input {store.tensor.name}",
                    store.value,
                )
                _verify_store(store, place)
            case ExternCall() as call:
                _verify_extern(call, kernel)
            case Prefetch(tensor, indices):
                check(tensor in place.tensors, f"{tensor.name} is not there", tensor)
                check(
                    len(indices) == tensor.rank,
                    f"{len(indices)} indices for {tensor.name} of rank {tensor.rank}",
                    tensor,
                )
                for e in indices:
                    _verify_value(e, place)
                    check(e.dtype == I64, "an index is i64", e)
            case Wait(pending, slot, phase, slots):
                check(pending >= 0, f"a wait for all but {pending} groups", place.statement)
                _verify_counted(place, slots, slot, phase)
            case Commit(slot, brings, slots):
                _verify_counted(place, slots, slot, brings)
            case WaitProducts(pending):
                check(pending >= 0, f"a wait for all but {pending} groups", place.statement)
            case Barrier() | CommitProducts() | Poll() | Alloc():
                pass
            case other:
                raise AssertionError(f"an unknown statement {type(other).__name__}")


def _verify_counted(place: _Place, slots: int, *values: Expr | None) -> None:
    given = [e for e in values if e is not None]
    check(
        not given if slots == 0 else slots > 0 and len(given) == len(values),
        "counters without a place",
        place.statement,
    )
    for e in given:
        _verify_value(e, place)
        check(e.dtype == I64, "what is counted is an index", e)


def _verify_extern(call: ExternCall, kernel: Kernel) -> None:
    known = {*kernel.inputs, *kernel.outputs, *kernel.temporaries}
    check(call in kernel.body, f"the call of {call.name} stands in a loop", call)
    for tensor in (*call.inputs, *call.outputs):
        check(tensor in known, f"{tensor.name} is no tensor of the kernel", call)
    for tensor in call.outputs:
        check(
            tensor not in kernel.inputs and tensor not in call.inputs,
            f"{call.name} writes what it reads, {tensor.name}",
            call,
        )


def _verify_value(e: Expr, place: _Place) -> None:
    verify_expr(e, place.scope, place.tensors, in_kernel=True)


def _verify_loop(loop: For, place: _Place) -> None:
    _verify_value(loop.extent, place)
    check(loop.extent.dtype == I64, "an extent is i64", loop.extent)
    check(is_valid(loop.kind), f"no kind of loop {loop.kind}", loop.var)
    known = (
        isinstance(loop.extent, Const)
        or loop.kind not in (VECTOR, UNROLLED)
        and not isinstance(loop.kind, InstructionNest)
    )
    check(known, f"the extent of the {loop.kind} loop {loop.var.name} is not constant", loop.extent)


def _verify_store(store: Store, place: _Place) -> None:
    target = store.tensor
    check(target in place.tensors, f"{target.name} is not a tensor in scope", store.value)
    check(
        len(store.indices) == target.rank,
        f"{len(store.indices)} indices for {target.name} of rank {target.rank}",
        store.value,
    )
    check(store.update in UPDATES, f"no update {store.update}", store.value)
    check(not (store.is_start and store.update), f"a start of {target.name} is not an update", store.value)
    check(
        not (store.mode is NONTEMPORAL and store.update),
        f"an update of {target.name} reads what it writes, and is not non-temporal",
        store.value,
    )
    check(
        copy_of(store) is not None or store.update == "add" or store.mode is not ASYNCHRONOUS,
        f"{target.name} is computed, and only copies and products are asynchronous",
        store.value,
    )
    check(
        store.update in ATOMIC_UPDATES or store.mode is not ATOMIC,
        f"{target.name} is updated by {store.update}, which is not atomic",
        store.value,
    )
    for e in store.indices:
        _verify_value(e, place)
        check(e.dtype == I64, "an index is i64", e)
    for e in store.at:
        _verify_value(e, place)
        check(e.dtype == I64, "an instance is i64", e)
    _verify_value(store.value, place)
    check(
        store.value.dtype == target.dtype,
        f"{target.name} is {target.dtype}, its value {store.value.dtype}",
        store.value,
    )
