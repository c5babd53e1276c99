"""From a request to the queries for Placement: amounts, traits and groups."""

import json

import pytest

from nova_sched import exception
from nova_sched import objects
from nova_sched.scheduler import utils
from tests.builders.queries import NODE
from tests.builders.queries import amounts
from tests.builders.queries import asked
from tests.builders.queries import resource_request
from tests.builders.queries import resource_requests
from tests.builders.requests import a_destination
from tests.builders.requests import a_request
from tests.unit.objects import captures

PINNED = {'hw:cpu_policy': 'dedicated'}
TWO_VGPUS = {'resources1:VGPU': '1', 'resources2:VGPU': '1'}


def to(**destination):
    return {'requested_destination': a_destination(**destination)}


def specs(**extra_specs):
    return {'extra_specs': extra_specs}


def a_group(requester_id='port', **fields):
    return objects.RequestGroup(requester_id=requester_id, **fields)


def with_groups(*groups, **extra_specs):
    return {'root_gb': 0, 'requested_resources': list(groups),
            'extra_specs': extra_specs}


@pytest.mark.parametrize(('request_', 'expected'), [
    ({'vcpus': 2, 'memory_mb': 2048, 'root_gb': 20},
     {'VCPU': 2, 'MEMORY_MB': 2048, 'DISK_GB': 20}),
    # Disk: the root disk unless on a volume, ephemeral disk, rounded swap.
    ({'root_gb': 20, 'ephemeral_gb': 3}, {'DISK_GB': 23}),
    ({'root_gb': 20, 'swap': 1}, {'DISK_GB': 21}),
    ({'root_gb': 20, 'swap': 1024}, {'DISK_GB': 21}),
    ({'root_gb': 20, 'swap': 1025, 'ephemeral_gb': 2}, {'DISK_GB': 24}),
    ({'root_gb': 20, 'swap': 1, 'is_bfv': True}, {'DISK_GB': 1}),
    ({'root_gb': 20, 'ephemeral_gb': 4, 'is_bfv': True}, {'DISK_GB': 4}),
    # Zero amounts are left out.
    ({'root_gb': 20, 'is_bfv': True}, {'DISK_GB': None}),
    ({'vcpus': 0}, {'VCPU': None}),
    ({'memory_mb': 0}, {'MEMORY_MB': None}),
    # A class in any group of the flavor replaces the flavor's size.
    *((specs(**{key: amount}), {'VCPU': None, 'MEMORY_MB': 512, 'DISK_GB': 1})
      for key, amount in (('resources:VCPU', '0'), ('resources1:VCPU', '3'),
                          ('resources2:VCPU', '0'))),
    ({'vcpus': 4, **specs(**{'resources:PCPU': '4'})},
     {'VCPU': None, 'PCPU': 4})])
def test_amounts_follow_the_flavor(request_, expected):
    found = amounts(a_request(**request_))

    assert {name: found.get(name) for name in expected} == expected


