"""The RPC calls that return past decisions."""

import json

import oslo_messaging as messaging
import pytest

from nova_sched import context
from nova_sched import exception
from nova_sched.observe.decision_endpoint import DecisionEndpoint
from nova_sched.observe.recorder import Recorder
from tests.builders.decisions import NOW
from tests.builders.decisions import UUIDS
from tests.builders.decisions import a_record
from tests.builders.decisions import a_refusal

ADMIN = context.RequestContext(is_admin=True)


@pytest.fixture
def endpoint(conf):
    recorder = Recorder(conf)
    recorder.add(a_record(arrived=NOW))
    recorder.add(a_refusal(arrived=NOW + 20))
    yield DecisionEndpoint(recorder)
    recorder.stop()


def refused(call, *args, **kwargs):
    """The expected exception of a call."""
    with pytest.raises(messaging.ExpectedException) as expected:
        call(*args, **kwargs)
    return expected.value.exc_info[1]


def test_lists_the_newest_first_as_plain_json(endpoint):
    found = endpoint.list_decisions(ADMIN, 10)

    assert [each['request_id'] for each in found] == ['req-2', 'req-1']
    assert json.loads(json.dumps(found))[1] == {
        'number': 1, 'request_id': 'req-1', 'arrived': NOW,
        'outcome': 'placed', 'instances': 1, 'service': 'here',
        'hosts': ['h0'], 'reason': None, 'code': None, 'kind': None}


@pytest.mark.parametrize('wanted, numbers', [
    ({'limit': 1}, [2]), ({'limit': -5}, []), ({'limit': 10 ** 30}, [2, 1]),
    ({'limit': 9, 'outcome': 'placed'}, [1]),
    ({'limit': 9, 'host': 'h0'}, [1]),
    ({'limit': 9, 'since': NOW + 10}, [2])])
def test_lists_decisions_that_match(endpoint, wanted, numbers):
    assert [each['number'] for each
            in endpoint.list_decisions(ADMIN, **wanted)] == numbers


def test_shows_the_newest_by_a_key(endpoint):
    found = endpoint.show_decision(ADMIN, UUIDS[0])

    assert (found['number'], found['others']) == (2, [1])
    json.dumps(found)


def test_only_administrators_get_an_answer(endpoint):
    for call in (lambda ctxt: endpoint.list_decisions(ctxt, 1),
                 lambda ctxt: endpoint.show_decision(ctxt, '1')):
        error = refused(call, context.RequestContext())
        assert isinstance(error, exception.Forbidden)
        assert 'administrators' in str(error)


@pytest.mark.parametrize('call', [
    lambda endpoint: endpoint.show_decision(ADMIN, 'req-9'),
    lambda endpoint: endpoint.show_decision(ADMIN, 7),
    lambda endpoint: endpoint.show_decision(ADMIN, None),
    lambda endpoint: endpoint.list_decisions(ADMIN, '5'),
    lambda endpoint: endpoint.list_decisions(ADMIN, True),
    lambda endpoint: endpoint.list_decisions(ADMIN, 5, outcome=[]),
    lambda endpoint: endpoint.list_decisions(ADMIN, 5, outcome='\ud800'),
    lambda endpoint: endpoint.list_decisions(ADMIN, 5, since=10 ** 30),
    lambda endpoint: endpoint.list_decisions(ADMIN, 5, since=float('nan')),
    lambda endpoint: endpoint.list_decisions(ADMIN, 5, since='now')])
def test_invalid_arguments_are_refused(endpoint, call):
    assert isinstance(refused(call, endpoint), exception.InvalidInput)
