"""Loop-invariant code motion: reads that innermost loops repeat at the same place are done once,
before them, with the values computed of them alone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import count

from texpr.ir.build import integer
from texpr.ir.expr import Call, Const, Expr, Node, Read, Select, Tensor, Var
from texpr.ir.loop import Alloc, For, If, Kernel, Stmt, Store
from texpr.ir.loop_kind import SERIAL, VECTOR, InstructionNest, has_lanes
from texpr.ir.traverse import children, is_plain, rewrite, statements, tensors, variables, walk
from texpr.support.frozen_dataclass import replace


def invariants_first(kernel: Kernel, most: int) -> Kernel:
    """for k in 0..n: S(f(A[i]), k)   ->   let t   t[] = f(A[i])   for k in 0..n: S(t[], k)

    Loop-invariant code motion elsewhere. A value is moved where every iteration needs it, and some
    iteration runs, so that nothing is read that was not read before. It goes on outwards over loops
    that hold nothing else that counts: before others it would take a register from them. Arithmetic
    that reads no memory is left to code generation, which moves it by itself.

    Args:
        most: values that a loop may be relieved of. Of more none is moved: they would wait on the
            stack.
    """
    made: set[Tensor] = set()
    taken = {t.name for t in (*kernel.inputs, *kernel.outputs, *kernel.temporaries, *tensors(*kernel.body))}
    names = (name for k in count() if (name := f"once{k}") not in taken)

    def rule(node: Node) -> Node | None:
        if not isinstance(node, For | If | Kernel):
            return None
        body = [
            new for s in node.body for new in (_apart(s, made, names, most) if isinstance(s, For) else (s,))
        ]
        return None if len(body) == len(node.body) else replace(node, body=tuple(body))

    return rewrite(kernel, rule, keep=lambda n: is_plain(n) or _is_one(n))  # type: ignore[return-value]


def _is_one(node: Node) -> bool:
    """True if all iterations run at once: each lane would need a scalar of its own."""
    return isinstance(node, For) and (has_lanes(node.kind) or isinstance(node.kind, InstructionNest))


def _apart(loop: For, made: set[Tensor], names: Iterator[str], most: int) -> Sequence[Stmt]:
    """The statements computed before a loop, and the loop with the rest.

    Args:
        made: the scalars of this pass, to which more are added.
        names: for those.
    """
    if loop.kind != SERIAL or (integer(loop.extent) or 0) < 1:
        return (loop,)
    if any(isinstance(s, For) and s.kind != VECTOR for s in loop.body) and not any(
        isinstance(s, Store) and s.tensor in made for s in loop.body
    ):
        return (loop,)
    below = list(statements(*loop.body))
    own = frozenset({loop.var, *(n.var for n in below if isinstance(n, For))})
    written = frozenset(s.tensor for s in below if isinstance(s, Store))
    parts = {s: list(_invariant(s.value, own, written)) for s in _stores(loop, below, made)}
    whole = {s.tensor for s, found in parts.items() if s.tensor in made and found == [s.value]}
    values = dict.fromkeys(v for s, found in parts.items() if s.tensor not in whole for v in found)
    same: dict[object, Expr] = {}
    for v in values:
        same.setdefault(_key(v), v)
    if not whole and not values or len(same) > most:
        return (loop,)
    scalars = {key: Tensor(next(names), v.dtype, (), scope="stack") for key, v in same.items()}
    made.update(scalars.values())
    moved = [s for s in loop.body if isinstance(s, Alloc | Store) and s.tensor in whole]
    moved += [s for key, t in scalars.items() for s in (Alloc(t), Store(t, (), same[key], equation=-1))]
    rest = replace(loop, body=tuple(s for s in loop.body if s not in moved))
    return *moved, _with(rest, {v: scalars[_key(v)] for v in values})


def _key(value: Expr) -> object:
    """Equal for reads that are seen to be of one element, which texts write again and again;
    else the value itself.
    """
    if isinstance(value, Read) and all(isinstance(i, Var | Const) for i in value.indices):
        return value.tensor, tuple(i if isinstance(i, Var) else i.value for i in value.indices)  # type: ignore[union-attr]
    return value


def _with(loop: For, scalars: Mapping[Expr, Tensor]) -> For:
    """The loop with scalars in the place of values, of which some may be parts of others: the
    largest first.
    """
    while scalars:
        inside = {n for v in scalars for n in walk(*children(v))}
        reads: dict[Node, Node] = {v: Read(t) for v, t in scalars.items() if v not in inside}
        loop = rewrite(loop, reads.get)
        scalars = {v: t for v, t in scalars.items() if v in inside}
    return loop


def _stores(loop: For, below: Sequence[Stmt], made: Collection[Tensor]) -> Iterator[Store]:
    """The stores of every iteration of an innermost loop; of a loop around one, those that were
    moved there.
    """
    counting = [n for n in below if isinstance(n, For) and n.kind != VECTOR]
    for s in loop.body:
        if counting:
            inside: Sequence[Stmt] = (
                (s,) if len(counting) == 1 and isinstance(s, Store) and s.tensor in made else ()
            )
        else:
            inside = s.body if isinstance(s, For) and (integer(s.extent) or 0) >= 1 else (s,)
        yield from (each for each in inside if isinstance(each, Store))


def _invariant(root: Expr, own: frozenset[Var], written: frozenset[Tensor]) -> Iterator[Expr]:
    """The largest parts of a value that read memory and are the same in all iterations, but for
    what one side alone of a choice reads.
    """
    if all(
        _moves(read, own) for read in _reads(root)
    ):  # as in most values: this is found out faster than what follows
        return
    stack, seen = [root], set()
    while stack:
        e = stack.pop()
        if id(e) in seen:
            continue
        seen.add(id(e))
        read = tensors(e)
        if read and own.isdisjoint(variables(e)) and written.isdisjoint(read):
            yield e
        elif isinstance(e, Select):
            stack.append(e.cond)
        elif read and not (isinstance(e, Read) or (isinstance(e, Call) and e.function == "rarely")):
            stack += [c for c in children(e) if isinstance(c, Expr)][::-1]


def _reads(root: Expr) -> Iterator[Read]:
    """The reads of a value, those of their indices aside."""
    stack: list[Node] = [root]
    seen: set[Node] = set()
    while stack:
        e = stack.pop()
        if type(e) is Read:
            yield e
        elif e not in seen:
            seen.add(e)
            stack += children(e)


def _moves(read: Read, own: frozenset[Var]) -> bool:
    """True if a variable of the loop is seen in the indices of a read."""
    return any(type(n) is Var and n in own for n in walk(*read.indices))
