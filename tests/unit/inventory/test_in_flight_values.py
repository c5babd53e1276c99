"""What a pick in flight is, and what else is kept of one."""

import pickle

import pytest

from nova_sched import exception
from nova_sched.context import RequestContext
from nova_sched.inventory import api
from nova_sched.inventory import cell
from nova_sched.inventory.in_flight import InFlight
from nova_sched.inventory.in_flight import is_uuid
from nova_sched.inventory.ledger import UNSEEN
from nova_sched.inventory.ledger import Entry
from tests.builders.requests import a_request
from tests.builders.values import is_fixed


def a_pick():
    spec = a_request(memory_mb=5, vcpus=6, root_gb=7, ephemeral_gb=8)
    return InFlight('k', 'h', 'n', spec.demand(), None, 'g', 1.0)


def test_a_pick_knows_its_place_and_its_instance():
    made = a_pick()
    instance = made.instance()

    assert made.place == ('h', 'n')
    assert (instance.uuid, instance.host, instance.node) == ('k', 'h', 'n')
    assert (instance.memory_mb, instance.vcpus, instance.root_gb,
            instance.ephemeral_gb) == (5, 6, 7, 8)


def test_a_pick_is_changed_by_nobody_and_takes_no_more_than_its_values():
    """Records of decisions share it; there may be many thousands."""
    made = a_pick()

    assert made.place
    assert is_fixed(made)
    assert not hasattr(made, '__dict__')
    assert not hasattr(Entry(made), '__dict__')


def test_of_a_pick_nothing_has_shown_at_first():
    watched = Entry(a_pick())

    assert watched.placed.place
    assert watched.shown is None
    assert watched.elsewhere is UNSEEN
    assert watched.counts is True


@pytest.mark.parametrize(('key', 'expected'), [
    ('8d3f2c1e-0000-4000-8000-00000000000a', True), ('x' * 36, True),
    ('x' * 37, False), ('x\n', False), ('\xe9', False), (7, False),
    (None, False), (('x', 1), False)])
def test_only_what_may_be_a_uuid_is_asked_of_a_database(key, expected):
    assert is_uuid(key) is expected


def test_what_reads_have_found_is_changed_by_nobody():
    """Before it is taken it is looked at in several places."""
    lost = cell.CellInventory('cell', 1).lost()

    assert is_fixed(lost)
    assert (lost.found, lost.began, lost.located) == (None, 0.0, {})
    mapped = api.Mapped({})
    api.ApiInventory(None).take(mapped)
    assert is_fixed(mapped)
    assert (mapped.cells, mapped.cell_of, mapped.known, mapped.stamp) == (
        None, {}, {}, None)
    assert mapped.disabled == mapped.other_aggregates == frozenset()
    assert mapped.at < 0


class Reader:
    """An API database of no cells that can be read no more."""

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


@pytest.mark.parametrize('apart', [True, False])
@pytest.mark.parametrize('was_read', [True, False])
def test_an_api_database_that_is_gone_is_done_without_if_it_was_read(
        apart, was_read):
    """And if it is not the database of the hosts, too."""
    reader = Reader(apart)
    found = api.ApiInventory(reader)
    if was_read:
        found.take(found.read())
    reader.is_there = False

    if apart and was_read:
        assert found.read().cells == ()
    else:
        with pytest.raises(exception.DatabaseUnavailable):
            found.read()


def test_what_a_pick_keeps_of_its_request_has_no_token():
    spec_obj = a_request()
    spec_obj._context = RequestContext(auth_token='SECRET')

    assert b'SECRET' not in pickle.dumps(spec_obj.demand())
    assert spec_obj.demand().demand()._context is None
