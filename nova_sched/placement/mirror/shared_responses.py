"""Responses of Placement that the workers of a service share.

Each worker has a mirror, and all would send the same query at the same time.
Instead the first worker sends it, and the others wait and use its response.
They also use an earlier response that is recent enough: this is a cache with a
lock, unlike ``single_flight``.
"""

import os
import pickle
import time
import typing

from nova_sched import shared_region
from nova_sched.shared_region import SharedRegion

#: Maximum seconds to wait for another worker's response: the duration of a
#: query for thousands of providers one by one.
PATIENCE = 300
#: Seconds between two attempts to take the lock.
PAUSE = 0.01


class TimedResponse(typing.NamedTuple):
    """A response of Placement.

    began: when the query was sent, by time.monotonic().  took: seconds.
    """

    began: float
    took: float
    value: object


class SharedResponses:
    """The newest response to each of some queries.

    Created before the workers are forked.  Safe for threads.

    queries: names of the queries.
    workers: number of workers; nothing is kept for a single worker.
    """

    def __init__(self, queries=(), workers=1, clock=time.monotonic):
        self.workers, self._clock = workers, clock
        self._by_query = {query: _SharedResponse('response of placement')
                          for query in queries if workers > 1}

    def get(self, query, source, send, after):
        """Return a TimedResponse to a query that was sent after a moment.

        query: name of the query.
        source: text that identifies the Placement; responses of others are not
            used.
        send: function without arguments that sends the query.  Its exception
            is raised here, and not kept.
        after: the moment, by the clock; earlier responses are not used.
        A worker that takes longer than PATIENCE is not waited for.  This
        worker then queries without keeping the response.
        """
        shared = self._by_query.get(query)
        if shared is None:
            return self.send_alone(send)
        with shared.threads, shared.locked(
                patience=lambda: shared_region.waited_for(PATIENCE),
                pause=PAUSE) as is_locked:
            if not is_locked:
                return self.send_alone(send)
            response = shared.read(source)
            if response is None or response.began <= after:
                response = self.send_alone(send)
                shared.write(source, response)
            return response

    def send_alone(self, send):
        """Return a TimedResponse for this worker only."""
        began = self._clock()
        value = send()
        return TimedResponse(began, self._clock() - began, value)


class _SharedResponse(SharedRegion):
    """A TimedResponse of any size in shared memory.

    size: in bytes; 0 for none.
    """

    WORDS = ('size',)

    def read(self, source):
        """Return the TimedResponse, or None."""
        if not self.words.size:
            return None
        # Only this service's workers can write to the memory.
        of, response = pickle.loads(  # noqa: S301
            os.pread(self.file, self.words.size, self.BEGIN))
        return response if of == source else None

    def write(self, source, response):
        """Replace the TimedResponse."""
        data = pickle.dumps((source, response), pickle.HIGHEST_PROTOCOL)
        self.words.size = 0
        os.ftruncate(self.file, self.BEGIN)
        if os.pwrite(self.file, data, self.BEGIN) == len(data):
            self.words.size = len(data)
