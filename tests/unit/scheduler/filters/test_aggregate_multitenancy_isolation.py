"""AggregateMultiTenancyIsolation."""

import pytest

from nova_sched.scheduler.filters.aggregate_multitenancy_isolation import (
    AggregateMultiTenancyIsolation,
)
from tests.builders.hosts import a_host
from tests.builders.hosts import hosts
from tests.builders.requests import a_request

REQUEST = a_request(project_id='demo')


@pytest.mark.parametrize(('aggregates', 'passes'), [
    ([], True),
    ([{'rack': 'r1'}], True),
    ([{'filter_tenant_id': 'demo'}], True),
    ([{'filter_tenant_id': 'prod'}], False),
    ([{'filter_tenant_id': 'prod , demo'}], True),
    ([{'filter_tenant_id7': 'demo', 'filter_tenant_id': 'prod'}], True),
    ([{'filter_tenant_idx': 'prod'}], False),
    ([{'filter_tenant_id': 'prod'}, {'filter_tenant_id': 'demo'}], True),
    ([{'filter_tenant_id': ''}], False),
    ([{'my_filter_tenant_id': 'prod'}], True),
])
def test_a_host_takes_the_projects_that_its_aggregates_name(aggregates,
                                                            passes):
    """All, where none of them names one."""
    block = hosts(a_host(aggregates=aggregates))

    assert AggregateMultiTenancyIsolation().mask(block, REQUEST) == [passes]


def test_says_which_projects_hosts_take():
    block = hosts(a_host(aggregates=[{'filter_tenant_id': 'prod,test'}]))

    assert AggregateMultiTenancyIsolation().reason(block, REQUEST) == (
        "project 'demo' is not among those of its aggregates: prod, test")


def test_logs_what_operators_search_for(caplog):
    block = hosts(a_host(aggregates=[{'filter_tenant_id': 'prod'}]),
                  a_host(aggregates=[{'filter_tenant_id': 'demo'}]), a_host())

    with caplog.at_level('DEBUG', 'nova_sched'):
        AggregateMultiTenancyIsolation().mask(block, REQUEST)

    fails, *others = caplog.messages
    assert fails.endswith('fails tenant id on aggregate')
    assert others == ['Host tenant id demo matched',
                      "No tenant id's defined on host. Host passes."]
