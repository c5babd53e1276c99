"""IoOpsFilter and its variant; rules/test_amounts.py has more."""

import pytest

from nova_sched.scheduler.filters.io_ops_filter import AggregateIoOpsFilter
from nova_sched.scheduler.filters.io_ops_filter import IoOpsFilter
from tests.builders.hosts import a_host
from tests.builders.hosts import hosts
from tests.builders.requests import a_request
from tests.builders.rules import configured
from tests.builders.rules import survivors


def test_the_maximum_is_8_by_default():
    block = hosts(a_host(num_io_ops=7), a_host(num_io_ops=8))

    assert survivors(configured(IoOpsFilter), block,
                     a_request()) == ['host0']


def test_a_maximum_of_zero_rejects_all():
    rule = configured(IoOpsFilter, max_io_ops_per_host=0)

    assert survivors(rule, hosts(a_host(num_io_ops=0)), a_request()) == []


@pytest.mark.parametrize(('cls', 'aggregates'), [
    (IoOpsFilter, []),
    (AggregateIoOpsFilter, [{'max_io_ops_per_host': '2'}])])
def test_logs_what_operators_search_for(cls, aggregates, caplog):
    rule = configured(cls, max_io_ops_per_host=2)

    with caplog.at_level('DEBUG', 'nova_sched'):
        rule.mask(hosts(a_host('h', num_io_ops=2, aggregates=aggregates)),
                  a_request())

    text, = caplog.messages
    assert text.startswith('(h, h) ')
    assert text.endswith(
        'fails I/O ops check: Max IOs per host is set to 2')
