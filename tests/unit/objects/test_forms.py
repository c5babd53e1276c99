"""What objects are read from, in all of its forms, and how they are copied."""

import copy
import datetime
import decimal
import json

import pytest

from nova_sched import exception
from nova_sched import objects
from nova_sched.compat.legacy import numa as numa_legacy
from nova_sched.objects import aggregate
from nova_sched.objects import base
from nova_sched.objects import fields
from nova_sched.objects import numa
from nova_sched.objects import pci
from nova_sched.objects.fields import MalformedError
from tests.builders import requests

TOO_DEEP = '[' * 10 ** 5


class TestAggregates:
    ONE = objects.Aggregate(id=1, name='a')

    @pytest.mark.parametrize('value', [
        ONE, ONE.obj_to_primitive(), [ONE], [ONE.obj_to_primitive()],
        aggregate.AggregateList(objects=[ONE]),
        aggregate.AggregateList(objects=[ONE]).obj_to_primitive()])
    def test_are_announced_in_many_forms(self, value):
        """One or a list of them, as objects or envelopes."""
        found = aggregate.aggregates_from_wire(value)

        assert [(one.id, one.name) for one in found] == [(1, 'a')]

    @pytest.mark.parametrize(('value', 'field'), [
        (5, 'it'), ({}, 'it'), ([5], r'it\[0\]'), (None, 'it'),
        ({'nova_object.name': 'AggregateList',
          'nova_object.namespace': 'nova', 'nova_object.version': '1.0',
          'nova_object.data': {'objects': 5}}, r'it\.objects')])
    def test_of_other_forms_are_refused_by_name(self, value, field):
        with pytest.raises(exception.InvalidInput,
                           match=f'received: {field} = '):
            aggregate.aggregates_from_wire(value, 'it')


class TestClasses:
    def test_no_object_is_read_of_what_names_no_class(self):
        for odd in (None, [], {}, {'nova_object.name': 5}):
            with pytest.raises(MalformedError, match='must be an object'):
                base.NovaObject.obj_from_primitive(odd)

    def test_an_object_remembers_the_context_it_is_read_in(self):
        found = base.NovaObject.obj_from_primitive(
            objects.Aggregate(id=1).obj_to_primitive(), 'the context')

        assert found._context == 'the context'

    @pytest.mark.parametrize(('name', 'value'), [
        ('nova_object.namespace', 'vif'), ('nova_object.version', None),
        ('nova_object.data', []), ('nova_object.name', 'Selection')])
    def test_an_envelope_is_all_right_or_refused(self, name, value):
        sent = {**objects.Aggregate(id=1).obj_to_primitive(), name: value}
        with pytest.raises(MalformedError):
            objects.Aggregate.from_envelope(sent)

    def test_an_object_keeps_a_version_that_is_newer_than_ours(self):
        sent = objects.Aggregate(id=1).obj_to_primitive()
        ours = sent['nova_object.version']
        for version, kept in (('1.0', ours), (ours, ours),
                              ('1.99', '1.99')):
            found = objects.Aggregate.from_envelope({
                **sent, 'nova_object.version': version})
            assert kept == found.VERSION

    def test_only_fields_can_be_asked_whether_they_are_set(self):
        with pytest.raises(AttributeError, match="has no field 'colour'"):
            objects.Aggregate().obj_attr_is_set('colour')

    def test_an_older_version_has_no_fields_that_nobody_knows(self):
        sent = objects.Aggregate(id=1).obj_to_primitive()
        sent['nova_object.data']['colour'] = 'red'
        found = objects.Aggregate.from_envelope(sent)

        assert found.obj_to_primitive()['nova_object.data'] == {
            'id': 1, 'colour': 'red'}
        assert found.obj_to_primitive(found.VERSION)[
            'nova_object.data'] == {'id': 1}

    def test_a_list_object_is_flat_as_a_list_of_dicts(self):
        made = aggregate.AggregateList(objects=[objects.Aggregate(id=1)])

        assert made.flat() == [{'id': 1}]
        assert len(aggregate.AggregateList()) == 0

    def test_sets_and_objects_within_are_flat_as_well(self):
        cell = objects.InstanceNUMACell(id=0, cpuset={3, 1})

        assert objects.InstanceNUMATopology(cells=[cell]).flat() == {
            'cells': [{'id': 0, 'cpuset': [1, 3], 'pcpuset': []}]}


