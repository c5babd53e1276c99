"""Nova's clients of the scheduler, of Placement and of the message bus."""

import oslo_messaging as messaging
import pytest

from nova_sched.compat.nova import conf as nova_conf
from nova_sched.compat.nova import rpc
from nova_sched.compat.nova.client import SchedulerClient
from nova_sched.compat.nova.client import query
from nova_sched.compat.nova.client import report
from nova_sched.context import RequestContext
from nova_sched.testing import host_builders
from tests.builders import http_placement
from tests.builders import notifications
from tests.builders import requests
from tests.builders import rules
from tests.builders.http_server import Answer
from tests.builders.services import wait_for
from tests.plugins_of_the_wild import pike
from tests.plugins_of_the_wild import stein

TOKEN = 'gAAAAAsecret-token-of-the-user'
CONTEXT = RequestContext(user_id='u-asks', project_id='p', auth_token=TOKEN,
                         overwrite=False)
ON = '[oslo_messaging_notifications]\ndriver = messagingv2\n'


class TestNotifier:
    def test_sends_as_the_service_on_this_host(self, provide):
        """Without the user's token; here for a filter of Pike, too."""
        block = host_builders.hosts(host_builders.a_host('a'))
        spec = requests.a_request()
        spec._context = CONTEXT
        with notifications.consumer(provide(ON)) as consumer:
            rpc.get_notifier('scheduler').info(CONTEXT, 'an.event', {'a': 1})
            assert rules.survivors(pike.TellingFilter(), block, spec) == ['a']
            wait_for(lambda: len(consumer.heard) == 2)

        assert [(sent.publisher_id, sent.event_type, sent.payload)
                for sent in consumer.heard] == [
            ('scheduler.here', 'an.event', {'a': 1}),
            ('scheduler.here', 'scheduler.saw_host', {'host': 'a'})]
        assert consumer.heard[0].context['user_id'] == 'u-asks'
        assert TOKEN not in str(consumer.heard[0].context)

    @pytest.mark.parametrize(('given', 'publisher'), [
        ({'host': 'there'}, 'scheduler.there'),
        ({'publisher_id': 'of.mine'}, 'of.mine')])
    def test_may_have_another_name(self, provide, given, publisher):
        provide(ON)

        notifier = rpc.get_notifier('scheduler', **given)

        assert notifier.publisher_id == publisher
        assert isinstance(notifier, messaging.Notifier)
        assert notifier.transport is rpc.get_notifier('another').transport

    def test_sends_unversioned_notifications_alone(self, provide):
        conf = provide(f'{ON}[notifications]\n'
                       'notification_format = versioned\n')
        with notifications.consumer(conf) as consumer:
            rpc.get_notifier('scheduler').info(CONTEXT, 'an.event', {})
            nova_conf.CONF.set_override('notification_format', 'both',
                                        'notifications')
            try:
                rpc.get_notifier('scheduler').info(CONTEXT, 'another', {})
            finally:
                nova_conf.CONF.clear_override('notification_format',
                                              'notifications')
            wait_for(lambda: consumer.heard)

        assert [sent.event_type for sent in consumer.heard] == ['another']


class TestPlacement:
    @pytest.fixture
    def server(self, provide):
        with http_placement.placement() as server:
            provide('[placement]\nauth_type = none\n'
                    f'endpoint_override = {server.url}\n')
            yield server

    @pytest.fixture
    def block(self):
        return host_builders.hosts(*(
            host_builders.a_host(name, uuid=name) for name in 'abc'))

    def test_filter_reads_allocations(self, server, block):
        server.on('GET', '/allocations/', http_placement.held(
            {'b': {'VCPU': 1}}))

        assert rules.survivors(pike.HolderFilter(), block, requests.a_request(
            hints={'holder': ['u1']})) == ['b']

    def test_filter_reads_traits(self, server, block):
        """The provider of b has a parent with the trait; c's is unknown."""
        for uuid, parent, traits in (
                ('a', None, []), ('b', 'root', []),
                ('root', None, ['CUSTOM_QUIET'])):
            path = f'/resource_providers/{uuid}'
            server.on('GET', path, Answer(
                body={'uuid': uuid, 'parent_provider_uuid': parent}))
            server.on('GET', f'{path}/traits', Answer(
                body={'traits': traits}))

        assert rules.survivors(stein.TraitFilter(), block,
                               requests.a_request()) == ['b', 'c']
        assert report.TraitInfo(traits={'A'}, generation=1).traits == {'A'}


def test_scheduler_client_calls_the_scheduler(provide, monkeypatch):
    provide()
    calls = []
    monkeypatch.setattr(
        query.SchedulerQueryClient, 'select_destinations',
        lambda self, *args: calls.append(args) or 'the answer')

    assert query.SchedulerQueryClient().scheduler_rpcapi is not None
    assert SchedulerClient().select_destinations(
        CONTEXT, 'spec', ['uuid'], return_objects=True) == 'the answer'
    assert calls == [(CONTEXT, 'spec', ['uuid'], True, False)]
