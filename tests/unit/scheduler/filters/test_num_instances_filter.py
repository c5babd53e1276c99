"""NumInstancesFilter and its variant; rules/test_amounts.py has more."""

import pytest

from nova_sched.scheduler.filters.num_instances_filter import (
    AggregateNumInstancesFilter,
)
from nova_sched.scheduler.filters.num_instances_filter import (
    NumInstancesFilter,
)
from tests.builders.hosts import a_host
from tests.builders.hosts import hosts
from tests.builders.requests import a_request
from tests.builders.rules import configured
from tests.builders.rules import survivors


def test_the_maximum_is_50_by_default():
    block = hosts(a_host(num_instances=49), a_host(num_instances=50))

    assert survivors(configured(NumInstancesFilter), block,
                     a_request()) == ['host0']


@pytest.mark.parametrize(('cls', 'aggregates'), [
    (NumInstancesFilter, []),
    (AggregateNumInstancesFilter, [{'max_instances_per_host': '2'}])])
def test_logs_what_operators_search_for(cls, aggregates, caplog):
    rule = configured(cls, max_instances_per_host=2)

    with caplog.at_level('DEBUG', 'nova_sched'):
        rule.mask(hosts(a_host('h', num_instances=2, aggregates=aggregates)),
                  a_request())

    text, = caplog.messages
    assert text.startswith('(h, h) ')
    assert text.endswith('fails num_instances check: Max instances per host '
                         'is set to 2')
