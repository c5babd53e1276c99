"""Refusal of malformed requests, with the field and its value."""

import copy
import json
import re

from hypothesis import given
from hypothesis import strategies as st
from oslo_versionedobjects import exception as ovo_exception
import pytest

from nova_sched import exception
from nova_sched import nova_compat
from nova_sched import objects
from nova_sched.compat.legacy import kilo_mapping
from nova_sched.objects import fields
from tests.builders.examples import examples
from tests.unit.objects import captures
from tests.unit.objects.captures import changed

SPEC = captures.args('34-requested-destination-full')['spec_obj']
NUMA_SPEC = captures.args('34-numa-pinned-hugepages')['spec_obj']
KILO = captures.args('34-kilo-style-call')
CAPPED = captures.args('34-cap-4-2-legacy-dicts-numa-pci')
FLAVOR = ('flavor', 'nova_object.data')


def refusal(spec):
    """Return the reason of a refusal."""
    with pytest.raises(exception.InvalidInput) as caught:
        objects.arguments.from_wire(spec)
    return caught.value.kwargs['reason']


class TestSpecObj:

    @pytest.mark.parametrize('value', [None, 'x', 3, [], {}, [SPEC]])
    def test_other_values_are_refused(self, value):
        assert refusal(value).startswith('spec_obj = ')
        assert refusal(value).endswith('must be a RequestSpec object')

    def test_object_of_another_class_is_refused(self):
        assert refusal(SPEC['nova_object.data']['flavor']) == (
            "spec_obj = <'Flavor' object>: must be a RequestSpec object")

    @pytest.mark.parametrize('size', [
        -1, 2 ** 31, 10 ** 30, pytest.param(10 ** 5000, id='huge'), 1.5,
        float('nan'), 'many', True, [], {}])
    @pytest.mark.parametrize('name', [
        'memory_mb', 'vcpus', 'root_gb', 'ephemeral_gb', 'swap'])
    def test_invalid_size_is_refused(self, name, size):
        reason = refusal(changed(SPEC, (*FLAVOR, name), size))

        assert reason.startswith(f'spec_obj.flavor.{name} = ')
        assert reason.endswith('must be an integer from 0 to 2147483647')
        assert len(reason) < 200

    @pytest.mark.parametrize('value', ['20', 20, 20.0, ' 20 '])
    def test_size_may_be_text(self, value):
        spec = objects.arguments.from_wire(
            changed(SPEC, (*FLAVOR, 'memory_mb'), value))

        assert spec.memory_mb == 20

    @pytest.mark.parametrize('name', [
        'memory_mb', 'vcpus', 'root_gb', 'ephemeral_gb'])
    def test_missing_or_null_size_is_refused(self, name):
        without = changed(SPEC, (*FLAVOR, name), None)
        assert refusal(without) == f'spec_obj.flavor.{name}: is missing'

        del without['nova_object.data']['flavor']['nova_object.data'][name]
        assert refusal(without) == f'spec_obj.flavor.{name}: is missing'

    @pytest.mark.parametrize('value', [None, 'absent'])
    def test_missing_or_null_flavor_is_refused(self, value):
        spec = changed(SPEC, ('flavor',), None)
        if value == 'absent':
            del spec['nova_object.data']['flavor']

        assert refusal(spec) == 'spec_obj.flavor: is missing'

    @pytest.mark.parametrize('path, value, named', [
        (('num_instances',), 0, 'num_instances = 0'),
        (('num_instances',), 10001, 'num_instances = 10001'),
        (('scheduler_hints',), ['a'], 'scheduler_hints = <list of 1 items>'),
        (('scheduler_hints',), {'h': [{}]},
         'scheduler_hints.h[0] = <dict of 0 items>'),
        (('availability_zone',), 7, 'availability_zone = 7'),
        (('availability_zone',), ['z'], 'availability_zone = '),
        (('force_hosts',), 'h', "force_hosts = 'h'"),
        (('force_hosts',), [1], 'force_hosts[0] = 1'),
        (('ignore_hosts',), ['a', None], 'ignore_hosts[1] = None'),
        (('instance_uuid',), 5, 'instance_uuid = 5'),
        (('image',), 'cirros', "image = 'cirros'"),
        (('image', 'nova_object.data', 'properties', 'nova_object.data'),
         {'hw_architecture': 'pdp11'},
         "image.properties.hw_architecture = 'pdp11'"),
        (('image', 'nova_object.data', 'properties', 'nova_object.data'),
         {'img_hv_requested_version': 'about 6'},
         "image.properties.img_hv_requested_version = 'about 6'"),
    ])
    def test_invalid_field_is_refused_with_its_path(self, path, value, named):
        assert refusal(changed(SPEC, path, value)).startswith(
            f'spec_obj.{named}')

    @pytest.mark.parametrize('cpus', [[-1], [10 ** 9], ['a'], 3])
    def test_invalid_cpus_of_numa_cell_are_refused(self, cpus):
        path = ('numa_topology', 'nova_object.data', 'cells', 0,
                'nova_object.data', 'pcpuset')

        assert refusal(changed(NUMA_SPEC, path, cpus)).startswith(
            'spec_obj.numa_topology.cells[0].pcpuset')

    def test_urls_are_not_shown(self):
        cell = ('requested_destination', 'nova_object.data', 'cell')
        url = 'mysql://nova:secret@db/nova'

        for path, value in [
                (cell, {'url': url}), (cell, url),
                ((*cell, 'nova_object.data', 'database_connection'), [url]),
                (('num_instances',), url)]:
            assert 'secret' not in refusal(changed(SPEC, path, value))

    @pytest.mark.parametrize('key, value', [
        ('nova_object.namespace', 'heat'), ('nova_object.namespace', None),
        ('nova_object.version', 'one'), ('nova_object.version', 1.5),
        ('nova_object.data', []), ('nova_object.data', None)])
    def test_broken_envelope_is_refused(self, key, value):
        assert refusal({**SPEC, key: value}).startswith(f'spec_obj.{key} = ')

    def test_unknown_major_version_is_incompatible(self):
        with pytest.raises(ovo_exception.IncompatibleObjectVersion):
            objects.arguments.from_wire({**SPEC, 'nova_object.version': '2.0'})

    def test_newer_minor_version_and_unknown_objects_are_accepted(self):
        newer = changed(SPEC, ('teleport',), {
            'nova_object.name': 'Teleporter', 'nova_object.data': {}})

        spec = objects.arguments.from_wire(
            {**newer, 'nova_object.version': '1.99'})

        assert spec.wire_version == '1.99'
        assert spec.obj_to_primitive()['nova_object.version'] == '1.99'
        assert 'teleport' in spec.obj_to_primitive()['nova_object.data']

    def test_object_is_checked_and_returned(self):
        spec = objects.arguments.from_wire(SPEC)

        assert objects.arguments.from_wire(spec) is spec
        with pytest.raises(exception.InvalidInput):
            objects.arguments.from_wire(objects.RequestSpec())


