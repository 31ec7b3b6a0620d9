"""Programs and what they mean.

Two IRs share one scalar expression language (`expr`). Tensor IR (`tensor`) says what: equations and
calls of operators, in no order; it prints as the DSL. Loop IR (`loop`) says how: a tree of loops,
conditions and stores. Nodes are frozen and compared by identity; `equal` compares structure.
`walk`, `rewrite` and `substitute` (`traverse`) never recurse. `interpreter.tensor` runs both IRs
and is the definition of correct; `verifier.program` says what a well-formed program is.

A pack `*S` is one dimension here, whatever its rank at a call: the call boundary reshapes. A
grouped dimension `(C, H)` is two dimensions here and one to callers. `Tensor.dims` keeps what
callers see, `Tensor.shape` what programs see.
"""
