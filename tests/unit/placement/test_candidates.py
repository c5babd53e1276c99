"""What Placement is asked for a request, and what is made of its answer."""

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


class TestOffer:
    def test_has_the_requests_of_each_provider_in_their_order(
            self, client, placement):
        first, second = a_candidate('a', VCPU=1), a_candidate('b')
        both = {'allocations': first['allocations'] | second['allocations']}
        placement.on('GET', '/allocation_candidates',
                     candidates(both, first, second))

        found = ask(client)

        assert found.of('a') == [both, first]
        assert found.of('b') == [both, second]

    def test_names_all_providers_that_were_told_of(self, client, placement):
        placement.on('GET', '/allocation_candidates',
                     candidates(a_candidate('a'), others=['parent']))

        assert ask(client).providers == {'a', 'parent'}

    def test_of_two_queries_has_the_first_in_front(self, client, placement):
        pinned, shared = a_candidate('a', PCPU=1), a_candidate('a', VCPU=1)
        placement.on('GET', '/allocation_candidates?resources=PCPU',
                     candidates(pinned))
        placement.on('GET', '/allocation_candidates?resources=VCPU',
                     candidates(shared, a_candidate('b')))

        found = ask(client, Query('resources=PCPU%3A1'),
                    Query('resources=VCPU%3A1'))

        assert found.of('a') == [pinned, shared]
        assert found.providers == {'a', 'b'}

    @pytest.mark.parametrize(('limit', 'cut_at'), [
        (1, 1), (2, 2), (3, None), (None, None)])
    def test_may_lack_others_where_a_query_is_answered_with_its_limit(
            self, client, placement, limit, cut_at):
        placement.on('GET', '/allocation_candidates?resources=PCPU',
                     candidates(a_candidate('a', PCPU=1)))
        placement.on('GET', '/allocation_candidates?resources=VCPU',
                     candidates(a_candidate('a'), a_candidate('b')))

        found = ask(client, Query('resources=PCPU%3A1', limit=limit),
                    Query('resources=VCPU%3A1', limit=limit))

        assert found.cut_at == cut_at

    def test_has_the_summaries_of_all_queries_where_they_are_kept(
            self, client, placement):
        for name, provider in (('PCPU', 'a'), ('VCPU', 'b')):
            placement.on(
                'GET', f'/allocation_candidates?resources={name}',
                candidates(a_candidate(provider), others=['parent']))
        queries = Query('resources=PCPU%3A1'), Query('resources=VCPU%3A1')

        assert ask(client, *queries).summaries is None
        client.keeps_summaries = True
        assert ask(client, *queries).summaries.keys() == {'a', 'b', 'parent'}

    def test_is_of_the_second_query_alone_if_the_first_is_refused(
            self, client, placement):
        """A Placement of before Train knows no dedicated CPUs."""
        placement.on('GET', '/allocation_candidates?resources=PCPU',
                     error(400, 'Invalid resource class in resources: PCPU'))
        placement.on('GET', '/allocation_candidates?resources=VCPU',
                     candidates(a_candidate('b')))

        found = ask(client, Query('resources=PCPU%3A1'),
                    Query('resources=VCPU%3A1'))

        assert found.providers == {'b'}

    def test_is_nothing_for_the_reason_of_the_query_that_was_refused(
            self, client, placement):
        placement.on('GET', '/allocation_candidates?resources=PCPU',
                     error(400, 'Invalid resource class in resources: PCPU'))
        placement.on('GET', '/allocation_candidates?resources=VCPU',
                     candidates())

        found = ask(client, Query('resources=PCPU%3A1'),
                    Query('resources=VCPU%3A1'))

        assert 'Invalid resource class' in found.reason

    def test_is_nothing_where_nothing_is_found(self, client):
        assert ask(client) is NO_CANDIDATES