class TestNesting:

    @staticmethod
    def deep(open_, close, levels=10000):
        value = 1
        for _ in range(levels):
            value = {open_: value} if close == '}' else [value]
        return value

    @pytest.mark.parametrize('path', [
        ('flavor',), ('image',), ('scheduler_hints', 'deep'),
        ('numa_topology',), (*FLAVOR, 'extra_specs')])
    @pytest.mark.parametrize('shape', ['nova_object.data', ']'])
    def test_deeply_nested_value_is_refused(self, path, shape):
        deep = self.deep(shape, '}' if shape != ']' else ']')

        assert refusal(changed(SPEC, path, deep)).startswith('spec_obj.')

    def test_deeply_nested_unknown_field_is_ignored(self):
        deep = self.deep('a', '}')

        spec = objects.arguments.from_wire(changed(SPEC, ('unknown',), deep))

        assert copy.deepcopy(spec).memory_mb == spec.memory_mb

    def test_deeply_nested_hint_in_dict_form_is_refused(self):
        with pytest.raises(exception.InvalidInput, match=r'scheduler_hints'):
            objects.arguments.from_legacy_dicts(
                KILO['request_spec'],
                {**KILO['filter_properties'],
                 'scheduler_hints': {'h': self.deep('a', '}')}})


    @pytest.mark.parametrize(('read', 'argument'), [
        (objects.arguments.from_wire, 'spec_obj'),
        (lambda deep: objects.arguments.from_legacy_dicts(deep, {}),
         'request_spec')])
    def test_recursion_error_is_a_refusal(self, monkeypatch, read, argument):
        def fail(*args):
            raise RecursionError
        monkeypatch.setattr(objects.arguments, '_SPEC', fields.Kind(fail))
        monkeypatch.setattr(nova_compat.loaded(), 'spec_from_dicts', fail)
        with pytest.raises(exception.InvalidInput, match=(
                f'{argument} = None: is nested too deeply')):
            read({})


