"""Aggregates and cell mappings while the API database is lost."""

import pytest

from nova_sched import exception
from nova_sched.inventory import api


class Reader:
    """An API database without cells that can become unreadable."""

    def __init__(self, has_api_database):
        self.has_api_database, self.is_there = has_api_database, True

    def api_stamp(self):
        if not self.is_there:
            raise exception.DatabaseUnavailable('gone')
        return 1

    def aggregates(self):
        return []

    def find_cells(self):
        return ()

    def host_cells(self):
        return {}


@pytest.mark.parametrize('apart', [True, False])
@pytest.mark.parametrize('was_read', [True, False])
def test_lost_api_database_keeps_last_data(apart, was_read):
    """Unless it is the database of the hosts as well."""
    reader = Reader(apart)
    found = api.ApiInventory(reader)
    if was_read:
        found.accept(found.read())
    reader.is_there = False

    if apart and was_read:
        assert found.read().cells == ()
    else:
        with pytest.raises(exception.DatabaseUnavailable):
            found.read()


def test_unreadable_aggregate_is_left_out(monkeypatch, caplog):
    rows = [{'id': number, 'uuid': uuid, 'name': 'x', 'hosts': ['a'],
             'metadata': {}} for number, uuid in enumerate(['one', 2.5])]
    monkeypatch.setattr(Reader, 'aggregates', lambda self: rows)
    found = api.ApiInventory(Reader(True)).read()

    assert list(found.by_id) == [0]
    assert caplog.messages[0].startswith('Aggregate 1 is left out: ')
