"""Placement, of which a shadow reads all and changes nothing."""

import pytest

from nova_sched import exception
from nova_sched.dry_run import read_only_placement
from nova_sched.hosts.allocation_candidates import NoCandidates
from tests.builders import http_placement
from tests.builders import http_server

A, B = 'provider-a', 'provider-b'


@pytest.fixture
def server():
    with http_placement.placement() as server:
        yield server


@pytest.fixture
def way(server, tmp_path):
    """A ReadOnly that leads to the server."""
    return read_only_placement.ReadOnlyPlacement(http_placement.a_conf(
        tmp_path, auth_type='none', endpoint_override=server.url))


@pytest.fixture
def client(way, tmp_path):
    return read_only_placement.ReadOnlyReportClient(
        http_placement.a_conf(tmp_path), way)


@pytest.mark.parametrize('method', ['PUT', 'POST', 'DELETE', 'PATCH'])
def test_what_would_change_anything_is_refused_and_not_sent(
        server, way, method):
    with pytest.raises(read_only_placement.WriteAttempted):
        way.request(method, '/allocations/an-instance', body={})

    assert server.asked == []


def test_what_is_offered_counts_as_claimed_at_once(server, client):
    """By the same client as of a scheduler, which would have sent it."""
    server.on('GET', '/allocation_candidates', http_placement.candidates(
        http_placement.a_candidate(A)))
    found = http_placement.ask(client)

    assert found.claim('an-instance', found.of(A)[0], None)
    found.release('an-instance')
    assert {asked.method for asked in server.asked} == {'GET'}


def test_no_more_is_claimed_than_there_is_room_for(server, client):
    """Of one request for several instances; what it gives back it may have.
    """
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
    found.release('one')
    found.release('two')
    found.release('nobody')
    assert claimed('four', A)
    assert claimed('five', B)
    assert claimed('six', A, again)
    assert {asked.method for asked in server.asked} == {'GET'}


@pytest.mark.parametrize('summary', [
    {}, {'resources': None}, {'resources': {'VCPU': {}}}, None,
    {'resources': {'VCPU': {'capacity': 'x', 'used': 0}}}])
def test_where_no_room_is_told_of_all_of_it_can_be_claimed(server, client,
                                                           summary):
    answer = http_placement.candidates(http_placement.a_candidate(A))
    answer.body['provider_summaries'][A] = summary
    server.on('GET', '/allocation_candidates', answer)
    found = http_placement.ask(client)

    assert found.claim('an-instance', found.of(A)[0], None)


def test_nothing_offered_stays_nothing(client):
    found = http_placement.ask(client)

    assert isinstance(found, NoCandidates)


def test_how_much_was_taken_of_each_provider_is_kept(server, way, client):
    """As of the queries since it was asked to be collected."""
    server.on('GET', '/allocation_candidates', http_placement.candidates(
        http_placement.a_candidate(A), others=[B]))
    before, after = way.collect_candidates(), way.collect_candidates()
    client.candidates([http_placement.Query()], http_placement.CONTEXT)

    assert before.usages() == {}
    assert after.usages() == {A: {'VCPU': 0}, B: {'VCPU': 0}}


def test_what_a_consumer_holds_is_read(server, way):
    server.on('GET', '/allocations/me', http_placement.held(
        {A: {'VCPU': 2}}))

    assert way.consumer_allocations('me') == {A: {'VCPU': 2}}
    assert way.consumer_allocations('nobody') == {}


def test_who_holds_a_provider_is_read(server, way):
    server.on('GET', f'/resource_providers/{A}/allocations',
              http_server.Answer(body={
                  'allocations': {'me': {'resources': {'VCPU': 2}}},
                  'resource_provider_generation': 3}))

    assert way.provider_allocations(A) == {'me': {'VCPU': 2}}


@pytest.mark.parametrize('answer', [
    http_placement.error(500, 'broken'), http_server.Answer(body={}),
    http_server.Answer(body=[]), http_server.Answer(body='text')])
def test_an_answer_that_is_none_is_told_with_what_was_asked(
        server, way, answer):
    for path in ('/allocations/', '/resource_providers/'):
        server.on('GET', path, answer)

    for read in (way.consumer_allocations, way.provider_allocations,
                 way.root_provider):
        with pytest.raises(exception.PlacementError, match=A):
            read(A)


def test_silence_is_noted_of_the_request_that_it_answers(server, way, client):
    server.on('GET', '/allocation_candidates', http_server.DROP)
    first = way.collect_candidates()
    client.candidates([http_placement.Query()], http_placement.CONTEXT)
    second = way.collect_candidates()

    assert (first.unanswered, second.unanswered) == (True, False)


def test_the_answer_with_most_candidates_tells_their_number(
        server, way, client):
    server.on('GET', '/allocation_candidates', *(
        http_placement.candidates(*map(http_placement.a_candidate, providers))
        for providers in ([A, B], [A])))
    answers = way.collect_candidates()
    assert answers.max_count() == 0

    client.candidates([http_placement.Query()] * 2, http_placement.CONTEXT)

    assert answers.max_count() == 2


def test_it_waits_as_long_as_the_configuration_says(server, tmp_path):
    way = read_only_placement.ReadOnlyPlacement(http_placement.a_conf(
        tmp_path, auth_type='none', endpoint_override=server.url, timeout=7))

    assert way.timeout == 7


def test_after_a_stop_nothing_is_asked(server, way, client):
    way.stop()

    for read in (way.consumer_allocations, way.provider_allocations,
                 way.root_provider):
        with pytest.raises(exception.PlacementError, match='about to end'):
            read(A)
    assert isinstance(client.candidates(
        [http_placement.Query()], http_placement.CONTEXT), NoCandidates)
    assert server.asked == []
