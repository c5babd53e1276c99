"""MetricsWeigher."""

import json

import numpy as np
import pytest

from nova_sched import exception
from nova_sched.scheduler.weights.metrics import MetricsWeigher
from nova_sched.weights import normalize
from tests.builders.hosts import a_host
from tests.builders.hosts import hosts
from tests.builders.requests import a_request
from tests.builders.rules import configured

OPTIONAL = {'metrics__required': False}
UNAVAILABLE = -10000.0


def reporting(aggregates=(), **values):
    """A host with metrics, whose dots are written as underlines."""
    return a_host(aggregates=aggregates, metrics=json.dumps(
        [{'name': name.replace('_', '.'), 'value': value}
         for name, value in values.items()]))


HOSTS = (reporting(cpu_percent=0.1, cpu_frequency=1),
         reporting(cpu_percent=0.2), reporting())


def raw(settings, *records, **options):
    weigher = configured(MetricsWeigher, metrics__weight_setting=settings,
                         **options)
    return weigher.raw(hosts(*records), a_request()).tolist()


@pytest.mark.parametrize(('settings', 'expected', 'normalized'), [
    (['cpu.percent=2', 'cpu.frequency=-1'], [19, UNAVAILABLE, UNAVAILABLE],
     [1.0, 0.0, 0.0]),
    (['cpu.percent=2', 'cpu.frequency=0'], [20, 40, UNAVAILABLE],
     [10020 / 10040, 1.0, 0.0]),
    ([], [0, 0, 0], [0.0, 0.0, 0.0]),
    (['cpu.percent=1', 'cpu.percent=1'], [20, 40, UNAVAILABLE], None),
    (['cpu.frequency=0'], [0, 0, 0], None),
])
def test_adds_up_metrics_times_their_ratios(settings, expected, normalized):
    """A missing metric counts as unavailable unless its ratio is 0."""
    found = raw(settings, *HOSTS, **OPTIONAL)

    assert found == expected
    if normalized:
        assert normalize(np.array(found)).tolist() == pytest.approx(
            normalized)


def test_a_missing_metric_that_is_required_fails_the_request():
    with pytest.raises(exception.ComputeHostMetricNotFound) as failed:
        raw(['cpu.percent=1'], *HOSTS)

    assert str(failed.value) == (
        'Metric cpu.percent could not be found on the compute host node '
        'host2.host2.')


def test_the_ratio_of_a_required_metric_does_not_matter():
    with pytest.raises(exception.ComputeHostMetricNotFound):
        raw(['cpu.percent=0'], *HOSTS)


@pytest.mark.parametrize(('option', 'override', 'expected'), [
    (1.0, '0', 0.0), (0.0, '2', UNAVAILABLE), (1.0, 'bad', UNAVAILABLE)])
def test_what_does_not_count_on_a_host_may_be_missing(option, override,
                                                      expected):
    """The multiplier is that of the host's aggregates, if they have one."""
    host = reporting([{'metrics_weight_multiplier': override}])

    assert raw(['cpu.percent=1'], host, **OPTIONAL,
               metrics__weight_multiplier=option) == [expected]


def test_unavailable_hosts_get_the_weight_of_the_option():
    assert raw(['cpu.percent=1', 'cpu.frequency=1'],
               reporting(cpu_percent=1), **OPTIONAL,
               metrics__weight_of_unavailable=-3.5) == [-3.5]


def test_the_multiplier_is_an_option():
    weigher = configured(MetricsWeigher, metrics__weight_multiplier=-2.5)

    assert weigher.multipliers(hosts(a_host())) == -2.5
