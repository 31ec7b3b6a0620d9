"""The language: text to Programs, and listings back to Kernels.

`lexer` and `parser` make a syntax tree (`tree`) with the LALR(1) tables that `generate` wrote from `grammar.lark`; Lark itself is
needed only to regenerate them. `declaration.parse` gives the operators of a text with their signatures. `elaborate` makes a Program
of one: `shapes` binds type variables, constants and sizes, `equations` infers ranges and intermediates, `scalars`, `reductions`,
`functions` and `values` type expressions, `calls` instantiates other operators. `kernel` reads listings, with the arithmetic of
`exact`. `python` traces a Python function to text, with the values of `traced` and the words of `vocabulary`. Nothing recurses:
expressions are elaborated by generators on a stack of their own.
"""

from texpr.lang.elaboration.declaration import ConstantSpec, InputSpec, Module, OpDeclaration, TypeVariableSpec, parse
from texpr.lang.elaboration.elaborate import elaborate
from texpr.lang.elaboration.pack_splits import AxisSpec
from texpr.lang.listing.kernel import parse_kernel
from texpr.lang.python_form.operator import Traced, trace
from texpr.lang.python_form.vocabulary import WORDS
from texpr.lang.syntax.tree import Declaration, Tree, Use, Word

__all__ = [
    "AxisSpec", "ConstantSpec", "Declaration", "InputSpec", "Module", "OpDeclaration", "Traced", "Tree", "TypeVariableSpec", "Use", "WORDS",
    "Word", "elaborate", "parse", "parse_kernel", "trace",
]
