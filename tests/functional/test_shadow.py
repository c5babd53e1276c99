"""A shadow on a real broker receives all requests and answers none."""

import contextlib
import json
import uuid

from amqp import exceptions as amqp
import kombu
import oslo_messaging as messaging
import pytest

from nova_sched import context
from nova_sched.compat.nova import reach
from nova_sched.dry_run.shadow import compare
from nova_sched.dry_run.shadow import report
from nova_sched.dry_run.shadow import tap
from tests.builders import requests
from tests.functional import broker
from tests.functional import processes
from tests.functional import stage as stages

pytestmark = pytest.mark.real

CLASSIC = {}
QUORUM = {'oslo_messaging_rabbit__rabbit_quorum_queue': True}
each_kind = pytest.mark.parametrize('kind', [CLASSIC, QUORUM],
                                    ids=['classic', 'quorum'])


@pytest.fixture(autouse=True)
def plug_ins():
    """Undo the limits that a shadow in this process puts on plug-ins."""
    yield
    reach.limit(None)


@pytest.fixture
def options():
    """Options with a topic of this test, because kinds of queues differ."""
    return {'DEFAULT__scheduler_topic': f'sched-{uuid.uuid4().hex[:8]}'}


@pytest.fixture
def shadow(stage, options):
    """Function that starts a shadow: its Program; ``reports`` reads its file.
    """
    def start(listening=True, **more):
        path = stage.directory / 'shadow.jsonl'
        conf = stage.config_file('shadow', **{
            **options, 'nova_sched__shadow_report': path, **more})
        program = processes.Program(
            'nova-sched', ['--shadow', '--config-file', conf],
            stage.directory / 'shadow.log')
        exits.callback(program.end)
        program.reports = lambda: (
            list(report.read(path)) if path.exists() else [])
        if listening:
            program.wait_for_lines('Listening to topic')
        return program
    with contextlib.ExitStack() as exits:
        yield start


def channel(stage):
    """A channel that confirms each message before it returns."""
    return broker.channel(stage.transport_url, confirm_publish=True)


def is_there(stage, queue):
    with channel(stage) as bus:
        try:
            bus.queue_declare(queue, passive=True)
        except amqp.NotFound:
            return False
        except amqp.ResourceLocked:
            return True     # it is exclusive to another connection
    return True


def publish(stage, conf, number):
    """Publish some numbered casts of select_destinations."""
    with channel(stage) as bus:
        for each in range(number):
            kombu.Producer(bus).publish(
                {'oslo.version': '2.0', 'oslo.message': json.dumps({
                    'method': 'select_destinations', 'version': '4.5',
                    'args': {'number': each}})},
                exchange=conf.control_exchange,
                routing_key=conf.scheduler_topic, serializer='json')


def declare_exchange(stage, conf, kind):
    with channel(stage) as bus:
        kombu.Exchange(conf.control_exchange, 'topic',
                       durable=bool(kind))(bus).declare()


def test_shadow_compares_each_request_with_the_live_decision(
        stage, options, shadow):
    """The caller gets one answer, from the live scheduler."""
    cloud = stage.cloud(8, live=False)
    stage.daemon(**options)
    watching = shadow(DEFAULT__debug=True)
    caller = stage.client(**options)
    for number in range(5):
        spec = requests.a_request(instance_uuid=str(uuid.uuid4()))
        answer = caller.place(spec)
        watching.wait_for_lines(f'{spec.instance_uuid} is decided here')
        stages.boot(cloud, [spec.instance_uuid], answer, spec.flavor)
        entry = processes.until(
            lambda count=number + 1: len(watching.reports()) == count
            and watching.reports()[-1], 'a line about it')
        assert entry['instances'] == [spec.instance_uuid]
        assert entry['live']['hosts'] == stages.picks(answer)
        assert entry['verdict'] in (*compare.AGREEMENTS,
                                    compare.NOT_COMPARABLE)


