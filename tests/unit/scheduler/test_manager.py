"""The RPC endpoint: forms of requests and of answers."""

import bdb
import json

import oslo_messaging as messaging
from oslo_versionedobjects.exception import IncompatibleObjectVersion
import pytest

from nova_sched import context
from nova_sched import exception
from nova_sched.objects import spec_dicts
from nova_sched.scheduler import driver
from tests.builders import clouds
from tests.builders import drivers
from tests.builders import requests
from tests.builders import rules
from tests.builders.hosts import a_host

UUIDS = [clouds.a_uuid(1), clouds.a_uuid(2)]
CONTEXT = context.RequestContext()


def a_manager(**options):
    return drivers.door(drivers.MemoryScheduler(
        *(a_host(name, free_ram_mb=30000 - number)
          for number, name in enumerate('abcd')),
        enabled_filters=['RamFilter'], **options))


def ask(door=None, **args):
    """The answer of a manager; spec_obj may be an object."""
    spec = args.get('spec_obj')
    if hasattr(spec, 'obj_to_primitive'):
        args['spec_obj'] = spec.obj_to_primitive()
    answer = (door or a_manager()).select_destinations(CONTEXT, **args)
    return json.loads(json.dumps(answer))


def dicts(spec=None):
    """The arguments of RPC 4.0 for a request."""
    spec = spec or requests.a_request()
    return {'request_spec': spec_dicts.to_request_spec_dict(spec),
            'filter_properties': spec_dicts.to_filter_properties_dict(spec)}


def names(answer):
    """Host names of an answer with Selection envelopes."""
    return [[envelope['nova_object.data']['service_host']
             for envelope in chosen] for chosen in answer]


class RecordingScheduler(driver.Scheduler):
    """Keeps the arguments of the last call, and places nothing."""

    def select_destinations(self, context, spec_obj, instance_uuids,
                            return_alternates=False):
        self.received = (context, spec_obj, instance_uuids, return_alternates)
        return []


class TestArguments:
    @pytest.mark.parametrize(('objects', 'alternates', 'form'), [
        (None, None, 'ab'), (False, None, 'ab'), (False, True, 'ab'),
        ('false', 'true', 'ab'), ('true', 'false', ['a', 'b']),
        (True, None, ['a', 'b']), (True, False, ['a', 'b']),
        (True, True, ['acd', 'bcd'])])
    @pytest.mark.parametrize('request_', [
        dicts(), {'spec_obj': requests.a_request()}], ids=['dicts', 'object'])
    def test_choose_the_form_of_the_answer(self, objects, alternates, form,
                                           request_):
        """Dicts, or lists of Selections."""
        flags = {'return_objects': objects, 'return_alternates': alternates}
        answer = ask(**request_, instance_uuids=UUIDS, **{
            name: flag for name, flag in flags.items() if flag is not None})

        if form == 'ab':
            assert ''.join(entry['host'] for entry in answer) == form
        else:
            assert [''.join(found) for found in names(answer)] == form

    @pytest.mark.parametrize('args', [
        {'spec_obj': requests.a_request(num_instances=3)},
        {'spec_obj': requests.a_request(num_instances=3),
         'instance_uuids': None},
        dicts(requests.a_request(num_instances=3))])
    def test_without_uuids_have_the_number_of_instances(self, args):
        assert len(ask(**args)) == 3

    def test_go_to_the_driver_as_one_request_object(self):
        scheduler = RecordingScheduler(rules.a_conf())

        ask(drivers.door(scheduler), **dicts(
            requests.a_request(memory_mb=77, hints={'a': ['b']})),
            instance_uuids=UUIDS, return_objects=True,
            return_alternates=True)

        asked_context, spec, uuids, alternates = scheduler.received
        assert asked_context is CONTEXT
        assert spec._context is CONTEXT
        assert spec.memory_mb == 77
        assert spec.get_scheduler_hint('a') == 'b'
        assert uuids == UUIDS
        assert alternates is True

        # Alternates are returned only together with objects.
        ask(drivers.door(scheduler), spec_obj=requests.a_request(),
            return_alternates=True)
        assert scheduler.received[3] is False


