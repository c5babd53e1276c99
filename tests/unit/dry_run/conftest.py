"""Restoring of limits after dry runs."""

import pytest

from nova_sched.compat.nova import reach


@pytest.fixture(autouse=True)
def plug_ins():
    """Lifts the limits of plug-ins after a test."""
    yield
    reach.limit(None)