def test_shadow_answers_no_call(stage, options, shadow):
    """Without a live scheduler a caller times out."""
    stage.cloud(4, live=False)
    declare_exchange(stage, stage.configuration(**options), CLASSIC)
    watching = shadow(DEFAULT__rpc_response_timeout=1)
    caller = stage.client(**{**options, 'DEFAULT__long_rpc_timeout': 4,
                             'DEFAULT__rpc_response_timeout': 4})

    with pytest.raises(messaging.MessagingTimeout):
        caller.ask()

    entries = processes.until(watching.reports, 'a line about it')
    assert entries[0]['verdict'] == compare.NOT_COMPARABLE


@each_kind
def test_queue_of_a_shadow_is_bounded_and_ends_with_it(
        stage, options, kind, monkeypatch):
    """It keeps the newest requests."""
    monkeypatch.setattr(tap, 'MAX_WAITING', 3)
    conf = stage.configuration(**options, **kind)
    declare_exchange(stage, conf, kind)
    listener = tap.Tap(conf)
    listener.open()
    try:
        assert is_there(stage, listener.queue)
        publish(stage, conf, 100)
        processes.until(lambda: listener.queue_length() == 3, 'a full queue')
        numbers = []
        while call := listener.next(2):
            numbers.append(call.args['number'])
        assert numbers[-3:] == [97, 98, 99]
        assert len(numbers) <= 3 + 16
    finally:
        listener.close()

    assert not is_there(stage, listener.queue)


@each_kind
def test_shadow_reconnects_and_compares_later_requests(
        stage, options, shadow, kind):
    stage.cloud(4, live=False)
    declare_exchange(stage, stage.configuration(**options), kind)
    door = stage.door_to_broker()
    door.open()
    watching = shadow(**kind, DEFAULT__rpc_response_timeout=1,
                      DEFAULT__transport_url=door.url)
    door.close()
    watching.wait_for_lines('Cannot listen at')
    door.open()
    watching.wait_for_lines('Listening to topic', times=2)

    caller = messages_to(stage, **options, **kind)
    caller('select_destinations',
           spec_obj=requests.a_request().obj_to_primitive(),
           instance_uuids=[requests.INSTANCE_UUID])

    entries = processes.until(watching.reports, 'a line about it')
    assert [entry['instances'] for entry in entries] == [
        [requests.INSTANCE_UUID]]
    assert not watching.lines('Traceback')


def messages_to(stage, **options):
    """Function that casts to the topic."""
    conf = stage.configuration(**options)
    client = messaging.get_rpc_client(
        stage.transport(**options),
        messaging.Target(topic=conf.scheduler_topic, version='4.0'))
    return lambda method, **args: client.cast(
        context.RequestContext().to_dict(), method, **args)


def test_shadow_waits_for_the_exchange_and_never_declares_it(
        stage, options, shadow):
    """Its declaration might differ from the live services'."""
    stage.cloud(4, live=False)
    watching = shadow(listening=False)
    [line] = watching.wait_for_lines('Cannot listen at')
    assert f'there is no exchange {stage.conf.control_exchange}' in line
    with channel(stage) as bus, pytest.raises(amqp.NotFound):
        bus.exchange_declare(stage.conf.control_exchange, 'topic',
                             passive=True)

    stage.daemon(**options)
    watching.wait_for_lines('Listening to topic')


def test_hanging_broker_ends_a_listener(stage, options):
    door = stage.door_to_broker()
    door.open()
    conf = stage.configuration(
        **options, DEFAULT__transport_url=door.url,
        oslo_messaging_rabbit__heartbeat_timeout_threshold=4)
    declare_exchange(stage, conf, CLASSIC)
    listener = tap.Tap(conf)
    listener.open()
    door.hangs = True
    with pytest.raises(tap.ConnectionLost):
        while True:
            listener.next(0.2)
    listener.close()
