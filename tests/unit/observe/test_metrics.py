"""The metrics for Prometheus."""

import numpy as np
from prometheus_client import parser
import pytest

from nova_sched.health.board import Board
from nova_sched.hosts.decision import FAILED
from nova_sched.hosts.decision import PLACED
from nova_sched.hosts.decision import REFUSED
from nova_sched.hosts.decision import Claim
from nova_sched.hosts.decision import Decision
from nova_sched.hosts.decision import Refusal
from nova_sched.observe import shared_sums
from nova_sched.observe.metrics import Metrics


@pytest.fixture
def board():
    return Board('sched-1', 2, 300, clock=lambda: 0.0)


@pytest.fixture
def metrics():
    made = Metrics(lambda: 0, 2)
    made.start()
    return made


@pytest.fixture
def samples(metrics, board):
    """Function: the samples of the page, (name, labels) -> number."""
    def samples():
        _, headers, body = metrics.page(board)('text/plain')
        assert headers['Content-Type'].startswith('text/plain')
        return {(sample.name.removeprefix('nova_sched_'),
                 *(value for _, value in sorted(sample.labels.items()))):
                sample.value for family
                in parser.text_string_to_metric_families(body.decode())
                for sample in family.samples}
    return samples


def a_claim(taken):
    return Claim('uuid', 'host', 'node', taken)


def test_usual_outcomes_exist_before_any_request(samples):
    """So that the first is seen as an increase."""
    found = samples()
    for outcome in (PLACED, REFUSED, FAILED):
        assert found['requests_total', 'none', 'none', outcome] == 0
    for result in ('taken', 'refused', 'unanswered'):
        assert found['claims_total', result] == 0
    assert found['queue_gone_total',] == 0


def test_requests_are_counted_by_how_they_ended(metrics, samples):
    metrics.note(Decision(outcome=PLACED, tries=3))
    refused = Decision(outcome=REFUSED, refusal=Refusal('no-room', 'capacity'))
    metrics.note(refused)
    metrics.note(refused)

    found = samples()
    assert found['requests_total', 'none', 'none', PLACED] == 1
    assert found['requests_total', 'no-room', 'capacity', REFUSED] == 2
    assert found['tries_total',] == 5


def test_times_are_of_steps_and_of_the_whole(metrics, samples):
    metrics.note(Decision(outcome=PLACED, took=0.3, milliseconds={
        'filter': 0.04, 'weigh': 0.05}))
    metrics.note(Decision(outcome=PLACED, took=100.0, milliseconds={
        'filter': 3.0}))

    found = samples()
    assert found['step_seconds_bucket', '5e-05', 'filter'] == 1
    assert found['step_seconds_bucket', '5e-05', 'weigh'] == 1
    assert found['step_seconds_bucket', '0.0025', 'filter'] == 1
    assert found['step_seconds_bucket', '0.005', 'filter'] == 2
    assert found['step_seconds_sum', 'filter'] == pytest.approx(0.00304)
    assert found['decision_seconds_bucket', '0.25'] == 0
    assert found['decision_seconds_bucket', '60'] == 1
    assert found['decision_seconds_bucket', '+Inf'] == 2
    assert found['decision_seconds_count',] == 2
    assert found['decision_seconds_sum',] == pytest.approx(100.3)


def test_hosts_are_counted_before_and_after_each_filter(metrics, samples):
    record = Decision(outcome=PLACED)
    rows = np.arange(10)
    for index in range(2):
        record.funnel.step(index, 'RamFilter', rows, rows[:4])
        record.funnel.step(index, 'DiskFilter', rows[:4], rows[:3])
    metrics.note(record)

    found = samples()
    assert found['filter_hosts_before_total', 'RamFilter'] == 20
    assert found['filter_hosts_after_total', 'RamFilter'] == 8
    assert found['filter_hosts_before_total', 'DiskFilter'] == 8
    assert found['filter_hosts_after_total', 'DiskFilter'] == 6


def test_claims_are_counted_in_earlier_tries_too(metrics, samples):
    record = Decision(outcome=PLACED)
    record.claims += map(a_claim, (False, None))
    record.restart()
    record.claims += map(a_claim, (False, True))
    metrics.note(record)

    found = samples()
    assert [found['claims_total', result] for result in (
        'taken', 'refused', 'unanswered')] == [1, 2, 1]


def test_reports_of_workers_are_gauges(board, samples):
    for number, age in enumerate((5.0, 2.0)):
        board.add({'worker': number, 'at': 0.0, 'service_id': None,
                    'checks': {'api_db': ['fail', 1e12, 'gone']},
                    'figures': {'state_age': {'cell:a': age}, 'up': number,
                                'down': 7, 'unmapped': 2 * number,
                                'mirror_age': age}})
    found = samples()
    assert found['workers',] == found['workers_wanted',] == 2
    assert found['check_status', 'api_db'] == 2
    assert found['check_status', 'workers'] == 0
    assert found['state_age_seconds', 'cell:a'] == 5
    assert found['mirror_age_seconds',] == 5
    # By the worker that read them last.
    assert (found['hosts', 'up'], found['hosts', 'down']) == (1, 7)
    assert found['hosts_unmapped',] == 2


def test_unknown_values_are_left_out(board, samples):
    board.add({'worker': 0, 'at': 0.0, 'service_id': None, 'checks': {},
                'figures': {'mirror_age': None}})
    assert not [key for key in samples() if key[0] in (
        'mirror_age_seconds', 'hosts', 'hosts_unmapped',
        'state_age_seconds')]


def test_a_process_that_does_not_count_counts_nothing(board):
    metrics = Metrics(lambda: 0, 2)
    metrics.note(Decision(outcome=PLACED))
    assert b'nova_sched_tries_total 0.0' in metrics.page(board)('').body


@pytest.mark.parametrize('accept', [
    'application/openmetrics-text;version=x.y', 'text/plain;version=',
    'text/plain;version=.', 'text/plain; version="1.0.0"',
    f'text/plain;version={"9" * 5000}', ';;,=,;version', '\xff'])
def test_an_unknown_version_gets_plain_text(metrics, board, accept):
    _, headers, body = metrics.page(board)(accept)
    assert headers['Content-Type'].startswith('text/plain')
    assert b'nova_sched_tries_total 0.0' in body


def test_openmetrics_is_returned_on_request(metrics, board):
    _, headers, body = metrics.page(board)('application/openmetrics-text')
    assert headers['Content-Type'].startswith('application/openmetrics-text')
    assert body.endswith(b'# EOF\n')


def test_lack_of_room_is_logged_once(metrics, samples, monkeypatch, caplog):
    monkeypatch.setattr(shared_sums, '_SUMS', 0)
    for code in ('a', 'b'):
        record = Decision(outcome=REFUSED)
        record.refuse(code)
        metrics.note(record)

    assert caplog.text.count('There is no room for more metrics') == 1
    assert ('requests_total', 'a', 'none', REFUSED) not in samples()
