"""The number of instances on a host equals placing them until refused."""

import copy

from hypothesis import given
from hypothesis import strategies as st

from nova_sched.dry_run import trial
from nova_sched.hosts.allocation_candidates import PLACEMENT_NOT_USED
from nova_sched.scheduler import instance_counts
from nova_sched.scheduler import ranking
from nova_sched.scheduler.attempt import SchedulingRequest
from tests.builders.examples import examples
from tests.builders.hosts import a_host
from tests.builders.hosts import instances_on
from tests.builders.hosts import table
from tests.builders.numa import a_cell
from tests.builders.numa import a_guest
from tests.builders.numa import cells_text
from tests.builders.numa import guest_cell
from tests.builders.requests import a_request
from tests.properties.built_ins import CONFIGURED
from tests.properties.built_ins import ERRORS
from tests.properties.clouds import clouds
from tests.properties.requests import requests
from tests.properties.strategies import one_of_each

#: More instances than a host of a drawn cloud takes where amounts count.
MOST = 40
instance_counts.MOST_TRIED = 2 * MOST


def placed(filters, snapshot, spec, most):
    """{(host, node): number} of instances placed one after the other.

    Each is a request of its own; None if more than ``most`` fit.
    """
    ranker, found = ranking.Ranker(filters, []), {}
    for number in range(most + 1):
        request = SchedulingRequest(copy.deepcopy(spec), [f'new{number}'], 1)
        tried = trial.Trial(request, ranker, snapshot)
        if tried.error is not None:
            if isinstance(tried.error, ERRORS):
                raise tried.error
            return found
        snapshot = tried.hosts
        picked = tried.placed[0].place
        snapshot.instances.place(f'new{number}', picked[0], spec.flavor)
        found[picked] = found.get(picked, 0) + 1
    return None


def counted(filters, hosts, spec):
    counts = instance_counts.InstanceCounter(filters, hosts).count(spec)
    return counts, dict(zip(
        zip(hosts.objects('host'), hosts.objects('nodename'), strict=True),
        counts.counts.tolist(), strict=True))


@given(cloud=clouds(1, 5), spec=requests(),
       filters=st.sampled_from(CONFIGURED).flatmap(
           lambda rules: st.lists(st.sampled_from(rules[0]), unique=True,
                                  max_size=8)))
@examples(1200, 200)
def test_number_equals_placing_until_refused(cloud, spec, filters):
    spec.instance_group = None
    hosts = cloud.snapshot(PLACEMENT_NOT_USED).block()
    try:
        counts, numbers = counted(filters, hosts, spec)
    except ERRORS:
        return
    total = sum(numbers.values())
    if total > MOST or counts.inexact:
        return
    try:
        found = placed(filters, cloud.snapshot(PLACEMENT_NOT_USED), spec, MOST)
    except ERRORS:
        # Of a rule that need not run where another one refuses all hosts.
        assert not total
        return
    assert found == {place: number for place, number in numbers.items()
                     if number}


CELLS = one_of_each(
    cpus=[range(8), range(8), range(2)], pinned_cpus=[(), {0, 1, 4}],
    siblings=[(), [{0, 4}, {1, 5}, {2, 6}, {3, 7}]],
    cpu_usage=[0, 5], memory_usage=[0, 900], memory=[4096, 2048],
    pages=[[(4, 1048576), (2048, 100)], [(4, 1048576, 1000000)],
           [(4, 100), (2048, 800), (1048576, 2)], ()])
GUESTS = one_of_each(
    kind=['floating', 'floating', 'pinned', 'pinned', 'mixed'],
    cpus=[1, 2, 3], memory=[512, 300, 1024, 2048],
    pagesize=[None, None, None, -3, -2, -1, 4, 2048],
    thread_policy=[None, None, None, 'prefer', 'require', 'isolate'],
    cells=[1, 1, 2])


def a_numa_guest(kind, cpus, memory, pagesize, thread_policy, cells):
    return a_guest(*(guest_cell(
        number, memory=memory, pagesize=pagesize,
        floating=0 if kind == 'pinned' else cpus,
        pinned=0 if kind == 'floating' else cpus,
        cpu_thread_policy=None if kind == 'floating' else thread_policy)
        for number in range(cells)))


@st.composite
def numa_hosts(draw):
    cells = [a_cell(number, **fields) for number, fields in enumerate(draw(
        st.lists(CELLS, min_size=1, max_size=3)))]
    return dict(numa_topology=cells_text(*cells, newer=draw(
        st.sampled_from([True, True, True, False]))),
        **draw(one_of_each(cpu_allocation_ratio=[1.0, 1.5, 0.7],
                           ram_allocation_ratio=[1.0, 1.5])))


NUMA = [rule for rule in CONFIGURED[0][0]
        if type(rule).__name__ in ('NUMATopologyFilter', 'NumInstancesFilter',
                                   'PciPassthroughFilter')]


@given(records=st.lists(numa_hosts(), min_size=1, max_size=2),
       guest=GUESTS)
@examples(1600, 60)
def test_number_of_guests_with_cells_equals_placing_until_refused(
        records, guest):
    spec = a_request(numa_topology=a_numa_guest(**guest), vcpus=1,
                     memory_mb=1, root_gb=0)
    cloud = table(*(a_host(f'host{number}', nodename=f'node{number}', **record)
                    for number, record in enumerate(records)))

    _, numbers = counted(NUMA, cloud.snapshot(
        instances_on({}, {}), PLACEMENT_NOT_USED).block(), spec)

    if sum(numbers.values()) <= MOST:
        assert placed(NUMA, cloud.snapshot(
            instances_on({}, {}), PLACEMENT_NOT_USED), spec, MOST) == {
            place: number for place, number in numbers.items() if number}
