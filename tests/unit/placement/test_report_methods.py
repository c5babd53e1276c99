"""Methods of Nova's Placement client for plug-ins."""

from keystoneauth1 import exceptions as ks_exceptions
import pytest

from nova_sched import exception
from nova_sched.compat import nova_exception
from nova_sched.compat import report_methods
from tests.builders import http_placement
from tests.builders.http_placement import CONTEXT
from tests.builders.http_placement import Query
from tests.builders.http_placement import a_candidate
from tests.builders.http_server import DROP
from tests.builders.http_server import Answer

TRAITS = Answer(body={'traits': ['CUSTOM_A', 'CUSTOM_B']})
HELD = http_placement.held({'rp': {'VCPU': 2}, 'other': {'DISK_GB': 1}})


@pytest.fixture
def client(client):
    """The client that plug-ins get."""
    return report_methods.with_nova_methods(client)


class TestCandidates:
    def test_candidates_have_summaries_and_version(self, client, placement):
        wanted = [a_candidate('b'), a_candidate('a'), a_candidate('b', X=1)]
        placement.on('GET', '/allocation_candidates',
                     http_placement.candidates(*wanted))

        requests, summaries, version = client.get_allocation_candidates(
            CONTEXT, Query())

        assert (requests, version) == (wanted, '1.36')
        assert summaries['a']['resources'] == {
            'VCPU': {'capacity': 16, 'used': 0}}

    def test_candidates_may_be_empty(self, client):
        assert client.get_allocation_candidates(CONTEXT, Query()) == (
            [], {}, '1.36')

    @pytest.mark.parametrize('answer', [
        http_placement.error(500), Answer(body={}), DROP])
    def test_failed_query_gives_three_nones(self, client, placement, answer):
        placement.on('GET', '/allocation_candidates', answer)

        assert client.get_allocation_candidates(CONTEXT, Query()) == (
            None, None, None)


class TestClaim:
    def claim(self, client, **more):
        return client.claim_resources(CONTEXT, 'uuid', a_candidate('a'),
                                      'the-project', 'the-user', **more)

    def test_claim_uses_given_version(self, client, placement):
        assert self.claim(client, allocation_request_version='1.17') is True

        [put] = placement.to('PUT', '/allocations/uuid')
        assert put.version == 'placement 1.17'
        assert put.body == {
            'allocations': a_candidate('a')['allocations'],
            'project_id': 'the-project', 'user_id': 'the-user'}

    def test_claim_uses_newest_version_by_default(self, client, placement):
        assert self.claim(client)

        assert placement.to('PUT')[0].version == 'placement 1.36'

    @pytest.mark.parametrize(('method', 'path', 'answer'), [
        ('PUT', '/allocations/', http_placement.FULL), ('GET', '/', DROP)])
    def test_failed_claim_is_false(self, client, placement, method, path,
                                   answer):
        placement.on(method, path, answer)

        assert self.claim(client) is False

    def test_conflicting_claim_raises(self, client, placement):
        placement.on('PUT', '/allocations/', http_placement.CONSUMER)

        with pytest.raises(exception.AllocationUpdateFailed):
            self.claim(client, allocation_request_version='1.36')


@pytest.mark.parametrize('answer, deleted', [
    (http_placement.TAKEN, True), (http_placement.error(404), False),
    (http_placement.error(409), False), (DROP, False)])
def test_delete_returns_whether_it_deleted(client, placement, answer, deleted,
                                           caplog):
    caplog.set_level('INFO')
    placement.on('DELETE', '/allocations/uuid', answer)

    assert client.delete_allocation_for_instance(CONTEXT, 'uuid') is deleted
    assert ('Deleted allocation for instance uuid' in caplog.text) is deleted


