"""The language: text to Programs, and listings back to Kernels.

`syntax.parser` makes a syntax tree (`syntax.tree`): Lark parses by `syntax/grammar.lark`, with the
tokens of `syntax.lexer` and the trees of `syntax.actions`; `syntax.serialization` ships its parser.
`elaboration.declaration.parse` gives the operators of a text with their signatures. `elaborate`
makes a Program of one: `elaboration.signatures` binds type variables, constants and sizes,
`elaboration.equation_elaboration` infers ranges and intermediates, `elaboration.scalars`,
`elaboration.reduction_elaboration`, `elaboration.function_calls` and `elaboration.typed_values` type
expressions, `elaboration.operator_calls` instantiates other operators. `listing.kernel` reads
listings, with the arithmetic of `listing.exact_expressions`. `python_form.operator` traces a Python
function to text, with the values of `python_form.traced` and the words of
`python_form.vocabulary`. Nothing recurses: expressions are elaborated by generators on a stack of
their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from texpr.support.late import offer_late

if TYPE_CHECKING:
    from texpr.lang.elaboration.axis_spec import AxisSpec
    from texpr.lang.elaboration.declaration import (
        ConstantSpec,
        InputSpec,
        Module,
        OpDeclaration,
        TypeVariableSpec,
        parse,
    )
    from texpr.lang.elaboration.elaborate import elaborate
    from texpr.lang.listing.kernel import parse_kernel
    from texpr.lang.python_form.operator import Traced, trace
    from texpr.lang.python_form.vocabulary import WORDS
    from texpr.lang.syntax.tree import Declaration, Tree, Use, Word

__all__ = [
    "AxisSpec",
    "ConstantSpec",
    "Declaration",
    "InputSpec",
    "Module",
    "OpDeclaration",
    "Traced",
    "Tree",
    "TypeVariableSpec",
    "Use",
    "WORDS",
    "Word",
    "elaborate",
    "parse",
    "parse_kernel",
    "trace",
]

offer_late(__name__)
