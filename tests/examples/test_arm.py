"""A network is trained by code for AArch64 as it is here."""

from __future__ import annotations

import pytest

from examples import arm
from texpr.runtime import qemu


@pytest.mark.qemu
@pytest.mark.skipif(bool(qemu.missing()), reason=f"{qemu.missing()} is not installed")
def test_a_network_is_trained_elsewhere(capsys):
    pytest.importorskip("sklearn")
    assert arm.main(5, ["aarch64"]) == 0
    assert capsys.readouterr().out.startswith("aarch64: loss 2.3")
