"""The record of a decision."""

import copy
import gc
import itertools
import json
import time
import tracemalloc

import numpy as np
import pytest

from nova_sched.hosts import decision
from nova_sched.hosts.allocation_candidates import AllocationCandidates
from nova_sched.hosts.allocation_candidates import NoCandidates
from nova_sched.hosts.decision import Decision
from nova_sched.hosts.decision import Pick
from nova_sched.hosts.decision import State
from nova_sched.hosts.decision import WeigherPart
from nova_sched.hosts.decision import Weighing
from nova_sched.hosts.decision import Weights
from nova_sched.weights import Weighed
from tests.builders import requests
from tests.builders.values import is_fixed

UUID = '8d3f2c1e-0000-4000-8000-00000000000a'


def rows(*numbers):
    return np.array(numbers, dtype=int)


def weighed(count):
    """Hosts in rows 0, 1 ..., with weights 0, -1 ..."""
    weights = -np.arange(count, dtype=np.float64)
    parts = np.array([weights, np.zeros(count)])
    return Weighed(np.arange(count), weights, ('RAMWeigher', 'CPUWeigher'),
                   parts, parts, [1.0, -2.0])


def picked(record, hosts=20, instances=1):
    for index in range(instances):
        made, most = weighed(hosts), record.weighing.hosts_to_keep(hosts)
        kept = made.order[:most]
        record.picked(Pick(index, UUID, 'h', 'h'), made.names, Weights(
            made.table_rows[kept], made.values[kept], made.parts([0])[0])
            if most else None)
    return record


def test_steps_have_rule_and_counts():
    record = Decision()
    record.funnel.step(0, 'SizeFilter', rows(0, 1), rows(0, 1))
    record.funnel.step(1, 'SizeFilter', rows(0, 1), rows(1))

    assert [(step.index, step.name, step.before, step.after)
            for step in record.funnel.steps] == [
        (0, 'SizeFilter', 2, 2), (1, 'SizeFilter', 2, 1)]


def test_a_host_is_rejected_by_one_rule():
    record = Decision()
    record.funnel.step(0, 'SizeFilter', rows(0, 1, 2, 3), rows(1, 3))
    record.funnel.step(1, 'ZoneFilter', rows(1, 3), rows(3))
    record.funnel.step(1, 'SizeFilter', rows(3), rows())

    assert {name: found.tolist()
            for name, found in record.funnel.rejected()} == {
        'SizeFilter': [0, 2, 3], 'ZoneFilter': [1]}


def test_the_weight_of_a_pick_has_a_part_a_weigher():
    record = picked(Decision())

    assert record.weighing.parts(0) == [
        WeigherPart('RAMWeigher', 0.0, 0.0, 1.0),
        WeigherPart('CPUWeigher', 0.0, 0.0, -2.0)]
    assert WeigherPart('RAMWeigher', 512.0, 0.5, -2.0).score == -1.0
    assert record.weighing.kept[0].weights.tolist() == [-i for i in range(10)]


@pytest.mark.parametrize('request_, uuids', [
    ({'instance_uuids': [UUID, UUID]}, [UUID, UUID]),
    ({'instance_uuids': None}, ['of the request']),
    ({'instance_uuids': 'junk'}, ['of the request']),
    ({'instance_uuids': [5, UUID]}, [UUID]), ({}, ['of the request'])])
def test_names_the_known_instances(request_, uuids):
    record = Decision(request=request_, instance_uuid='of the request')

    assert record.instance_uuids() == uuids


def test_is_closed_once():
    """A driver may close it first."""
    record = Decision()
    record.close(decision.FAILED, 'why')
    record.close(decision.PLACED)

    assert (record.outcome, record.reason) == ('failed', 'why')


def test_allocation_candidates_count_for_its_size():
    """They stay in memory until the record is written."""
    record = Decision()
    empty = record.size
    record.offer = AllocationCandidates(
        {f'uuid-{number}': [allocation_request(f'uuid-{number}')] * 2
         for number in range(500)}, frozenset(), '1.36')
    tracemalloc.start()
    copied = [copy.deepcopy(each) for each
              in itertools.chain(*record.offer.by_provider.values())]
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert len(copied) == 1000
    assert record.size - empty > 0.9 * taken


def allocation_request(uuid):
    return {'allocations': {uuid: {'resources': {
        'VCPU': 1, 'MEMORY_MB': 512, 'DISK_GB': 10}}},
            'mappings': {'': [uuid]}}


