"""A past decision is read with its inputs."""

import numpy as np
import pytest

from nova_sched import context
from nova_sched.hosts import decision
from nova_sched.hosts.allocation_candidates import NoCandidates
from nova_sched.observe.decision_store import DecisionStore
from nova_sched.observe.recorder import Recorder
from nova_sched.scheduler import host_manager
from nova_sched.scheduler import manager
from nova_sched.scheduler.candidates import CandidateSource
from tests.builders import clouds
from tests.builders import decisions
from tests.builders import hosts as builders
from tests.builders import requests
from tests.builders import rules

UUIDS = [clouds.a_uuid(number) for number in range(1, 9)]


@pytest.fixture
def serving(cloud, tmp_path):
    """Function: (endpoint, function that returns its last PastDecision)."""
    stop = []

    def serving(**options):
        driver = cloud.driver(DEFAULT__state_path=str(tmp_path), **options)
        recorder = Recorder(driver.conf)
        stop.append(recorder.stop)

        def last():
            with recorder.reading() as store:
                return store.past(store.summaries(1)[0].number)
        return manager.SchedulerManager(
            driver, CandidateSource(driver.conf, driver), recorder), last
    yield serving
    for each in stop:
        each()


def ask(endpoint, uuids, **fields):
    """Where instances are placed, by name of the host."""
    found = endpoint.select_destinations(
        context.RequestContext(), instance_uuids=uuids,
        spec_obj=requests.a_request(
            instance_uuid=uuids[0], num_instances=len(uuids),
            **fields).obj_to_primitive())
    return [chosen['host'] for chosen in found]


def seen(past):
    """The hosts of a PastDecision, as rules see them: {host: HostState}."""
    hosts = past.hosts(host_manager.HostManager(rules.a_conf()))
    return {state.host: state for state in hosts.block().states()}


def test_has_the_hosts_with_assumed_instances(cloud, serving):
    cloud.load(['a', 'b'])
    endpoint, last = serving()
    [first] = ask(endpoint, UUIDS[:1])
    whole = seen(last())[first].free_ram_mb
    ask(endpoint, UUIDS[1:2])

    state = seen(last())[first]
    assert whole - state.free_ram_mb == requests.a_flavor().memory_mb
    assert state.num_instances == 1


def test_has_the_services_that_were_up_then(cloud, serving):
    cloud.load(['a', 'b'])
    cloud.execute("UPDATE services SET last_seen_up = '2020-01-01' "
                  "WHERE host = 'a'")
    endpoint, last = serving()
    assert ask(endpoint, UUIDS[:1]) == ['b']

    found = seen(last())
    assert (found['a'].service_up, found['b'].service_up) == (False, True)


def test_has_the_candidates_of_placement(conf):
    """None here: the mirror of Placement had refused."""
    hosts = builders.table(builders.a_host('a'))
    store = DecisionStore.in_file(conf)
    store.add([decisions.a_refusal(
        state=decision.State.of(hosts, 0, 0.0),
        spec_obj=requests.a_request(), offer=NoCandidates('it is full'))])

    past = store.past(1)
    assert past.hosts(host_manager.HostManager(rules.a_conf())
                      ).offer == NoCandidates('it is full')


@pytest.mark.parametrize('refused', [[], [1]])
def test_has_the_hosts_that_placement_refused(conf, refused):
    hosts = builders.table(*map(builders.a_host, 'abc'))
    record = decisions.a_refusal(state=decision.State.of(hosts, 0, 0.0))
    rows = np.arange(3)
    record.funnel.step(0, 'AFilter', rows, rows[:2])
    record.funnel.step(1, 'claims refused', np.array(refused, dtype=int),
                       rows[:0])
    store = DecisionStore.in_file(conf)
    store.add([record])

    assert store.past(1).view.refused.tolist() == refused


def test_has_the_request_as_it_came(cloud, serving):
    cloud.load(['a'])
    endpoint, last = serving()
    ask(endpoint, UUIDS[:2], memory_mb=7)

    request = last().request({'x': 1})
    assert (request.spec_obj.memory_mb, request.instance_uuids,
            request.count, request.options) == (7, UUIDS[:2], 2, {'x': 1})


def test_has_requests_of_old_callers(cloud, serving):
    cloud.load(['a'])
    endpoint, last = serving()
    endpoint.select_destinations(
        context.RequestContext(), instance_uuids=UUIDS[:1],
        request_spec={'num_instances': 1, 'instance_type': {
            'memory_mb': 9, 'vcpus': 1, 'root_gb': 1, 'ephemeral_gb': 0}},
        filter_properties={})

    assert last().request().spec_obj.memory_mb == 9


def test_has_assumed_members_of_the_group(cloud, serving):
    """They are where no database shows them yet."""
    cloud.load(['a', 'b'])
    endpoint, last = serving()
    group = {'instance_group': requests.a_group(
        'anti-affinity', members=UUIDS[:3], hosts=[])}
    [first] = ask(endpoint, UUIDS[:1], **group)
    [second] = ask(endpoint, UUIDS[1:2], **group)
    assert {first, second} == {'a', 'b'}

    past = last()
    asked = past.request().spec_obj.instance_group
    hosts = past.hosts(host_manager.HostManager(rules.a_conf()))
    assert first in asked.hosts
    assert hosts.instances.running(asked.members) == {UUIDS[0]: first}
