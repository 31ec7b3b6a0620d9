"""Networks of users, whose training `bench scaling` predicts: a function of theirs makes all parts."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from texpr import nn
from texpr.support.errors import CallError
from texpr.support.once import once
from texpr.tools.bench.scaling_networks import Parts


class OwnNetwork:
    """A network that a function makes, with its loss, optimizer, and a batch.

    Args:
        place: `FILE.py:FUNCTION` or `MODULE:FUNCTION`.
    Attributes:
        name: of the function.
    """

    def __init__(self, place: str) -> None:
        self._place = place
        self._source, colon, self.name = place.rpartition(":")
        if not colon or not self._source or not self.name.isidentifier():
            raise self.error("expected FILE.py:FUNCTION or MODULE:FUNCTION")

    @once
    def _function(self) -> Callable[[], Any]:
        """The function.

        Raises:
            CallError: there is no such file, module or function, or it cannot be imported.
        """
        try:
            found = getattr(self._module(), self.name, None)
        except Exception as error:  # whatever the module raises
            raise self.error(f"{type(error).__name__}: {error}") from error
        if not callable(found):
            raise self.error(f"there is no function `{self.name}`")
        return found

    def _module(self) -> ModuleType:
        path = Path(self._source)
        if path.suffix != ".py":
            sys.path.insert(0, "")
            return importlib.import_module(self._source)
        if not path.is_file():
            raise FileNotFoundError(f"there is no file {path}")
        sys.path.insert(0, str(path.parent))  # as Python does for a script
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None and spec.loader is not None
        module = sys.modules[path.stem] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    def parts(self) -> Parts:
        """The parts that the function gives, the same each time.

        Raises:
            CallError: it fails, or gives something else.
        """
        nn.manual_seed(0)
        function = self._function
        try:
            found = function()
        except Exception as error:  # whatever the function raises
            raise self.error(f"{type(error).__name__}: {error}") from error
        if not isinstance(found, tuple) or len(found) != 5:
            raise self.error(f"{_EXPECTED}, not {_said(found)}")
        model, loss, optimizer, x, y = found
        if (
            not isinstance(model, nn.Module)
            or not callable(loss)
            or not isinstance(optimizer, nn.optim.Optimizer)
        ):
            raise self.error(f"{_EXPECTED}, not {_said(found)}")
        return model, loss, optimizer, x, y

    def error(self, why: str) -> CallError:
        """An error of this network."""
        return CallError(f"--network {self._place}: {why}", code="arguments")


_EXPECTED = "the function is to give a model, a loss, an optimizer, data and targets"


def _said(found: object) -> str:
    if not isinstance(found, tuple):
        return type(found).__name__
    return f"({', '.join(type(each).__name__ for each in found)})"
