"""The fixture ``leasehold_world`` for pytest, which finds it by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from . import World


@pytest.fixture
def leasehold_world() -> World:
    """A world of three nodes, whose time stands still."""
    from . import World

    return World(3)
