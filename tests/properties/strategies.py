"""Helpers for strategies, and strategies of PCI and NUMA hardware."""

import itertools
import json
import random

from hypothesis import strategies as st

from tests.builders.numa import FOUR_CORES
from tests.builders.numa import a_cell
from tests.builders.numa import a_guest
from tests.builders.numa import cells_text
from tests.builders.numa import guest_cell
from tests.builders.pci import a_pci_request
from tests.builders.pci import a_pool
from tests.builders.pci import pci_requests
from tests.builders.pci import pci_stats


def one_of_each(**choices):
    """A dict with one of each name's choices, all combinations alike.

    It is a single draw, which is much faster than a draw a name.  A choice
    that is listed twice is drawn twice as often.
    """
    simplest, *others = [dict(zip(choices, values, strict=True))
                         for values in itertools.product(*choices.values())]
    # Hypothesis prefers items at the begin of a long list.
    random.Random(0).shuffle(others)
    return st.sampled_from([simplest, *others])


def together(*topics):
    """A dict that joins one dict of each topic."""
    return st.tuples(*map(st.sampled_from, topics)).map(_joined)


def some_of(parts, min_size, max_size):
    """Some of these dicts, joined."""
    return st.lists(st.sampled_from(parts), min_size=min_size,
                    max_size=max_size).map(_joined)


def _joined(dicts):
    return {name: value for one in dicts for name, value in one.items()}


def pairs(name, *values, missing=0):
    """``missing`` empty dicts, and a dict {name: value} for each value."""
    return [{}] * missing + [{name: value} for value in values]


POOLS = st.lists(one_of_each(
    tags=[{}, {}, {'dev_type': 'type-PF'}, {'dev_type': 'vdpa'},
          {'address': '0000:01:00.0', 'dev_type': 'vdpa'},
          {'remote_managed': 'true'}, {'rp_uuid': 'p1'},
          {'live_migratable': 'true'}],
    product_id=['1520', '10fb'], numa_node=[None, 0, 1],
    count=[1, 0, 2, 99]).map(lambda pool: a_pool(
        **{name: value for name, value in pool.items() if name != 'tags'},
        **pool['tags'])), max_size=3)
PCI_STATS = st.sampled_from([None, '{', '[{}]']) | POOLS.map(
    json.dumps) | POOLS.map(lambda found: pci_stats(*found))
#: Columns of whole hosts; drawing each pool would take long.
SOME_PCI_STATS = (
    None, '{', pci_stats(), json.dumps(a_pool(count=2)),
    pci_stats(a_pool(count=2), a_pool(product_id='10fb', count=2)),
    pci_stats(a_pool(rp_uuid='p1'), a_pool(rp_uuid='p2', count=3)),
    pci_stats(a_pool(dev_type='vdpa'), a_pool(numa_node=0)),
    pci_stats(a_pool(dev_type='vdpa', address='0000:01:00.0')),
    pci_stats(a_pool(dev_type='type-PF'), a_pool(count=99, numa_node=1)),
    pci_stats(a_pool(remote_managed='true'),
              a_pool(live_migratable='true', count=2)))
PCI_REQUESTS = st.lists(one_of_each(
    count=[1, 1, 0, 2],
    spec=[[{'vendor_id': '8086'}], [{'product_id': '1520'}],
          [{'dev_type': 'VDPA'}], [{'dev_type': 'type-PF'}],
          [{'traits': 'T'}], [{'live_migratable': 'true'}],
          [{'remote_managed': 'true'}],
          [{'vendor_id': '8086', 'rp_uuids': 'p1'}],
          [{'product_id': '10fb'}, {'dev_type': 'type-PF'}]],
    alias_name=['alias', None],
    numa_policy=[None, 'required', 'preferred', 'socket']).map(
        lambda fields: a_pci_request(**fields)), max_size=2).map(
            lambda found: pci_requests(*found))

#: Reports of hosts of each era, and malformed reports.
SOME_CELLS = (
    cells_text(a_cell()), None, '{', '{"cells": []}',
    '{"cells": [{"id": 0, "cpus": "0-3", "mem": {"total": 512, "used": 0}}]}',
    cells_text(a_cell(siblings=FOUR_CORES, pinned_cpus={0, 4, 1}),
               a_cell(1, pages=[(4, 1024), (2048, 512)])),
    cells_text(a_cell(siblings=FOUR_CORES, cpuset={0, 4}, pcpuset={1, 2, 5}),
               a_cell(1, cpu_usage=9, networks=['p1'], socket=1),
               a_cell(2, memory_usage=4096, pages=[(2048, 512, 500)])),
    cells_text(a_cell(pinned_cpus={0, 1}), a_cell(1, memory=512), newer=False),
    cells_text(a_cell(siblings=FOUR_CORES, pages=[(4, 9), (1048576, 4)]),
               a_cell(1, memory_usage=4096), newer=False))
GUESTS = st.tuples(
    st.lists(one_of_each(
        floating=[1, 0, 2, 3], pinned=[0, 1, 2, 3], id=[0, 1, 2],
        memory=[512, 0, 3, 1024],
        pagesize=[None, None, -3, -2, -1, 2048, 8192],
        cpu_thread_policy=[None, 'require', 'isolate']).map(
            lambda fields: guest_cell(**fields)), max_size=3),
    st.sampled_from([None, None, 'isolate'])).map(
        lambda drawn: a_guest(*drawn[0], emulator=drawn[1]))
