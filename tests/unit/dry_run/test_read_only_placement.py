"""Placement in a dry run: it is read, and nothing in it changes."""

import pytest

from nova_sched import exception
from nova_sched.dry_run import read_only_placement
from nova_sched.hosts.allocation_candidates import NoCandidates
from tests.builders import http_placement
from tests.builders import http_server

A, B = 'provider-a', 'provider-b'


@pytest.fixture
def client(server, tmp_path):
    """A client of the server, with a connection ``placement``."""
    return read_only_placement.ReadOnlyReportClient(http_placement.a_conf(
        tmp_path, auth_type='none', endpoint_override=server.url))


@pytest.fixture
def placement(client):
    return client.placement


def ask(client, count=1):
    """Ask for candidates by so many queries: what is offered."""
    return client.candidates([http_placement.Query()] * count,
                             http_placement.CONTEXT)


@pytest.mark.parametrize('method', ['PUT', 'POST', 'DELETE', 'PATCH'])
def test_a_request_that_would_write_is_refused_and_not_sent(
        server, placement, method):
    with pytest.raises(read_only_placement.WriteAttempted):
        placement.request(method, '/allocations/an-instance', body={})

    assert server.asked == []


def test_no_more_is_claimed_than_there_is_room_for(server, client):
    """Of one request for several instances; a release makes room again."""
    server.on('GET', '/allocation_candidates', http_placement.candidates(
        http_placement.a_candidate(A, VCPU=10),
        http_placement.a_candidate(B, VCPU=8, CUSTOM_UNKNOWN=1)))
    found, again = (http_placement.ask(client) for _ in 'ab')

    def claimed(instance, provider, found=found):
        return found.claim(instance, found.of(provider)[0], None)

    assert claimed('one', A)
    assert not claimed('two', A)
    assert claimed('two', B)
    assert claimed('three', B)
    assert not claimed('four', B)
    assert found.release_all(['one', 'two']) == ()
    for instance in ('one', 'two', 'nobody'):
        found.release(instance)
    assert claimed('four', A)
    assert claimed('five', B)
    assert claimed('six', A, again)
    assert {asked.method for asked in server.asked} == {'GET'}


@pytest.mark.parametrize('summary', [
    {}, {'resources': None}, {'resources': {'VCPU': {}}}, None,
    {'resources': {'VCPU': {'capacity': 'x', 'used': 0}}}])
def test_a_provider_of_unknown_room_has_enough(server, client, summary):
    answer = http_placement.candidates(http_placement.a_candidate(A))
    answer.body['provider_summaries'][A] = summary
    server.on('GET', '/allocation_candidates', answer)
    found = http_placement.ask(client)

    assert found.claim('an-instance', found.of(A)[0], None)


def test_a_listing_has_the_usage_of_each_provider(server, client):
    server.on('GET', '/allocation_candidates', http_placement.candidates(
        http_placement.a_candidate(A), others=[B]))
    ask(client)

    assert client.listing.usages == {A: {'VCPU': 0}, B: {'VCPU': 0}}
    client.listing.pack()
    assert client.listing.usages.get(B) == {'VCPU': 0}


def test_a_listing_counts_the_candidates_of_the_largest_answer(
        server, client):
    server.on('GET', '/allocation_candidates', *(
        http_placement.candidates(*map(http_placement.a_candidate, providers))
        for providers in ([A, B], [A])))
    assert client.listing.most is None

    ask(client, 2)

    assert client.listing.most == 2


def test_a_listing_tells_that_there_was_no_answer(server, client):
    server.on('GET', '/allocation_candidates', http_server.DROP)

    assert isinstance(ask(client), NoCandidates)
    assert not client.listing.is_answered


def test_the_allocations_of_a_consumer_are_read(server, placement):
    server.on('GET', '/allocations/me', http_placement.held(
        {A: {'VCPU': 2}}))

    assert placement.consumer_allocations('me') == {A: {'VCPU': 2}}
    assert placement.consumer_allocations('nobody') == {}


def test_the_allocations_of_a_provider_are_read(server, placement):
    server.on('GET', f'/resource_providers/{A}/allocations',
              http_server.Answer(body={
                  'allocations': {'me': {'resources': {'VCPU': 2}}},
                  'resource_provider_generation': 3}))

    assert placement.provider_allocations(A) == {'me': {'VCPU': 2}}


@pytest.mark.parametrize('answer', [
    http_placement.error(500, 'broken'), http_server.Answer(body={}),
    http_server.Answer(body=[]), http_server.Answer(body='text')])
def test_an_answer_of_another_form_is_an_error_that_names_the_path(
        server, placement, answer):
    for path in ('/allocations/', '/resource_providers/'):
        server.on('GET', path, answer)

    for read in (placement.consumer_allocations,
                 placement.provider_allocations, placement.root_provider):
        with pytest.raises(exception.PlacementError, match=A):
            read(A)


def test_nothing_is_sent_after_a_stop(server, client, placement):
    placement.stop()

    for read in (placement.consumer_allocations,
                 placement.provider_allocations, placement.root_provider):
        with pytest.raises(exception.PlacementError, match='is stopping'):
            read(A)
    assert isinstance(ask(client), NoCandidates)
    assert server.asked == []
