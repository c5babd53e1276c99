"""``nova.scheduler.utils``: the dicts that schedulers pass on."""

import pytest

from nova_sched import objects
from nova_sched import testing
from nova_sched.compat.nova import scheduler_utils as utils
from tests.builders import requests
from tests.builders.wild import CALL

IMAGE = {'id': 'i', 'properties': {}}
HOSTS = testing.hosts(testing.a_host('a', nodename='a1'))


@pytest.fixture(autouse=True)
def conf(provide):
    provide('[scheduler]\nmax_attempts = 2\n'
            '[filter_scheduler]\nenabled_filters = RamFilter\n'
            'weight_classes = my.Weigher\n')


def an_instance(**values):
    return objects.Instance(uuid='u1', flavor=testing.a_flavor(vcpus=3),
                            memory_mb=512, **values)


@pytest.mark.parametrize(('before', 'after'), [
    ((CALL,), {}), ((), {}), ((), {'flavor': testing.a_flavor(vcpus=3)}),
    ((CALL,), {'instance_type': testing.a_flavor(vcpus=3)})])
def test_request_spec_is_made_of_instances(before, after):
    """With the arguments of any release, as plain dicts and lists."""
    made = utils.build_request_spec(*before, IMAGE, [an_instance()] * 2,
                                    **after)

    assert made['image'] == IMAGE
    assert made['num_instances'] == 2
    assert made['instance_type']['vcpus'] == 3
    assert made['instance_properties']['uuid'] == 'u1'
    assert made['instance_properties']['memory_mb'] == 512


def test_request_spec_may_have_no_image():
    assert utils.build_request_spec(None, [an_instance()])['image'] == {}


@pytest.mark.parametrize(('forced', 'more'), [
    ((None, None), {}), (('h', None), {'force_hosts': ['h']}),
    (('h', 'n'), {'force_hosts': ['h'], 'force_nodes': ['n']})])
def test_filter_properties_have_forced_hosts(forced, more):
    assert utils.build_filter_properties({'a': 'b'}, *forced, 'small') == {
        'scheduler_hints': {'a': 'b'}, 'instance_type': 'small', **more}


def test_tries_are_counted_up_to_max_attempts():
    from nova import exception
    properties = {}
    for number in (1, 2):
        utils.populate_retry(properties, 'u1')

        assert properties['retry'] == {'num_attempts': number, 'hosts': []}
    with pytest.raises(exception.MaxRetriesExceeded, match=r'u1.* 2 '):
        utils.populate_retry(properties, 'u1')
    assert issubclass(exception.MaxRetriesExceeded, exception.NoValidHost)


@pytest.mark.parametrize('forced', ['force_hosts', 'force_nodes'])
def test_forced_host_is_not_retried(forced):
    utils.populate_retry(properties := {forced: ['h']}, 'u1')

    assert 'retry' not in properties


@pytest.mark.parametrize('host', [
    {'host': 'a', 'nodename': 'a1', 'limits': {'memory_mb': 5.0}},
    HOSTS.states()[0], objects.Selection.from_host_state(
        HOSTS.states()[0])], ids=['dict', 'state', 'selection'])
def test_tried_host_is_recorded(host):
    properties = {'retry': {'num_attempts': 1, 'hosts': [['b', 'b']]}}

    utils.populate_filter_properties(properties, host)

    assert properties['retry']['hosts'] == [['b', 'b'], ['a', 'a1']]
    assert properties['limits'] == (
        {'memory_mb': 5.0} if isinstance(host, dict) else {})


@pytest.mark.parametrize(('image', 'disk'), [('i', 21), ('', 11)])
def test_amounts_are_the_flavor_s(image, disk):
    """Without the root disk where the instance boots from a volume."""
    flavor = testing.a_flavor(
        vcpus=2, memory_mb=512, root_gb=10, ephemeral_gb=10, swap=1,
        extra_specs={'resources:CUSTOM_X': '3', 'resources:VCPU': '0'})

    assert utils.resources_from_flavor(
        an_instance(image_ref=image), flavor) == {
        'MEMORY_MB': 512, 'DISK_GB': disk, 'CUSTOM_X': 3}


@pytest.mark.parametrize(('name', 'instead'), [
    ('setup_instance_group', 'spec_obj.instance_group'),
    ('set_vm_state_and_notify', 'NoValidHost'),
    ('fill_provider_mapping', 'Drivers.* in doc/source/plugins.rst')])
def test_missing_function_is_refused_with_an_alternative(name, instead):
    with pytest.raises(AttributeError, match=f'{name} .*{instead}'):
        getattr(utils, name)


def test_enabled_filters_and_weighers_are_known():
    assert utils.validate_filter('RamFilter')
    assert not utils.validate_filter('DiskFilter')
    assert utils.validate_weigher('my.Weigher')
    assert not utils.validate_weigher('my.OtherWeigher')


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
