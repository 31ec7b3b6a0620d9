"""PyTorch's archives of exported programs (`.pt2`), read without PyTorch.

`load` reads what `torch.export.save` has written and gives a module like those of `texpr.nn`: called
on arrays it is compiled, its parameters and buffers have the names of the PyTorch module.

* `zip_members`: the file as named parts, each checked against the size of the file; `weights`:
  tensors in it. Nothing is unpickled.
* `json_reading`: values of a JSON document that know where they stand; `program_text`: the document
  as graphs, nodes and arguments.
* `converters_of_aten`: the table of operators; `aten`: its entries, by subject.
* `aten_conversion`: nodes of a graph become operators of a program that is captured. Sizes are numbers
  then: there is one program for each shape of the inputs.
* `exported_module`: the module.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from texpr.support.late import offer_late
from texpr.support.suggest import suggest_names

if TYPE_CHECKING:
    from texpr.pt2.exported_module import ExportedModule, load
    from texpr.pt2.unknown_operators import UnknownOperators

__all__ = ["ExportedModule", "UnknownOperators", "load"]

suggest_names(__name__)
offer_late(__name__)
