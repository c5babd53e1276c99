"""Notifications are sent as the options say."""

import logging
import threading

import pytest

from nova_sched import context
from nova_sched import exception
from nova_sched.hosts.decision import Pick
from nova_sched.observe import notifications
from nova_sched.observe import payloads
from tests.builders import notifications as consumers
from tests.builders import requests
from tests.builders import rules
from tests.builders.services import wait_for

TOKEN = 'gAAAAAsecret-token-of-the-user'
CONTEXT = context.RequestContext.from_dict({
    'user_id': 'a-user', 'project_id': 'a-project', 'roles': ['member'],
    'request_id': 'req-1', 'auth_token': TOKEN, 'remote_address': '::1',
    'service_catalog': [{'type': 'placement'}], 'user_auth_plugin': TOKEN})
SPEC = requests.a_request(group={'hosts': ['a']})
PICKS = [Pick(0, requests.INSTANCE_UUID, 'b', 'b')]
OLDER, NEWER = 'scheduler.here', 'nova-scheduler:here'


def a_conf(**options):
    """A configuration with a bus in this process, unless options differ."""
    return rules.a_conf(**{
        'DEFAULT__transport_url': 'fake://', 'DEFAULT__host': 'here',
        'DEFAULT__control_exchange': 'notification tests',
        'oslo_messaging_notifications__driver': ['messagingv2'], **options})


@pytest.fixture
def opened():
    """Function: the Notifications of a configuration, which go by it."""
    made = []

    def opened(conf):
        made.append(notifications.Notifications(conf))
        made[-1].configure()
        return made[-1]
    yield opened
    for each in made:
        each.stop()


@pytest.fixture
def received():
    """The notifications that a consumer receives."""
    with consumers.consumer(a_conf()) as consumer:
        yield consumer


def notify(sender):
    """Notify of a request that is placed."""
    sender.began(CONTEXT, SPEC)
    sender.ended(CONTEXT, SPEC, PICKS)


def senders():
    """The threads that send notifications: list."""
    return [thread for thread in threading.enumerate()
            if thread.name == 'notifications']


@pytest.mark.parametrize('wanted, publishers', [
    ('unversioned', [OLDER]), ('versioned', [NEWER]),
    ('both', [OLDER, NEWER])])
def test_each_form_has_its_publisher_and_its_topics(
        opened, received, wanted, publishers):
    notify(opened(a_conf(notifications__notification_format=wanted)))

    wait_for(lambda: len(received.heard) == 2 * len(publishers))
    for publisher in publishers:
        assert received.events(publisher) == [
            (publisher, 'start'), (publisher, 'end')]


def test_topics_are_those_of_the_options(opened):
    topics = ['older', 'newer', 'other']
    conf = a_conf(notifications__notification_format='both',
                  notifications__versioned_notifications_topics=topics[1:],
                  oslo_messaging_notifications__topics=topics[:1])
    sender = opened(conf)
    for topic, publisher in zip(topics, (OLDER, NEWER, NEWER), strict=True):
        with consumers.consumer(conf, [topic]) as consumer:
            sender.began(CONTEXT, SPEC)
            wait_for(lambda found=consumer: found.heard)
            assert consumer.events()[0] == (publisher, 'start')


def test_a_notification_has_event_payload_and_context(opened, received):
    notify(opened(a_conf(notifications__notification_format='versioned')))

    wait_for(lambda: len(received.heard) == 2)
    start, end = received.heard
    assert start.event_type == 'scheduler.select_destinations.start'
    assert end.event_type == 'scheduler.select_destinations.end'
    assert start.payload == payloads.versioned(SPEC)
    assert end.payload == payloads.versioned(SPEC, PICKS)
    assert start.context['request_id'] == 'req-1'
    assert start.context['user_id'] == 'a-user'
    assert start.context['project_id'] == 'a-project'
    assert start.context['roles'] == ['member']


def test_the_context_is_sent_without_credentials(opened, received):
    """Its keys stay, except unknown ones."""
    notify(opened(a_conf()))

    wait_for(lambda: received.heard)
    sent = received.heard[0].context
    assert set(sent) == set(CONTEXT.to_dict()) - {'user_auth_plugin'}
    assert sent['auth_token'] is None
    assert sent['service_catalog'] == []
    assert TOKEN not in str(received.heard)


@pytest.mark.parametrize('driver', [[], [''], ['noop'], ['noop', '']])
def test_without_a_driver_nothing_is_made(opened, driver):
    sender = opened(a_conf(oslo_messaging_notifications__driver=driver))

    sender.began(CONTEXT, None)
    sender.ended(CONTEXT, None, None)

    assert senders() == []


def test_before_it_is_configured_nothing_is_made():
    notify(notifications.Notifications(a_conf()))

    assert senders() == []


class TestConfiguredAgain:
    def test_goes_on_as_it_is_if_its_options_are_as_they_were(self, opened):
        conf = a_conf()
        sender, before = opened(conf), senders()
        conf.set_override('max_attempts', 7, 'scheduler')
        sender.configure()

        assert senders() == before
        assert len(before) == 1

    def test_goes_by_the_new_options(self, opened, received):
        conf = a_conf()
        sender = opened(conf)
        sender.began(CONTEXT, SPEC)
        wait_for(lambda: received.heard)
        conf.set_override('notification_format', 'versioned', 'notifications')
        sender.configure()
        sender.ended(CONTEXT, SPEC, PICKS)

        wait_for(lambda: len(received.heard) == 2)
        assert sorted(received.events()) == [(NEWER, 'end'), (OLDER, 'start')]
        assert len(senders()) == 1

    def test_can_be_turned_off_and_on(self, opened, received):
        conf = a_conf()
        sender = opened(conf)
        conf.set_override('driver', [], 'oslo_messaging_notifications')
        sender.configure()
        assert senders() == []
        notify(sender)
        conf.clear_override('driver', 'oslo_messaging_notifications')
        conf.set_override('driver', ['messagingv2'],
                          'oslo_messaging_notifications')
        sender.configure()
        sender.ended(CONTEXT, SPEC, PICKS)

        wait_for(lambda: received.heard)
        assert received.events() == [(OLDER, 'end')]

    def test_stays_as_it_is_when_there_can_be_no_such_bus(
            self, opened, received):
        conf = a_conf()
        sender = opened(conf)
        conf.set_override('transport_url', 'rabit://u:hunter2@h/',
                          'oslo_messaging_notifications')
        with pytest.raises(exception.ConfigurationError) as raised:
            sender.configure()
        notify(sender)

        assert '[oslo_messaging_notifications] transport_url' in str(
            raised.value)
        assert 'hunter2' not in str(raised.value)
        wait_for(lambda: len(received.heard) == 2)


def test_a_stop_sends_queued_notifications(opened, caplog):
    caplog.set_level(logging.INFO, 'oslo.messaging.notification')
    sender = opened(a_conf(oslo_messaging_notifications__driver=['log']))
    notify(sender)
    sender.stop()

    assert senders() == []
    assert [record.name for record in caplog.records] == [
        f'oslo.messaging.notification.scheduler.select_destinations.{phase}'
        for phase in ('start', 'end')]
    assert TOKEN not in caplog.text
