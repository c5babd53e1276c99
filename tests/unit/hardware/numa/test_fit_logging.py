"""The DEBUG lines about guest cells that are tried on host cells."""

import json
import logging

import pytest

from nova_sched.hardware.numa import cell_fit
from nova_sched.hardware.numa import guest as numa_guest
from nova_sched.hardware.numa import topology
from nova_sched.hardware.numa.topology import Fitting
from tests.builders.case_tables import case_table
from tests.builders.numa import FOUR_CORES
from tests.builders.numa import a_cell
from tests.builders.numa import a_topology
from tests.builders.numa import guest_cell
from tests.builders.numa import requirements
from tests.builders.numa import tried

LIMITS = numa_guest.Limits(1.0, 1.0)
PAGES = [(4, 1 << 20), (2048, 256)]


def tried_on(host, guest, reserve=False, newer=True):
    """(what came of it, the lines about it: list of texts)."""
    lines = []
    place = cell_fit.place if newer else cell_fit.place_queens
    refusal = cell_fit.place_and_log(
        lambda text, *values: lines.append(text % values), place,
        a_cell(**host), guest, LIMITS, reserve)
    return refusal, lines


@pytest.mark.parametrize('newer', [True, False])
@case_table('hardware-fit-logging', 'last_line')
def test_last_line_has_the_result(host, guest, said, newer):
    refusal, lines = tried_on(host, tried(**guest), newer=newer)

    assert lines[-1] == said
    if said.startswith(('No pinning', 'Selected')):
        assert refusal is None
    else:
        assert str(refusal) == said


def test_page_size_lines():
    guest = tried(pinned=1, pagesize=-2)
    attempt, selected, pinning, *_ = tried_on({'pages': PAGES}, guest)[1]

    assert 'pagesize=-2' in attempt
    assert selected == (
        'Selected memory pagesize: 2048 kB. Requested memory pagesize: -2 '
        '(small = -1, large = -2, any = -3)')
    assert pinning == 'Pinning has been requested'
    assert guest.pagesize == 2048


def test_missing_page_size_line():
    guest = tried(floating=1, pagesize=1 << 20)

    assert tried_on({'pages': PAGES}, guest, newer=False)[1][-1] == (
        'Host does not support requested memory pagesize. Requested: 1048576 '
        'kB')


def said(host, guest, reserve=False, newer=True):
    """The lines about how a pinned guest is packed: list of texts."""
    _, lines = tried_on(host, tried(**guest), reserve, newer)
    return lines[lines.index('Pinning has been requested') + 1:]


@pytest.mark.parametrize('newer', [True, False])
def test_packing_lines(newer):
    using, packing, *lines = said(
        {'siblings': FOUR_CORES, 'pinned_cpus': range(2)},
        {'pinned': 2, 'cpu_thread_policy': 'prefer'}, True, newer)

    assert using == 'Using thread siblings for packing'
    assert packing.startswith(
        'Packing an instance onto a set of siblings:     available_siblings: '
        '[[4], [5], [2, 6], [3, 7]]    instance_cell: GuestCell(')
    assert packing.endswith('    host_cell_id: 0    threads_per_core: 2')
    assert lines == [
        'Built sibling_sets: {1: [[4], [5], [2, 6], [3, 7]], '
        '2: [[2, 6], [3, 7]]}',
        "Requested 'prefer' thread policy for 2 cores",
        'Computed NUMA topology CPU pinning: usable pCPUs: '
        '[[4], [5], [2, 6], [3, 7]], vCPUs mapping: [(0, 2), (1, 6)]',
        'Computed NUMA topology reserved pCPUs: usable pCPUs: '
        '[[4], [5], [2, 6], [3, 7]], reserved pCPUs: '
        f'[{4 if newer else 3}]',
        'Selected cores for pinning: [(0, 2), (1, 6)], in cell 0']


@pytest.mark.parametrize(('host', 'guest', 'text'), [
    ({}, {}, 'User did not specify a thread policy. Using default for 2 '
     'cores'),
    ({'siblings': FOUR_CORES}, {'cpu_thread_policy': 'require'},
     "Requested 'require' thread policy for 2 cores"),
    ({'siblings': FOUR_CORES}, {'cpu_thread_policy': 'isolate'},
     "Requested 'isolate' thread policy for 2 cores"),
    ({}, {'cpu_thread_policy': 'require'},
     'Host does not support hyperthreading or hyperthreading is disabled, '
     "but 'require' threads policy was requested."),
    ({'siblings': FOUR_CORES, 'pinned_cpus': range(4)},
     {'cpu_thread_policy': 'isolate'},
     'Host does not have any fully free thread sibling sets.It is not '
     'possible to emulate a non-SMT behavior for the isolate policy without '
     'this.'),
    ({'siblings': FOUR_CORES, 'pinned_cpus': range(4)},
     {'cpu_thread_policy': 'require'},
     'Skipping threads_no: 1, as it does not satisfy the require policy'),
    ({'siblings': [{8, 9}]}, {},
     'No available siblings. This is likely due to a race caused by multiple '
     'instances attempting to claim the same resources')])
@pytest.mark.parametrize('newer', [True, False])
def test_thread_policy_lines(host, guest, text, newer):
    """Read from JSON, it is equal to those of the code, and another text."""
    guest = json.loads(json.dumps({'pinned': 2, **guest}))
    assert text in said(host, guest, newer=newer)


def fits(cells, *guests, newer=True):
    return Fitting(a_topology(*cells, newer=newer), requirements(*guests),
                   None, LIMITS).verdicts([None, None])


@pytest.mark.parametrize('newer', [True, False])
def test_each_pair_of_cells_is_logged_once(caplog, newer):
    cells = [a_cell(number) for number in range(4)]
    guests = [guest_cell(0, floating=1), guest_cell(1, floating=9)]
    silent = fits(cells, *guests, newer=newer)

    with caplog.at_level(logging.DEBUG, 'nova_sched.hardware'):
        assert fits(cells, *guests, newer=newer) == silent
    assert not silent[0]

    tries = [line for line in caplog.messages
             if line.startswith('Attempting to fit instance cell GuestCell(')]
    assert 5 <= len(tries) <= 8


def test_too_few_cells_line(caplog):
    with caplog.at_level(logging.DEBUG, 'nova_sched.hardware'):
        fits([a_cell(0)], *[guest_cell(n, floating=1) for n in range(2)])

    assert caplog.messages == [
        'There are not enough NUMA nodes on the system to schedule the '
        'instance correctly. Required: 2, actual: 1']


def test_no_text_is_formatted_without_debug(monkeypatch):
    monkeypatch.setattr(cell_fit, 'place_and_log', None)
    logging.getLogger(topology.__name__).setLevel(logging.INFO)
    try:
        assert fits([a_cell(0)], guest_cell(floating=1)) == [True, True]
    finally:
        logging.getLogger(topology.__name__).setLevel(logging.NOTSET)
