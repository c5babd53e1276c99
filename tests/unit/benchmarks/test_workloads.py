"""Workloads of ``benchmarks``: data, answers and charts.

No test measures time.
"""

import dataclasses
import json
from xml.etree import ElementTree

import pytest

from benchmarks import svg
from benchmarks import topology
from benchmarks import violations
from benchmarks import workload_data
from benchmarks import workloads
from benchmarks.asked import FAULT_DOMAIN
from benchmarks.asked import Answer
from benchmarks.asked import Asked
from benchmarks.violations import Room

GIB = 1024      # MiB
ROOMS = {'a': Room(8, 16 * GIB, 100, ((4, 8 * GIB), (4, 8 * GIB))),
         'b': Room(8, 16 * GIB, 100)}


def an_answer(*hosts, reason='', **asked):
    """An answer to a request for instances of 1 CPU and 1 GiB."""
    asked = {'number': 1, 'project': 'p', 'count': len(hosts) or 1,
             'memory_mb': GIB} | asked
    return Answer(Asked(**asked), hosts, reason)


def found(*answers):
    """The violations of answers, as one text."""
    return '\n'.join(violations.find(answers, ROOMS))


@pytest.mark.parametrize('name', [
    name for name in workload_data.names()
    if workload_data.load(name, 'short')])
def test_answers_of_the_short_workloads_are_right(name):
    """Answers are as expected, and no group or host is overfilled.

    The topology fills up to full hosts and NUMA cells.
    """
    figures = workloads.measure(workload_data.load(name, 'short'))

    assert figures.violations == []
    assert figures.row()[2] == figures.workload.requests
    if figures.workload.kind == 'topology':
        *_, (_, last) = figures.ram_curve()
        assert any(int(row[2]) > int(row[3]) for row in figures.shares())
        assert last > 80


def test_the_command_prints_a_table_and_draws_charts(capsys, tmp_path):
    status = workloads.main(['--only', 'refused', '--svg', str(tmp_path)])

    assert status == 0
    assert '| refused | 50 | 60 |' in capsys.readouterr().out
    ElementTree.parse(tmp_path / 'workloads.svg')


class TestData:

    def test_every_workload_is_well_formed(self):
        """Each has a size for a label, and known figures."""
        for name in workload_data.names():
            assert any(workload_data.load(name, label)
                       for label in workload_data.LABELS), name

    def test_every_kind_has_a_short_workload(self):
        loaded = [workload_data.load(name, 'short')
                  for name in workload_data.names()]
        assert {workload.kind for workload in loaded if workload} == {
            *workload_data.KINDS}

    @pytest.mark.parametrize('change, told', [
        ({'requests': {'kind': 'odd'}}, "kind 'odd'"),
        ({'labels': {'tiny': {'hosts': 1, 'requests': 1}}}, "label 'tiny'"),
        ({'labels': {'short': {'hosts': 1}}}, 'short has'),
        ({'labels': {'short': {'hosts': 0, 'requests': 1}}}, 'short has'),
        ({'reach': [{'figure': 'p98 ms', 'at_most': 1}]}, 'p98 ms'),
        ({'reach': [{'figure': 'p99 ms'}]}, 'figure to reach'),
        ({'more': 1}, "unknown ['more']"),
    ], ids=lambda value: value if isinstance(value, str) else '')
    def test_a_malformed_file_is_refused_by_name(self, change, told,
                                                 tmp_path):
        value = json.loads(
            (workload_data.WORKLOADS / 'plain.json').read_text())
        (tmp_path / 'x.json').write_text(json.dumps(value | change))

        with pytest.raises(ValueError, match=r'^x\.json: ') as error:
            workload_data.load('x', 'short', tmp_path)

        assert told in str(error.value)

    def test_the_topology_has_the_hosts_and_requests_of_its_files(self):
        rooms = topology.rooms('huawei-topology', 10_000)
        asked = topology.requests('huawei-topology', ['C1', 'C2'])
        groups = {next(asked).group for _ in range(4998)}

        assert len(rooms) == 1710
        assert rooms['fake-0001'] == Room(
            48, 96 * GIB, 1000, ((16, 32 * GIB), (32, 64 * GIB)))
        assert next(asked).group not in groups


