"""Compute nodes with less usage than before."""

import pytest

from nova_sched.inventory.freed import FreedNodes
from tests.builders.hosts import a_host
from tests.builders.hosts import table


@pytest.mark.parametrize(('column', 'less', 'more'), [
    ('vcpus_used', 1, 3), ('disk_mb_used', 0, 4096),
    ('free_ram_mb', 2048, 1024)])
def test_node_with_less_usage_is_found_once(column, less, more):
    nodes, before = FreedNodes(), table(*(
        a_host(name, uuid=f'node-{name}', **{column: more}) for name in 'ab'))
    after = before.with_values([1], {column: [less]})

    assert [nodes.look(hosts) for hosts in (
        before, before, after, after, before)] == [[], [], ['node-b'], [], []]
