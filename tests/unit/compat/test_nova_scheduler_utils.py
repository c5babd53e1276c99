"""``nova.scheduler.utils``: the dicts that go around between schedulers."""

import pytest

from nova_sched import conf as config
from nova_sched import objects
from nova_sched import testing
from nova_sched.compat import nova_names
from nova_sched.compat.nova import conf as nova_conf
from tests.builders import rules
from tests.builders.wild import CALL

IMAGE = {'id': 'i', 'properties': {}}
HOSTS = testing.hosts(testing.a_host('a', nodename='a1'))


@pytest.fixture(autouse=True)
def conf(tmp_path):
    path = tmp_path / 'nova.conf'
    path.write_text('[scheduler]\nmax_attempts = 2\n')
    nova_names.provide(config.new_conf([], [str(path)]))
    yield
    nova_conf.follow(rules.a_conf())


@pytest.fixture
def utils():
    from nova.scheduler import utils
    return utils


def an_instance(**values):
    return objects.Instance(uuid='u1', flavor=testing.a_flavor(vcpus=3),
                            memory_mb=512, **values)


@pytest.mark.parametrize(('before', 'after'), [
    ((CALL,), {}), ((), {}), ((), {'flavor': testing.a_flavor(vcpus=3)}),
    ((CALL,), {'instance_type': testing.a_flavor(vcpus=3)})])
def test_a_request_is_made_of_instances(utils, before, after):
    """With the arguments of any release, of plain dicts and lists."""
    made = utils.build_request_spec(*before, IMAGE, [an_instance()] * 2,
                                    **after)

    assert made['image'] == IMAGE
    assert made['num_instances'] == 2
    assert made['instance_type']['vcpus'] == 3
    assert made['instance_properties']['uuid'] == 'u1'
    assert made['instance_properties']['memory_mb'] == 512


def test_a_request_may_have_no_image(utils):
    assert utils.build_request_spec(None, [an_instance()])['image'] == {}


@pytest.mark.parametrize(('forced', 'more'), [
    ((None, None), {}), (('h', None), {'force_hosts': ['h']}),
    (('h', 'n'), {'force_hosts': ['h'], 'force_nodes': ['n']})])
def test_properties_have_what_is_forced(utils, forced, more):
    assert utils.build_filter_properties({'a': 'b'}, *forced, 'small') == {
        'scheduler_hints': {'a': 'b'}, 'instance_type': 'small', **more}


def test_tries_are_counted_until_there_are_too_many(utils):
    from nova import exception
    properties = {}
    for number in (1, 2):
        utils.populate_retry(properties, 'u1')

        assert properties['retry'] == {'num_attempts': number, 'hosts': []}
    with pytest.raises(exception.MaxRetriesExceeded, match=r'u1.* 2 '):
        utils.populate_retry(properties, 'u1')
    assert issubclass(exception.MaxRetriesExceeded, exception.NoValidHost)


@pytest.mark.parametrize('forced', [{'force_hosts': ['h']},
                                    {'force_nodes': ['n']}])
def test_what_is_forced_is_tried_once(utils, forced):
    utils.populate_retry(forced, 'u1')

    assert 'retry' not in forced


@pytest.mark.parametrize('host', [
    {'host': 'a', 'nodename': 'a1', 'limits': {'memory_mb': 5.0}},
    HOSTS.states()[0], objects.Selection.from_host_state(
        HOSTS.states()[0])], ids=['dict', 'state', 'selection'])
def test_a_host_is_noted_as_tried(utils, host):
    properties = {'retry': {'num_attempts': 1, 'hosts': [['b', 'b']]}}

    utils.populate_filter_properties(properties, host)

    assert properties['retry']['hosts'] == [['b', 'b'], ['a', 'a1']]
    assert properties['limits'] == (
        {'memory_mb': 5.0} if isinstance(host, dict) else {})


@pytest.mark.parametrize(('image', 'disk'), [('i', 21), ('', 11)])
def test_amounts_are_those_of_the_flavor(utils, image, disk):
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
    ('fill_provider_mapping', 'doc/source/plugins.rst')])
def test_what_is_not_offered_says_what_is(utils, name, instead):
    with pytest.raises(AttributeError, match=f'{name} .*{instead}'):
        getattr(utils, name)
