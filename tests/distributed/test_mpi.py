"""Programs of several ranks on MPI."""

from __future__ import annotations

import pytest

from tests.distributed.mpi_world import launch, needs_mpi

pytestmark = needs_mpi


@pytest.mark.parametrize("ranks", [2, 3])
def test_collectives(ranks: int):
    found = launch("collectives.py", ranks)
    assert found.returncode == 0, found.stderr
    assert found.stdout == f"{ranks} ranks agree\n"
