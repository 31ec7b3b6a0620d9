"""Through what a derivative flows: floats only, from the inputs asked for to the outputs asked
for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from texpr.ir.expr import Call, Cast, Compare, Expr, Node, Read, Reduce, Select, Tensor
from texpr.ir.tensor import Equation, Invoke, Program
from texpr.ir.traverse import children

SMOOTH_REDUCTIONS = ("sum", "prod", "max", "min")


def smooth_children(node: Node) -> tuple[Expr, ...]:
    """The operands whose small changes change the node's value."""
    match node:
        case Read(guard=guard):
            return () if guard is None or guard.value is None else (guard.value,)
        case Select(then=then, orelse=orelse):
            return then, orelse
        case Reduce(op=op, body=body):
            return (body,) if op in SMOOTH_REDUCTIONS else ()
        case Compare() | Call("detach"):
            return ()
        case Call("with_slope", (value, x, _)):
            return value, x
        case Cast() | Call() | Expr():
            below = children(node) if node.dtype.is_float else ()
            return tuple(c for c in below if isinstance(c, Expr) and c.dtype.is_float)
    return ()


def smooth_walk(root: Expr) -> list[Expr]:
    """The nodes that a derivative of `root` may flow through, every node after all that lie
    below it.
    """
    done: dict[int, Expr] = {}
    stack: list[tuple[Expr, bool]] = [(root, False)] if root.dtype.is_float else []
    while stack:
        node, ready = stack.pop()
        if id(node) in done:
            continue
        if ready:
            done[id(node)] = node
        else:
            stack.append((node, True))
            stack += [(child, False) for child in reversed(smooth_children(node))]
    return list(done.values())


def active_nodes(root: Expr, tensors: set[Tensor]) -> set[int]:
    """The ids of the nodes of `root` through which a derivative flows from one of `tensors`."""
    active: set[int] = set()
    for node in smooth_walk(root):
        if (isinstance(node, Read) and node.tensor in tensors) or any(
            id(child) in active for child in smooth_children(node)
        ):
            active.add(id(node))
    return active


def smooth_sources(equation: Equation | Invoke) -> tuple[Tensor, ...]:
    """The float tensors whose small changes change what the equation defines."""
    if isinstance(equation, Invoke):
        found: Iterable[Tensor] = equation.args
    else:
        found = (n.tensor for n in smooth_walk(equation.value) if isinstance(n, Read))
    return tuple(dict.fromkeys(t for t in found if t.dtype.is_float))


def reachable(starts: Iterable[Tensor], edges: Mapping[Tensor, Sequence[Tensor]]) -> set[Tensor]:
    """The starts and everything that edges lead to."""
    found, stack = set(starts), list(starts)
    while stack:
        new = [t for t in edges.get(stack.pop(), ()) if t not in found]
        found.update(new)
        stack += new
    return found


def active_tensors(
    equations: Sequence[Equation | Invoke], wrt: Sequence[Tensor], outputs: Sequence[Tensor]
) -> set[Tensor]:
    """The float tensors that depend on `wrt` and that `outputs` depend on."""
    uses: dict[Tensor, list[Tensor]] = {}
    users: dict[Tensor, list[Tensor]] = {}
    for equation in equations:
        for source in smooth_sources(equation):
            for target in equation.targets:
                if target.dtype.is_float:
                    uses.setdefault(target, []).append(source)
                    users.setdefault(source, []).append(target)
    return reachable(wrt, users) & reachable(outputs, uses)


def components(
    program_tensors: Iterable[Tensor], equations: Sequence[Equation | Invoke], active: set[Tensor]
) -> list[list[Tensor]]:
    """The active tensors, users before what they use; tensors that need each other (a
    recurrence, one call) together.
    """
    edges: dict[Tensor, list[Tensor]] = {t: [] for t in program_tensors if t in active}
    for equation in equations:
        defined = [t for t in equation.targets if t in active]
        for target in defined:
            edges[target] += [s for s in smooth_sources(equation) if s in active]
        if len(defined) > 1:
            for target, other in zip(defined, defined[1:] + defined[:1]):
                edges[target].append(other)
    return list(reversed(_strongly_connected(edges)))


def _strongly_connected(edges: Mapping[Tensor, Sequence[Tensor]]) -> list[list[Tensor]]:
    """Tarjan's algorithm without recursion; a component comes after those it points to.

    Source: Tarjan, Depth-first search and linear graph algorithms, SIAM J. Comput. 1972.
    """
    number: dict[Tensor, int] = {}
    low: dict[Tensor, int] = {}
    open_nodes: list[Tensor] = []
    closed: set[Tensor] = set()
    found: list[list[Tensor]] = []
    for root in edges:
        stack = [] if root in number else [(root, iter(edges[root]))]
        while stack:
            node, rest = stack[-1]
            if node not in number:
                number[node] = low[node] = len(number)
                open_nodes.append(node)
            for child in rest:
                if child not in number:
                    stack.append((child, iter(edges[child])))
                    break
                if child not in closed:
                    low[node] = min(low[node], number[child])
            else:
                stack.pop()
                if stack:
                    low[stack[-1][0]] = min(low[stack[-1][0]], low[node])
                if low[node] == number[node]:
                    cut = open_nodes.index(node)
                    found.append(open_nodes[cut:])
                    closed.update(open_nodes[cut:])
                    del open_nodes[cut:]
    return found


def all_tensors(program: Program) -> tuple[Tensor, ...]:
    """The tensors of a program, outputs first."""
    return tuple(dict.fromkeys((*program.outputs, *program.temporaries, *program.inputs)))
