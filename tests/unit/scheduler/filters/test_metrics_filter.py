"""MetricsFilter."""

import json

import pytest

from nova_sched.scheduler.filters.metrics_filter import MetricsFilter
from tests.builders.hosts import a_host
from tests.builders.hosts import hosts
from tests.builders.requests import a_request
from tests.builders.rules import configured


def rule(*settings):
    return configured(MetricsFilter, metrics__weight_setting=list(settings))


def reporting(*names):
    return a_host(metrics=json.dumps(
        [{'name': name, 'value': 1} for name in names]))


@pytest.mark.parametrize(('settings', 'names', 'passes'), [
    ([], [], True),
    (['cpu.percent=1'], [], False),
    (['cpu.percent=1'], ['cpu.percent', 'cpu.frequency'], True),
    (['cpu.percent=0', 'cpu.frequency=2'], ['cpu.percent'], False),
    (['cpu.percent=x', '=1', 'y'], [], True),
    (['of.my.own=1'], ['of.my.own'], True),
])
def test_a_host_must_report_every_metric_that_is_weighed(settings, names,
                                                         passes):
    """Settings that cannot be read ask for nothing."""
    assert rule(*settings).mask(
        hosts(reporting(*names)), a_request()) == [passes]


@pytest.mark.parametrize('text', [None, '', 'null', '{', '{"a": 1}'])
def test_a_host_without_metrics_is_rejected(text):
    assert rule('cpu.percent=1').mask(
        hosts(a_host(metrics=text)), a_request()) == [False]


def test_says_what_is_missing_and_what_there_is():
    assert rule('b=1', 'a=1', 'c=1').reason(
        hosts(reporting('c', 'b'), reporting()), a_request()) == (
        'metrics a, b, c needed, hosts report b, c')


def test_logs_what_is_missing(caplog):
    with caplog.at_level('DEBUG', 'nova_sched'):
        rule('b=1', 'a=1', 'c=1').mask(hosts(reporting('c')), a_request())

    assert caplog.messages[0].endswith(
        'does not have the following metrics: a, b')