class TestKinds:
    """As oslo.versionedobjects, and so plug-ins, use them."""

    def test_read_and_write_as_the_library_asks(self):
        kind = fields.set_of(fields.INTEGER)

        assert kind.coerce(None, 'a', [1, 1]) == {1}
        assert kind.from_primitive(None, 'a', [2]) == {2}
        assert kind.to_primitive(None, 'a', {2, 1}) == [1, 2]
        assert fields.INTEGER.to_primitive(None, 'a', 5) == 5
        assert fields.INTEGER.stringify('5') == "'5'"

    @pytest.mark.parametrize(('step', 'shown'), [
        (3, '[3]'), ('a', '.a'), ('x' * 80, '.' + 'x' * 80),
        ('x' * 81, f".'{'x' * 60}'"), ('a\nb', r".'a\nb'")])
    def test_name_what_is_wrong_in_print(self, step, shown):
        assert str(MalformedError(1, 'must be 2', 'top', step)) == (
            f'top{shown} = 1: must be 2')

    @pytest.mark.parametrize(('value', 'shown'), [
        ('x' * 80, repr('x' * 80)), ('x' * 81, repr('x' * 77 + '...')),
        ('mysql://u:p@h', '<text with a URL>'), (None, 'None'), (2.5, '2.5'),
        (2 ** 128 - 1, str(2 ** 128 - 1)), (2 ** 128, '<integer of 129 bits>'),
        ({'nova_object.name': 'A'}, "<'A' object>"),
        ({'a': 1, 'b': 2}, '<dict of 2 items>'), ([1], '<list of 1 items>'),
        ((), '<tuple of 0 items>'), ({1}, '<set of 1 items>'),
        (object(), '<object>')])
    def test_show_values_in_few_words(self, value, shown):
        assert fields.shown(value) == shown

    def test_tell_what_is_missing(self):
        assert str(MalformedError.missing('a', 0)) == 'a[0]: is missing'


class TestCopies:
    @pytest.mark.parametrize('value', [
        'x', 5, 2.5, True, None, b'x', datetime.datetime(2026, 1, 1)])
    def test_of_plain_values_are_they_themselves(self, value):
        assert base.clone(value) is value

    @pytest.mark.parametrize('value', [
        {'a': [1]}, [[1]], ([1],), {frozenset((1,))}, frozenset((1,)),
        bytearray(b'x'), decimal.Decimal('2.5')])
    def test_are_equal_and_of_the_same_kind(self, value):
        twin = base.clone(value)

        assert twin == value
        assert type(twin) is type(value)

    @pytest.mark.parametrize(('value', 'within'), [
        ({'a': []}, lambda value: value['a']), ([[]], lambda value: value[0]),
        (([],), lambda value: value[0]),
        (bytearray(b'x'), lambda value: value),
        (objects.Aggregate(hosts=['a']), lambda value: value.hosts)])
    def test_share_nothing_that_can_be_changed(self, value, within):
        assert within(base.clone(value)) is not within(value)


class TestImageProperties:
    def test_have_no_attributes_of_python(self):
        """Copying and pickling ask for some that are not there."""
        properties = objects.ImageMetaProps.from_dict({'_odd': 'x'})

        with pytest.raises(AttributeError, match='_odd'):
            properties._odd  # noqa: B018 - reading it is what is tested
        assert properties.get('_odd') == 'x'
        assert copy.deepcopy(properties).get('_odd') == 'x'


