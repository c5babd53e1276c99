"""Claims on child providers, and requests whose claims are not counted."""

import os_traits
import pytest

from nova_sched.capacity.provider_trees import ProviderTrees
from nova_sched.placement.mirror.providers import Amounts
from nova_sched.placement.mirror.providers import Provider
from nova_sched.scheduler.utils import Group
from nova_sched.scheduler.utils import ResourceRequest

FAST = 'CUSTOM_FAST'


def provider(uuid, parent='root', traits=(), **amounts):
    return Provider(uuid, 1, parent, amounts, frozenset(traits))


TREE = [
    provider('root', None, VCPU=Amounts(8, 0)),
    provider('gpu0', VGPU=Amounts(4, 1), traits=[FAST]),
    provider('gpu1', VGPU=Amounts(5, 0)),
    provider('nic', 'gpu1', BANDWIDTH=Amounts(1000, 0, step_size=100))]


def a_query(resources=None, required=(), policy=None, **groups):
    """A query for a VCPU and other resources, with numbered groups."""
    return ResourceRequest({'': Group({'VCPU': 1, **(resources or {})},
                                      set(required)), **groups}, policy)


def counts(query):
    trees = ProviderTrees(TREE)
    _, demands = trees.split(query)
    return {demand.name: trees.count(demand, often, ['root', 'no root'])
            .tolist() for demand, often in demands.items()}


@pytest.mark.parametrize(('query', 'expected'), [
    (a_query({'VGPU': 2}), {'VGPU': [3, 0]}),
    (a_query({'VGPU': 1}, [FAST]), {'VGPU': [3, 0]}),
    (a_query({'VGPU': 1, 'BANDWIDTH': 300}),
     {'VGPU': [8, 0], 'BANDWIDTH': [3, 0]}),
    (a_query(one=Group({'VGPU': 1}), two=Group({'VGPU': 1})),
     {'VGPU': [4, 0]}),
    (a_query(one=Group({'VGPU': 1}, forbidden={FAST}),
             two=Group({'BANDWIDTH': 50})),
     {'VGPU': [5, 0], 'BANDWIDTH': [0, 0]})])
def test_amounts_of_all_fitting_providers_of_a_tree_count(query, expected):
    assert counts(query) == expected


def test_query_for_roots_has_the_other_resources():
    query, _ = ProviderTrees(TREE).split(a_query({'VGPU': 2}, [FAST]))

    assert query.groups == {'': Group({'VCPU': 1})}


@pytest.mark.parametrize('query', [
    a_query(one=Group({'VGPU': 1}), two=Group({'VGPU': 2})),
    a_query({'VGPU': 1}, one=Group({'VGPU': 1})),
    a_query(one=Group({'VCPU': 1})),
    a_query(policy='isolate', one=Group({'VGPU': 1}),
            two=Group({'BANDWIDTH': 100})),
    a_query({'VGPU': 1, 'BANDWIDTH': 100}, [FAST]),
    a_query(one=Group({'VGPU': 1}, member_of=[['an aggregate']])),
    a_query(one=Group({'VGPU': 1}, in_tree='root')),
    a_query(one=Group(required={FAST}))])
def test_claims_that_depend_on_their_order_are_not_counted(query):
    assert ProviderTrees(TREE).split(query) is None


def test_shared_inventory_is_not_counted():
    trees = ProviderTrees([*TREE, provider(
        'shared', None, [os_traits.MISC_SHARES_VIA_AGGREGATE],
        DISK_GB=Amounts(100, 0))])

    assert trees.split(a_query({'VGPU': 1})) is None
    assert trees.elsewhere == {'VGPU', 'BANDWIDTH', 'DISK_GB'}


def test_circle_of_parents_ends():
    trees = ProviderTrees([provider('a', 'b', VGPU=Amounts(1, 0)),
                           provider('b', 'a', VGPU=Amounts(1, 0))])

    assert trees.elsewhere == {'VGPU'}
