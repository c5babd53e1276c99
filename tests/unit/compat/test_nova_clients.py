"""What plug-ins reach through Nova's names: scheduler, Placement, bus."""

import oslo_messaging as messaging
import pytest

from nova_sched import conf as config
from nova_sched.compat import nova_names
from nova_sched.compat.nova import conf as nova_conf
from nova_sched.compat.nova import rpc
from nova_sched.compat.nova import scheduler_utils
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

TOKEN = 'gAAAAAsecret-token-of-the-user'
CONTEXT = RequestContext(user_id='u-asks', project_id='p', auth_token=TOKEN,
                         overwrite=False)


@pytest.fixture
def provide(tmp_path):
    """Function: has the process's configuration be of this text."""
    def provide(text):
        path = tmp_path / 'nova.conf'
        path.write_text('[DEFAULT]\nhost = here\ntransport_url = fake://\n'
                        f'control_exchange = {tmp_path}\n{text}')
        conf = config.new_conf([], [str(path)])
        nova_names.provide(conf)
        return conf
    yield provide
    nova_conf.follow(rules.a_conf())


class TestNotifier:
    ON = '[oslo_messaging_notifications]\ndriver = messagingv2\n'

    def test_sends_as_the_service_on_this_host(self, provide):
        with notifications.consumer(provide(self.ON)) as heard:
            rpc.get_notifier('scheduler').info(CONTEXT, 'an.event', {'a': 1})
            wait_for(lambda: heard.heard)

        [told] = heard.heard
        assert (told.publisher_id, told.event_type, told.payload) == (
            'scheduler.here', 'an.event', {'a': 1})
        assert told.context['user_id'] == 'u-asks'
        assert TOKEN not in str(told.context)

    @pytest.mark.parametrize('given, publisher', [
        ({'host': 'there'}, 'scheduler.there'),
        ({'publisher_id': 'of.mine'}, 'of.mine')])
    def test_may_be_of_another_name(self, provide, given, publisher):
        provide(self.ON)

        notifier = rpc.get_notifier('scheduler', **given)

        assert notifier.publisher_id == publisher
        assert isinstance(notifier, messaging.Notifier)

    def test_shares_one_way_to_the_bus(self, provide):
        provide(self.ON)

        assert (rpc.get_notifier('scheduler').transport
                is rpc.get_notifier('another').transport)

    def test_is_silent_where_only_versioned_ones_are_wanted(self, provide):
        conf = provide(
            f'{self.ON}[notifications]\nnotification_format = versioned\n')
        with notifications.consumer(conf) as heard:
            rpc.get_notifier('scheduler').info(CONTEXT, 'an.event', {})
            nova_conf.CONF.set_override('notification_format', 'both',
                                        'notifications')
            try:
                rpc.get_notifier('scheduler').info(CONTEXT, 'another', {})
            finally:
                nova_conf.CONF.clear_override('notification_format',
                                              'notifications')
            wait_for(lambda: heard.heard)

        assert [told.event_type for told in heard.heard] == ['another']


class TestPlugIns:
    """Those of tests/plugins_of_the_wild/pike.py."""

    def test_may_notify(self, provide):
        conf = provide(TestNotifier.ON)
        from tests.plugins_of_the_wild import pike
        block = host_builders.hosts(host_builders.a_host('a'))
        spec = requests.a_request()
        spec._context = CONTEXT
        with notifications.consumer(conf) as heard:
            assert rules.survivors(pike.TellingFilter(), block, spec) == ['a']
            wait_for(lambda: heard.heard)

        [told] = heard.heard
        assert (told.event_type, told.payload) == (
            'scheduler.saw_host', {'host': 'a'})

    def test_may_ask_placement(self, provide):
        with http_placement.placement() as server:
            provide('[placement]\nauth_type = none\n'
                    f'endpoint_override = {server.url}\n')
            from tests.plugins_of_the_wild import pike
            server.on('GET', '/allocations/', http_placement.held(
                {'b': {'VCPU': 1}}))
            block = host_builders.hosts(*(
                host_builders.a_host(name, uuid=name) for name in 'abc'))

            assert rules.survivors(
                pike.HolderFilter(), block,
                requests.a_request(hints={'holder': ['u1']})) == ['b']


    def test_may_ask_for_traits(self, provide):
        """a has none, b that of its parent, and c's are not told."""
        with http_placement.placement() as server:
            provide('[placement]\nauth_type = none\n'
                    f'endpoint_override = {server.url}\n')
            from tests.plugins_of_the_wild import stein
            for uuid, parent, traits in (
                    ('a', None, []), ('b', 'root', []),
                    ('root', None, ['CUSTOM_QUIET'])):
                path = f'/resource_providers/{uuid}'
                server.on('GET', path, Answer(
                    body={'uuid': uuid, 'parent_provider_uuid': parent}))
                server.on('GET', f'{path}/traits', Answer(
                    body={'traits': traits}))
            block = host_builders.hosts(*(
                host_builders.a_host(name, uuid=name) for name in 'abc'))

            assert rules.survivors(
                stein.TraitFilter(), block,
                requests.a_request()) == ['b', 'c']

    def test_know_the_form_of_traits(self):
        assert report.TraitInfo(traits={'A'}, generation=1).traits == {'A'}


