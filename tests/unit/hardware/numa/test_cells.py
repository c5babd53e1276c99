"""Reports of NUMA cells, in all forms of compute services."""

import json

import pytest

from nova_sched.hardware import reports
from nova_sched.hardware.numa.topology import HostTopology
from tests.builders.numa import FOUR_CORES
from tests.builders.numa import a_cell
from tests.builders.numa import a_topology
from tests.builders.values import is_fixed

FULL = a_cell(
    3, siblings=FOUR_CORES, pcpuset={0, 4}, cpuset={1, 5}, memory_usage=512,
    cpu_usage=7, pinned_cpus={4}, pages=[(4, 1024, 1, 2), (2048, 512)],
    networks=['physnet1'], tunneled=True, socket=1)


@pytest.fixture(autouse=True)
def _warn_anew():
    reports.warn_once.cache_clear()


def parsed(value):
    return HostTopology.of(json.dumps(value))


def test_current_report_is_read():
    topology = a_topology(FULL)

    assert topology.cells == (FULL,)
    assert topology.is_newer


def test_report_from_queens_has_one_set_of_cpus():
    topology = a_topology(a_cell(siblings=FOUR_CORES), newer=False)

    assert not topology.is_newer
    assert topology.cells[0].pcpuset == topology.cells[0].cpuset


def test_report_from_before_liberty_is_read():
    topology = parsed({'cells': [{
        'id': 1, 'cpus': '0-2,^1,8', 'cpu_usage': 5,
        'mem': {'total': 2048, 'used': 512}}]})

    assert topology.cells == (a_cell(1, {0, 2, 8}, cpu_usage=5, memory=2048,
                                     memory_usage=512),)
    assert not topology.is_newer


@pytest.mark.parametrize('pages, found', [
    ({'size_kb': 4, 'total': 256, 'used': 6}, (4, 256, 6, 0)),
    ({'size_kb': 1, 'total': 7}, (1, 7, 0, 0))])
def test_pages_from_before_liberty_have_none_reserved(pages, found):
    cell, = parsed({'cells': [{
        'id': 0, 'cpuset': [0], 'memory': 1, 'mempages': [pages]}]}).cells

    assert cell.pages[0] == found
    assert cell.pages[0].free == pages['total'] - pages.get('used', 0)


@pytest.mark.parametrize('text', [None, ''])
def test_null_is_no_topology(text):
    assert HostTopology.of(text) is None


@pytest.mark.parametrize('value', [
    None, 7, [], {}, {'cells': None}, {'cells': [7]},
    {'nova_object.data': []}, {'cells': [{}]},
    {'cells': [{'id': 0, 'cpuset': [0]}]},
    {'cells': [{'id': 'zero', 'cpuset': [0], 'memory': 1}]},
    {'cells': [{'id': True, 'cpuset': [0], 'memory': 1}]},
    {'cells': [{'id': 0, 'cpuset': 'all', 'memory': 1}]},
    {'cells': [{'id': 0, 'cpuset': [None], 'memory': 1}]},
    {'cells': [{'id': 0, 'cpuset': [0], 'memory': 1, 'siblings': [0]}]},
    {'cells': [{'id': 0, 'cpuset': [0], 'memory': 1, 'mempages': [
        {'size_kb': 0, 'total': 1}]}]},
    {'cells': [{'id': 0, 'cpuset': [0], 'memory': 1,
                'network_metadata': {'physnets': [7]}}]},
    {'cells': [{'id': 0, 'cpuset': [0], 'memory': 1}] * 2}], ids=str)
def test_unreadable_report_has_no_cells_and_is_logged(value, caplog):
    assert parsed(value).cells == ()
    assert 'unreadable numa_topology' in caplog.text


@pytest.mark.parametrize('text', ['{', '[' * 10000])
def test_invalid_json_has_no_cells(text, caplog):
    assert HostTopology.of(text).cells == ()
    assert 'no JSON text' in caplog.text


def test_each_fault_is_logged_once(caplog):
    for number in range(5):
        assert HostTopology.of(f'{{{number}').cells == ()

    assert len(caplog.records) == 1


def test_topologies_with_equal_text_are_equal():
    assert a_topology(FULL) == a_topology(FULL)
    assert hash(a_topology(FULL)) == hash(a_topology(FULL))
    assert a_topology(FULL) != a_topology(a_cell())


@pytest.mark.parametrize('newer', [True, False])
def test_text_follows_the_usage(newer):
    """Plug-ins read the text."""
    used = a_topology(a_cell(), newer=newer).with_cells([a_cell(cpu_usage=3)])

    assert HostTopology.of(used.text).cells[0].cpu_usage == 3
    assert HostTopology.of(used.text).is_newer == newer


@pytest.mark.parametrize(('siblings', 'newer', 'expected'), [
    ([{0, 1}, {2}], True, True), ([{0}, {1}], True, False), ([], True, False),
    ([{0, 1}], False, True), ([{0}, {1}], False, True), ([], False, False)])
def test_host_has_threads_if_cores_have_siblings(siblings, newer, expected):
    assert a_topology(a_cell(), a_cell(1, siblings=siblings),
                      newer=newer).has_threads == expected


def test_cells_are_immutable():
    """Hosts with equal text share them."""
    cell = a_cell(pages=[(4, 5)])

    assert cell.smallest_pages == (4, 5, 0, 0)
    assert is_fixed(cell)
