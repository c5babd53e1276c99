"""Others are told of requests as the options say."""

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
    """Sends on a bus in this process, unless options say otherwise."""
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
def heard():
    """What a consumer hears."""
    with consumers.consumer(a_conf()) as consumer:
        yield consumer


def tell(told):
    """Tell of a request that is placed."""
    told.began(CONTEXT, SPEC)
    told.ended(CONTEXT, SPEC, PICKS)


def senders():
    """The threads that send notifications: list."""
    return [thread for thread in threading.enumerate()
            if thread.name == 'notifications']


@pytest.mark.parametrize('wanted, publishers', [
    ('unversioned', [OLDER]), ('versioned', [NEWER]),
    ('both', [OLDER, NEWER])])
def test_each_form_has_its_publisher_and_its_topics(
        opened, heard, wanted, publishers):
    tell(opened(a_conf(notifications__notification_format=wanted)))

    wait_for(lambda: len(heard.heard) == 2 * len(publishers))
    for publisher in publishers:
        assert heard.events(publisher) == [
            (publisher, 'start'), (publisher, 'end')]


def test_topics_are_those_of_the_options(opened):
    topics = ['older', 'newer', 'other']
    conf = a_conf(notifications__notification_format='both',
                  notifications__versioned_notifications_topics=topics[1:],
                  oslo_messaging_notifications__topics=topics[:1])
    told = opened(conf)
    for topic, publisher in zip(topics, (OLDER, NEWER, NEWER), strict=True):
        with consumers.consumer(conf, [topic]) as consumer:
            told.began(CONTEXT, SPEC)
            wait_for(lambda found=consumer: found.heard)
            assert consumer.events()[0] == (publisher, 'start')


def test_a_notification_says_what_happened_to_which_request(opened, heard):
    tell(opened(a_conf(notifications__notification_format='versioned')))

    wait_for(lambda: len(heard.heard) == 2)
    start, end = heard.heard
    assert start.event_type == 'scheduler.select_destinations.start'
    assert end.event_type == 'scheduler.select_destinations.end'
    assert start.payload == payloads.versioned(SPEC)
    assert end.payload == payloads.versioned(SPEC, PICKS)
    assert start.context['request_id'] == 'req-1'
    assert start.context['user_id'] == 'a-user'
    assert start.context['project_id'] == 'a-project'
    assert start.context['roles'] == ['member']


def test_the_context_goes_along_without_what_gives_access(opened, heard):
    """Its keys stay, but those that nobody knows."""
    tell(opened(a_conf()))

    wait_for(lambda: heard.heard)
    sent = heard.heard[0].context
    assert set(sent) == set(CONTEXT.to_dict()) - {'user_auth_plugin'}
    assert sent['auth_token'] is None
    assert sent['service_catalog'] == []
    assert TOKEN not in str(heard.heard)


@pytest.mark.parametrize('driver', [[], [''], ['noop'], ['noop', '']])
def test_without_a_driver_nothing_is_made(opened, driver):
    told = opened(a_conf(oslo_messaging_notifications__driver=driver))

    told.began(CONTEXT, None)
    told.ended(CONTEXT, None, None)

    assert senders() == []


def test_before_it_is_configured_nothing_is_made():
    tell(notifications.Notifications(a_conf()))

    assert senders() == []


class TestConfiguredAgain:
    def test_goes_on_as_it_is_if_its_options_are_as_they_were(self, opened):
        conf = a_conf()
        told, before = opened(conf), senders()
        conf.set_override('max_attempts', 7, 'scheduler')
        told.configure()

        assert senders() == before
        assert len(before) == 1

    def test_goes_by_the_new_options(self, opened, heard):
        conf = a_conf()
        told = opened(conf)
        told.began(CONTEXT, SPEC)
        wait_for(lambda: heard.heard)
        conf.set_override('notification_format', 'versioned',
                          'notifications')
        told.configure()
        told.ended(CONTEXT, SPEC, PICKS)

        wait_for(lambda: len(heard.heard) == 2)
        assert sorted(heard.events()) == [(NEWER, 'end'), (OLDER, 'start')]
        assert len(senders()) == 1

    def test_can_be_turned_off_and_on(self, opened, heard):
        conf = a_conf()
        told = opened(conf)
        conf.set_override('driver', [], 'oslo_messaging_notifications')
        told.configure()
        assert senders() == []
        tell(told)
        conf.clear_override('driver', 'oslo_messaging_notifications')
        conf.set_override('driver', ['messagingv2'],
                          'oslo_messaging_notifications')
        told.configure()
        told.ended(CONTEXT, SPEC, PICKS)

        wait_for(lambda: heard.heard)
        assert heard.events() == [(OLDER, 'end')]

    def test_stays_as_it_is_when_there_can_be_no_such_bus(
            self, opened, heard):
        conf = a_conf()
        told = opened(conf)
        conf.set_override('transport_url', 'rabit://u:hunter2@h/',
                          'oslo_messaging_notifications')
        with pytest.raises(exception.ConfigurationError) as raised:
            told.configure()
        tell(told)

        assert '[oslo_messaging_notifications] transport_url' in str(
            raised.value)
        assert 'hunter2' not in str(raised.value)
        wait_for(lambda: len(heard.heard) == 2)


def test_a_stop_sends_what_was_told(opened, caplog):
    caplog.set_level(logging.INFO, 'oslo.messaging.notification')
    told = opened(a_conf(oslo_messaging_notifications__driver=['log']))
    tell(told)
    told.stop()

    assert senders() == []
    assert [record.name for record in caplog.records] == [
        f'oslo.messaging.notification.scheduler.select_destinations.{phase}'
        for phase in ('start', 'end')]
    assert TOKEN not in caplog.text