def test_the_query_client_is_offered_by_both_of_its_names(provide):
    provide('')
    from nova.scheduler import client
    from nova.scheduler.client import query as nova_query

    assert client.SchedulerQueryClient is nova_query.SchedulerQueryClient
    assert client.SchedulerQueryClient().scheduler_rpcapi is not None


class TestSchedulerClient:
    def test_leads_to_the_placement_of_the_configuration(self, provide):
        with http_placement.placement() as server:
            provide('[placement]\nauth_type = none\n'
                    f'endpoint_override = {server.url}\n')
            client = SchedulerClient().reportclient

            assert isinstance(client, report.SchedulerReportClient)
            assert client.get_allocation_candidates(
                CONTEXT, http_placement.Query()) == ([], {}, '1.36')

    def test_leads_to_the_scheduler(self, provide, monkeypatch):
        provide('')
        asked = []
        monkeypatch.setattr(
            query.SchedulerQueryClient, 'select_destinations',
            lambda self, *args: asked.append(args) or 'the answer')

        client = SchedulerClient()

        assert client.select_destinations(
            CONTEXT, 'spec', ['uuid'], return_objects=True) == 'the answer'
        assert asked == [(CONTEXT, 'spec', ['uuid'], True, False)]


class TestUtils:
    class Client:
        """Takes all claims, and notes them."""

        def __init__(self):
            self.claims = []

        def claim_resources(self, *args):
            self.claims.append(args)
            return True

    @pytest.fixture
    def client(self):
        return self.Client()

    @pytest.mark.parametrize('owner, user', [
        ({'user_id': 'u-owns'}, 'u-owns'), ({'user_id': None}, 'u-asks')])
    def test_a_claim_is_of_the_instance_s_owner(self, client, owner, user):
        spec = requests.a_request(project_id='p-owns', **owner)

        assert scheduler_utils.claim_resources(
            CONTEXT, client, spec, 'uuid', {'allocations': {}},
            allocation_request_version='1.17')
        assert client.claims == [(
            CONTEXT, 'uuid', {'allocations': {}}, 'p-owns', user, '1.17')]

    def test_a_rebuild_claims_nothing(self, client):
        spec = requests.a_request(hints={'_nova_check_type': ['rebuild']})

        assert scheduler_utils.claim_resources(CONTEXT, client, spec, 'uuid',
                                               {})
        assert client.claims == []

    @pytest.mark.parametrize('before, after', [
        ((), ()), ((CONTEXT,), ('a host manager', False))])
    def test_a_request_becomes_a_query(self, before, after):
        found = scheduler_utils.resources_from_request_spec(
            *before, requests.a_request(vcpus=2), *after)

        assert 'VCPU%3A2' in found.query('1.17')
        assert isinstance(found, scheduler_utils.ResourceRequest)

    @pytest.mark.parametrize('metadata, multiplier', [
        ({'my_multiplier': '2.5'}, 2.5), ({}, 1.5)])
    def test_an_aggregate_may_set_a_multiplier(self, metadata, multiplier):
        [host] = host_builders.hosts(host_builders.a_host(
            aggregates=(host_builders.an_aggregate(metadata),))).states()

        assert scheduler_utils.get_weight_multiplier(
            host, 'my_multiplier', 1.5) == multiplier

    def test_what_is_not_offered_is_told(self):
        with pytest.raises(AttributeError, match='Drivers'):
            _ = scheduler_utils.fill_provider_mapping
