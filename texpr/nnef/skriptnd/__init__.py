"""Operators in SkriptND, the language of NNEF 2.0, become operators of texpr: for shapes and attributes,
as text of the language.

* `skript_library`: files, and what is called.
* `shape_binding`: what an invocation says about the names of a definition.
* `expression_evaluation`, `scalar_terms`: what is known is computed, what is not becomes terms.
  `size_polynomials` are sizes and indices, `runtime_terms` the other values.
* `formula_equations`: `@lower` becomes equations.
* `composed_operators`, `component_steps`: `@compose` becomes equations of the operators in it; a loop
  becomes a recurrence.
* `operator_text`: names, declarations, conditions, the text.
"""
