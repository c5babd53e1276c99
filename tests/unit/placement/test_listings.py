"""Concurrent requests share listings of candidates."""

from concurrent import futures
import threading

from tests.builders import http_placement
from tests.builders.http_placement import CONTEXT
from tests.builders.http_placement import Query
from tests.builders.http_placement import a_candidate
from tests.builders.waiting import until


def test_concurrent_requests_share_listings(client, placement):
    """Each request may modify its candidates."""
    gate = threading.Event()

    def list_slowly(asked):
        gate.wait(60)
        return http_placement.candidates(a_candidate('a'), a_candidate('b'))
    placement.on('GET', '/allocation_candidates', list_slowly)
    with futures.ThreadPoolExecutor(32) as pool:
        crowd = [pool.submit(client.candidates, [Query()], CONTEXT)
                 for _ in range(32)]
        until(lambda: sum(flight.count for flight in list(
            client._listings._waiting.values())) == 32 - 1,
            'all to wait')
        gate.set()
    offers = [future.result() for future in crowd]

    assert len(placement.to('GET', '/allocation_candidates')) == 2
    offers[-1].of('a')[0].clear()
    assert all(offer.of('a') == [a_candidate('a')] for offer in offers)


def test_kept_summaries_are_not_shared(client, placement):
    client.keeps_summaries = True
    placement.on('GET', '/allocation_candidates',
                 http_placement.candidates(a_candidate('a')))
    first, second = (client.candidates([Query()], CONTEXT) for _ in range(2))

    first.summaries.clear()

    assert second.summaries
    assert len(placement.to('GET', '/allocation_candidates')) == 2
