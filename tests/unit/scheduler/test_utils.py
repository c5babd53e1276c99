"""From a request to the queries for Placement: sizes, where to, how many."""

import copy
import json

import pytest

from nova_sched.objects import arguments
from nova_sched.scheduler import utils
from tests.builders.queries import NODE
from tests.builders.queries import amounts
from tests.builders.queries import asked
from tests.builders.queries import resource_request
from tests.builders.queries import resource_requests
from tests.builders.queries import unnumbered
from tests.builders.requests import a_destination
from tests.builders.requests import a_request
from tests.unit.objects import captures

PINNED = {'hw:cpu_policy': 'dedicated'}


def test_the_flavors_sizes_are_asked_for():
    assert amounts(a_request(vcpus=2, memory_mb=2048, root_gb=20)) == {
        'VCPU': 2, 'MEMORY_MB': 2048, 'DISK_GB': 20}


@pytest.mark.parametrize(('sizes', 'disk_gb'), [
    ({'root_gb': 20, 'ephemeral_gb': 3}, 23),
    ({'root_gb': 20, 'swap': 1}, 21),
    ({'root_gb': 20, 'swap': 1024}, 21),
    ({'root_gb': 20, 'swap': 1025, 'ephemeral_gb': 2}, 24),
    ({'root_gb': 20, 'swap': 1, 'is_bfv': True}, 1),
    ({'root_gb': 20, 'ephemeral_gb': 4, 'is_bfv': True}, 4)])
def test_disk_is_root_unless_on_a_volume_and_ephemeral_and_swap_rounded_up(
        sizes, disk_gb):
    assert amounts(a_request(**sizes))['DISK_GB'] == disk_gb


@pytest.mark.parametrize(('sizes', 'name'), [
    ({'root_gb': 20, 'is_bfv': True}, 'DISK_GB'), ({'vcpus': 0}, 'VCPU'),
    ({'memory_mb': 0}, 'MEMORY_MB')])
def test_a_class_of_which_nothing_is_wanted_is_left_out(sizes, name):
    assert name not in amounts(a_request(**sizes))


@pytest.mark.parametrize('extra_specs', [
    {'resources:VCPU': '0'}, {'resources1:VCPU': '3'},
    {'resources2:VCPU': '0'}])
def test_a_class_that_any_group_mentions_goes_before_the_flavors_size(
        extra_specs):
    assert amounts(a_request(extra_specs=extra_specs)) == {
        'MEMORY_MB': 512, 'DISK_GB': 1}


def test_cpus_are_not_asked_for_a_second_time_beside_pcpu():
    assert amounts(a_request(
        vcpus=4, root_gb=0, extra_specs={'resources:PCPU': '4'})) == {
        'PCPU': 4, 'MEMORY_MB': 512}


def test_an_aggregate_of_each_entry_is_required():
    destination = a_destination(aggregates=['a2,a1', 'a3'])

    assert asked(a_request(requested_destination=destination))[
        'member_of'] == ['in:a1,a2', 'in:a3']


def test_forbidden_aggregates_are_one_condition():
    destination = a_destination(forbidden_aggregates={'b', 'a'})

    assert asked(a_request(requested_destination=destination))[
        'member_of'] == ['!in:a,b']


@pytest.mark.parametrize(('fields', 'found'), [
    ({}, None),
    ({'force_hosts': [], 'force_nodes': []}, None),
    ({'requested_destination': a_destination(cell='c1')}, None),
    ({'requested_destination': a_destination(host='', node=None)}, None),
    ({'force_hosts': ['h1', 'h2']}, ('h1', None, None)),
    ({'force_nodes': ['n1']}, (None, 'n1', None)),
    ({'requested_destination': a_destination(host='h1')},
     ('h1', None, None)),
    ({'requested_destination': a_destination(host='h1', cell='c1')},
     ('h1', None, 'c1')),
    ({'requested_destination': a_destination(cell='c1'),
      'force_hosts': ['h1']}, ('h1', None, 'c1')),
    ({'requested_destination': a_destination(host='h1', node='n1'),
      'force_hosts': ['h2'], 'force_nodes': ['n2']}, ('h1', 'n1', None)),
    ({'requested_destination': a_destination(host='h1'),
      'force_nodes': ['n2']}, ('h1', 'n2', None))])
def test_the_target_is_the_destinations_host_and_node_or_the_first_forced(
        fields, found):
    assert utils.target(a_request(**fields)) == found