@pytest.mark.parametrize(('request_', 'expected'), [
    (to(aggregates=['a2,a1', 'a3']), {'member_of': ['in:a1,a2', 'in:a3']}),
    (to(forbidden_aggregates={'b', 'a'}), {'member_of': ['!in:a,b']}),
    (specs(**{'trait:A': 'required'}) | {
        'image_properties': {'traits_required': ['B', 'A']}},
     {'required': ['A,B']}),
    # Hints that relate hosts remove the limit.
    *(({'hints': {hint: ['a']}}, {'limit': None})
      for hint in ('group', 'same_host', 'different_host')),
    ({'hints': {'query': ['x']}}, {'limit': ['1000']}),
    (specs(**{
        'resources:VCPU': '3', 'trait:HW_X': 'required',
        'trait:HW_Y': 'forbidden', 'resources1:CUSTOM_A': '1',
        'resources1:VGPU': '2', 'trait1:CUSTOM_T': 'required'}), {
        'resources': ['DISK_GB:1,MEMORY_MB:512,VCPU:3'],
        'required': ['HW_X,!HW_Y'], 'resources1': ['CUSTOM_A:1,VGPU:2'],
        'required1': ['CUSTOM_T']}),
    # Names of groups have up to 64 letters, digits, dashes and underscores.
    *((specs(**{f'resources{suffix}:VGPU': '1'}),
       {f'resources{suffix}': ['VGPU:1']})
      for suffix in ('1', '01', '_a', 'B-c', 'x' * 64)),
    # The policy of groups: the flavor's, or none for groups of ports.
    *((specs(**TWO_VGPUS, group_policy=policy), {'group_policy': [policy]})
      for policy in ('none', 'isolate')),
    *((with_groups(a_group('p1', resources={'VGPU': 1}),
                   a_group('p2', resources={'X': 1}), **extra_specs),
       {'group_policy': ['none']}) for extra_specs in (
        {}, {'resources1:VGPU': '1'},
        {'resources1:VGPU': '1', 'resources2:VGPU': '0'})),
    (with_groups(a_group(resources={'VGPU': 1}), **TWO_VGPUS),
     {'group_policy': None}),
    (with_groups(a_group(
        '_x1', resources={'NET': 1000, 'X': 2},
        required_traits={'CUSTOM_P', 'CUSTOM_A'}, forbidden_traits={'Z'},
        aggregates=[['b', 'a'], ['c']], forbidden_aggregates={'e', 'd'},
        in_tree='tree')), {
        'resources': ['MEMORY_MB:512,VCPU:1'],
        'resources_x1': ['NET:1000,X:2'],
        'required_x1': ['CUSTOM_A,CUSTOM_P,!Z'],
        'member_of_x1': ['!in:d,e', 'in:a,b', 'in:c'],
        'in_tree_x1': ['tree']}),
    (with_groups(a_group(resources={'X': 1}, required_traits={
        'C', 'in:A,B', 'in:D,E'})),
     {'requiredport': ['C', 'in:A,B', 'in:D,E']}),
    ({'request_level_params': objects.RequestLevelParams(
        root_required={'OWNER_NOVA', 'A'}, root_forbidden={'C', 'B'},
        same_subtree=[['_b', '_a'], ['c', 'd']])},
     {'root_required': ['A,OWNER_NOVA,!B,!C'],
      'same_subtree': ['_a,_b', 'c,d']})])
def test_queries_have_the_conditions_of_the_request(request_, expected):
    found = asked(a_request(**request_))

    assert {name: found.get(name) for name in expected} == expected


@pytest.mark.parametrize(('request_', 'line'), [
    *((specs(**{key: '1'}), None) for key in (
        'resources!:VGPU', f'resources{"x" * 65}:VGPU', 'resources', 'VGPU',
        'myresources:VGPU', 'Trait:A')),
    *((specs(**{f'resources:{name}': '9'}),
       f"Received an invalid ResourceClass '{name}' in extra_specs.")
      for name in ('vcpu', '', 'A:B', ' VCPU')),
    *((specs(**{'resources1:VGPU': amount}),
       'Resource amounts must be nonnegative integers. Received '
       f"'{amount}' for key resources1:VGPU.")
      for amount in ('-1', '1.5', 'x', '')),
    *((specs(**{'trait:HW_X': value}),
       'Only (required, forbidden) traits are supported. Received '
       f"'{value}' for key trait:HW_X.")
      for value in ('Required', '', 'optional')),
    (specs(group_policy='soft'), "Invalid group_policy 'soft'. Valid values "
     "are 'none' and 'isolate'."),
    ({'image': None}, None), ({'requested_resources': None}, None),
    (to(aggregates=None), None)])
def test_invalid_conditions_are_ignored_with_a_warning(request_, line, caplog):
    """Null conditions are ignored without a warning."""
    assert asked(a_request(**request_)) == asked(a_request())
    assert caplog.messages == ([line] if line else [])


def test_groups_without_a_policy_are_warned_about(caplog):
    """Placement refuses them."""
    assert 'group_policy' not in asked(a_request(**specs(**TWO_VGPUS)))
    assert [record.levelname for record in caplog.records] == ['WARNING']
    assert 'did not specify any group policy' in caplog.text


def test_default_policy_of_groups_is_logged(caplog):
    caplog.set_level('INFO')
    asked(a_request(**with_groups(a_group('p1', resources={'VGPU': 1}),
                                  a_group('p2', resources={'X': 1}))))
    assert "its group policy defaults to 'none'" in caplog.text


def test_zero_amounts_and_then_empty_groups_are_left_out():
    spec_obj = a_request(**with_groups(
        a_group('p1', resources={'X': 0}),
        a_group('p2', resources={'X': 0}, required_traits={'T'}),
        **{'resources1:VGPU': '0', 'resources2:VGPU': '0'}))

    assert set(resource_request(spec_obj).groups) == {'', 'p2'}


@pytest.mark.parametrize(('groups', 'field', 'must'), [
    *(([a_group(name, resources={'X': 1})], f'[0].requester_id = {shown!r}',
       '1 to 64 letters') for name, shown in (
        ('', ''), (None, ''), ('a b', 'a b'))),
    ([a_group('p', resources={'X': 1})] * 2, "[1].requester_id = 'p'",
     'one group alone'),
    ([a_group('1', resources={'X': 1})], "[0].requester_id = '1'",
     'one group alone'),
    ([a_group('p', in_tree='tree')], "[0].requester_id = 'p'",
     'must name a group with conditions')])
