"""The record of a decision."""

import copy
import dataclasses
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

UUID = '8d3f2c1e-0000-4000-8000-00000000000a'


def rows(*numbers):
    return np.array(numbers, dtype=int)


def weighed(count):
    """Hosts in rows 0, 1 ..., each a point lighter than the one before."""
    weights = -np.arange(count, dtype=np.float64)
    parts = np.array([weights, np.zeros(count)])
    return Weighed(np.arange(count), weights, ('RAMWeigher', 'CPUWeigher'),
                   parts, parts, [1.0, -2.0])


def picked(record, hosts=20, instances=1):
    for index in range(instances):
        made, most = weighed(hosts), record.weighing.hosts_to_keep(hosts)
        kept = made.order[:most]
        record.picked(Pick(index, UUID, 'h', 'h'), made.names, Weights(
            made.given[kept], made.values[kept], made.parts([0])[0])
            if most else None)
    return record


def test_steps_tell_rule_and_counts():
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


def test_times_add_up():
    record = Decision()
    for _ in range(2):
        with record.timed('filter'):
            pass

    assert record.milliseconds['filter'] >= 0.0
    assert list(record.milliseconds) == ['filter']


def test_a_part_of_a_weight_is_multiplier_times_normalized():
    assert WeigherPart('RAMWeigher', 512.0, 0.5, -2.0).score == -1.0


def test_the_weight_of_a_pick_has_a_part_a_weigher():
    record = picked(Decision())

    assert record.weighing.parts(0) == [
        WeigherPart('RAMWeigher', 0.0, 0.0, 1.0),
                               WeigherPart('CPUWeigher', 0.0, 0.0, -2.0)]
    assert record.weighing.kept[0].weights.tolist() == [-i for i in range(10)]


@pytest.mark.parametrize('asked, uuids', [
    ({'instance_uuids': [UUID, UUID]}, [UUID, UUID]),
    ({'instance_uuids': None}, ['of the request']),
    ({'instance_uuids': 'junk'}, ['of the request']),
    ({'instance_uuids': [5, UUID]}, [UUID]), ({}, ['of the request'])])
def test_names_the_instances_as_far_as_they_are_known(asked, uuids):
    record = Decision(request=asked, instance_uuid='of the request')

    assert record.asked_uuids() == uuids


def test_is_closed_once():
    """A driver that closes it itself has the last word."""
    record = Decision()
    record.close(decision.FAILED, 'why')
    record.close(decision.PLACED)

    assert (record.outcome, record.reason) == ('failed', 'why')


def test_what_placement_has_listed_counts_for_its_size():
    """It is held as long as the record waits to be written."""
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
    def test_is_not_unpacked_for_what_is_asked_of_each(self, monkeypatch):
        record = Decision(request={'instance_uuids': [UUID]})
        record.pack()
        monkeypatch.setattr(decision.json, 'loads', None)

        assert record.size
        record.pack()
        assert record.size
        assert record.asked_uuids() == [UUID]

    def test_is_read_as_before(self):
        arguments = {'spec_obj': {'hints': ['x']}, 'instance_uuids': ['a']}
        record = Decision(request=arguments)

        record.pack()
        record.pack()

        assert record.request == arguments
        assert record.asked_uuids() == ['a']

    def test_takes_about_what_it_takes_on_the_wire(self):
        arguments = {'spec_obj': requests.a_request().obj_to_primitive()}
        record = Decision(request=arguments)
        record.pack()

        assert record.request.nbytes <= len(json.dumps(arguments))
        assert not gc.is_tracked(record.request._bytes)

    def test_with_objects_in_it_stays_as_it_is(self):
        arguments = {'spec_obj': object()}
        record = Decision(request=arguments)

        record.pack()

        assert record.request is arguments


    @pytest.mark.parametrize('given, kept', [
        ('req-1', 'req-1'), ('x' * 10000, 'x' * 255), (['x' * 10000], None),
        (None, None)])
    def test_keeps_no_more_than_an_id_of_what_is_given_as_one(self, given,
                                                              kept):
        record = Decision(request_id=given)
        record.pack()
        assert record.request_id == kept


def test_weights_are_kept_of_the_first_instances():
    """Of a request for many on 10,000 hosts."""
    record = picked(Decision(), hosts=10000, instances=120)

    assert len(record.picks) == 120
    assert [len(kept.rows) for kept in record.weighing.kept] == (
        decision.MOST_WEIGHED * [decision.BEST])
    assert record.size < 200 << 10
    assert record.weighing.parts(99) and not record.weighing.parts(100)