class TestRequest:
    def test_is_the_query_as_it_is(self, client, placement):
        ask(client, Query('resources=VCPU%3A2&root_required=A%2C%21B'))

        [asked] = placement.to('GET', '/allocation_candidates')
        assert asked.path == ('/allocation_candidates?resources=VCPU%3A2'
                              '&root_required=A%2C%21B&limit=1000')

    def test_bears_the_request_id_of_the_whole_operation(self, client,
                                                         placement):
        ask(client)

        [asked] = placement.to('GET', '/allocation_candidates')
        assert asked.headers['X-Openstack-Request-Id'] == (
            CONTEXT.global_request_id)

    @pytest.mark.parametrize('own', ['req-1', 'r\xfc'])
    def test_bears_its_own_id_where_there_is_no_other(self, client, placement,
                                                      own):
        """Of any letters that a header can have."""
        client.candidates([Query()], type(CONTEXT)(request_id=own))

        [asked] = placement.to('GET', '/allocation_candidates')
        assert asked.headers['X-Openstack-Request-Id'] == own

    @pytest.mark.parametrize('odd', [
        7, b'x', 'a\nb', 'a\r\nX-Other: b', ' a', '\u2603'])
    def test_bears_no_id_that_no_header_can_have(self, client, placement,
                                                 odd):
        """Callers may send any; the request is more than its id."""
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
    def test_asks_for_json_with_the_token_of_the_service(
            self, client, placement, header, value):
        ask(client)

        assert {asked.headers[header] for asked in placement.asked} == {value}


class TestMicroversion:
    @pytest.mark.parametrize(('most', 'used'), [
        ('1.17', '1.17'), ('1.24', '1.17'), ('1.25', '1.25'),
        ('1.30', '1.29'), ('1.36', '1.36'), ('1.39', '1.36'),
        ('1.100', '1.36')])
    def test_is_the_newest_that_both_know(self, client, placement, most,
                                          used):
        placement.on('GET', '/', http_placement.versions(most))
        placement.on('GET', '/allocation_candidates',
                     candidates(a_candidate('a')))

        found = ask(client)

        [asked] = placement.to('GET', '/allocation_candidates')
        assert asked.version == f'placement {used}'
        assert found.version == used

    def test_is_newer_than_what_claims_know_if_a_query_takes_it(
            self, client, placement):
        placement.on('GET', '/allocation_candidates',
                     candidates(a_candidate('a')))

        found = ask(client, Query(), Query(least='1.39'))

        assert {asked.version for asked in placement.to(
            'GET', '/allocation_candidates')} == {'placement 1.39'}
        assert found.version == '1.36'

    def test_too_new_for_the_server_is_refused_clearly(self, client,
                                                       placement, caplog):
        placement.on('GET', '/', http_placement.versions('1.30'))

        found = ask(client, Query(), Query(least='1.36'))

        assert found.reason == (
            'Placement speaks microversions 1.0 to 1.30, but this request '
            'takes 1.36: upgrade Placement, or change the request')
        assert found.reason in caplog.text
        assert not placement.to('GET', '/allocation_candidates')

    def test_is_asked_for_once(self, client, placement):
        for _ in range(3):
            ask(client)

        assert [asked.path for asked in placement.asked].count('/') == 1

    def test_is_asked_for_again_when_it_does_not_fit(self, client, placement):
        """Placement was replaced by an older one, say."""
        ask(client)
        placement.on('GET', '/', http_placement.versions('1.25'))
        placement.on('GET', '/allocation_candidates', http_placement.error(
            406), candidates(a_candidate('a')))

        assert ask(client).version == '1.25'

    def test_is_asked_for_again_after_a_lost_connection(self, client,
                                                        placement):
        placement.on('GET', '/allocation_candidates',
                     http_placement.http_server.DROP,
                     candidates(a_candidate('a')))
        ask(client)
        placement.on('GET', '/', http_placement.versions('1.29'))

        assert ask(client).version == '1.29'
