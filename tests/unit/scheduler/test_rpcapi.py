"""The clients of conductors, over a transport in memory."""

import logging

import oslo_messaging as messaging
import pytest

from nova_sched import context
from nova_sched import exception
from nova_sched import objects
from nova_sched.scheduler import manager
from nova_sched.scheduler import rpcapi
from nova_sched.scheduler.client import query
from tests.builders import clouds
from tests.builders import drivers
from tests.builders import messages
from tests.builders import requests
from tests.builders import rules
from tests.builders.hosts import a_host

CONTEXT = context.RequestContext()
UUIDS = [clouds.a_uuid(1), clouds.a_uuid(2)]


class FaultyScheduler(drivers.MemoryScheduler):
    """Fails for the instance named fault."""

    def select_destinations(self, context, spec_obj, *args, **kwargs):
        if spec_obj.instance_uuid == 'fault':
            raise ZeroDivisionError('of the driver')
        return super().select_destinations(context, spec_obj, *args, **kwargs)


@pytest.fixture(scope='module', params=['fake://', 'kombu+memory://'])
def bus(request):
    """A transport with a scheduler behind it; (conf, transport)."""
    conf = rules.a_conf()
    scheduler = FaultyScheduler(
        *(a_host(name, free_ram_mb=30000 - number)
          for number, name in enumerate('abcd')))
    with (messages.transport(conf, request.param) as made,
          messages.serving(made, conf,
                           manager.BaseRPCEndpoint('scheduler'),
                           drivers.door(scheduler, text='counts'))):
        yield conf, made


@pytest.fixture
def api(bus):
    return rpcapi.SchedulerAPI(*bus)


@pytest.fixture(scope='module')
def wire():
    """(transport, list that messages are written to)."""
    conf = rules.a_conf(DEFAULT__control_exchange='recorded')
    scheduler = drivers.MemoryScheduler(a_host('a'), a_host('b'))
    with (messages.transport(conf) as made, messages.recording(
            made, conf, manager.BaseRPCEndpoint('scheduler'),
            drivers.door(scheduler)) as written):
        yield made, written


def capped(wire, cap, *args):
    """The message that a client under a version cap sends, and the answer."""
    made, written = wire
    api = rpcapi.SchedulerAPI(
        rules.a_conf(upgrade_levels__scheduler=cap), made)
    written.clear()
    answer = api.select_destinations(CONTEXT, *args)
    [message] = written
    return message, answer


class TestAnswer:
    def test_with_objects_is_lists_of_selections(self, api):
        answer = api.select_destinations(
            CONTEXT, requests.a_request(), UUIDS, return_objects=True,
            return_alternates=True)

        assert [[selection.service_host for selection in chosen]
                for chosen in answer] == [['a', 'c', 'd'], ['b', 'c', 'd']]
        assert isinstance(answer[0][0], objects.Selection)
        assert answer[0][0].limits.memory_mb == 49152

    def test_to_an_envelope_is_as_to_an_object(self, api):
        spec = requests.a_request().obj_to_primitive()

        assert len(api.select_destinations(CONTEXT, spec, UUIDS)) == 2

    def test_comes_over_the_topic_that_is_configured(self):
        """The name of the service does not change."""
        conf = rules.a_conf(DEFAULT__control_exchange='of another topic',
                            DEFAULT__scheduler_topic='sched-2')
        with (messages.transport(conf) as made, messages.serving(
                made, conf, manager.BaseRPCEndpoint('scheduler'))):
            answer = rpcapi.SchedulerAPI(conf, made).ping(CONTEXT, 1)

        assert answer == {'service': 'scheduler', 'arg': 1}


class TestErrors:
    def test_include_no_valid_host_with_its_reason(self, api):
        with pytest.raises(exception.NoValidHost) as refused:
            api.select_destinations(
                CONTEXT, requests.a_request(memory_mb=10 ** 6), UUIDS)

        reason = refused.value.kwargs['reason']
        assert reason.startswith('There are not enough hosts available. '
                                 '0 of 4 hosts: 4 RamFilter (')
        assert refused.value.format_message() == (
            f'No valid host was found. {reason}')

    def test_include_invalid_input_with_the_field(self, api):
        spec = requests.a_request().obj_to_primitive()
        del spec['nova_object.data']['flavor']

        with pytest.raises(exception.InvalidInput,
                           match=r'spec_obj\.flavor') as refused:
            api.select_destinations(CONTEXT, spec, UUIDS)

        assert refused.value.kwargs['code'] == 400

    def test_in_the_driver_do_not_stop_the_server(self, api):
        """As RemoteError or their own class."""
        with pytest.raises((ZeroDivisionError, messaging.RemoteError),
                           match='of the driver'):
            api.select_destinations(CONTEXT, requests.a_request(
                instance_uuid='fault'), None)

        assert api.select_destinations(CONTEXT, requests.a_request(), None)

    def test_without_an_answer_are_a_timeout(self):
        conf = rules.a_conf(DEFAULT__long_rpc_timeout=1,
                            DEFAULT__control_exchange='where nobody listens')
        with (messages.transport(conf) as made,
              pytest.raises(messaging.MessagingTimeout)):
            rpcapi.SchedulerAPI(conf, made).select_destinations(
                CONTEXT, requests.a_request(), UUIDS)


