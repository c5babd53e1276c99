"""A bounded load of RPC calls, and its result."""

import dataclasses
import math
import statistics
import threading
import time


@dataclasses.dataclass(frozen=True)
class Result:
    """Latencies of a load in milliseconds, and calls per second.

    errors: number of calls that failed or got a wrong answer.
    """

    calls: int
    errors: int
    p50: float
    p95: float
    p99: float
    per_second: float
    slowest: float


def run(call, concurrency, seconds, max_calls, min_calls=0):
    """Call without a pause from ``concurrency`` threads: Result.

    call: function without arguments that raises if its answer is wrong.
    Ends after ``max_calls``, or after ``seconds`` if there were ``min_calls``.
    The first call of each thread is not counted.
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
            late = time.perf_counter() - started[0] > seconds
            if (late and done >= min_calls) or done >= max_calls:
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
    """Measure ``call``, made ``times`` times, each after ``other``: Result.

    For work that a service does once per request: without a pause its caches
    would be warmer than in a real request.
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
    """Return the Result of latencies in milliseconds."""
    if len(latencies) > 1:
        cuts = statistics.quantiles(latencies, n=100, method='inclusive')
    else:
        cuts = (latencies or [math.inf]) * 99
    return Result(len(latencies), errors, cuts[49], cuts[94], cuts[98],
                  len(latencies) / seconds, max(latencies, default=math.inf))