def test_invalid_groups_are_refused_by_name(groups, field, must):
    with pytest.raises(exception.InvalidInput) as refused:
        resource_request(a_request(**with_groups(
            *groups, **{'resources1:VGPU': '1'})))

    assert f'requested_resources{field}: ' in str(refused.value)
    assert must in str(refused.value)


@pytest.mark.parametrize(('fields', 'found'), [
    ({}, None),
    ({'force_hosts': [], 'force_nodes': []}, None),
    (to(cell='c1'), None),
    (to(host='', node=None), None),
    ({'force_hosts': ['h1', 'h2']}, ('h1', None, None)),
    ({'force_nodes': ['n1']}, (None, 'n1', None)),
    (to(host='h1', cell='c1'), ('h1', None, 'c1')),
    (to(cell='c1') | {'force_hosts': ['h1']}, ('h1', None, 'c1')),
    (to(host='h1', node='n1') | {
        'force_hosts': ['h2'], 'force_nodes': ['n2']}, ('h1', 'n1', None)),
    (to(host='h1') | {'force_nodes': ['n2']}, ('h1', 'n2', None))])
def test_the_target_is_the_destination_or_the_first_forced_host(fields, found):
    assert utils.target(a_request(**fields)) == found


def test_a_target_of_one_node_is_searched_in_its_tree():
    """Targets of several nodes are searched among all candidates."""
    spec_obj = a_request(force_hosts=['h1'])
    one, several = (asked(spec_obj, target_node=node) for node in (NODE, None))

    assert (one['in_tree'], one['limit']) == ([NODE], ['1000'])
    assert not {'in_tree', 'limit'} & several.keys()
    assert utils.target(spec_obj).unknown == (
        'No such host - host: h1 node: None ')


@pytest.mark.parametrize('extra_specs', [
    PINNED, {'hw:cpu_policy': 'mixed', 'hw:cpu_dedicated_mask': '0'}])
def test_pinned_cpus_have_a_second_query_for_any_cpus(extra_specs, caplog):
    """Warnings come once."""
    spec_obj = a_request(vcpus=4, extra_specs=extra_specs | {
        'hw:cpu_thread_policy': 'require', 'trait:CUSTOM_A': 'required',
        'trait:A': 'x'})
    pinned, anywhere = resource_requests(spec_obj)

    assert pinned.groups[''].resources['PCPU']
    assert pinned.groups[''].required == {'HW_CPU_HYPERTHREADING', 'CUSTOM_A'}
    assert anywhere.groups[''].resources == {
        'VCPU': 4, 'MEMORY_MB': 512, 'DISK_GB': 1}
    assert anywhere.groups[''].required == {'CUSTOM_A'}
    assert anywhere.limit == pinned.limit == 1000
    assert len(caplog.messages) == 1
    [alone] = resource_requests(spec_obj, fallback_pcpu_query=False,
                                max_results=7)
    assert (alone.groups, alone.limit) == (pinned.groups, 7)


@pytest.mark.parametrize('extra_specs', [
    {}, {'hw:cpu_thread_policy': 'require'}, {'hw:cpu_policy': 'shared'},
    {'hw:cpu_policy': 'mixed'}, {**PINNED, 'resources:PCPU': '1'}])
def test_other_requests_have_one_query(extra_specs):
    assert len(resource_requests(a_request(extra_specs=extra_specs))) == 1


def allocated(name):
    """Nova's claims for a captured request: list of {class: amount}."""
    selections = captures.envelopes(captures.replies(name), 'Selection')
    texts = [selection['nova_object.data']['allocation_request']
             for selection in selections]
    return [merged(found['resources'] for found
                   in json.loads(text)['allocations'].values())
            for text in texts if text and text != 'null']


def merged(parts):
    return {key: amount for part in parts for key, amount in part.items()}


@pytest.mark.parametrize('name', [
    name for name in captures.with_argument('spec_obj') if allocated(name)])
def test_captured_requests_query_the_amounts_that_nova_claimed(name):
    """One of two queries has them, depending on the host."""
    spec_obj = objects.arguments.from_wire(captures.args(name)['spec_obj'])
    queries = [merged(group.resources for group in query.groups.values())
               for query in resource_requests(spec_obj)]

    for claimed in allocated(name):
        assert claimed in queries
