"""Read-only access to Placement in a dry run."""

import pytest

from nova_sched import exception
from nova_sched.dry_run import read_only_placement
from nova_sched.hosts.allocation_candidates import NoCandidates
from tests.builders import http_placement
from tests.builders import http_server

A, B = 'provider-a', 'provider-b'


@pytest.fixture
def client(server, tmp_path):
    """A client of the server."""
    return read_only_placement.ReadOnlyReportClient(http_placement.a_conf(
        tmp_path, auth_type='none', endpoint_override=server.url))


@pytest.fixture
def placement(client):
    return client.placement


def ask(client, count=1):
    """Return the candidates of a number of queries."""
    return client.candidates([http_placement.Query()] * count,
                             http_placement.CONTEXT)


@pytest.mark.parametrize('method', ['PUT', 'POST', 'DELETE', 'PATCH'])
def test_write_is_refused(server, placement, method):
    with pytest.raises(read_only_placement.WriteAttempted):
        placement.request(method, '/allocations/an-instance', body={})

    assert server.asked == []


def test_claims_of_a_request_need_room(server, client):
    """A release makes room again; other requests do not count."""
    server.on('GET', '/allocation_candidates', http_placement.candidates(
        http_placement.a_candidate(A, VCPU=10),
        http_placement.a_candidate(B, VCPU=8, CUSTOM_UNKNOWN=1)))
    first, second = (http_placement.ask(client) for _ in 'ab')

    def claimed(instance, provider, offer=first):
        return offer.claim(instance, offer.of(provider)[0], None)

    assert claimed('one', A)
    assert not claimed('two', A)
    assert claimed('two', B)
    assert claimed('three', B)
    assert not claimed('four', B)
    assert first.release_all(['one', 'two']) == ()
    for instance in ('one', 'two', 'unknown'):
        first.release(instance)
    assert claimed('four', A)
    assert claimed('five', B)
    assert claimed('six', A, second)
    assert {asked.method for asked in server.asked} == {'GET'}


@pytest.mark.parametrize('summary', [
    {}, {'resources': None}, {'resources': {'VCPU': {}}}, None,
    {'resources': {'VCPU': {'capacity': 'x', 'used': 0}}}])
def test_unknown_room_is_enough(server, client, summary):
    answer = http_placement.candidates(http_placement.a_candidate(A))
    answer.body['provider_summaries'][A] = summary
    server.on('GET', '/allocation_candidates', answer)
    offer = http_placement.ask(client)

    assert offer.claim('an-instance', offer.of(A)[0], None)


def test_listing_has_usages_and_number_of_candidates(server, client):
    """The number is that of the largest answer."""
    assert client.listing.max_candidates is None
    server.on('GET', '/allocation_candidates', http_placement.candidates(
        *map(http_placement.a_candidate, (A, B))), http_placement.candidates(
            http_placement.a_candidate(A), others=[B]))
    ask(client, 2)

    assert client.listing.max_candidates == 2
    assert client.listing.usages == {A: {'VCPU': 0}, B: {'VCPU': 0}}
    client.listing.pack()
    assert client.listing.usages.get(B) == {'VCPU': 0}


def test_listing_shows_a_missing_answer(server, client):
    server.on('GET', '/allocation_candidates', http_server.DROP)

    assert isinstance(ask(client), NoCandidates)
    assert not client.listing.is_answered


@pytest.mark.parametrize('answer', [
    http_placement.error(500, 'broken'), http_server.Answer(body={}),
    http_server.Answer(body=[]), http_server.Answer(body='text')])
def test_error_for_unexpected_answer_names_the_path(server, placement, answer):
    for path in ('/allocations/', '/resource_providers/'):
        server.on('GET', path, answer)

    for read in (placement.consumer_allocations,
                 placement.provider_allocations, placement.root_provider):
        with pytest.raises(exception.PlacementError, match=A):
            read(A)


def test_no_request_is_sent_after_stop(server, client, placement):
    placement.stop()

    for read in (placement.consumer_allocations,
                 placement.provider_allocations, placement.root_provider):
        with pytest.raises(exception.PlacementError, match='is stopping'):
            read(A)
    assert isinstance(ask(client), NoCandidates)
    assert server.asked == []