READS = [
    ('get_allocations_for_consumer', ['uuid'], '/allocations/uuid', HELD,
     HELD.body['allocations'], {}),
    ('get_allocations_for_consumer_by_provider', ['rp', 'uuid'],
     '/allocations/uuid', HELD, {'VCPU': 2}, {}),
    ('get_allocations_for_resource_provider', ['rp'],
     '/resource_providers/rp/allocations',
     Answer(body={'allocations': {'uuid': {'resources': {'VCPU': 1}}}}),
     {'uuid': {'resources': {'VCPU': 1}}}, None),
    ('_get_provider_traits', ['rp'], '/resource_providers/rp/traits', TRAITS,
     {'CUSTOM_A', 'CUSTOM_B'}, None),
    ('_get_provider_aggregates', ['rp'], '/resource_providers/rp/aggregates',
     Answer(body={'aggregates': ['u1', 'u2']}), {'u1', 'u2'}, None),
]


@pytest.mark.parametrize('method, args, path, answer, found, _nothing', READS)
def test_reads_have_shape_of_nova(client, placement, method, args, path,
                                  answer, found, _nothing):
    placement.on('GET', path, answer)

    assert getattr(client, method)(CONTEXT, *args) == found


@pytest.mark.parametrize('answer', [
    http_placement.error(500), Answer(body=[]), Answer(body={}), DROP])
@pytest.mark.parametrize('method, args, path, _answer, _found, nothing', READS)
def test_failed_reads_are_empty(client, placement, method, args, path, _answer,
                                _found, nothing, answer):
    placement.on('GET', path, answer)

    assert getattr(client, method)(CONTEXT, *args) == nothing


class TestTraits:
    def test_traits_come_with_generation(self, client, placement):
        placement.on('GET', '/resource_providers/rp/traits', Answer(
            body=TRAITS.body | {'resource_provider_generation': 3}))

        found = client.get_provider_traits(CONTEXT, 'rp')

        assert found == ({'CUSTOM_A', 'CUSTOM_B'}, 3)
        assert (found.traits, found.generation) == found
        [asked] = placement.to('GET', '/resource_providers/rp/traits')
        assert asked.version == 'placement 1.6'

    @pytest.mark.parametrize('answer', [
        http_placement.error(404), http_placement.error(500),
        Answer(body=[]), Answer(body={}), Answer(body={'traits': 1})])
    def test_unreadable_traits_raise(self, client, placement, answer, caplog):
        placement.on('GET', '/resource_providers/rp/traits', answer)

        with pytest.raises(
                nova_exception.ResourceProviderTraitRetrievalFailed,
                match='Failed to get traits for resource provider'):
            client.get_provider_traits(CONTEXT, 'rp')
        assert [record.levelname for record in caplog.records] == ['ERROR']

    def test_unanswered_traits_raise(self, client, placement, tmp_path):
        placement.on('GET', '/resource_providers/', DROP)

        with pytest.raises(ks_exceptions.ConnectFailure):
            client.get_provider_traits(CONTEXT, 'rp')
        with pytest.raises(ks_exceptions.ClientException):
            report_methods.with_nova_methods(
                http_placement.client(tmp_path)).get_provider_traits(
                    CONTEXT, 'rp')


class TestProvider:
    BODY = {'uuid': 'rp', 'name': 'cn1_NUMA0', 'generation': 4,
            'parent_provider_uuid': 'root', 'root_provider_uuid': 'root',
            'links': []}

    def get(self, client, placement, answer):
        placement.on('GET', '/resource_providers/rp', answer)
        return client._get_resource_provider(CONTEXT, 'rp')

    def test_provider_is_whole_response(self, client, placement):
        assert self.get(client, placement, Answer(body=self.BODY)) == self.BODY
        assert placement.asked[-1].version == 'placement 1.14'

    @pytest.mark.parametrize('answer', [http_placement.error(404), DROP])
    def test_missing_provider_is_none(self, client, placement, answer):
        assert self.get(client, placement, answer) is None

    @pytest.mark.parametrize('answer', [
        http_placement.error(500), Answer(body=[])])
    def test_unreadable_provider_raises(self, client, placement, answer):
        with pytest.raises(nova_exception.ResourceProviderRetrievalFailed,
                           match='resource provider with UUID rp'):
            self.get(client, placement, answer)