class TestTopologies:
    def test_count_cells_and_cpus_and_are_something_without_any(self):
        cell = objects.InstanceNUMACell(id=0, cpuset={1, 2}, pcpuset={2, 3})
        made = objects.InstanceNUMATopology(cells=[cell, cell])

        assert (len(cell), len(made)) == (3, 2)
        assert cell.total_cpus == {1, 2, 3}
        assert objects.InstanceNUMACell(id=0)
        assert objects.InstanceNUMATopology()

    @pytest.mark.parametrize('text', [5, None, [0], 'a', '1-', '3-2', '-'])
    def test_have_cpus_of_numbers_alone(self, text):
        if text == '1-':
            assert numa.parse_cpus(text) == {1}
            return
        with pytest.raises(MalformedError, match='must be CPU numbers'):
            numa.parse_cpus(text)

    def test_may_hold_cells_in_envelopes_and_as_dicts(self):
        cell = objects.InstanceNUMACell(id=4, cpuset={1}, memory=5)
        made = numa_legacy.topology_from_any({'cells': [
            cell.obj_to_primitive(),
            {'id': 5, 'cpus': '0-1', 'mem': {'total': 7},
             'cpu_topology': {'sockets': 1, 'cores': 2, 'threads': 3}}]})

        assert [(cell.id, cell.cpuset, cell.memory)
                for cell in made.cells] == [(4, {1}, 5), (5, {0, 1}, 7)]
        assert made.cells[1].cpu_topology.threads == 3

    @pytest.mark.parametrize('text', [TOO_DEEP, 'x', '{'])
    def test_and_others_are_refused_where_their_text_is_no_json(self, text):
        for read in (numa_legacy.topology_from_any, pci.requests_from_any,
                     numa._read_limits):
            with pytest.raises(MalformedError, match='must be JSON text'):
                read(text)


class TestPci:
    ONE = objects.InstancePCIRequest(count=2, spec=[{'vendor_id': '8086'}])

    @pytest.mark.parametrize('form', [
        [ONE.obj_to_primitive()], {'requests': [ONE.obj_to_primitive()]},
        json.dumps([ONE.obj_to_primitive()]),
        objects.InstancePCIRequests(requests=[ONE])])
    def test_requests_may_be_envelopes_of_their_own(self, form):
        [found] = pci.requests_from_any(form).requests

        assert (found.count, found.spec) == (2, [{'vendor_id': '8086'}])

    @pytest.mark.parametrize('form', [None, 'null'])
    def test_null_is_none(self, form):
        assert pci.requests_from_any(form) is None

    @pytest.mark.parametrize(('form', 'words'), [
        (5, 'must be PCI requests'), ('5', 'must be PCI requests'),
        ([5], r'requests\[0\] = 5: must be a PCI request'),
        ({'requests': [None]}, r'requests\[0\] = None: must be a PCI')])
    def test_others_are_refused(self, form, words):
        with pytest.raises(MalformedError, match=words):
            pci.requests_from_any(form)

    def test_of_none_is_an_empty_list(self):
        for form in ({}, {'requests': None}, []):
            assert pci.requests_from_any(form).requests == []


class TestRetries:
    PAIRS = {'num_attempts': 2, 'hosts': [['a', 'n'], ['b', None]]}

    def test_are_read_and_written_as_pairs(self):
        made = objects.SchedulerRetries.from_dict(self.PAIRS)

        assert made.to_dict() == self.PAIRS
        assert objects.SchedulerRetries.from_dict(made) is made
        assert objects.SchedulerRetries.from_dict(
            made.obj_to_primitive()).to_dict() == self.PAIRS

    @pytest.mark.parametrize('empty', [None, {}, [], ''])
    def test_that_are_empty_are_none(self, empty):
        assert objects.SchedulerRetries.from_dict(empty) is None

    @pytest.mark.parametrize(('odd', 'words'), [
        (5, '5: must be a dict'), (['a'], 'must be a dict'),
        ({'hosts': [['a']]}, r'hosts\[0\] = .* must be \[host, node\]'),
        ({'hosts': ['ab']}, r'hosts\[0\] = .* must be \[host, node\]'),
        ({'hosts': [['a', 5]]}, r'hosts\[0\] = .* must be \[host, node\]')])
    def test_of_other_forms_are_refused(self, odd, words):
        with pytest.raises(MalformedError, match=words):
            objects.SchedulerRetries.from_dict(odd)


