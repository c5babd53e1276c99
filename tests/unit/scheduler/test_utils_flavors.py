"""Groups that flavors ask for, and groups that ports and devices ask for."""

import pytest

from nova_sched import exception
from nova_sched import objects
from tests.builders.queries import asked
from tests.builders.queries import resource_request
from tests.builders.requests import a_request


def of_flavor(**kw):
    """What a flavor of no disk with these extra specs asks for."""
    return asked(a_request(root_gb=0, **kw))


def with_specs(extra_specs):
    return of_flavor(extra_specs=extra_specs)


def a_group(requester_id='port', **fields):
    return objects.RequestGroup(requester_id=requester_id, **fields)


def with_groups(*groups, **extra_specs):
    return a_request(root_gb=0, requested_resources=list(groups),
                     extra_specs=extra_specs)


def test_groups_of_a_flavor_have_amounts_and_traits():
    assert with_specs({
        'resources:VCPU': '3', 'trait:HW_X': 'required',
        'trait:HW_Y': 'forbidden', 'resources1:CUSTOM_A': '1',
        'resources1:VGPU': '2', 'trait1:CUSTOM_T': 'required'}) == {
        'resources': ['MEMORY_MB:512,VCPU:3'], 'required': ['HW_X,!HW_Y'],
        'resources1': ['CUSTOM_A:1,VGPU:2'], 'required1': ['CUSTOM_T'],
        'limit': ['1000']}


@pytest.mark.parametrize('suffix', ['1', '01', '_a', 'B-c', 'x' * 64])
def test_a_group_is_called_by_up_to_64_letters_digits_dashes_and_underscores(
        suffix):
    assert with_specs({f'resources{suffix}:VGPU': '1'})[
        f'resources{suffix}'] == ['VGPU:1']


@pytest.mark.parametrize('key', [
    'resources!:VGPU', f'resources{"x" * 65}:VGPU', 'resources', 'VGPU',
    'myresources:VGPU', 'Trait:A'])
def test_other_extra_specs_are_none_of_its_business(key, caplog):
    assert with_specs({key: '1'}) == with_specs({})
    assert not caplog.messages


@pytest.mark.parametrize('name', ['vcpu', 'BAD', '', 'A:B', ' VCPU'])
def test_a_class_that_is_neither_standard_nor_custom_is_ignored(name, caplog):
    assert with_specs({f'resources:{name}': '9'}) == with_specs({})
    assert caplog.messages == [
        f"Received an invalid ResourceClass '{name}' in extra_specs."]


@pytest.mark.parametrize('amount', ['-1', '1.5', 'x', ''])
def test_an_amount_that_is_no_whole_number_is_ignored(amount, caplog):
    assert with_specs({'resources1:VGPU': amount}) == with_specs({})
    assert caplog.messages == [
        'Resource amounts must be nonnegative integers. Received '
        f"'{amount}' for key resources1:VGPU."]


@pytest.mark.parametrize('value', ['Required', '', 'optional'])
def test_a_trait_is_required_or_forbidden_or_ignored(value, caplog):
    assert with_specs({'trait:HW_X': value}) == with_specs({})
    assert caplog.messages == [
        'Only (required, forbidden) traits are supported. Received '
        f"'{value}' for key trait:HW_X."]


@pytest.mark.parametrize('policy', ['none', 'isolate'])
def test_the_flavor_says_whether_groups_may_share_a_provider(policy):
    assert with_specs({'group_policy': policy, 'resources1:VGPU': '1',
                       'resources2:VGPU': '1'})['group_policy'] == [policy]


def test_any_other_group_policy_is_ignored(caplog):
    assert with_specs({'group_policy': 'soft'}) == with_specs({})
    assert caplog.messages == ["Invalid group_policy 'soft'. Valid values "
                               "are 'none' and 'isolate'."]


def test_groups_of_a_flavor_without_a_policy_are_warned_of(caplog):
    """Placement refuses them: only the operator knows what is meant."""
    found = with_specs({'resources1:VGPU': '1', 'resources2:VGPU': '1'})

    assert 'group_policy' not in found
    assert [record.levelname for record in caplog.records] == ['WARNING']
    assert 'did not specify any group policy' in caplog.text