def test_dict_answer_has_host_node_and_the_limits_that_are_set():
    [entry] = ask(spec_obj=requests.a_request())

    assert entry == {'host': 'a', 'nodename': 'a',
                     'limits': {'memory_mb': 49152}}


@pytest.mark.parametrize('caller, version', [
    ('1.5', '1.0'), ('1.8', '1.0'), ('1.11', '1.0'), ('1.12', '1.0'),
    ('1.13', '1.1'), ('1.14', '1.1'), ('1.15', '1.1'), ('1.99', '1.1')])
def test_object_answer_has_the_version_of_the_caller(caller, version):
    envelope = requests.a_request().obj_to_primitive()
    envelope['nova_object.version'] = caller

    [[selection]] = ask(spec_obj=envelope, return_objects=True)

    assert selection['nova_object.name'] == 'Selection'
    assert selection['nova_object.version'] == version
    assert ('availability_zone' in selection['nova_object.data']) is (
        version == '1.1')
    limits = selection['nova_object.data']['limits']
    assert limits['nova_object.name'] == 'SchedulerLimits'
    assert limits['nova_object.data']['memory_mb'] == 49152
    [[oldest]] = ask(**dicts(), return_objects=True)
    assert oldest['nova_object.version'] == '1.0'


#: Invalid arguments, and the field that the refusal names; more of them
#: stand in tests/unit/objects/test_arguments.py.
WRONG = {
    'no arguments': ({}, 'request_spec'),
    'a text for a spec': ({'spec_obj': 'text'}, 'spec_obj'),
    'another object': ({'spec_obj': requests.a_flavor().obj_to_primitive()},
                       'spec_obj'),
    'too many uuids': ({'spec_obj': requests.a_request(),
                        'instance_uuids': ['u'] * 10001}, 'instance_uuids'),
    'a text for uuids': ({'spec_obj': requests.a_request(),
                          'instance_uuids': 'abc'}, 'instance_uuids'),
    'empty dicts': ({'request_spec': {}, 'filter_properties': {}},
                    'request_spec.instance_type'),
}


class TestWrongRequest:
    @pytest.mark.parametrize('args, field', WRONG.values(), ids=WRONG.keys())
    def test_is_refused_with_the_name_of_the_field(self, args, field):
        # oslo.messaging wraps errors that are part of the interface.
        with pytest.raises(messaging.ExpectedException) as refused:
            ask(**args)

        _, error, _ = refused.value.exc_info
        assert isinstance(error, exception.InvalidInput)
        assert field in error.format_message()

    def test_with_an_unknown_major_version_is_refused_as_such(self):
        envelope = requests.a_request().obj_to_primitive()
        envelope['nova_object.version'] = '2.0'

        with pytest.raises(messaging.ExpectedException) as refused:
            ask(spec_obj=envelope)

        assert refused.value.exc_info[0] is IncompatibleObjectVersion


def test_a_debugger_without_a_terminal_is_explained(caplog):
    """A pdb.set_trace() in a plug-in: a worker has no input."""
    class Traced(RecordingScheduler):
        def select_destinations(self, *args, **kwargs):
            raise bdb.BdbQuit

    with pytest.raises(bdb.BdbQuit):
        ask(drivers.door(Traced(rules.a_conf())),
            spec_obj=requests.a_request())

    assert 'run "nova-sched --no-fork" in a terminal' in caplog.text


JUNK = [None, 5, 'text', [], {}, [None], {'nova_object.name': 'Aggregate'},
        [{'nova_object.name': 'Unknown', 'nova_object.version': '9.9'}]]


@pytest.mark.parametrize('junk', JUNK, ids=str)
def test_casts_with_junk_are_ignored(junk):
    door = a_manager()

    door.update_aggregates(CONTEXT, aggregates=junk)
    door.delete_aggregate(CONTEXT, aggregate=junk)
    door.update_instance_info(CONTEXT, host_name=junk, instance_info=junk)
    door.delete_instance_info(CONTEXT, host_name=junk, instance_uuid=junk)
    door.sync_instance_info(CONTEXT, host_name=junk, instance_uuids=junk)

    assert len(ask(door, spec_obj=requests.a_request())) == 1