class TestViolations:

    def test_right_answers_have_no_violations(self):
        assert not found(
            an_answer('a', policy='affinity', group=1),
            an_answer('a', policy='affinity', group=1),
            an_answer('a', policy='anti-affinity', group=1),
            an_answer('b', policy='anti-affinity', group=1),
            an_answer('b', policy=FAULT_DOMAIN, group=1, domain='0'),
            an_answer('a', policy=FAULT_DOMAIN, group=1, domain='1'),
            an_answer(outcome='refused', reason='0 hosts: RamFilter',
                      vcpus=99))

    @pytest.mark.parametrize('answers, told', [
        ([an_answer('a', outcome='refused')], 'must be refused'),
        ([an_answer('a', count=2)], 'asks for 2 hosts and has 1'),
        ([an_answer('c')], 'c, which takes no instances'),
        ([an_answer(reason='full')], 'is refused: full'),
        ([an_answer(outcome='refused')], 'without the reason'),
        ([an_answer('b', vcpus=5), an_answer('b', vcpus=5)],
         'b has vcpus 8, given are 10'),
        ([an_answer('b', memory_mb=17 * GIB)], 'b has memory_mb'),
        ([an_answer('b', 'b', root_gb=60)], 'b has root_gb 100, given'),
        ([an_answer('a', vcpus=5, numa_nodes=1)], 'no way to put 1'),
        ([an_answer('a', policy='affinity', group=1),
          an_answer('b', policy='affinity', group=1)], 'breaks affinity'),
        ([an_answer('a', policy='anti-affinity', group=1),
          an_answer('a', policy='anti-affinity', group=1)],
         'breaks anti-affinity'),
        ([an_answer('a', policy=FAULT_DOMAIN, group=1, domain='0'),
          an_answer('a', policy=FAULT_DOMAIN, group=1, domain='1')],
         'breaks fault_domain'),
    ], ids=lambda value: value if isinstance(value, str) else '')
    def test_a_wrong_answer_is_found(self, answers, told):
        assert told in found(*answers)

    @pytest.mark.parametrize('sizes, fit', [
        ([(4, 8, 1), (4, 8, 1)], True),
        ([(2, 4, 1), (4, 8, 1), (2, 4, 1)], True),
        ([(3, 1, 1), (3, 1, 1), (2, 1, 1)], False),
        ([(1, 6, 1), (1, 6, 1), (1, 4, 1)], False),
        ([(8, 16, 2)], True),
        ([(2, 4, 2), (3, 6, 1), (3, 6, 1)], True),
        ([(2, 4, 2), (4, 6, 1)], False),
    ])
    def test_guests_fit_on_cells_if_any_assignment_fits(self, sizes, fit):
        """sizes: CPUs, GiB and NUMA nodes; a cell has 4 CPUs and 8 GiB."""
        guests = [an_answer('a', vcpus=cpus, memory_mb=memory * GIB,
                            numa_nodes=nodes).asked
                  for cpus, memory, nodes in sizes]

        assert violations.fits_cells(guests, ROOMS['a'].cells) == fit

    def test_a_host_with_one_cell_takes_no_guest_with_two(self):
        guest = an_answer('a', vcpus=2, numa_nodes=2).asked
        cells = [(8, 8 * GIB)]

        assert not violations.fits_cells([guest], cells)
        assert violations.fits_cells(
            [dataclasses.replace(guest, numa_nodes=1)], cells)

    def test_cells_with_a_wrong_usage_are_found(self):
        answers = [an_answer('a', vcpus=2, memory_mb=4 * GIB)]

        assert not violations.miscounted(
            answers, {'a': [(2, 4 * GIB), (0, 0)], 'b': [(0, 0)]})
        assert violations.miscounted(answers, {'a': [(0, 0), (0, 0)]})


def test_a_curve_is_xml_and_a_label_is_escaped():
    ElementTree.fromstring(svg.curve('a < b', [(0, 0), (2, 50)], 'x', 'y'))
