"""Shared fixtures of this folder."""

import pytest

from nova_sched.db import changed_rows


@pytest.fixture(autouse=True)
def whole_reads(monkeypatch):
    """Make each read compare all rows, because tests edit rows by hand.

    tests/unit/db covers the selection of rows.
    """
    monkeypatch.setattr(changed_rows, 'SPAN', -1)
