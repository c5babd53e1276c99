"""Closed records of decisions."""

import random
import time

import numpy as np

from nova_sched.hosts import decision
from nova_sched.hosts.decision import Decision
from nova_sched.hosts.decision import Pick
from nova_sched.hosts.labels import Labels
from nova_sched.weights import Weighed

#: Arrival of requests, in seconds since the epoch.
NOW = time.time()

UUIDS = [f'00000000-0000-4000-8000-{number:012}' for number in range(300)]


def names(count):
    """Columns of host and node names, both h0, h1 ..."""
    return tuple(Labels.of([f'h{row}' for row in range(count)])
                 for _ in range(2))


def a_record(hosts=1000, names=(), instances=1, request_id='req-1', **fields):
    """A record with ``hosts`` weighed hosts and as many rejected hosts.

    Each weighed host has a weight of 1 less than the host before it.
    names: columns of the names of all hosts.
    """
    fields = {'state': decision.State(hosts=2 * hosts, names=names)} | fields
    record = Decision(instances=instances, request_id=request_id,
                      request={'instance_uuids': UUIDS[:instances]}, **fields)
    weights = -np.arange(hosts, dtype=np.float64)
    weighed = Weighed(np.arange(hosts), weights, ('RAMWeigher',),
                      weights[np.newaxis], weights[np.newaxis], [1.0])
    for index in range(instances):
        best = weighed.head[:decision.BEST]
        record.picked(
            Pick(index, UUIDS[index], f'h{index}', f'h{index}',
                 weights.item(index)), weighed.names, decision.Weights(
                weighed.given[best], weighed.values[best],
                weighed.parts([index])[0],
                None if index else weighed.parts(best)))
    record.funnel.step(0, 'SizeFilter', np.arange(2 * hosts), np.arange(hosts))
    record.close(decision.PLACED)
    return record


def noise(size=20000):
    """A text of ``size`` characters that compresses badly."""
    return random.Random(size).randbytes(size // 2).hex()


def a_refusal(reason='no hosts', request_id='req-2', **fields):
    """A record of a refused request for two instances."""
    record = Decision(instances=2, request_id=request_id,
                      request={'instance_uuids': UUIDS[:2]}, **fields)
    record.close(decision.REFUSED, reason)
    return record