@pytest.mark.parametrize('value', [None, [], ['a'], ['a'] * 10000])
def test_valid_instance_uuids_are_accepted(value):
    objects.arguments.check_instance_uuids(value)


@pytest.mark.parametrize(('value', 'reason'), [
    *((value, 'instance_uuids') for value in (
        'abc', {}, 5, [1], [None], [['a']], ['a'] * 10001)),
    (['a', '', 'b'],
     "instance_uuids[1] = '': must be the uuid of an instance")])
def test_invalid_instance_uuids_are_refused(value, reason):
    with pytest.raises(exception.InvalidInput, match=re.escape(reason)):
        objects.arguments.check_instance_uuids(value)


@pytest.mark.parametrize(('value', 'expected'), [
    (True, True), (False, False), (None, False), ('false', False),
    ('True', True), ('', False), (1, True), (0, False)])
def test_flag_may_be_text(value, expected):
    assert objects.arguments.flag('return_objects', value) is expected


@pytest.mark.parametrize('value', ['maybe', [], {}])
def test_invalid_flag_is_refused(value):
    with pytest.raises(exception.InvalidInput, match='return_objects = '):
        objects.arguments.flag('return_objects', value)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda parts: st.lists(parts, max_size=4) | st.dictionaries(
        st.text() | st.sampled_from([
            'nova_object.name', 'nova_object.data', 'nova_object.version',
            'nova_object.namespace', 'instance_type', 'image', 'cells']),
        parts, max_size=4), max_leaves=12)


@st.composite
def mutated(draw, source):
    """Return a JSON value with one random part replaced by another value."""
    value = copy.deepcopy(source)
    place = value
    while True:
        key = draw(st.sampled_from(
            sorted(place) if isinstance(place, dict) else range(len(place))))
        below = place[key]
        if not (isinstance(below, (dict, list)) and below
                and draw(st.booleans() | st.just(True))):
            place[key] = draw(JSON)
            return value
        place = below


class TestAnyJson:
    """Any JSON value is a RequestSpec or refused with a typed error."""

    REFUSED = (exception.InvalidInput, ovo_exception.IncompatibleObjectVersion)

    @given(JSON | st.sampled_from([SPEC, NUMA_SPEC]).flatmap(mutated))
    @examples(400)
    def test_spec_obj_is_read_or_refused(self, value):
        """An accepted request can be mapped, written and copied."""
        try:
            spec = objects.arguments.from_wire(value)
        except self.REFUSED as error:
            assert len(str(error)) < 500
            return
        assert spec.memory_mb >= 0
        seen = kilo_mapping.with_mapping(spec)
        assert seen.get('scheduler_hints', {}) is not None
        json.dumps(spec.obj_to_primitive())
        copy.deepcopy(spec)
        copy.deepcopy(seen)
        repr(spec)

    @given(st.tuples(JSON, JSON)
           | st.sampled_from([KILO, CAPPED]).flatmap(mutated).map(
               lambda a: (a['request_spec'], a['filter_properties'])))
    @examples(400)
    def test_legacy_dicts_are_read_or_refused(self, dicts):
        try:
            spec = objects.arguments.from_legacy_dicts(*dicts)
        except self.REFUSED as error:
            assert len(str(error)) < 500
            return
        assert spec.memory_mb >= 0
        seen = kilo_mapping.with_mapping(spec)
        assert seen['request_spec']['instance_type']['memory_mb'] >= 0
        repr(spec)


