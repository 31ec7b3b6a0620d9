"""Models in ONNX, both ways.

`load` reads a file and gives a module like those of `texpr.nn`: called on arrays it is compiled,
its initializers are parameters that a trainer changes. `save` writes what a module or a function
computes.

* `read`: files become checked protobufs; all that is unsupported is listed at once.
* `check`: nodes against ONNX's own definitions, and sizes against limits, before any memory is
  asked for.
* `run`: the nodes of a graph become operators of a program that is captured. Every operator has a
  function in `converters`, entered there by the files of `operators`; others that ONNX defines by
  simpler ones are computed by that definition. What depends on nothing but constants is computed
  when the program is made, so shapes are numbers.
* `export`, `writing`: programs of calls become graphs, by a table of the library's operators and by
  the equations of all others.
* `model`: the module. Inputs whose values decide shapes or branches are part of the program: there
  is one for each value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from texpr.support.late import offer_late
from texpr.support.suggest import suggest_names

if TYPE_CHECKING:
    from texpr.onnx.model import OnnxModel, load
    from texpr.onnx.model_errors import UnsupportedOp
    from texpr.onnx.model_export import save
    from texpr.support.extras import MissingExtra

__all__ = ["MissingExtra", "OnnxModel", "UnsupportedOp", "load", "save"]

suggest_names(__name__)
offer_late(__name__)