def test_a_target_that_is_not_there_is_told_by_its_names():
    target = utils.target(a_request(force_hosts=['h1']))

    assert target.unknown == 'No such host - host: h1 node: None '


def test_a_target_of_one_node_is_looked_for_in_its_tree():
    found = asked(a_request(force_hosts=['h1']), target_node=NODE)

    assert found['in_tree'] == [NODE]
    assert found['limit'] == ['1000']


def test_a_target_of_several_nodes_is_looked_for_among_all_candidates():
    found = asked(a_request(force_hosts=['h1']), target_node=None)

    assert 'in_tree' not in found
    assert 'limit' not in found


@pytest.mark.parametrize('hint', ['group', 'same_host', 'different_host'])
def test_hints_that_relate_hosts_lift_the_limit(hint):
    assert resource_request(a_request(hints={hint: ['a']})).limit is None


def test_otherwise_there_is_the_limit_that_is_configured():
    assert resource_request(a_request(hints={'query': ['x']}),
                            max_results=7).limit == 7


@pytest.mark.parametrize('extra_specs', [
    PINNED, {'hw:cpu_policy': 'mixed', 'hw:cpu_dedicated_mask': '0'}])
def test_pinned_cpus_are_asked_for_a_second_time_as_any_cpus(extra_specs):
    specs = extra_specs | {'hw:cpu_thread_policy': 'require',
                           'trait:CUSTOM_A': 'required'}
    pinned, anywhere = resource_requests(a_request(
        vcpus=4, extra_specs=specs))

    assert pinned.groups[''].resources['PCPU']
    assert pinned.groups[''].required == {
        'HW_CPU_HYPERTHREADING', 'CUSTOM_A'}
    assert anywhere.groups[''].resources == {
        'VCPU': 4, 'MEMORY_MB': 512, 'DISK_GB': 1}
    assert anywhere.groups[''].required == {'CUSTOM_A'}
    assert anywhere.limit == pinned.limit


def test_the_second_query_can_be_turned_off():
    assert len(resource_requests(a_request(extra_specs=PINNED),
                                 fallback_pcpu_query=False)) == 1


@pytest.mark.parametrize('extra_specs', [
    {}, {'hw:cpu_thread_policy': 'require'}, {'hw:cpu_policy': 'shared'},
    {'hw:cpu_policy': 'mixed'}, {**PINNED, 'resources:PCPU': '1'}])
def test_without_anything_else_to_ask_there_is_one_query(extra_specs):
    assert len(resource_requests(a_request(extra_specs=extra_specs))) == 1


def test_what_is_ignored_is_warned_of_once_though_two_queries_are_made(
        caplog):
    resource_requests(a_request(extra_specs={**PINNED, 'trait:A': 'x'}))

    assert len(caplog.messages) == 1


def test_traits_of_the_image_are_required():
    assert unnumbered(a_request(
        extra_specs={'trait:A': 'required'},
        image_properties={'traits_required': ['B', 'A']})).required == {
        'A', 'B'}


@pytest.mark.parametrize('fields', [
    {'image': None}, {'requested_resources': None},
    {'requested_destination': a_destination(aggregates=None)}])
def test_what_is_null_asks_for_nothing(fields):
    assert asked(a_request(**fields)) == asked(a_request())


def spec_of(name):
    return arguments.from_wire(captures.args(name)['spec_obj'])


@pytest.mark.parametrize('name', captures.with_argument('spec_obj'))
def test_captured_requests_stay_as_they_came(name):
    spec_obj = spec_of(name)
    before = copy.deepcopy(spec_obj).obj_to_primitive()

    resource_requests(spec_obj)
    utils.target(spec_obj)

    assert spec_obj.obj_to_primitive() == before


def allocated(name):
    """What Nova claimed for a captured request: list of {class: amount}."""
    selections = captures.envelopes(captures.replies(name), 'Selection')
    texts = [selection['nova_object.data']['allocation_request']
             for selection in selections]
    return [merged(found['resources'] for found
                   in json.loads(text)['allocations'].values())
            for text in texts if text and text != 'null']


def merged(parts):
    return {key: amount for part in parts for key, amount in part.items()}


CLAIMED = [name for name in captures.with_argument('spec_obj')
           if allocated(name)]


@pytest.mark.parametrize('name', CLAIMED)
def test_captured_requests_ask_for_what_nova_claimed_for_them(name):
    """Of two queries, one does; which, depends on the host."""
    queries = [merged(group.resources for group in query.groups.values())
               for query in resource_requests(spec_of(name))]

    for claimed in allocated(name):
        assert claimed in queries
