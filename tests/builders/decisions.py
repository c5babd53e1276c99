"""Closed records of decisions."""

import random
import time

import numpy as np

from nova_sched.hosts import decision
from nova_sched.hosts.decision import Decision
from nova_sched.hosts.decision import Pick
from nova_sched.weights import Weighed
from tests.builders import hosts

#: Arrival of requests, in seconds since the epoch.
NOW = time.time()

UUIDS = [f'00000000-0000-4000-8000-{number:012}' for number in range(300)]


def a_table(count):
    """A HostTable of hosts named h0, h1 ..."""
    return hosts.table(*(hosts.a_host(f'h{row}')
                         for row in range(count)))


def a_record(hosts=1000, table=None, instances=1, request_id='req-1',
             **fields):
    """A record with ``hosts`` weighed hosts and as many rejected hosts.

    Each weighed host has a weight of 1 less than the host before it.
    table: HostTable of all hosts; by default they have no names.
    """
    fields = {'state': decision.State(hosts=2 * hosts) if table is None
              else decision.State.of(table, 0, 0.0)} | fields
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
                weighed.table_rows[best], weighed.values[best],
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
