"""Payloads of notifications equal Nova's for the same request.

Comments explain intended differences.
"""

import copy
import json

import pytest

from nova_sched import objects
from nova_sched.hosts.decision import Pick
from nova_sched.objects import arguments
from nova_sched.objects import base
from nova_sched.observe import payloads
from tests.builders import requests
from tests.unit.objects import captures

CASES = ('simple-flavor', 'server-group-anti-affinity',
         'numa-pinned-hugepages', 'no-valid-host-filters')
EVENTS = [(case, phase) for case in CASES for phase in ('start', 'end')
          # A refused request has no end.
          if (case, phase) != ('no-valid-host-filters', 'end')]
#: Requests with much in them, and Nova's payloads.
PARTS = captures.load('34-notifications-parts')['asked']
CALLS = sorted(
    name for argument in ('spec_obj', 'request_spec')
    for name in captures.with_argument(argument)
    # These are no requests.
    if not name.endswith('err-version-3-0'))


def request(name):
    """The RequestSpec of a captured call."""
    args = captures.args(name)
    if 'spec_obj' in args:
        return arguments.from_wire(args['spec_obj'])
    return arguments.from_legacy_dicts(
        args['request_spec'], args['filter_properties'])


def picks(name):
    """The picks in the captured answer to a call: list of Pick."""
    [answer] = captures.replies(name)
    found = [chosen[0]['nova_object.data'] for chosen in answer]
    uuids = captures.args(name)['instance_uuids']
    return [Pick(index, uuid, selection['service_host'],
                 selection['nodename']) for index, (uuid, selection)
            in enumerate(zip(uuids, found, strict=True))]


def made(form, era, case, phase):
    """The payload of a form for a captured call, as it arrives."""
    name = f'{era}-{case}'
    return wired(form(request(name), picks(name) if phase == 'end' else ()))


def wired(payload):
    return json.loads(json.dumps(payload))


def captured(publisher, era, case, phase):
    """The payload that Nova sent."""
    [payload] = [
        message['payload'] for message in (
            each['decoded']['oslo.message'] for each
            in captures.load(f'{era}-notifications-{case}')['notifications'])
        if message['publisher_id'].startswith(publisher)
        and message['event_type'].endswith(phase)]
    return unpinned(payload)


def unpinned(value):
    """Without CPUs: only a compute node knows the CPUs of a guest."""
    if isinstance(value, dict):
        return {key: None if key in ('cpu_pinning_raw', 'cpu_topology')
                else unpinned(part) for key, part in value.items()}
    return list(map(unpinned, value)) if isinstance(value, list) else value


class TestVersioned:
    @pytest.mark.parametrize('case, phase', EVENTS)
    def test_is_the_payload_that_nova_sends(self, case, phase):
        assert made(payloads.versioned, '34', case, phase) == captured(
            'nova-scheduler:', '34', case, phase)

    @pytest.mark.parametrize('part', PARTS)
    def test_shows_all_that_nova_shows(self, part):
        spec, wanted = part['spec_obj'], part['payload']
        made = wired(payloads.versioned(arguments.from_wire(spec)))
        if spec['nova_object.data']['requested_destination'] is None:
            # Nova makes one of a host that is forced.
            wanted['nova_object.data']['requested_destination'] = None

        assert made == wanted

    def test_ends_with_the_last_instance_and_its_group_grown(self):
        spec = requests.a_request(group={'hosts': ['a']})
        data = payloads.versioned(spec, [
            Pick(0, 'first', 'b', 'b'), Pick(1, 'second', 'c', 'c')])[
                'nova_object.data']
        assert data['instance_uuid'] == 'second'
        assert data['instance_group']['nova_object.data']['hosts'] == [
            'a', 'b', 'c']
        assert spec.instance_group.hosts == ['a']

    def test_ends_with_the_request_s_uuid_for_callers_that_send_none(self):
        data = payloads.versioned(requests.a_request(), [
            Pick(0, None, 'b', 'b')])['nova_object.data']
        assert data['instance_uuid'] == requests.INSTANCE_UUID

    @pytest.mark.parametrize('names, shown', [
        (None, None), ([], None), (['a'], 'a'), (['a', 'b'], 'a')])
    def test_shows_the_first_of_forced_hosts_and_nodes(self, names, shown):
        data = payloads.versioned(requests.a_request(
            force_hosts=names, force_nodes=names))['nova_object.data']
        assert data['force_hosts'] == data['force_nodes'] == shown

    @pytest.mark.parametrize('name', [
        'pci_requests', 'numa_topology', 'instance_group', 'retry',
        'requested_destination', 'image'])
    def test_shows_no_part_of_a_request_that_has_none(self, name):
        spec = requests.a_request()
        setattr(spec, name, None)
        assert payloads.versioned(spec)['nova_object.data'][name] is None

    def test_shows_of_a_destination_what_is_set(self):
        spec = requests.a_request()
        for wanted, shown in (
                ({'node': 'n'}, {'node': 'n', 'aggregates': None}),
                ({'host': 'h', 'aggregates': ['a']},
                 {'host': 'h', 'aggregates': ['a']})):
            spec.requested_destination = objects.Destination(**wanted)
            data = payloads.versioned(spec)['nova_object.data']
            assert data['requested_destination']['nova_object.data'] == shown


class TestUnversioned:
    @pytest.mark.parametrize('case, phase', EVENTS)
    def test_is_the_payload_that_nova_sends(self, case, phase):
        wanted = captured('scheduler.', '34', case, phase)
        instance = wanted['request_spec']['instance_properties']
        # In place of the insides of Nova's object, with the caller's token.
        instance['pci_requests'] = {'requests': []}
        if instance['numa_topology']:
            # Nova's is another one in the end, that names no instance.
            instance['numa_topology']['instance_uuid'] = instance['uuid']

        assert made(payloads.unversioned, '34', case, phase) == wanted

    @pytest.mark.parametrize('case, phase', EVENTS)
    def test_for_queens_requests_is_the_present_one(self, case, phase):
        """It has the user of the instance, and its dedicated CPUs."""
        wanted = captured('scheduler.', 'queens', case, phase)
        instance = wanted['request_spec']['instance_properties']
        spec = request(f'queens-{case}')
        instance['user_id'] = spec.user_id
        if phase == 'end':
            instance['uuid'] = picks(f'queens-{case}')[-1].instance_uuid
        if instance['numa_topology']:
            instance['numa_topology'] = wired(spec.numa_topology.flat())

        assert made(payloads.unversioned, 'queens', case, phase) == wanted


@pytest.mark.parametrize('form', [payloads.unversioned, payloads.versioned])
class TestEach:
    @pytest.mark.parametrize('name', CALLS)
    def test_form_is_made_of_what_any_caller_sends(self, form, name):
        """Without a password, though a cell's URLs may be among it."""
        payload = wired(form(request(name)))

        assert payload
        assert 'secret' not in json.dumps(payload)

    @pytest.mark.parametrize('name', CALLS)
    def test_form_leaves_no_trace_on_the_request(self, form, name):
        """Another thread may be copying it at the same time."""
        spec = request(name)
        before = state(spec)
        form(spec, [Pick(0, 'a', 'b', 'b')])
        assert state(spec) == before


def state(value):
    """The content of an object, recursively."""
    if isinstance(value, base.NovaObject):
        return {name: state(part) for name, part in value.__dict__.items()}
    if isinstance(value, list):
        return list(map(state, value))
    return copy.deepcopy(value)
