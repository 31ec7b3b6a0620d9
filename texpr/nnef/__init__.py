"""Models in NNEF 1.0, the exchange format of the Khronos Group, both ways.

`load` reads a folder or an archive and gives a module like those of `texpr.nn`: called on arrays it
is compiled, its variables are parameters that a trainer changes. `save` writes what a module
computes.

* `model_containers`, `tensor_files`: bytes, whose sizes are checked before any memory is asked for.
* `syntax`: texts become trees.
* `operation_declarations`: what operations there are, with their parameters and defaults, in NNEF's own
  language (`standard.nnef`, `tract.nnef`). Some are defined there by others.
* `graph_evaluation`: the statements of a graph, fragments, arrays and conditions become calls in a program
  that is captured. Every other operation has a function in `operation_table`, entered there by the
  files of `operators`. What depends on nothing but constants is computed when the program is made.
* `nnef_export`, `writing`: programs become graphs, operators of the library by rules, all others by
  their equations.
* `nnef_model`: the module.
* `skriptnd`: operators in the language of NNEF 2.0, whose draft is at revision 8.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from texpr.support.late import offer_late
from texpr.support.suggest import suggest_names

if TYPE_CHECKING:
    from texpr.nnef.nnef_export import save
    from texpr.nnef.nnef_model import NnefModel, load
    from texpr.nnef.skriptnd.skript_library import load_skriptnd

__all__ = ["NnefModel", "load", "load_skriptnd", "save"]

suggest_names(__name__)
offer_late(__name__)
