"""A network is trained by code for ARM processors as it is here."""

from __future__ import annotations

import pytest

from examples import arm
from texpr.runtime.process import qemu


@pytest.mark.qemu
@pytest.mark.parametrize("target, processor", (("aarch64", "aarch64"), ("armv7", "armv7")))
def test_a_network_is_trained_elsewhere(target: str, processor: str, capsys):
    pytest.importorskip("sklearn")
    if qemu.missing_tool(processor):
        pytest.skip(f"{qemu.missing_tool(processor)} is not installed")
    assert arm.main(5, [target]) == 0
    assert capsys.readouterr().out.startswith(f"{target}: loss 2.3")