class TestVersionCap:
    @pytest.mark.parametrize('cap, version, args', [
        *((cap, '4.5', ['spec_obj', 'instance_uuids', 'return_objects',
                        'return_alternates']) for cap in (None, '4.5', '4.9')),
        *((cap, '4.4', ['spec_obj', 'instance_uuids'])
          for cap in ('4.4', 'pike')),
        *((cap, '4.3', ['spec_obj'])
          for cap in ('4.3', 'mitaka', 'newton', 'ocata')),
        *((cap, '4.0', ['request_spec', 'filter_properties'])
          for cap in ('4.2', 'kilo', 'liberty', '4.0'))])
    def test_decides_the_arguments(self, wire, cap, version, args):
        message, answer = capped(wire, cap, requests.a_request(), UUIDS[:1])

        assert message['method'] == 'select_destinations'
        assert message['version'] == version
        assert set(message['args']) == {*args}
        assert 'namespace' not in message
        assert [entry['host'] for entry in answer] == ['a']

    @pytest.mark.parametrize('cap', ['4.4', 'pike', '4.3', 'kilo'])
    @pytest.mark.parametrize('flags', [
        {'return_objects': True}, {'return_alternates': True},
        {'return_objects': True, 'return_alternates': True}])
    def test_below_4_5_refuses_objects(self, wire, cap, flags):
        made, written = wire
        api = rpcapi.SchedulerAPI(
            rules.a_conf(upgrade_levels__scheduler=cap), made)
        written.clear()

        with pytest.raises(
                exception.SelectionObjectsWithOldRPCVersionNotSupported,
                match='not supported in select_destinations'):
            api.select_destinations(CONTEXT, requests.a_request(), UUIDS,
                                    **flags)

        assert written == []

    @pytest.mark.parametrize('cap', ['juno', '3.0', '5.0'])
    def test_with_another_major_version_is_refused(self, wire, cap):
        made, _ = wire
        api = rpcapi.SchedulerAPI(
            rules.a_conf(upgrade_levels__scheduler=cap), made)

        with pytest.raises(messaging.RPCVersionCapError):
            api.select_destinations(CONTEXT, requests.a_request(), UUIDS)

    def test_below_4_3_still_carries_the_whole_request(self, wire):
        spec = requests.a_request(
            memory_mb=600, ignore_hosts=['a'], num_instances=2,
            hints={'x': ['1', '2']}, group={'policy': 'affinity'})

        message, answer = capped(wire, 'kilo', spec, None)

        assert [entry['host'] for entry in answer] == ['b', 'b']
        properties = message['args']['filter_properties']
        assert properties['scheduler_hints'] == {'x': ['1', '2']}
        assert properties['group_policies'] == ['affinity']


ONE = [clouds.a_uuid(1)]


@pytest.fixture(scope='module')
def client():
    """A client of a scheduler with the two hosts a and b."""
    conf = rules.a_conf(DEFAULT__control_exchange='query')
    door = drivers.door(drivers.MemoryScheduler(a_host('a'), a_host('b')))
    with (messages.transport(conf) as made,
          messages.serving(made, conf, door)):
        yield query.SchedulerQueryClient(conf, made)


class TestSchedulerQueryClient:

    def test_makes_a_transport_from_the_configuration(self, client):
        own = query.SchedulerQueryClient(
            rules.a_conf(DEFAULT__transport_url='fake://',
                         DEFAULT__control_exchange='query'))

        assert len(own.select_destinations(
            CONTEXT, requests.a_request(), ONE)) == 1

    def test_logs_the_call_and_returns_dicts(self, client, caplog):
        with caplog.at_level(logging.DEBUG, query.__name__):
            [entry] = client.select_destinations(
                CONTEXT, requests.a_request(), ONE)

        assert entry['host'] == 'a'
        assert caplog.messages[0] == (
            'SchedulerQueryClient starts to make a RPC call.')
