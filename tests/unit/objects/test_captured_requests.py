"""Reading and writing of the captured requests and replies of Nova."""

import json

import pytest

from nova_sched import objects
from nova_sched.objects import base
from nova_sched.objects import spec_dicts
from tests.unit.objects import captures

SPECS = captures.with_argument('spec_obj')
DICTS = captures.with_argument('request_spec')
#: Captures of malformed calls.
MALFORMED = {name for name in DICTS + SPECS
             if name.endswith(('err-bad-args', 'err-no-args',
                              'err-version-3-0'))}
_PLAIN = ('project_id', 'user_id', 'availability_zone', 'num_instances',
          'ignore_hosts', 'force_hosts', 'force_nodes', 'instance_uuid',
          'is_bfv')
_SIZES = ('memory_mb', 'vcpus', 'root_gb', 'ephemeral_gb', 'swap')


def test_captures_of_both_releases_and_forms_exist():
    assert len(SPECS) > 40
    assert {'34-kilo-style-call', 'queens-kilo-style-call'} <= set(DICTS)
    assert len(DICTS) >= 8


@pytest.mark.parametrize('name', SPECS)
class TestSpecObj:

    def test_plain_fields_and_sizes_have_the_sent_values(self, name):
        sent = captures.args(name)['spec_obj']
        data = sent['nova_object.data']
        flavor = data['flavor']['nova_object.data']

        spec = objects.arguments.from_wire(sent)

        assert spec.wire_version == sent['nova_object.version']
        assert {n: data[n] for n in _PLAIN if n in data} == {
            n: getattr(spec, n) for n in _PLAIN if n in data}
        assert {n: flavor[n] for n in _SIZES} == {
            n: getattr(spec, n) for n in _SIZES}
        assert spec.flavor.extra_specs == flavor['extra_specs']
        assert spec.scheduler_hints == data['scheduler_hints']

    def test_written_request_has_the_same_fields(self, name):
        sent = captures.args(name)['spec_obj']

        spec = objects.arguments.from_wire(sent)

        assert set(sent['nova_object.data']) <= set(
            spec.obj_to_primitive()['nova_object.data'])
        for part in ('Flavor', 'ImageMeta', 'Destination', 'SchedulerRetries',
                     'RequestGroup', 'InstancePCIRequest', 'CellMapping'):
            for envelope in captures.envelopes(sent, part):
                made = base.NovaObject.obj_from_primitive(envelope)
                written = captures.without_changes(
                    made.obj_to_primitive())['nova_object.data']
                assert _data(envelope) == _data({'nova_object.data': written})


def _data(envelope):
    """Return the data of an envelope and of nested envelopes."""
    def reduce(value):
        if isinstance(value, dict):
            if 'nova_object.data' in value:
                return reduce(value['nova_object.data'])
            return {key: reduce(part) for key, part in value.items()}
        return [reduce(p) for p in value] if isinstance(value, list) else value
    return captures.without_changes(reduce(envelope))


@pytest.mark.parametrize('name', [n for n in DICTS if n not in MALFORMED])
def test_legacy_dicts_are_read(name):
    args = captures.args(name)
    sent, properties = args['request_spec'], args['filter_properties']
    instance = sent['instance_properties']

    spec = objects.arguments.from_legacy_dicts(sent, properties)

    assert (spec.instance_uuid, spec.project_id, spec.memory_mb) == (
        instance['uuid'], instance['project_id'], instance['memory_mb'])
    assert (spec.vcpus, spec.root_gb, spec.num_instances) == (
        instance['vcpus'], instance['root_gb'], sent['num_instances'])
    assert spec.image.id == sent['image']['id']
    assert spec.image.min_disk == int(sent['image']['min_disk'])
    assert spec.wire_version == (
        '1.13' if name == '34-cap-4-2-legacy-dicts-numa-pci' else '1.0')
    assert spec.requested_destination is None
    assert spec.limits.to_dict() == {}
    for hint, value in properties.get('scheduler_hints', {}).items():
        assert spec.scheduler_hints[hint] == (
            value if isinstance(value, list) else [value])


