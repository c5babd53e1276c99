"""What tests of this folder have in common."""

import pytest

from nova_sched.db import changed_rows


@pytest.fixture(autouse=True)
def whole_reads(monkeypatch):
    """Each read compares all rows: here they are edited by hand.

    Which rows a read would otherwise look at: tests/unit/db.
    """
    monkeypatch.setattr(changed_rows, 'SPAN', -1)
