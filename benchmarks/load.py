"""A bounded load of RPC calls, and what came of it."""

import dataclasses
import math
import statistics
import threading
import time


@dataclasses.dataclass(frozen=True)
class Result:
    """Latencies of one load, in milliseconds, and calls per second.

    errors: how many calls did not get the answer they should.
    """

    calls: int
    errors: int
    p50: float
    p95: float
    p99: float
    per_second: float


def run(call, concurrency, seconds, most):
    """Call from ``concurrency`` threads, each as soon as its last returned.

    call: function without arguments that raises when an answer is wrong.
    Ends after ``seconds`` or ``most`` calls, whichever comes first; a first
    call in each thread is not counted.
    """
    latencies, errors, lock = [], [], threading.Lock()
    ready = threading.Barrier(concurrency + 1)
    started = [0.0]

    def work():
        _timed(call, [], errors)
        ready.wait()
        own = []
        while True:
            with lock:
                done = len(latencies) + len(errors)
            if (time.perf_counter() - started[0] > seconds or done >= most):
                return
            _timed(call, own, errors)
            with lock:
                latencies.extend(own)
            own.clear()

    threads = [threading.Thread(target=work, daemon=True)
               for _ in range(concurrency)]
    for thread in threads:
        thread.start()
    started[0] = time.perf_counter() + 3600
    ready.wait()
    begin = started[0] = time.perf_counter()
    for thread in threads:
        thread.join()
    return summary(latencies, len(errors), time.perf_counter() - begin)


def run_between(call, other, times):
    """Result of ``call``, made ``times`` times with an ``other`` in between.

    For what a service does once a request: made again and again without a
    pause it would find caches warmer than any request does.
    """
    latencies, errors, begin = [], [], time.perf_counter()
    for _ in range(times):
        other()
        _timed(call, latencies, errors)
    return summary(latencies, len(errors), time.perf_counter() - begin)


def _timed(call, latencies, errors):
    start = time.perf_counter()
    try:
        call()
    except Exception as exc:  # counted, and shown beside the figures
        errors.append(exc)
    else:
        latencies.append((time.perf_counter() - start) * 1000)


def summary(latencies, errors, seconds):
    """The Result of latencies in milliseconds."""
    if len(latencies) > 1:
        cuts = statistics.quantiles(latencies, n=100, method='inclusive')
    else:
        cuts = (latencies or [math.inf]) * 99
    return Result(len(latencies), errors, cuts[49], cuts[94], cuts[98],
                  len(latencies) / seconds)