@pytest.mark.parametrize('count', [{}, {'count': None}])
def test_pci_request_without_count_is_refused(count):
    requests = copy.deepcopy(captures.args('34-pci-request')['spec_obj'][
        'nova_object.data']['pci_requests'])
    [request] = requests['nova_object.data']['requests']
    del request['nova_object.data']['count']
    request['nova_object.data'] |= count

    assert refusal(changed(SPEC, ('pci_requests',), requests)) == (
        'spec_obj.pci_requests.requests[0].count: is missing')


def test_pci_request_without_count_in_dict_form_is_refused():
    request_spec = {**KILO['request_spec'], 'instance_properties': {
        'pci_requests': [{'spec': []}]}}

    with pytest.raises(exception.InvalidInput, match=re.escape(
            'instance_properties.pci_requests.requests[0].count: is missing'
            )):
        objects.arguments.from_legacy_dicts(request_spec, {})


@pytest.mark.parametrize('policy, fails', [
    ('anti-affinity', True), ('affinity', False)])
def test_invalid_rule_of_anti_affinity_group_is_refused(policy, fails):
    """Other policies do not use the rule."""
    spec = changed(SPEC, ('instance_group',), {
        'nova_object.name': 'InstanceGroup',
        'nova_object.namespace': 'nova', 'nova_object.version': '1.11',
        'nova_object.data': {
            'policy': policy, '_rules': {'max_server_per_host': 'many'}}})

    if fails:
        assert refusal(spec) == (
            'spec_obj.instance_group.rules.max_server_per_host = '
            "'many': must be an integer")
    else:
        objects.arguments.from_wire(spec)


class TestText:

    @staticmethod
    def check(call):
        objects.arguments.check_text(call, json.dumps(call).encode())

    @pytest.mark.parametrize('bad', ['\ud800', '\udfff', '\0'])
    @pytest.mark.parametrize('path, field', [
        (('project_id',), 'project_id'),
        ((*FLAVOR, 'name'), 'flavor.name'),
        ((*FLAVOR, 'extra_specs'), 'flavor.extra_specs.a[0]'),
        (('of_a_newer_release',), 'of_a_newer_release')])
    def test_bad_character_is_refused_with_its_path(self, path, field, bad):
        """Also in unknown fields."""
        value = {'a': [f'x{bad}y']} if field.endswith(']') else f'x{bad}y'

        with pytest.raises(exception.InvalidInput) as caught:
            self.check({'spec_obj': changed(SPEC, path, value)})

        reason = caught.value.kwargs['reason']
        assert reason.startswith(f'spec_obj.{field} = ')
        assert f'must not contain {bad!r}' in reason
        reason.encode()

    @pytest.mark.parametrize('call, field', [
        ({'spec_obj': {'x\ud800': 1}}, 'spec_obj'),
        ({'instance_uuids': ['a', '\ud800']}, 'instance_uuids[1]'),
        ({'request_spec': {'image': {'\0': 1}}}, 'request_spec.image')])
    def test_bad_character_in_name_is_refused(self, call, field):
        with pytest.raises(exception.InvalidInput, match=re.escape(field)):
            self.check(call)

    @pytest.mark.parametrize('text', [
        '\u00fc', '\U0001f600', '\n\x7f', '\\ud800', '\\u0000', 'x' * 9999])
    def test_other_characters_are_accepted(self, text):
        self.check({'spec_obj': changed(SPEC, ('project_id',), text)})

    def test_plain_request_is_not_searched(self, monkeypatch):
        """A search in the bytes suffices."""
        monkeypatch.setattr(objects.arguments, '_check_characters', None)

        self.check({'spec_obj': SPEC})

    def test_too_deep_call_is_refused(self):
        deep = ['\ud800']
        for _ in range(2000):
            deep = [deep]

        with pytest.raises(exception.InvalidInput, match='nested too deeply'):
            objects.arguments.check_text({'a': deep}, b'\\ud800')

    def test_call_larger_than_the_limit_is_refused(self):
        with pytest.raises(exception.InvalidInput, match=(
                r'the arguments of select_destinations: 4194[0-9]+ bytes of '
                'JSON, and at most 4194304 are allowed')):
            self.check({'spec_obj': 'x' * (4 << 20)})
