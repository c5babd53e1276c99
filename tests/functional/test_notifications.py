"""Notifications to consumers, also while their bus is down."""

import contextlib
import socket
import time
import uuid

import kombu
import pytest

from nova_sched import exception
from tests.builders import notifications as consumers
from tests.functional import broker
from tests.functional import conftest
from tests.functional import processes

pytestmark = pytest.mark.real

CALLS = 10


@pytest.fixture(scope='module')
def season(tmp_path_factory):
    """A Stage with a cloud."""
    with conftest.open_stage(tmp_path_factory.mktemp('notified')) as stage:
        stage.cloud(4)
        yield stage


@pytest.fixture
def stage(season):
    with season.scene():
        yield season


@pytest.fixture
def options():
    """Options that enable notifications to topics of this test."""
    unique = uuid.uuid4().hex[:8]
    return {
        'oslo_messaging_notifications__driver': 'messagingv2',
        'oslo_messaging_notifications__topics': f'older-{unique}',
        'notifications__notification_format': 'both',
        'notifications__versioned_notifications_topics': f'newer-{unique}'}


@contextlib.contextmanager
def consumer(stage, options, **others):
    """A Consumer of the topics in the options, for a block."""
    conf = stage.configuration(**options | others)
    with consumers.consumer(conf, [
            *conf.oslo_messaging_notifications.topics,
            *conf.notifications.versioned_notifications_topics]) as made:
        yield made


def heard(consumer, count):
    """Wait for exactly ``count`` notifications; return them."""
    processes.until(lambda: len(consumer.heard) >= count,
                    f'{count} notifications')
    assert len(consumer.heard) == count
    return consumer.heard


def test_consumer_gets_both_formats_for_each_request(stage, options):
    """A refused request has only its start."""
    host = stage.conf.host
    stage.daemon(**options)
    caller = stage.client()
    with consumer(stage, options) as found:
        caller.ask(request_id='req-placed')
        heard(found, 4)
        with pytest.raises(exception.NoValidHost):
            caller.ask(request_id='req-refused', vcpus=5000,
                       force_hosts=['nosuch'])
        heard(found, 6)
        for publisher in (f'scheduler.{host}', f'nova-scheduler:{host}'):
            assert found.events(publisher) == [
                (publisher, phase) for phase in ('start', 'end', 'start')]
        assert [each.context['request_id'] for each in found.heard] == (
            ['req-placed'] * 4 + ['req-refused'] * 2)


def test_requests_do_not_wait_for_a_bus_that_is_down(stage, options):
    """The bus gets all notifications once it is up."""
    door = stage.door_to_broker()
    down = options | {
        'oslo_messaging_notifications__transport_url': door.url}
    stage.daemon(**down)
    answered_soon(stage)
    with consumer(stage, options) as found:
        door.open()
        assert len(heard(found, 4 * CALLS)) == 4 * CALLS


def test_durable_queue_of_a_consumer_loses_only_its_topic(stage, options):
    """The loss is logged once."""
    conf = stage.configuration(**options)
    [older] = conf.oslo_messaging_notifications.topics
    with broker.channel(stage.transport_url) as channel:
        queue = kombu.Queue(f'{older}-durable.info', durable=True)(channel)
        queue.queue_declare()
        daemon = stage.daemon(**{
            **options, 'oslo_messaging_notifications__topics':
            f'{older},{older}-durable'})
        with consumer(stage, options) as found:
            for _ in range(2):
                stage.client().ask()
            heard(found, 8)
        queue.delete()
    assert len(daemon.lines('cannot be sent and is dropped')) == 1


def test_stop_does_not_wait_for_a_silent_bus(stage, options):
    """The number of unsent notifications is logged."""
    with socket.create_server(('127.0.0.1', 0)) as silent:
        port = silent.getsockname()[1]
        daemon = stage.daemon(
            oslo_messaging_notifications__transport_url=(
                f'rabbit://guest:guest@127.0.0.1:{port}/'), **options)
        answered_soon(stage)
        status, seconds = daemon.stop()
    assert status == 0
    assert seconds < processes.SOON
    assert daemon.lines(f'{4 * CALLS} notification(s) were not sent')
    assert not daemon.lines('Traceback')


def answered_soon(stage):
    """Send calls; fail if they take long."""
    caller = stage.client()
    begin = time.monotonic()
    for _ in range(CALLS):
        assert caller.ask()
    assert time.monotonic() - begin < processes.SOON