def test_all_weights_are_kept_where_that_is_asked_for_while_there_is_room(
        monkeypatch):
    """Of further instances the best, and then none."""
    monkeypatch.setattr(decision, 'MOST_WEIGHTS', 50)

    record = picked(Decision(weighing=Weighing(keeps_all=True)), instances=120)

    assert [len(kept.rows) for kept in record.weighing.kept] == (
        3 * [20] + 97 * [decision.BEST])


def test_decided_once_more_has_only_the_last_try():
    record = picked(Decision())
    record.funnel.step(0, 'SizeFilter', rows(0, 1), rows(0))
    record.alternates = 2

    record.restart()

    assert record.tries == 2
    assert (record.picks, record.weighing.kept, record.funnel.steps,
            list(record.funnel.rejected()), record.alternates) == (
                [], [], [], [], 0)


class TestParts:
    """What a record is made of."""

    def test_cannot_be_changed_by_whoever_reads_it(self):
        record = picked(Decision())
        record.funnel.step(0, 'SizeFilter', rows(0, 1), rows(0))
        claim = decision.Claim(UUID, 'h', 'n', True)

        for part in (record.funnel.steps[0], record.weighing.parts(0)[0],
                     record.picks[0],
                     claim):
            name = dataclasses.fields(part)[0].name
            with pytest.raises(dataclasses.FrozenInstanceError):
                setattr(part, name, 'other')

    def test_take_no_more_room_than_their_values(self):
        """A request may have thousands of each."""
        record = picked(Decision())
        record.funnel.step(0, 'SizeFilter', rows(0, 1), rows(0))

        for part in (record.funnel.steps[0], record.weighing.parts(0)[0],
                     record.picks[0],
                     decision.Claim(UUID, 'h', 'n', True)):
            assert not hasattr(part, '__dict__')

    def test_are_not_printed_where_they_are_long(self):
        record = Decision(state=State(names=('h' * 10000,)), request={})
        record.funnel.step(0, 'SizeFilter', np.arange(10000), rows(0))

        shown = repr(record)

        assert shown.startswith('Decision(request_id=None, ')
        for hidden in ('names', '_steps', '_rules', '_rejected', 'table'):
            assert f'{hidden}=' not in shown

    def test_of_a_weight_are_not_kept_of_what_nobody_weighed(self):
        record = Decision()
        record.picked(Pick(0, UUID, 'h', 'h'))

        assert (record.weighing.kept, record.weighing.parts(0)) == ([], [])


def test_begins_with_nothing_decided():
    record = Decision()

    assert (record.instances, record.seed, record.generation,
            record.state.hosts,
            record.alternates, record.state.clock, record.tries) == (
        0, 0, 0, 0, 0, 0.0, 1)
    assert record.outcome is record.reason is record.offer is None
    assert record.size < 1 << 16
    assert (record.funnel.steps, [*record.funnel.rejected()],
            record.weighing.parts(0)) == (
        [], [], [])


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
def test_what_is_forgotten_of_a_call_is_all_but_its_instances(is_packed):
    """No more of them, nor more of each, than of uuids that are some."""
    record = Decision(request={'spec_obj': {'hints': ['x' * 10000]},
                               'instance_uuids': ['u' * 50] * 100},
                      instance_uuid='v' * 50)
    if is_packed:
        record.pack()

    record.forget_request()

    assert record.request == {'instance_uuids': ['u' * 36] * 36}
    assert record.asked_uuids() == ['u' * 36] * 36
    assert record.instance_uuid == 'v' * 36


@pytest.mark.parametrize('uuid_', [None, UUID])
def test_a_call_without_instances_is_forgotten_but_for_its_own(uuid_):
    record = Decision(request={'spec_obj': {}}, instance_uuid=uuid_)

    record.forget_request()

    assert record.asked_uuids() == ([UUID] if uuid_ else [])
    assert record.instance_uuid == uuid_


def test_what_placement_offered_may_be_given_up():
    """Not that it offered nothing, which is why the request was refused."""
    nothing = NoCandidates('why')
    some, none = Decision(offer=AllocationCandidates(
        {}, frozenset([UUID]), '1.36')), Decision(offer=nothing)

    for record in (some, none):
        record.forget_state()

    assert (some.offer, none.offer) == (None, nothing)


def test_arrives_when_it_is_begun():
    """In seconds since the epoch."""
    before = time.time()
    record = Decision()
    record.close(decision.PLACED)

    assert before <= record.arrived <= time.time()
