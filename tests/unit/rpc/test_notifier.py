"""A notification is sent, or its sender gets an error."""

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


def test_sent_notification_arrives(bus):
    with consumers.consumer(a_conf()) as consumer:
        bus.notifier('me').info(CONTEXT, 'thing.happened', {'a': 'b'})
        wait_for(lambda: consumer.heard)
    [heard] = consumer.heard
    assert (heard.publisher_id, heard.event_type, heard.payload) == (
        'me', 'thing.happened', {'a': 'b'})


class Failing(dict):
    """A payload that cannot be sent.

    act: called before.  cause: the error's context.
    """

    def __init__(self, error, act=lambda: None, cause=None):
        super().__init__(a='b')
        self._error, self._act = error, act
        error.__context__ = cause

    def items(self):
        self._act()
        raise self._error


REFUSED = amqp.PreconditionFailed('inequivalent arg')


@pytest.mark.parametrize(('payload', 'raised', 'text'), [
    ({'a': object()}, ValueError, 'Cannot convert'),
    (Failing(OSError('full')), notifier.NotSentError, 'full'),
    (Failing(ConnectionResetError()), notifier.NotSentError,
     'ConnectionResetError'),
    # A retry may connect, but does not change a queue's declaration.
    (Failing(OSError('Unable to connect'), cause=REFUSED),
     notifier.RefusedError, 'inequivalent arg'),
    (Failing(OSError('Unable to connect'),
             cause=amqp.ConnectionForced('it stops')),
     notifier.NotSentError, 'Unable to connect')])
def test_error_is_raised_in_place_of_the_library_s_log_line(
        bus, caplog, payload, raised, text):
    """The library's line would show all of the payload."""
    with pytest.raises(raised, match=text):
        bus.notifier('me').info(CONTEXT, 'thing.happened', payload)
    assert lines(caplog) == []


def test_other_lines_of_the_library_stay_in_the_log(bus, caplog):
    """Lines of other threads, lines without an error, and later lines."""
    logger = logging.getLogger(LOGGER)
    thread = threading.Thread(target=logger.exception, args=('of another',))

    def act():
        thread.start()
        thread.join()
        logger.warning('a retry')

    with pytest.raises(notifier.NotSentError):
        bus.notifier('me').info(CONTEXT, 'thing.happened',
                                Failing(OSError(), act))
    logger.exception('later')
    assert [record.getMessage() for record in lines(caplog)] == [
        'of another', 'a retry', 'later']


@pytest.mark.parametrize('url', ['nosuch://u:hunter2@h/', 'u:hunter2@h'])
def test_invalid_url_is_a_configuration_error_without_the_password(url):
    with pytest.raises(exception.ConfigurationError) as raised:
        notifier.Bus(a_conf(oslo_messaging_notifications__transport_url=url))
    assert '[oslo_messaging_notifications] transport_url' in str(raised.value)
    assert 'hunter2' not in str(raised.value)


def test_contradicting_options_are_a_configuration_error(monkeypatch):
    def refuse(conf, url):
        raise RuntimeError('rabbit_stream_fanout needs ...')
    monkeypatch.setattr(oslo_messaging, 'get_notification_transport', refuse)
    with pytest.raises(exception.ConfigurationError,
                       match='rabbit_stream_fanout needs'):
        notifier.Bus(a_conf())


def test_topics_are_named_or_configured(bus):
    assert bus.notifier('me')._topics == ['notifications']
    assert bus.notifier('me', ['own'])._topics == ['own']


def test_close_closes_the_connections(bus, monkeypatch):
    closed = []
    monkeypatch.setattr(bus._transport, 'cleanup', lambda: closed.append(True))
    bus.close()
    assert closed == [True]