@pytest.mark.parametrize('era', ['queens', '34'])
class TestLegacyParts:

    def test_group_keys_are_a_group(self, era):
        args = captures.args(f'{era}-cap-4-2-legacy-dicts-group')

        group = objects.arguments.from_legacy_dicts(**args).instance_group

        assert group.policy == 'anti-affinity'
        assert group.policies == ['anti-affinity']
        assert group.hosts == args['filter_properties']['group_hosts']
        assert (group.members, group.rules, group.wire_version) == (
            args['filter_properties']['group_members'], {}, '1.9')

    def test_aggregate_casts_are_read(self, era):
        sent = captures.args(f'{era}-info-update-aggregates')['aggregates']

        found = objects.aggregates_from_wire(sent)

        assert found[0].hosts and found[0].uuid
        assert found[0].availability_zone == found[0].metadata.get(
            'availability_zone')

    def test_instance_casts_are_read(self, era):
        sent = captures.args(f'{era}-info-update-instance-info')

        found = objects.InstanceList.from_envelope(
            sent['instance_info']).objects

        assert len(found) == 2
        for instance in found:
            assert instance.uuid and instance.host
            assert instance.memory_mb == instance.flavor.memory_mb


@pytest.mark.parametrize('name', captures.names_where(
    lambda m: m['method'] == 'select_destinations'))
def test_captured_selections_are_written_unchanged(name):
    caller = '1.15' if name.startswith('34-') else '1.8'
    for envelope in captures.envelopes(captures.replies(name), 'Selection'):
        selection = objects.Selection.obj_from_primitive(envelope)

        written = objects.selection.to_wire([[selection]], caller)

        assert [[captures.without_changes(envelope)]] == written


@pytest.mark.parametrize('name', captures.names_where(
    lambda m: m['method'] == 'select_destinations'
    and not m['args'].get('return_objects')))
def test_captured_dict_replies_are_written_unchanged(name):
    """Except that NUMA limits are in version 1.0."""
    for result in captures.replies(name):
        for sent in result:
            selection = objects.Selection(
                service_host=sent['host'], nodename=sent['nodename'],
                limits=objects.SchedulerLimits.from_dict(sent['limits']))

            written, = objects.selection.to_dicts([selection], '1.0')

            expected = captures.without_changes(sent)
            for numa in captures.envelopes(expected, 'NUMATopologyLimits'):
                numa['nova_object.version'] = '1.0'
            assert expected == written


@pytest.mark.parametrize('name', captures.names_where(
    lambda m: m['method'] == 'select_destinations'
    and isinstance(m['args'].get('request_spec'), dict)
    and m['args']['request_spec'].get('instance_type', {}).get(
        'nova_object.name')))
def test_captured_dicts_are_written_unchanged(name):
    sent = captures.without_changes(captures.args(name))
    instance = sent['request_spec']['instance_properties']
    instance.setdefault('user_id', None)

    spec = objects.arguments.from_legacy_dicts(**sent)

    written = captures.without_changes(spec_dicts.to_request_spec_dict(spec))
    for cell in captures.envelopes(instance, 'InstanceNUMACell'):
        cell['nova_object.data'].setdefault('pcpuset', [])
    # Queens' objects are written in current versions.
    for name_ in ('InstanceNUMACell', 'InstancePCIRequest'):
        for value in (sent, written):
            for envelope in captures.envelopes(value, name_):
                del envelope['nova_object.version']
    assert written == sent['request_spec']
    assert spec_dicts.to_filter_properties_dict(spec) == (
        sent['filter_properties'])


@pytest.mark.parametrize('name', SPECS)
def test_captured_request_is_the_same_in_dict_form(name):
    spec = objects.arguments.from_wire(captures.args(name)['spec_obj'])

    dicts = json.loads(json.dumps([
        spec_dicts.to_request_spec_dict(spec),
        spec_dicts.to_filter_properties_dict(spec)]))
    again = objects.arguments.from_legacy_dicts(*dicts)

    for field in ('memory_mb', 'vcpus', 'project_id', 'instance_uuid',
                  'availability_zone'):
        assert getattr(again, field) == getattr(spec, field)
    for field in ('force_hosts', 'ignore_hosts', 'scheduler_hints'):
        assert (getattr(again, field) or None) == (
            getattr(spec, field) or None)
    assert (again.retry is None) == (spec.retry is None)
    assert (again.instance_group is None) == (spec.instance_group is None)
