"""``nova.scheduler.utils``: functions that drivers and weighers share."""

import pytest

from nova_sched import objects
from nova_sched import testing
from nova_sched.compat.nova import scheduler_utils as utils
from tests.builders import requests
from tests.builders.wild import CALL


@pytest.mark.parametrize(('image', 'disk'), [('i', 21), ('', 11)])
def test_amounts_are_the_flavor_s(image, disk):
    """Without the root disk where the instance boots from a volume."""
    flavor = testing.a_flavor(
        vcpus=2, memory_mb=512, root_gb=10, ephemeral_gb=10, swap=1,
        extra_specs={'resources:CUSTOM_X': '3', 'resources:VCPU': '0'})

    assert utils.resources_from_flavor(
        objects.Instance(image_ref=image), flavor) == {
        'MEMORY_MB': 512, 'DISK_GB': disk, 'CUSTOM_X': 3}


@pytest.mark.parametrize(('name', 'instead'), [
    ('setup_instance_group', 'spec_obj.instance_group'),
    ('set_vm_state_and_notify', 'NoValidHost'),
    ('populate_retry', 'the caller counts the attempts'),
    ('build_request_spec', 'Drivers.* in doc/source/plugins.rst'),
    ('validate_filter', 'Drivers.* in doc/source/plugins.rst'),
    ('fill_provider_mapping', 'Drivers.* in doc/source/plugins.rst')])
def test_missing_function_is_refused_with_an_alternative(name, instead):
    with pytest.raises(AttributeError, match=f'{name} .*{instead}'):
        getattr(utils, name)


def test_options_of_pairs_are_parsed(caplog):
    assert utils.parse_options(
        ['a=1.5', 'b=x', '=3', 'c', 'd=-2'], converter=float,
        name='my_option') == [('a', 1.5), ('d', -2.0)]
    assert [line.partition(' is')[0] for line in caplog.messages] == [
        f'Option my_option: {text!r}' for text in ('b=x', '=3', 'c')]


class Client:
    """Accepts all claims, and keeps them."""

    def __init__(self):
        self.claims = []

    def claim_resources(self, *args):
        self.claims.append(args)
        return True


@pytest.mark.parametrize(('owner', 'user'), [
    ('u-owns', 'u-owns'), (None, CALL.user_id)])
def test_claim_is_of_the_instance_s_owner(owner, user):
    spec = requests.a_request(project_id='p-owns', user_id=owner)

    assert utils.claim_resources(
        CALL, client := Client(), spec, 'uuid', {'allocations': {}},
        allocation_request_version='1.17')
    assert client.claims == [(
        CALL, 'uuid', {'allocations': {}}, 'p-owns', user, '1.17')]


def test_rebuild_claims_nothing():
    spec = requests.a_request(hints={'_nova_check_type': ['rebuild']})

    assert utils.claim_resources(CALL, client := Client(), spec, 'uuid', {})
    assert client.claims == []


@pytest.mark.parametrize(('before', 'after'), [
    ((), ()), ((CALL,), ('a host manager', False))])
def test_request_becomes_a_query(before, after):
    query = utils.resources_from_request_spec(
        *before, requests.a_request(vcpus=2), *after)

    assert 'VCPU%3A2' in query.query('1.17')
    assert isinstance(query, utils.ResourceRequest)


@pytest.mark.parametrize(('metadata', 'multiplier'), [
    ({'my_multiplier': '2.5'}, 2.5), ({}, 1.5)])
def test_aggregate_may_set_a_multiplier(metadata, multiplier):
    [host] = testing.hosts(testing.a_host(
        aggregates=(testing.an_aggregate(metadata),))).states()

    assert utils.get_weight_multiplier(
        host, 'my_multiplier', 1.5) == multiplier
