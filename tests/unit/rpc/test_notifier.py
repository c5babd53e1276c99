"""Whether a notification went out, which its sender is to know."""

import logging
import threading

import amqp
import oslo_messaging
import pytest

from nova_sched import context
from nova_sched import exception
from nova_sched.rpc import notifier
from tests.builders import notifications as consumers
from tests.builders import rules
from tests.builders.services import wait_for

CONTEXT = context.RequestContext()
LOGGER = 'oslo_messaging.notify.messaging'


def a_conf(**options):
    return rules.a_conf(**{
        'DEFAULT__transport_url': 'fake://',
        'DEFAULT__control_exchange': 'notifier tests',
        'oslo_messaging_notifications__driver': ['messagingv2'], **options})


@pytest.fixture
def bus():
    made = notifier.Bus(a_conf())
    yield made
    made.close()


def lines(caplog):
    return [record for record in caplog.records if record.name == LOGGER]


def test_one_that_went_out_arrives(bus):
    with consumers.consumer(a_conf()) as consumer:
        bus.notifier('me').info(CONTEXT, 'thing.happened', {'a': 'b'})
        wait_for(lambda: consumer.heard)
    [heard] = consumer.heard
    assert (heard.publisher_id, heard.event_type, heard.payload) == (
        'me', 'thing.happened', {'a': 'b'})


def test_a_payload_that_cannot_be_written_is_an_error(bus, caplog):
    """In place of the library's own line, which shows all of it."""
    with pytest.raises(ValueError, match='Cannot convert'):
        bus.notifier('me').info(CONTEXT, 'thing.happened', {'a': object()})
    assert lines(caplog) == []


def test_one_that_the_bus_does_not_take_is_not_sent(bus, caplog):
    with pytest.raises(notifier.NotSentError, match='full'):
        bus.notifier('me').info(CONTEXT, 'thing.happened',
                                Failing(OSError('full')))
    assert lines(caplog) == []


def test_lines_of_other_threads_stay_in_the_log(bus, caplog):
    meanwhile = threading.Thread(
        target=logging.getLogger(LOGGER).exception, args=('of another',))

    def act():
        meanwhile.start()
        meanwhile.join()

    with pytest.raises(notifier.NotSentError):
        bus.notifier('me').info(CONTEXT, 'thing.happened',
                                Failing(OSError(), act))
    assert [record.getMessage() for record in lines(caplog)] == [
        'of another']


class Failing(dict):
    """A payload with which sending fails, and what happens before."""

    def __init__(self, error, act=lambda: None):
        super().__init__(a='b')
        self._error, self._act = error, act

    def items(self):
        self._act()
        raise self._error


@pytest.mark.parametrize('url', ['nosuch://u:hunter2@h/', 'u:hunter2@h'])
def test_a_bus_that_there_cannot_be_is_a_mistake_in_the_options(url):
    """Which is told without the password."""
    with pytest.raises(exception.ConfigurationError) as raised:
        notifier.Bus(a_conf(oslo_messaging_notifications__transport_url=url))
    assert '[oslo_messaging_notifications] transport_url' in str(raised.value)
    assert 'hunter2' not in str(raised.value)


def test_a_bus_whose_options_contradict_each_other_is_a_mistake_in_them(
        monkeypatch):
    def refuse(conf, url):
        raise RuntimeError('rabbit_stream_fanout needs ...')
    monkeypatch.setattr(oslo_messaging, 'get_notification_transport', refuse)
    with pytest.raises(exception.ConfigurationError,
                       match='rabbit_stream_fanout needs'):
        notifier.Bus(a_conf())


@pytest.mark.parametrize(('cause', 'raised'), [
    (amqp.PreconditionFailed('inequivalent arg'), notifier.RefusedError),
    (amqp.ConnectionForced('it stops'), notifier.NotSentError),
    (None, notifier.NotSentError)])
def test_a_queue_that_is_made_otherwise_takes_it_at_no_try(
        bus, caplog, cause, raised):
    """What does not connect may do so the next time."""
    error = OSError('Unable to connect')
    error.__context__ = cause
    with pytest.raises(raised) as caught:
        bus.notifier('me').info(CONTEXT, 'thing.happened', Failing(error))
    assert str(cause if raised is notifier.RefusedError else error) == (
        str(caught.value))
    assert lines(caplog) == []


def test_an_error_without_words_has_the_name_of_its_kind(bus):
    with pytest.raises(notifier.NotSentError, match='ConnectionResetError'):
        bus.notifier('me').info(CONTEXT, 'thing.happened',
                                Failing(ConnectionResetError()))


def test_lines_that_tell_of_no_error_stay_in_the_log(bus, caplog):
    def act():
        logging.getLogger(LOGGER).warning('a retry')
    with pytest.raises(notifier.NotSentError):
        bus.notifier('me').info(CONTEXT, 'thing.happened',
                                Failing(OSError('x'), act))
    assert [record.getMessage() for record in lines(caplog)] == ['a retry']
    logging.getLogger(LOGGER).exception('later')
    assert len(lines(caplog)) == 2


def test_topics_are_those_that_are_named_or_configured(bus):
    assert bus.notifier('me')._notifier._topics == ['notifications']
    assert bus.notifier('me', ['own'])._notifier._topics == ['own']


def test_the_end_closes_the_connections(bus, monkeypatch):
    closed = []
    monkeypatch.setattr(bus._transport, 'cleanup',
                        lambda: closed.append(True))
    bus.close()
    assert closed == [True]
