"""A past decision as plain JSON."""

import json

import numpy as np
import pytest

from nova_sched import objects
from nova_sched.hosts.allocation_candidates import PLACEMENT_NOT_USED
from nova_sched.hosts.allocation_candidates import AllocationCandidates
from nova_sched.hosts.allocation_candidates import NoCandidates
from nova_sched.hosts.decision import Claim
from nova_sched.hosts.decision import Pick
from nova_sched.hosts.decision import State
from nova_sched.hosts.decision import Weights
from nova_sched.observe import decision_document
from nova_sched.observe.decision_view import DecisionView
from tests.builders import decisions
from tests.builders.decisions import UUIDS
from tests.builders.decisions import a_record

TABLE = decisions.a_table(40)


def of(record, **kwargs):
    """The document of a record, as it is read from the store."""
    view = DecisionView.of(record)
    fields = json.loads(json.dumps(view.fields, allow_nan=False))
    names = [*zip(*(column.items() for column in record.state.names),
                  strict=True)]
    return json.loads(json.dumps(decision_document.document(
        DecisionView.unpacked(fields, view.packed(), names), **kwargs),
        allow_nan=False))


def test_has_the_request_and_its_outcome():
    found = of(a_record(arrived=1000.5, seed=7, tries=2, generation=3,
                        milliseconds={'filter': 1.5}))

    assert (found['version'], found['request_id'], found['outcome'],
            found['reason'], found['instances']) == (
        '1.2', 'req-1', 'placed', None, 1)
    assert found['instance_uuids'] == UUIDS[:1]
    assert found['arrived'] == '1970-01-01T00:16:40.500+00:00'
    assert (found['seed'], found['tries'], found['configuration']) == (7, 2, 3)
    assert found['milliseconds'] == {'filter': 1.5}


def test_has_the_reason_of_a_refusal():
    found = of(decisions.a_refusal('0 of 20 hosts'))

    assert (found['outcome'], found['reason']) == ('refused', '0 of 20 hosts')
    assert found['instance_uuids'] == UUIDS[:2]
    assert found['picks'] == found['best'] == found['filters'] == []


def test_has_the_state_of_the_hosts():
    found = of(a_record(state=State(
        clock=60.0, hosts=2000, in_flight=2, reads=(('c1', 59.0),),
        lost=(('c2', 'it is silent'),))))

    assert found['state'] == {
        'decided': '1970-01-01T00:01:00.000+00:00', 'hosts': 2000,
        'in_flight': 2,
        'cells': [{'cell': 'c1', 'read': '1970-01-01T00:00:59.000+00:00'}],
        'lost_cells': [{'cell': 'c2', 'why': 'it is silent'}]}


@pytest.mark.parametrize('offer, expected', [
    (None, {'source': 'none', 'providers': None, 'age_seconds': None}),
    (PLACEMENT_NOT_USED,
     {'source': 'none', 'providers': None, 'age_seconds': None}),
    (NoCandidates('why'),
     {'source': 'placement', 'providers': 0, 'age_seconds': None,
      'why_none': 'why'}),
    (AllocationCandidates({}, frozenset('ab'), '1.36'),
     {'source': 'placement', 'providers': 2, 'age_seconds': None}),
    (AllocationCandidates({}, frozenset('ab'), '1.36', age=1.5),
     {'source': 'copy', 'providers': 2, 'age_seconds': 1.5})])
def test_has_the_source_of_the_candidates(offer, expected):
    assert of(a_record(offer=offer))['candidates'] == expected


def test_has_the_hosts_before_and_after_each_filter():
    assert of(a_record(20))['filters'] == [
        {'instance': 0, 'name': 'SizeFilter', 'before': 40, 'after': 20}]


def test_has_each_pick_with_its_weights_and_alternates():
    record = a_record(20, TABLE, instances=2)
    record.selections = [
        [objects.Selection(service_host=name, nodename=name)
         for name in names] for names in (('h0', 'h5', 'h6'), ('h1',))]

    first, second = of(record)['picks']

    assert (first['instance'], first['host'], first['node']) == (
        UUIDS[0], 'h0', 'h0')
    assert first['alternates'] == [{'host': 'h5', 'node': 'h5'},
                                   {'host': 'h6', 'node': 'h6'}]
    assert (second['host'], second['weight'], second['alternates']) == (
        'h1', -1.0, [])
    assert second['weighers'] == [
        {'name': 'RAMWeigher', 'raw': -1.0, 'normalized': -1.0,
         'multiplier': 1.0, 'score': -1.0}]