class TestNumaLimits:
    @pytest.mark.parametrize('value', [None, 'null'])
    def test_may_be_none(self, value):
        assert numa._read_limits(value) is None

    @pytest.mark.parametrize(('value', 'words'), [
        (5, 'must be NUMA limits'), ('[]', 'must be NUMA limits'),
        ({}, 'cpu_allocation_ratio: is missing'),
        ({'cpu_allocation_ratio': 1}, 'ram_allocation_ratio: is missing'),
        ({'cells': 5}, 'cells = 5: must be a list'),
        ({'cells': [5]}, r'cells\[0\]\.cpu_limit: is missing'),
        ({'cells': [{'cpu_limit': 'x'}]}, r'cells\[0\]\.cpu_limit = '),
        ({'cells': [{'cpu_limit': 1, 'cpus': 'x'}]},
         r'cells\[0\]\.cpus = .*: must be CPU numbers'),
        ({'cells': [{'cpu_limit': 1, 'cpuset': 5}]},
         r'cells\[0\]\.cpuset = '),
        ({'cells': [{'cpu_limit': 1, 'cpuset': [0], 'mem': {}}]},
         r'cells\[0\]\.mem\.limit: is missing'),
        ({'cells': [{'cpu_limit': 1, 'cpuset': [0],
                     'mem': {'limit': 1, 'total': 'x'}}]},
         r'cells\[0\]\.mem\.total = ')])
    def test_of_other_forms_are_refused(self, value, words):
        with pytest.raises(MalformedError, match=words):
            numa._read_limits(value)

    def test_of_juno_are_the_least_of_all_cells(self):
        """Cells without CPUs or memory say nothing."""
        found = numa._read_limits({'cells': [
            {'cpu_limit': 8, 'cpus': '0-1', 'mem': {'limit': 6, 'total': 4}},
            {'cpu_limit': 6, 'cpuset': [0, 1],
             'mem': {'limit': 8, 'total': 4}},
            {'cpu_limit': 0, 'cpuset': [], 'mem': {'limit': 0, 'total': 0}}]})

        assert found.flat() == {'cpu_allocation_ratio': 3.0,
                                'ram_allocation_ratio': 1.5}

    def test_of_an_envelope_lose_what_is_unset(self):
        made = objects.NUMATopologyLimits(cpu_allocation_ratio=2.0,
                                          ram_allocation_ratio=1.0)

        assert numa._read_limits(made) is made
        assert numa._read_limits(made.obj_to_primitive()).flat() == {
            'cpu_allocation_ratio': 2.0, 'ram_allocation_ratio': 1.0}


@pytest.mark.parametrize(('read', 'argument'), [
    (objects.arguments.from_wire, 'spec_obj'),
    (lambda deep: objects.arguments.from_legacy_dicts(deep, {}),
     'request_spec')])
def test_a_request_that_is_nested_too_deeply_is_refused_in_words(
        monkeypatch, read, argument):
    def fail(*args):
        raise RecursionError
    monkeypatch.setattr(objects.arguments._SPEC, 'read', fail)
    monkeypatch.setattr(objects.arguments.legacy_dicts, 'spec_from_dicts',
                        fail)
    with pytest.raises(exception.InvalidInput) as caught:
        read({})
    assert caught.value.kwargs['reason'] == (
        f'{argument} = None: is nested too deeply')


class TestParts:
    """What filters count on is there, or the request is refused."""

    def refused(self, **parts):
        spec = requests.a_request(**parts)
        with pytest.raises(exception.InvalidInput) as caught:
            objects.arguments.from_wire(spec.obj_to_primitive())
        return caught.value.kwargs['reason']

    def test_a_flavor_has_its_sizes(self):
        spec = requests.a_request()
        del spec.flavor.root_gb
        with pytest.raises(exception.InvalidInput,
                           match=r'spec_obj\.flavor\.root_gb: is missing'):
            objects.arguments.from_wire(spec.obj_to_primitive())

    def test_a_pci_request_has_a_count(self):
        spec = requests.a_request()
        spec.pci_requests = objects.InstancePCIRequests(
            requests=[TestPci.ONE, objects.InstancePCIRequest(spec=[])])
        with pytest.raises(exception.InvalidInput, match=(
                r'spec_obj\.pci_requests\.requests\[1\]\.count: is missing')):
            objects.arguments.from_wire(spec.obj_to_primitive())

    def test_rules_of_an_anti_affinity_group_are_numbers(self):
        """Those of other groups nobody reads."""
        rules = {'max_server_per_host': 'few'}
        assert self.refused(group={
            'policy': 'anti-affinity', 'rules': rules}) == (
            "spec_obj.instance_group.rules.max_server_per_host = 'few': must "
            'be an integer')
        assert objects.arguments.from_wire(requests.a_request(group={
            'policy': 'affinity', 'rules': rules}).obj_to_primitive())
