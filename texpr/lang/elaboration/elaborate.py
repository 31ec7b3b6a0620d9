"""Operators to Programs: dtypes and constants filled in, names resolved, ranges and shapes
inferred, calls instantiated.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from texpr.ir.build import FALSE, TRUE
from texpr.ir.dtypes import DTYPES, U64, DType, int_range
from texpr.ir.expr import Call, Const, Expr, Read, Reduce, Tensor
from texpr.ir.tensor import Equation, Invoke, Program
from texpr.ir.traverse import walk
from texpr.lang.elaboration.declaration import OpDeclaration
from texpr.lang.elaboration.equation_elaboration import equations_of, ordered
from texpr.lang.elaboration.function_calls import YIELDING, check_call_of_library, is_scalar_function
from texpr.lang.elaboration.likely import advised_let, likely_type
from texpr.lang.elaboration.name_scope import OUTSIDE, Names, names_in, shown
from texpr.lang.elaboration.operator_calls import invoke
from texpr.lang.elaboration.scalars import Scalars
from texpr.lang.elaboration.self_reference import circular
from texpr.lang.elaboration.signatures import (
    bind_constants,
    bind_dtypes,
    bind_sizes,
    check_factors,
    check_packs,
    tensor,
)
from texpr.lang.elaboration.typed_values import Arithmetic, Value
from texpr.lang.elaboration.verified_fixes import try_fixes
from texpr.lang.syntax import tree
from texpr.lang.syntax.advice import letters
from texpr.passes.analysis.substitution import over_tensors
from texpr.poly import check_program
from texpr.support.errors import CheckError, ResourceError
from texpr.support.fixes import Declare, Define, Fix
from texpr.support.frozen_dataclass import replace
from texpr.support.source import Span

MAX_CALL_DEPTH = 40
MAX_EQUATIONS = 20_000
"""Of an operator, with those of all calls: 40 operators that call the one before twice would
have a million millions.
"""
Resolve = Callable[[str], OpDeclaration | None]
Constants = Mapping[str, int | float | bool]


def elaborate(
    declaration: OpDeclaration,
    dtypes: Mapping[str, DType],
    constants: Constants,
    absent: frozenset[str] = frozenset(),
    resolve: Resolve | None = None,
) -> Program:
    """The Program of an operator for given type variables and constants.

    Args:
        absent: optional inputs that are not passed; reads of them give their defaults.
        resolve: finds operators of other texts by name.
    Raises:
        CheckError: the operator means nothing, with these dtypes and constants or at all; or a
            proof for all sizes fails. Its help is what works.
    """

    def made(wanted: OpDeclaration) -> Program:
        session = _Session(resolve or (lambda name: None), check_program)
        return session.program(wanted, dict(dtypes), dict(constants), absent, None)

    try:
        return made(declaration)
    except CheckError as error:
        try_fixes(error, declaration, made)
        raise


def unproven(declaration: OpDeclaration, dtypes: Mapping[str, DType], constants: Constants) -> Program:
    """As `elaborate`, without the proofs: for texts that passes write, and what the proofs themselves
    are tested with.
    """
    return _Session(lambda name: None, lambda program: ()).program(
        declaration, dict(dtypes), dict(constants), frozenset(), None
    )


class _Session:
    """One call of `elaborate`: instances made so far, and the operators being made.

    Attributes:
        prove: raises CheckError, or gives the conditions on sizes that the proofs of a Program
            need.
    """

    def __init__(self, resolve: Resolve, prove: Callable[[Program], tuple[Expr, ...]]) -> None:
        self.resolve, self.prove = resolve, prove
        self.instances: dict[object, Program] = {}
        self.making: list[OpDeclaration] = []
        self._sizes: dict[int, tuple[Program, int]] = {}

    def count(self, program: Program) -> None:
        """Refuse a program that has too many equations where all that it calls is written out."""
        known = (
            self._sizes.get(id(e.program), (None, 1))[1] if isinstance(e, Invoke) else 1
            for e in program.equations
        )
        total = sum(known)
        if total > MAX_EQUATIONS:
            raise ResourceError(
                f"`{program.name}` has more than {MAX_EQUATIONS:,} equations with those of what it calls",
                program.span,
                code="quota",
                help="a call stands for all equations of an operator: call it once, read its result twice",
            )
        self._sizes[id(program)] = program, total

    def program(
        self,
        declaration: OpDeclaration,
        dtypes: dict[str, DType],
        constants: dict[str, int | float | bool],
        absent: frozenset[str],
        span: Span | None,
    ) -> Program:
        key = (
            declaration,
            tuple(sorted(dtypes.items(), key=lambda item: item[0])),
            tuple((n, type(v), v) for n, v in sorted(constants.items())),
            absent,
        )
        if key not in self.instances:
            if declaration in self.making:
                chain = " -> ".join(
                    d.name for d in (*self.making[self.making.index(declaration) :], declaration)
                )
                raise CheckError(
                    f"`{declaration.name}` calls itself: {chain}",
                    span,
                    code="call",
                    help="operators do not recurse",
                )
            if len(self.making) >= MAX_CALL_DEPTH:
                raise ResourceError(f"operators call each other more than {MAX_CALL_DEPTH} deep", span)
            self.making.append(declaration)
            self.instances[key] = _Elaboration(declaration, self).program(dtypes, constants, absent)
            self.making.pop()
        return self.instances[key]


class _Elaboration:
    """One operator on its way to a Program."""

    def __init__(self, declaration: OpDeclaration, session: _Session) -> None:
        self.declaration, self.session = declaration, session
        self.names = Names()
        self.scalars = Scalars(
            self.names,
            declaration.module.functions,
            Arithmetic(),
            lambda name: self.operator(name) is not None,
            in_library=declaration.module.in_library,
        )
        self.requires: list[Expr] = []

    def operator(self, name: str) -> OpDeclaration | None:
        module = self.declaration.module
        return module.ops.get(name) or module.imported.get(name) or self.session.resolve(name)

    def program(
        self, dtypes: dict[str, DType], constants: dict[str, int | float | bool], absent: frozenset[str]
    ) -> Program:
        op = self.declaration.tree
        bind_dtypes(op, dtypes, self.names)
        bound = bind_constants(op, constants, self.scalars)
        present = [d for d in op.inputs if d.default is None or d.name.text not in absent]
        lets = [s.declaration for s in op.body or () if isinstance(s, tree.Let)]
        check_packs([*op.inputs, *op.outputs, *lets])
        sizes = bind_sizes(present, self.names)
        check_factors(present, self.names)
        inputs = self._inputs(op, absent)
        outputs = tuple(self._declare(d) for d in op.outputs)
        for condition in op.requires:
            self._require(condition)
        for d in lets:
            self._declare(d)
        equations = self._equations(op, {t.name for t in inputs} | absent)
        if op.body is not None:
            self._all_defined(op, equations)
        filled = (*bound, *((v.name.text, self.names.dtypes[v.name.text]) for v in op.type_variables))
        program = Program(
            op.name.text,
            inputs,
            outputs,
            equations,
            sizes,
            tuple(self.requires),
            filled,
            self.declaration.doc,
            op.name.span,
        )
        program = over_tensors(program, self.names.refined) if self.names.refined else program
        self.session.count(program)  # before anything is proven of it
        implied = self.session.prove(program)
        whole = replace(program, requires=(*program.requires, *implied)) if implied else program
        self.session.count(whole)
        return whole

    def _declare(self, d: tree.Declaration) -> Tensor:
        self.names.declare(d.name.text, d.name.span)
        made = tensor(d, self.scalars)
        self.names.tensors[d.name.text] = made
        return made

    def _inputs(self, op: tree.Operator, absent: frozenset[str]) -> tuple[Tensor, ...]:
        inputs: list[Tensor] = []
        for d in op.inputs:
            made = self._declare(d)
            if d.default is not None and d.name.text in absent:
                self.names.defaults[d.name.text] = self._default(d, d.default, made)
                continue
            inputs.append(made)
            if not made.dims and made.dtype.is_int and made.dtype != U64:
                self.names.parameters.add(made)
        return tuple(inputs)

    def _default(self, d: tree.Declaration, node: tree.Tree, made: Tensor) -> Value:
        value = self.scalars.arithmetic.store(
            self.scalars.value(node, OUTSIDE.as_value()), made.dtype, node.span
        )
        if not isinstance(value, Const):
            raise CheckError(f"the default of `{d.name.text}` is not a number", node.span, code="constant")
        return Value(value)

    def _require(self, node: tree.Tree) -> None:
        condition = self.scalars.condition(node, OUTSIDE)
        read = next((n for n in walk(condition) if isinstance(n, Read)), None)
        if read is not None:
            raise CheckError(
                f"a requirement is about sizes and constants; this one reads `{read.tensor.name}`",
                node.span,
                code="require",
                help=f"a range of values belongs to the declaration: {read.tensor.name}: "
                f"{read.tensor.dtype}[...] in 0..n",
            )
        opaque = next(
            (
                n
                for n in walk(condition)
                if isinstance(n, Reduce) or isinstance(n, Call) and n.function != "abs"
            ),
            None,
        )
        if opaque is not None:
            what = opaque.op if isinstance(opaque, Reduce) else opaque.function
            raise CheckError(
                f"`{what}` in a requirement",
                node.span,
                code="require",
                help="requirements compare sizes and constants, made of + - * // % min max abs and if",
            )
        if condition is FALSE:
            constants = self.names.constants.items()
            values = ", ".join(
                f"{name} = {value.expr.value}" for name, value in constants if isinstance(value.expr, Const)
            )
            raise CheckError(
                f"`{node.span.text}` does not hold",
                node.span,
                code="require",
                notes=(f"at {values}",) if values else (),
            )
        if condition is not TRUE:
            self.requires.append(condition)

    def _equations(self, op: tree.Operator, inputs: set[str]) -> tuple[Equation | Invoke, ...]:
        statements = [e for e in op.body or () if isinstance(e, tree.Equation)]
        check_updates(statements, inputs, self.names)
        made: dict[int, list[Equation | Invoke]] = {}
        for statement in definitions_first(statements, self.names, self._is_whole_call):
            made[id(statement)] = self._statement(statement)
        return ordered([e for statement in statements for e in made[id(statement)]])

    def _statement(self, node: tree.Equation) -> list[Equation | Invoke]:
        call = node.value
        if self._is_whole_call(node):
            assert isinstance(call, tree.Call)
            callee = self.operator(call.name.text)
            assert callee is not None
            return [invoke(node, call, callee, self.scalars, self.requires, self.session.program)]
        if isinstance(call, tree.Call) and all(not t.indices for t in node.targets):
            check_call_of_library(self.scalars, call)
        return [*equations_of(node, self.scalars)]

    def _is_whole_call(self, node: tree.Equation) -> bool:
        return (
            isinstance(node.value, tree.Call)
            and all(not t.indices for t in node.targets)
            and self._is_invoke(node.value)
        )

    def _is_invoke(self, call: tree.Call) -> bool:
        """An operator of the text comes before a scalar function only where whole tensors are
        passed; before one that the language did not always have, those of rank 0 too.
        """
        name = call.name.text
        if (
            name in self.declaration.module.functions
            or name in self.names.dtypes
            or self.operator(name) is None
        ):
            return False
        if not is_scalar_function(name):
            return True
        tensors = [self.names.tensors.get(a.text) for a in call.arguments if isinstance(a, tree.Name)]
        return any(t is not None and (t.dims or name in YIELDING) for t in tensors)

    def _all_defined(self, op: tree.Operator, equations: tuple[Equation | Invoke, ...]) -> None:
        defined = {t for e in equations for t in e.targets}
        lets = [s.declaration for s in op.body or () if isinstance(s, tree.Let)]
        for d in (*op.outputs, *lets):
            if self.names.tensors[d.name.text] not in defined:
                kind = "output" if d in op.outputs else "intermediate"
                indices = letters(len(d.type.dims))
                left = f"{d.name.text}[{indices}]" if indices else d.name.text
                declared = {x.name.text for x in (*op.outputs, *lets)}
                meant = next(
                    (t for t in defined if t.name not in declared and t.name.lower() == d.name.text.lower()),
                    None,
                )
                notes = (
                    shown(f"`{meant.name}` is another name", meant.span)
                    if meant is not None and meant.span is not None
                    else ()
                )
                raise CheckError(
                    f"the {kind} `{d.name.text}` has no equation",
                    d.span,
                    code="coverage",
                    notes=notes,
                    help=f"write {left} = ...",
                )


def check_updates(statements: list[tree.Equation], inputs: set[str], names: Names) -> None:
    """Updates fold into what one plain equation has defined; one operator per tensor; the right
    side does not read the tensor.
    """
    first: dict[str, tree.Equation] = {}
    operator: dict[str, str] = {}
    for node in statements:
        for target in node.targets:
            name = target.name.text
            if name in inputs:
                raise CheckError(f"`{name}` is an input and cannot be defined", target.span, code="name")
            if name in names.constants or name in names.sizes:
                raise CheckError(f"`{name}` is not a tensor", target.span, code="name")
            if node.update == "=":
                _check_definition(name, node, target, first, operator, names)
                first.setdefault(name, node)
                continue
            if name not in first:
                raise CheckError(
                    f"`{name}` has no start value",
                    target.span,
                    code="coverage",
                    fixes=_first_definition(node, name, names),
                )
            if operator.setdefault(name, node.update) != node.update:
                raise CheckError(
                    f"`{name}` is updated by `{operator[name]}` and by `{node.update}`",
                    target.span,
                    code="coverage",
                    help="one operator per tensor; use an intermediate",
                )
            used = names_in(node.value)
            if name in used:
                raise CheckError(
                    f"an update of `{name}` reads `{name}`",
                    used[name],
                    code="coverage",
                    help="`+=` folds in values that do not depend on the order; read another tensor",
                )


def _first_definition(node: tree.Equation, name: str, names: Names) -> list[Fix]:
    """Advise the value that an update begins with."""
    known = names.tensors.get(name)
    indices = letters(len(node.targets[0].indices if known is None else known.dims))
    left = f"{name}[{indices}]" if indices else name
    if known is not None:
        begun = f"{left} = {_start(node.update, known.dtype)}"
        return [Fix(f"before `{node.update}`, define it: {begun}", (Define(begun),))]
    shape = likely_type(node, names)
    begun = f"{left} = {_start(node.update, DTYPES.get(shape.partition('[')[0]))}"
    return [
        Fix(f"declare it, let {name}: {shape}, and write {begun}", (Declare(name, shape), Define(begun))),
        Fix(f"declare it, and define it before `{node.update}`"),
    ]


def _start(update: str, t: DType | None) -> str:
    """The neutral element of an update, as text."""
    if update in ("+=", "*="):
        return "0" if update == "+=" else "1"
    if t is None or t.is_float:
        return "-inf" if update == "max=" else "inf"
    return str(int_range(t)[update == "min="]) if t.is_int else "false" if update == "max=" else "true"


def _check_definition(
    name: str,
    node: tree.Equation,
    target: tree.Target,
    first: dict[str, tree.Equation],
    operator: dict[str, str],
    names: Names,
) -> None:
    if name in operator:
        raise CheckError(
            f"`{name}` is defined after it is updated",
            target.span,
            code="coverage",
            help=f"put `=` before `{operator[name]}`",
        )
    if name in first and name not in names.tensors:
        place = first[name].span
        raise CheckError(
            f"`{name}` has two equations and no declaration",
            target.span,
            code="shape",
            label="second",
            notes=shown("first", place),
            fixes=advised_let("declare its shape: ", name, likely_type(node, names)),
        )


def definitions_first(
    statements: list[tree.Equation], names: Names, is_call: Callable[[tree.Equation], bool]
) -> list[tree.Equation]:
    """The statements so that what defines a tensor comes before what reads it, where it says its
    shape or, as a call, its range.
    """
    defining = {
        t.name.text: s
        for s in statements
        for t in s.targets
        if t.name.text not in names.tensors or is_call(s)
    }
    result: dict[int, tree.Equation] = {}
    for start in statements:
        path: dict[int, tree.Equation] = {}
        stack = [(start, False)]
        while stack:
            statement, ready = stack.pop()
            if ready:
                path.pop(id(statement))
                result[id(statement)] = statement
            elif id(statement) not in result:
                path[id(statement)] = statement
                stack.append((statement, True))
                for needed in _needed(statement, defining):
                    if id(needed) in path:
                        if needed is statement or any(t.name.text in names.tensors for t in needed.targets):
                            # its shape is known, or its own to say: whether there is an order is
                            # for the proofs to say
                            continue
                        raise circular(needed, names)
                    stack.append((needed, False))
    return list(result.values())


def _needed(statement: tree.Equation, defining: dict[str, tree.Equation]) -> list[tree.Equation]:
    found: dict[str, Span] = {}
    for target in statement.targets:
        for node in target.indices:
            found |= names_in(node)
    found |= names_in(statement.value)
    for extra in (*statement.ranges, *([statement.where] if statement.where else [])):
        found |= names_in(extra)
    return [defining[name] for name in found if name in defining]
