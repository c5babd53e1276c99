"""``nova.scheduler.filters.utils``: functions that filters share."""

import importlib

import pytest

from nova_sched.compat import current_hosts
from tests.builders.hosts import a_host
from tests.builders.hosts import hosts

pytestmark = pytest.mark.usefixtures('fresh_nova_names')


@pytest.fixture
def utils():
    return importlib.import_module('nova.scheduler.filters.utils')


@pytest.fixture
def state():
    state, = hosts(a_host('h', aggregates=[
        {'zone': 'a, b', 'rack': '1'}, {'zone': 'c'}, {'rack': '2'}]),
        running={'u1': 'h'}).states()
    return state


def test_values_of_a_key_are_as_written(utils, state):
    assert utils.aggregate_values_from_key(state, 'zone') == {'a, b', 'c'}
    with current_hosts.using(state._snapshot):
        assert utils.aggregate_values_from_db(None, 'h', 'zone') == {
            'a, b', 'c'}
        assert utils.aggregate_values_from_db(None, 'z', 'zone') == set()


@pytest.mark.parametrize(('key', 'metadata'), [
    ((), {'zone': {'a', 'b', 'c'}, 'rack': {'1', '2'}}),
    ((None,), {'zone': {'a', 'b', 'c'}, 'rack': {'1', '2'}}),
    # Aggregates without the key are left out.
    (('zone',), {'zone': {'a', 'b', 'c'}, 'rack': {'1'}}),
    (('none has it',), {})])
def test_metadata_are_split_and_merged(utils, state, key, metadata):
    """A key that no aggregate has is an empty set."""
    merged = utils.aggregate_metadata_get_by_host(state, *key)

    assert merged == metadata
    assert merged['licences'] == set()


@pytest.mark.parametrize(('args', 'number'), [
    (({'9', '10'},), 9), ((set(), 5), 5), (({'1.5'}, None, float), 1.5),
    (({'9', '10'}, None, int, max), 10)])
def test_smallest_number_counts(utils, args, number):
    assert utils.validate_num_values(*args) == number
    with pytest.raises(ValueError):
        utils.validate_num_values({'1', 'x'}, 5)


@pytest.mark.parametrize(('types', 'flavor', 'found'), [
    ([], 5, False), ([5], 5, False), ([5], 6, True), ([5, 6], 5, True)])
def test_instances_of_other_flavors_are_found(utils, types, flavor, found):
    state, = hosts(a_host('h'), running={
        f'u{number}': {'host': 'h', 'instance_type_id': number}
        for number in types}).states()

    assert utils.other_types_on_host(state, flavor) is found


@pytest.mark.parametrize(('uuids', 'found'), [
    ('u1', True), (['u2', 'u1'], True), (['u2'], False), ([], False)])
def test_instances_on_a_host_are_found(utils, state, uuids, found):
    assert utils.instance_uuids_overlap(state, uuids) is found
