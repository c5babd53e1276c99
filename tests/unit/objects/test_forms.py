"""Historical forms of aggregates, NUMA topologies, PCI requests and limits."""

import json

import pytest

from nova_sched import exception
from nova_sched import objects
from nova_sched.compat.legacy import numa as numa_legacy
from nova_sched.objects import numa
from nova_sched.objects import pci
from nova_sched.objects.fields import MalformedError

NOT_JSON = ['[' * 10 ** 5, 'x', '{']


class TestAggregates:
    ONE = objects.Aggregate(id=1, name='a')

    @pytest.mark.parametrize('value', [
        ONE, ONE.obj_to_primitive(), [ONE], [ONE.obj_to_primitive()],
        objects.AggregateList(objects=[ONE]),
        objects.AggregateList(objects=[ONE]).obj_to_primitive()])
    def test_all_forms_are_read(self, value):
        aggregates = objects.aggregates_from_wire(value)

        assert [(aggregate.id, aggregate.name)
                for aggregate in aggregates] == [(1, 'a')]

    @pytest.mark.parametrize(('value', 'field'), [
        (5, 'it'), ({}, 'it'), ([5], r'it\[0\]'), (None, 'it'),
        ({'nova_object.name': 'AggregateList',
          'nova_object.namespace': 'nova', 'nova_object.version': '1.0',
          'nova_object.data': {'objects': 5}}, r'it\.objects')])
    def test_other_values_are_refused_with_their_path(self, value, field):
        with pytest.raises(exception.InvalidInput,
                           match=f'received: {field} = '):
            objects.aggregates_from_wire(value, 'it')


class TestNumaTopologies:
    FLAT = {'instance_uuid': 'u', 'cells': [{
        'id': 1, 'cpuset': [0, 1], 'memory': 512, 'pagesize': None,
        'cpu_topology': {'sockets': 1, 'cores': 2, 'threads': 3},
        'cpu_pinning_raw': {'0': 4}}]}
    OLDEST = {'cells': [{'id': 1, 'cpus': '0-1', 'mem': {'total': 512}}]}
    CELL = objects.InstanceNUMACell(id=1, cpuset={0, 1}, memory=512)
    ENVELOPE = objects.InstanceNUMATopology(cells=[CELL]).obj_to_primitive()

    @pytest.mark.parametrize('form', [
        FLAT, OLDEST, ENVELOPE, {'cells': [CELL.obj_to_primitive()]},
        json.dumps(FLAT), json.dumps(OLDEST), json.dumps(ENVELOPE)])
    def test_all_forms_are_read(self, form):
        topology = numa_legacy.topology_from_any(form)

        assert [(cell.id, cell.cpuset, cell.memory)
                for cell in topology.cells] == [(1, {0, 1}, 512)]

    def test_flat_cell_has_cpu_topology(self):
        topology = numa_legacy.topology_from_any(self.FLAT)

        assert topology.cells[0].cpu_topology.threads == 3

    @pytest.mark.parametrize('form', [None, 'null'])
    def test_null_is_none(self, form):
        assert numa_legacy.topology_from_any(form) is None

    @pytest.mark.parametrize('form', [
        5, [], '[]', {}, {'cells': 3}, {'cells': [3]}, *NOT_JSON,
        {'cells': [{'cpus': '0-99999999999'}]},
        {'cells': [{'cpus': 'a'}]}, {'cells': [{'cpus': '-1'}]}])
    def test_other_values_are_refused(self, form):
        with pytest.raises(MalformedError):
            numa_legacy.topology_from_any(form)

    @pytest.mark.parametrize('text', [5, None, [0], 'a', '3-2', '-'])
    def test_invalid_cpu_numbers_are_refused(self, text):
        with pytest.raises(MalformedError, match='must be CPU numbers'):
            numa.parse_cpus(text)


class TestPciRequests:
    ONE = {'count': 1, 'spec': [{'vendor_id': '8086',
                                 'physical_network': None}],
           'alias_name': None, 'is_new': False, 'request_id': 'r'}
    OBJECT = objects.InstancePCIRequest(**ONE)
    LIST = objects.InstancePCIRequests(requests=[OBJECT])

    @pytest.mark.parametrize('form', [
        [ONE], {'requests': [ONE]}, json.dumps([ONE]),
        [OBJECT.obj_to_primitive()], LIST, LIST.obj_to_primitive()])
    def test_all_forms_are_read(self, form):
        [request] = pci.requests_from_any(form).requests

        assert (request.count, request.spec) == (1, self.ONE['spec'])
        assert request.numa_policy is None

    @pytest.mark.parametrize('form', [None, 'null'])
    def test_null_is_none(self, form):
        assert pci.requests_from_any(form) is None

    @pytest.mark.parametrize('form', [{}, {'requests': None}, []])
    def test_no_requests_are_an_empty_list(self, form):
        assert pci.requests_from_any(form).requests == []

    @pytest.mark.parametrize(('form', 'words'), [
        (5, 'must be PCI requests'), ('5', 'must be PCI requests'),
        ([5], r'requests\[0\] = 5: must be a PCI request'),
        ({'requests': [None]}, r'requests\[0\] = None: must be a PCI'),
        *((text, 'must be JSON text') for text in NOT_JSON)])
    def test_other_values_are_refused(self, form, words):
        with pytest.raises(MalformedError, match=words):
            pci.requests_from_any(form)


class TestRetries:
    PAIRS = {'num_attempts': 2, 'hosts': [['a', 'n'], ['b', None]]}

    def test_all_forms_are_read(self):
        retries = objects.SchedulerRetries.from_dict(self.PAIRS)

        assert retries.to_dict() == self.PAIRS
        assert objects.SchedulerRetries.from_dict(retries) is retries
        assert objects.SchedulerRetries.from_dict(
            retries.obj_to_primitive()).to_dict() == self.PAIRS

    @pytest.mark.parametrize('empty', [None, {}, [], ''])
    def test_empty_value_is_none(self, empty):
        assert objects.SchedulerRetries.from_dict(empty) is None

    @pytest.mark.parametrize(('value', 'words'), [
        (5, '5: must be a dict'), (['a'], 'must be a dict'),
        ({'hosts': [['a']]}, r'hosts\[0\] = .* must be \[host, node\]'),
        ({'hosts': ['ab']}, r'hosts\[0\] = .* must be \[host, node\]'),
        ({'hosts': [['a', 5]]}, r'hosts\[0\] = .* must be \[host, node\]')])
    def test_other_values_are_refused(self, value, words):
        with pytest.raises(MalformedError, match=words):
            objects.SchedulerRetries.from_dict(value)
