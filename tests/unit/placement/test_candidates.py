"""Queries for candidates and the results made of the responses."""

import pytest

from nova_sched.hosts.allocation_candidates import NO_CANDIDATES
from tests.builders import http_placement
from tests.builders.http_placement import CONTEXT
from tests.builders.http_placement import Query
from tests.builders.http_placement import a_candidate
from tests.builders.http_placement import candidates
from tests.builders.http_placement import error


def ask(client, *queries):
    return client.candidates(queries or [Query()], CONTEXT)


NO_PCPU = error(400, 'Invalid resource class in resources: PCPU')


def ask_both(client, placement, pinned, shared, limit=1000):
    """The result of two queries with these responses."""
    queries = []
    for name, answer in (('PCPU', pinned), ('VCPU', shared)):
        placement.on('GET', f'/allocation_candidates?resources={name}', answer)
        queries.append(Query(f'resources={name}%3A1', limit=limit))
    return ask(client, *queries)


class TestOffer:
    def test_requests_are_grouped_by_provider(self, client, placement):
        first, second = a_candidate('a', VCPU=1), a_candidate('b')
        both = {'allocations': first['allocations'] | second['allocations']}
        placement.on('GET', '/allocation_candidates',
                     candidates(both, first, second))

        found = ask(client)

        assert found.of('a') == [both, first]
        assert found.of('b') == [both, second]

    def test_all_named_providers_are_listed(self, client, placement):
        placement.on('GET', '/allocation_candidates',
                     candidates(a_candidate('a'), others=['parent']))

        assert ask(client).providers == {'a', 'parent'}

    def test_first_query_comes_first(self, client, placement):
        pinned, shared = a_candidate('a', PCPU=1), a_candidate('a', VCPU=1)

        found = ask_both(client, placement, candidates(pinned),
                         candidates(shared, a_candidate('b')))

        assert found.of('a') == [pinned, shared]
        assert found.providers == {'a', 'b'}

    @pytest.mark.parametrize(('limit', 'cut_at'), [
        (1, 1), (2, 2), (3, None), (None, None)])
    def test_response_at_limit_is_cut(self, client, placement, limit, cut_at):
        assert ask_both(
            client, placement, candidates(a_candidate('a', PCPU=1)),
            candidates(*map(a_candidate, 'ab')), limit).cut_at == cut_at

    @pytest.mark.parametrize(('keeps', 'summaries'), [
        (False, None), (True, {'a', 'b', 'parent'})])
    def test_summaries_of_all_queries_are_merged(self, client, placement,
                                                 keeps, summaries):
        client.keeps_summaries = keeps
        found = ask_both(client, placement, *(
            candidates(a_candidate(provider), others=['parent'])
            for provider in 'ab')).summaries

        assert (found and {*found}) == summaries

    def test_refused_query_is_skipped(self, client, placement):
        """Placement has no dedicated CPUs before Train."""
        assert ask_both(client, placement, NO_PCPU, candidates(
            a_candidate('b'))).providers == {'b'}

    def test_reason_is_that_of_refused_query(self, client, placement):
        assert 'Invalid resource class' in ask_both(
            client, placement, NO_PCPU, candidates()).reason

    def test_empty_response_is_no_candidates(self, client):
        assert ask(client) is NO_CANDIDATES


class TestRequest:
    def test_query_is_sent_unchanged(self, client, placement):
        ask(client, Query('resources=VCPU%3A2&root_required=A%2C%21B'))

        [asked] = placement.to('GET', '/allocation_candidates')
        assert asked.path == ('/allocation_candidates?resources=VCPU%3A2'
                              '&root_required=A%2C%21B&limit=1000')

    def test_global_request_id_is_sent(self, client, placement):
        ask(client)

        [asked] = placement.to('GET', '/allocation_candidates')
        assert asked.headers['X-Openstack-Request-Id'] == (
            CONTEXT.global_request_id)

    @pytest.mark.parametrize('own', ['req-1', 'r\xfc'])
    def test_local_request_id_is_sent_otherwise(self, client, placement, own):
        """Non-ASCII letters are valid in a header."""
        client.candidates([Query()], type(CONTEXT)(request_id=own))

        [asked] = placement.to('GET', '/allocation_candidates')
        assert asked.headers['X-Openstack-Request-Id'] == own

    @pytest.mark.parametrize('odd', [
        7, b'x', 'a\nb', 'a\r\nX-Other: b', ' a', '\u2603'])
    def test_invalid_request_id_is_not_sent(self, client, placement, odd):
        """Callers may send any id; the request must not fail."""
        placement.on('GET', '/allocation_candidates',
                     candidates(a_candidate('a')))

        found = client.candidates([Query()], type(CONTEXT)(
            global_request_id=odd, request_id=odd))

        assert found.providers == {'a'}
        assert not any('X-Openstack-Request-Id' in asked.headers
                       for asked in placement.asked)

    @pytest.mark.parametrize('header, value', [
        ('Accept', 'application/json'),
        ('X-Auth-Token', 'token-of-the-service')])
    def test_json_is_requested_with_service_token(self, client, placement,
                                                  header, value):
        ask(client)

        assert {asked.headers[header] for asked in placement.asked} == {value}


class TestMicroversion:
    @pytest.mark.parametrize(('most', 'used'), [
        ('1.17', '1.17'), ('1.24', '1.17'), ('1.25', '1.25'),
        ('1.30', '1.29'), ('1.36', '1.36'), ('1.39', '1.36'),
        ('1.100', '1.36')])
    def test_newest_common_version_is_used(self, client, placement, most,
                                           used):
        placement.on('GET', '/', http_placement.versions(most))
        placement.on('GET', '/allocation_candidates',
                     candidates(a_candidate('a')))

        found = ask(client)

        [asked] = placement.to('GET', '/allocation_candidates')
        assert asked.version == f'placement {used}'
        assert found.version == used

    def test_query_may_need_newer_version_than_claims(self, client, placement):
        placement.on('GET', '/allocation_candidates',
                     candidates(a_candidate('a')))

        found = ask(client, Query(), Query(least='1.39'))

        assert {asked.version for asked in placement.to(
            'GET', '/allocation_candidates')} == {'placement 1.39'}
        assert found.version == '1.36'

    def test_too_old_server_is_named(self, client, placement, caplog):
        placement.on('GET', '/', http_placement.versions('1.30'))

        found = ask(client, Query(), Query(least='1.36'))

        assert found.reason == (
            'Placement speaks microversions 1.0 to 1.30, but this request '
            'takes 1.36: upgrade Placement, or change the request')
        assert found.reason in caplog.text
        assert not placement.to('GET', '/allocation_candidates')

    def test_versions_are_read_once(self, client, placement):
        for _ in range(3):
            ask(client)

        assert [asked.path for asked in placement.asked].count('/') == 1

    def test_versions_are_reread_after_406(self, client, placement):
        """An older Placement may have replaced it."""
        ask(client)
        placement.on('GET', '/', http_placement.versions('1.25'))
        placement.on('GET', '/allocation_candidates', http_placement.error(
            406), candidates(a_candidate('a')))

        assert ask(client).version == '1.25'

    def test_versions_are_reread_after_lost_connection(self, client,
                                                       placement):
        placement.on('GET', '/allocation_candidates',
                     http_placement.http_server.DROP,
                     candidates(a_candidate('a')))
        ask(client)
        placement.on('GET', '/', http_placement.versions('1.29'))

        assert ask(client).version == '1.29'
