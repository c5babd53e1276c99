"""Queries in the form of each microversion of Placement."""

import json

import pytest

from nova_sched import objects
from nova_sched.scheduler import utils as queries
from tests.builders.queries import NODE
from tests.builders.queries import asked
from tests.builders.queries import resource_request
from tests.builders.requests import a_destination
from tests.builders.requests import a_request
from tests.unit.objects.captures import WIRE

OWN = {'root_required': {'OWNER_NOVA'},
       'root_forbidden': {'COMPUTE_STATUS_DISABLED'}}
OLD_FORMS = [form for form in queries.FORMS if form < '1.35']


def a_root_request(extra_specs=None, **params):
    """A request of no disk with traits of the root provider."""
    return a_request(root_gb=0, extra_specs=extra_specs or {},
                     request_level_params=objects.RequestLevelParams(
                         **params))


def with_group(requester_id='1', **fields):
    return a_request(root_gb=0, requested_resources=[objects.RequestGroup(
        requester_id=requester_id, **{'resources': {'X': 1}, **fields})])


def to_aggregates(**fields):
    return a_request(requested_destination=a_destination(**fields))


@pytest.mark.parametrize(('spec_obj', 'version'), [
    (a_request(), '1.17'),
    (a_request(extra_specs={'trait:A': 'required'}), '1.17'),
    (a_request(extra_specs={'group_policy': 'none'}), '1.17'),
    (a_root_request(**OWN), '1.17'),
    (a_root_request(root_required={'A'}), '1.17'),
    (a_root_request(root_forbidden={'A'}), '1.25'),
    (to_aggregates(aggregates=['a']), '1.25'),
    (to_aggregates(aggregates=['a', 'b']), '1.25'),
    (a_request(extra_specs={'trait:A': 'forbidden'}), '1.25'),
    (a_request(extra_specs={'resources1:VGPU': '1'}), '1.25'),
    (with_group(), '1.25'),
    (to_aggregates(forbidden_aggregates={'a'}), '1.32'),
    (with_group(in_tree='tree'), '1.32'),
    (with_group(forbidden_aggregates={'a'}), '1.32'),
    (with_group('port'), '1.35'), (with_group('01'), '1.35'),
    (a_root_request({'resources:VCPU': '0', 'resources:MEMORY_MB': '0',
                     'resources1:VGPU': '1'}, root_required={'A'}), '1.35'),
    (a_root_request(same_subtree=[['1', '2']]), '1.36'),
    (with_group(resources={}, required_traits={'A'}), '1.36'),
    (with_group(required_traits={'in:A,B'}), '1.39')])
def test_the_oldest_version_for_a_query_is_known(spec_obj, version):
    assert resource_request(spec_obj).minimum_version() == version


@pytest.mark.parametrize('version', OLD_FORMS)
def test_below_1_35_root_traits_are_those_of_the_unnumbered_group(version):
    spec_obj = a_root_request({'trait:B': 'required'}, root_required={'A'})

    found = asked(spec_obj, version)

    assert found['required'] == ['A,B']
    assert 'root_required' not in found


@pytest.mark.parametrize(('version', 'required'), [
    ('1.17', None), ('1.25', None), ('1.29', None),
    ('1.32', ['OWNER_NOVA,!COMPUTE_STATUS_DISABLED'])])
def test_traits_of_scheduler_go_to_servers_that_know_them(version, required):
    """Older servers answer 400 to unknown traits, unless of the flavor."""
    assert asked(a_root_request(**OWN), version).get('required') == required
    assert asked(a_request(extra_specs={'trait:OWNER_NOVA': 'required'}),
                 version)['required'] == ['OWNER_NOVA']


@pytest.mark.parametrize('version', OLD_FORMS[1:])
def test_root_traits_need_amounts_in_the_unnumbered_group(version):
    spec_obj = a_root_request({
        'resources:VCPU': '0', 'resources:MEMORY_MB': '0',
        'resources1:VGPU': '1'}, **OWN)

    assert 'required' not in asked(spec_obj, version)


@pytest.mark.parametrize('version', ['1.17', '1.25', '1.29'])
def test_below_1_31_a_host_is_searched_among_all_candidates(version):
    found = asked(a_request(force_hosts=['h']), version, target_node=NODE)

    assert 'in_tree' not in found
    assert 'limit' not in found


@pytest.mark.parametrize('version', queries.FORMS)
def test_a_policy_without_groups_is_harmless_to_any_version(version):
    found = asked(a_request(extra_specs={'group_policy': 'none'}), version)

    assert ('group_policy' in found) == (version != '1.17')


def test_parameters_are_sorted_by_name_and_value_and_encoded():
    query = resource_request(a_request(
        vcpus=2, memory_mb=2048, root_gb=20,
        request_level_params=objects.RequestLevelParams(**OWN),
        requested_destination=a_destination(
            host='h', aggregates=['B,C', 'B'], forbidden_aggregates={'A'})),
        target_node='U')

    assert query.query('1.36') == (
        'in_tree=U&limit=1000&member_of=%21in%3AA&member_of=in%3AB&'
        'member_of=in%3AB%2CC&'
        'resources=DISK_GB%3A20%2CMEMORY_MB%3A2048%2CVCPU%3A2&'
        'root_required=OWNER_NOVA%2C%21COMPUTE_STATUS_DISABLED')


CALLS = {call['name']: call for call in json.loads(
    (WIRE / 'placement-http.json').read_text())['calls']}
SAME_HOST = {'same_host': ['a']}
NO_SIZES = {'root_gb': 0, 'memory_mb': 0}
NOVA = {'vcpus': 2, 'memory_mb': 2048, 'root_gb': 20}


@pytest.mark.parametrize(('name', 'spec_obj'), [
    ('candidates-1.17', a_request(**NOVA)),
    ('candidates-1.36', a_request(
        **NOVA, request_level_params=objects.RequestLevelParams(**OWN))),
    ('candidates-1.36-none', a_request(**NO_SIZES, vcpus=500)),
    ('candidates-1.36-bad-trait', a_request(
        **NO_SIZES, hints=SAME_HOST,
        request_level_params=objects.RequestLevelParams(
            root_required={'NO_SUCH_TRAIT'}))),
    ('candidates-1.36-bad-class', a_request(
        **NO_SIZES, vcpus=0, hints=SAME_HOST,
        extra_specs={'resources:CUSTOM_NOSUCH': '1'})),
    ('candidates-1.36-no-group-policy', a_request(
        root_gb=0, hints=SAME_HOST, extra_specs={
            'resources_A:VCPU': '1', 'resources_B:MEMORY_MB': '1'}))])
def test_captured_queries_are_made_to_the_letter(name, spec_obj):
    call = CALLS[name]

    query = resource_request(spec_obj, max_results=2)

    assert '/allocation_candidates?' + query.query(
        call['microversion']) == call['path']