@pytest.mark.parametrize('request_groups', [
    (a_group('p1', resources={'VGPU': 1}),
     a_group('p2', resources={'VGPU': 1})),
    (a_group('p1', resources={'VGPU': 1}), a_group('p2', resources={'X': 1}))])
@pytest.mark.parametrize('extra_specs', [
    {}, {'resources1:VGPU': '1'},
    {'resources1:VGPU': '1', 'resources2:VGPU': '0'}])
def test_groups_of_ports_may_share_providers_beside_one_of_the_flavor(
        request_groups, extra_specs):
    assert asked(with_groups(*request_groups, **extra_specs))[
        'group_policy'] == ['none']


def test_groups_of_ports_do_not_settle_the_policy_of_two_of_the_flavor():
    spec_obj = with_groups(a_group(resources={'VGPU': 1}), **{
        'resources1:VGPU': '1', 'resources2:VGPU': '1'})

    assert 'group_policy' not in asked(spec_obj)


def test_amounts_of_zero_and_then_empty_groups_are_left_out():
    spec_obj = with_groups(
        a_group('p1', resources={'X': 0}),
        a_group('p2', resources={'X': 0}, required_traits={'T'}),
        **{'resources1:VGPU': '0', 'resources2:VGPU': '0'})

    assert set(resource_request(spec_obj).groups) == {'', 'p2'}


def test_a_group_of_a_port_asks_for_all_that_it_says():
    found = asked(with_groups(a_group(
        '_x1', resources={'NET': 1000, 'X': 2},
        required_traits={'CUSTOM_P', 'CUSTOM_A'}, forbidden_traits={'Z'},
        aggregates=[['b', 'a'], ['c']], forbidden_aggregates={'e', 'd'},
        in_tree='tree')))

    assert found == {
        'resources': ['MEMORY_MB:512,VCPU:1'], 'limit': ['1000'],
        'resources_x1': ['NET:1000,X:2'],
        'required_x1': ['CUSTOM_A,CUSTOM_P,!Z'],
        'member_of_x1': ['!in:d,e', 'in:a,b', 'in:c'],
        'in_tree_x1': ['tree']}


def test_a_group_may_ask_for_any_of_several_traits():
    found = asked(with_groups(a_group(
        resources={'X': 1}, required_traits={'C', 'in:A,B', 'in:D,E'})))

    assert found['requiredport'] == ['C', 'in:A,B', 'in:D,E']


@pytest.mark.parametrize(('groups', 'field', 'must'), [
    ([a_group('', resources={'X': 1})], "[0].requester_id = ''",
     '1 to 64 letters'),
    ([a_group(None, resources={'X': 1})], "[0].requester_id = ''",
     '1 to 64 letters'),
    ([a_group('a b', resources={'X': 1})], "[0].requester_id = 'a b'",
     '1 to 64 letters'),
    ([a_group('p', resources={'X': 1}), a_group('p', resources={'X': 1})],
     "[1].requester_id = 'p'", 'one group alone'),
    ([a_group('1', resources={'X': 1})], "[0].requester_id = '1'",
     'one group alone'),
    ([a_group('p', in_tree='tree')], "[0].requester_id = 'p'",
     'with conditions')])
def test_a_group_that_cannot_be_meant_is_refused_with_its_name(
        groups, field, must):
    spec_obj = with_groups(*groups, **{'resources1:VGPU': '1'})

    with pytest.raises(exception.InvalidInput) as refused:
        resource_request(spec_obj)

    assert f'requested_resources{field}: ' in str(refused.value)
    assert must in str(refused.value)


def test_traits_and_groups_of_the_whole_request_are_asked_for():
    params = objects.RequestLevelParams(
        root_required={'OWNER_NOVA', 'A'}, root_forbidden={'C', 'B'},
        same_subtree=[['_b', '_a'], ['c', 'd']])
    found = of_flavor(request_level_params=params)

    assert found['root_required'] == ['A,OWNER_NOVA,!B,!C']
    assert found['same_subtree'] == ['_a,_b', 'c,d']