def test_has_the_ten_best_hosts_with_their_weights():
    best = of(a_record(20, TABLE))['best']

    assert [host['host'] for host in best] == [f'h{i}' for i in range(10)]
    assert best[3]['weight'] == -3.0
    assert best[3]['weighers'] == [
        {'name': 'RAMWeigher', 'raw': -3.0, 'normalized': -3.0,
         'multiplier': 1.0, 'score': -3.0}]


def test_all_instances_have_hosts_and_a_hundred_have_weights():
    record = a_record(20, TABLE, instances=20)
    record.picks *= 10
    record.weighing.kept *= 10

    picks = of(record)['picks']

    assert len(picks) == 200
    assert picks[99]['weighers'] and not picks[100]['weighers']


@pytest.mark.parametrize('number, text', [
    (float('nan'), 'nan'), (float('inf'), 'inf'), (-float('inf'), '-inf')])
def test_has_texts_for_numbers_that_json_lacks(number, text):
    record = a_record(20, TABLE)
    record.weighing.kept[0].parts[0, 0] = number

    assert of(record)['picks'][0]['weighers'][0]['raw'] == text


def test_lacks_weights_that_were_not_recorded():
    """A last host is not weighed; drivers of plug-ins weigh on their own."""
    record = a_record(20, TABLE, instances=2)
    record.picked(Pick(2, UUIDS[2], 'h5', 'h5'), (), Weights(
        np.array([5]), np.zeros(1), np.zeros((0, 3))))

    first, _, last = of(record)['picks']
    assert first['weighers'] and not any(
        part['score'] for part in last['weighers'])
    refusal = decisions.a_refusal(state=State.of(TABLE, 0, 0.0))
    assert of(refusal)['best'] == []


def test_picks_have_weights_where_best_hosts_have_none():
    """The driver of a plug-in may record no more."""
    record = a_record(20, TABLE, instances=12)
    record.weighing.kept[0].best_parts = None

    found = of(record)
    assert not any(host['weighers'] for host in found['best'])
    assert [pick['weighers'][0]['raw'] for pick in found['picks']] == [
        -index for index in range(12)]


def test_has_the_result_of_each_claim():
    record = a_record()
    record.claims += [Claim(UUIDS[0], 'h1', 'n1', False),
                      Claim(UUIDS[0], 'h0', 'n0', None)]

    assert of(record)['claims'] == [
        {'instance': UUIDS[0], 'host': 'h1', 'node': 'n1', 'taken': False},
        {'instance': UUIDS[0], 'host': 'h0', 'node': 'n0', 'taken': None}]


class TestRejected:
    def test_are_counted_and_the_first_ones_named(self):
        [rejected] = of(a_record(20, TABLE))['rejected']

        assert (rejected['rule'], rejected['hosts']) == ('SizeFilter', 20)
        assert rejected['named'] == [{'host': f'h{i}', 'node': f'h{i}'}
                                     for i in (20, 21, 22)]

    def test_are_all_named_if_wanted(self):
        document = of(a_record(20, TABLE), every=True)

        for hosts in (*document['rejected'], document['passed']):
            assert len(hosts['named']) == hosts['hosts'] == 20

    def test_add_up_to_all_hosts_with_those_left(self):
        record = a_record(20, TABLE)
        record.funnel.step(0, 'ZoneFilter', np.arange(20), np.arange(5))

        found = of(record)['rejected']

        assert [(each['rule'], each['hosts']) for each in found] == [
            ('SizeFilter', 20), ('ZoneFilter', 15)]

    def test_without_names_there_are_none(self):
        assert of(a_record(20))['rejected'] == []


class TestPassed:
    def test_are_the_hosts_that_no_rule_rejected(self):
        assert of(a_record(20, TABLE))['passed'] == {
            'hosts': 20, 'named': [{'host': f'h{i}', 'node': f'h{i}'}
                                   for i in range(3)]}
