"""The record of a decision."""

import gc
import json
import uuid

import numpy as np
import pytest

from nova_sched.hosts import decision
from nova_sched.hosts.decision import Decision
from nova_sched.hosts.decision import Pick
from nova_sched.hosts.decision import WeigherPart
from nova_sched.hosts.offer import Offer
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
                   parts, parts, [1.0, -2.0], np.arange(count))


def picked(record, hosts=20, instances=1):
    for index in range(instances):
        record.picked(Pick(index, UUID, 'h', 'h'), weighed(hosts), 0)
    return record


def test_steps_tell_rule_and_counts():
    record = Decision()
    record.step(0, 'SizeFilter', rows(0, 1), rows(0, 1))
    record.step(1, 'SizeFilter', rows(0, 1), rows(1))

    assert [(step.index, step.name, step.before, step.after)
            for step in record.steps] == [
        (0, 'SizeFilter', 2, 2), (1, 'SizeFilter', 2, 1)]


def test_a_host_is_rejected_by_one_rule():
    record = Decision()
    record.step(0, 'SizeFilter', rows(0, 1, 2, 3), rows(1, 3))
    record.step(1, 'ZoneFilter', rows(1, 3), rows(3))
    record.step(1, 'SizeFilter', rows(3), rows())

    assert {name: found.tolist() for name, found in record.rejected()} == {
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

    assert record.parts(0) == [WeigherPart('RAMWeigher', 0.0, 0.0, 1.0),
                               WeigherPart('CPUWeigher', 0.0, 0.0, -2.0)]
    assert record.weighed[0].weights.tolist() == [-i for i in range(20)]


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


class TestPackedRequest:
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


class TestPackedOffer:
    def test_holds_what_placement_offered(self):
        offered = {'a': [{'allocations': {'a': {'resources': {'VCPU': 1}}}}]}
        record = Decision(offer=Offer(
            offered, frozenset('ab'), '1.36', None, None))

        record.pack()

        assert record.offer.by_provider == offered
        assert record.offer.providers == {'a', 'b'}
        assert record.offer.version == '1.36'

    def test_is_small_and_counted(self):
        """A thousand candidates, as [scheduler] max_placement_results has it.
        """
        uuids = [str(uuid.uuid4()) for _ in range(1000)]
        record = Decision(offer=Offer({
            name: [{'allocations': {name: {'resources': {
                'VCPU': 1, 'MEMORY_MB': 512, 'DISK_GB': 1}}},
                'mappings': {'': [name]}}] for name in uuids},
            frozenset(uuids), '1.36', None, None))
        before = record.size()

        record.pack()

        assert 20000 < record.size() - before < 200000


class TestSize:
    def test_is_bounded_while_the_record_is_filled(self):
        """A request for 2,000 instances on 10,000 hosts."""
        record = picked(Decision(), hosts=10000, instances=2000)

        assert len(record.picks) == 2000
        assert record.size() < 3 * decision.MOST_WEIGHTS
        assert len(record.weighed[0].rows) == 10000
        assert len(record.weighed[-1].rows) == decision.BEST

    def test_counts_what_the_request_holds(self):
        small = Decision(request={'spec_obj': {}})
        large = Decision(request={'spec_obj': {'hints': ['x' * 10000]}})
        for record in (small, large):
            record.pack()

        assert large.size() - small.size() > 10000

    @pytest.mark.parametrize('name', ['request_id', 'instance_uuid',
                                      'reason'])
    def test_counts_texts_that_callers_made_up(self, name):
        assert (Decision(**{name: 'x' * 10000}).size()
                > Decision(**{name: 'x'}).size() + 9000)

    def test_counts_what_each_pick_is_called(self):
        small, large = Decision(), Decision()
        for record, name in ((small, 'x'), (large, 'x' * 10000)):
            record.picked(decision.Pick(0, name, 'h', 'n'))
        assert large.size() > small.size() + 9000

    def test_is_a_guess_for_a_request_of_objects(self):
        assert Decision(request={'spec_obj': object()}).size() > 1000

    def test_shrinks_by_what_is_given_up(self):
        record = picked(Decision(), hosts=1000)
        record.step(0, 'SizeFilter', np.arange(1000), rows(0))
        full = record.size()

        freed = record.forget_weights()
        assert record.size() == full - freed
        assert len(record.weighed[0].weights) == decision.BEST
        assert record.parts(0)

        freed += record.forget_rejected()
        assert record.size() == full - freed
        assert list(record.rejected()) == []
        assert [step.after for step in record.steps] == [1]


def test_decided_once_more_has_only_the_last_try():
    record = picked(Decision())
    record.step(0, 'SizeFilter', rows(0, 1), rows(0))
    record.alternates = 2

    record.restart()

    assert record.tries == 2
    assert (record.picks, record.weighed, record.steps,
            list(record.rejected()), record.alternates) == ([], [], [], [], 0)