class TestPackedRequest:
    def test_is_not_unpacked_for_its_size_and_instances(self, monkeypatch):
        record = Decision(request={'instance_uuids': [UUID]})
        record.pack()
        monkeypatch.setattr(decision.json, 'loads', None)

        assert record.size
        record.pack()
        assert record.size
        assert record.instance_uuids() == [UUID]

    def test_reads_as_before(self):
        arguments = {'spec_obj': {'hints': ['x']}, 'instance_uuids': ['a']}
        record = Decision(request=arguments)

        record.pack()
        record.pack()

        assert (record.request, record.instance_uuids()) == (arguments, ['a'])

    def test_takes_no_more_than_on_the_wire(self):
        arguments = {'spec_obj': requests.a_request().obj_to_primitive()}
        record = Decision(request=arguments)
        record.pack()

        assert record.request.nbytes <= len(json.dumps(arguments))
        assert not gc.is_tracked(record.request._bytes)

    def test_with_objects_is_not_packed(self):
        arguments = {'spec_obj': object()}
        record = Decision(request=arguments)

        record.pack()

        assert record.request is arguments


    @pytest.mark.parametrize('given, kept', [
        ('req-1', 'req-1'), ('x' * 10000, 'x' * 255), (['x' * 10000], None),
        (None, None)])
    def test_has_a_short_request_id(self, given, kept):
        record = Decision(request_id=given)
        record.pack()
        assert record.request_id == kept


def test_weights_are_kept_for_the_first_instances():
    """In a request for many instances on 10,000 hosts."""
    record = picked(Decision(), hosts=10000, instances=120)

    assert len(record.picks) == 120
    assert [len(kept.rows) for kept in record.weighing.kept] == (
        decision.MOST_WEIGHED * [decision.BEST])
    assert record.size < 200 << 10
    assert record.weighing.parts(99) and not record.weighing.parts(100)


def test_all_weights_are_kept_on_demand_within_a_limit(monkeypatch):
    """Later instances keep the best hosts, and then none."""
    monkeypatch.setattr(decision, 'MOST_WEIGHTS', 50)

    record = picked(Decision(weighing=Weighing(keeps_all=True)), instances=120)

    assert [len(kept.rows) for kept in record.weighing.kept] == (
        3 * [20] + 97 * [decision.BEST])


def test_decided_again_has_the_last_attempt_only():
    record = picked(Decision())
    record.funnel.step(0, 'SizeFilter', rows(0, 1), rows(0))
    record.alternates = 2

    record.restart()

    assert record.tries == 2
    assert (record.picks, record.weighing.kept, record.funnel.steps,
            list(record.funnel.rejected()), record.alternates) == (
                [], [], [], [], 0)


def test_long_parts_are_not_printed():
    record = Decision(state=State(names=('h' * 10000,)), request={})
    record.funnel.step(0, 'SizeFilter', np.arange(10000), rows(0))

    shown = repr(record)

    assert shown.startswith('Decision(request_id=None, ')
    for hidden in ('names', '_steps', '_rules', '_rejected', 'table'):
        assert f'{hidden}=' not in shown


def test_parts_are_small_and_immutable():
    """A request may have thousands of each."""
    record = picked(Decision())
    record.funnel.step(0, 'SizeFilter', rows(0, 1), rows(0))

    for part in (record.funnel.steps[0], record.weighing.parts(0)[0],
                 record.picks[0], decision.Claim(UUID, 'h', 'n', True)):
        assert not hasattr(part, '__dict__')
        assert is_fixed(part)


def test_times_are_milliseconds_to_three_places(monkeypatch):
    clock = iter((5.0, 5.0123456, 6.0, 6.002))
    monkeypatch.setattr(time, 'perf_counter', lambda: next(clock))
    record = Decision()

    with record.timed('filter'):
        pass
    assert record.milliseconds == {'filter': 12.346}
    with record.timed('filter'):
        pass
    assert record.milliseconds == {'filter': 14.346}


@pytest.mark.parametrize('is_packed', [False, True])
def test_a_forgotten_request_keeps_its_instances(is_packed):
    """At most 36 instances, of 36 characters each."""
    record = Decision(request={'spec_obj': {'hints': ['x' * 10000]},
                               'instance_uuids': ['u' * 50] * 100},
                      instance_uuid='v' * 50)
    if is_packed:
        record.pack()

    record.forget_request()

    assert (record.request, record.instance_uuids(), record.instance_uuid) == (
        {'instance_uuids': ['u' * 36] * 36}, ['u' * 36] * 36, 'v' * 36)


@pytest.mark.parametrize('uuid_', [None, UUID])
def test_a_forgotten_request_without_instances_keeps_its_own(uuid_):
    record = Decision(request={'spec_obj': {}}, instance_uuid=uuid_)

    record.forget_request()

    assert record.instance_uuids() == ([UUID] if uuid_ else [])
    assert record.instance_uuid == uuid_


def test_allocation_candidates_may_be_forgotten():
    """But not the reason of a refusal without candidates."""
    nothing = NoCandidates('why')
    some, none = Decision(offer=AllocationCandidates(
        {}, frozenset([UUID]), '1.36')), Decision(offer=nothing)

    for record in (some, none):
        record.forget_state()

    assert (some.offer, none.offer) == (None, nothing)