def test_inventory_is_whole_response(client, placement):
    body = {'inventories': {'VCPU': {'total': 8}},
            'resource_provider_generation': 3}
    placement.on('GET', '/resource_providers/rp/inventories',
                 Answer(body=body))

    assert client._get_inventory(CONTEXT, 'rp') == body


class TestTree:
    @pytest.fixture
    def tree(self, client, placement):
        placement.on('GET', '/resource_providers?in_tree=numa0', Answer(
            body={'resource_providers': [
                {'uuid': 'root', 'name': 'cn1', 'generation': 3,
                 'parent_provider_uuid': None},
                {'uuid': 'numa0', 'name': 'cn1_NUMA0', 'generation': 4,
                 'parent_provider_uuid': 'root'}]}))
        for uuid, inventories, traits in (
                ('root', {}, TRAITS.body['traits']),
                ('numa0', {'PCPU': {'total': 8}}, [])):
            for part, value in (('inventories', inventories),
                                ('traits', traits), ('aggregates', ['u1'])):
                placement.on('GET', f'/resource_providers/{uuid}/{part}',
                             Answer(body={part: value}))
        return client.get_provider_tree_and_ensure_root(CONTEXT, 'numa0')

    def test_tree_has_data_of_each_provider(self, tree):
        assert tree.get_provider_uuids() == ['root', 'numa0']
        assert tree.get_provider_uuids('cn1_NUMA0') == ['numa0']
        assert [tree.exists(name) for name in ('cn1', 'cn2')] == [True, False]
        assert [(tree.has_traits(name, ['CUSTOM_A']), tree.has_inventory(name))
                for name in ('root', 'numa0')] == [
            (True, False), (False, True)]
        assert tree.in_aggregates('root', ['u1'])
        assert tree.data('numa0')[:5] == (
            'numa0', 'cn1_NUMA0', 4, 'root', {'PCPU': {'total': 8}})

    def test_unknown_provider_is_refused(self, tree):
        with pytest.raises(ValueError, match='No such provider cn2'):
            tree.data('cn2')

    @pytest.mark.parametrize('answer', [
        http_placement.error(500), Answer(body={}), DROP])
    def test_failed_read_gives_empty_tree(self, client, placement, answer):
        placement.on('GET', '/resource_providers?in_tree=x', answer)

        assert client.get_provider_tree_and_ensure_root(
            CONTEXT, 'x').get_provider_uuids() == []


class TestRequest:
    """Requests of a plug-in's own."""

    def test_response_is_like_requests(self, client, placement):
        placement.on('GET', '/traits', TRAITS)

        answer = client.get('/traits', version='1.6',
                            global_request_id='req-1')

        assert (answer.status_code, answer.json()) == (200, TRAITS.body)
        assert answer
        [asked] = placement.to('GET', '/traits')
        assert asked.version == 'placement 1.6'
        assert asked.headers['X-Openstack-Request-Id'] == 'req-1'

    @pytest.mark.parametrize('method', ['put', 'post'])
    def test_request_may_have_body(self, client, placement, method):
        placement.on(method.upper(), '/traits', Answer(204))

        assert getattr(client, method)('/traits', {'a': 1}).ok
        assert placement.asked[-1].body == {'a': 1}

    def test_refusal_is_false(self, client, placement):
        placement.on('DELETE', '/traits/x', http_placement.error(404))

        answer = client.delete('/traits/x')

        assert not answer
        assert b'did not work' in answer.content

    def test_unanswered_request_raises(self, client, placement):
        placement.on('GET', '/traits', DROP)

        with pytest.raises(exception.PlacementError):
            client.get('/traits')
