"""ImagePropertiesWeigher: instances of similar images on a host."""

import pytest

from nova_sched.hosts import instances
from nova_sched.scheduler.weights.image_props import ImagePropertiesWeigher
from tests.builders.hosts import a_host
from tests.builders.hosts import hosts
from tests.builders.hosts import table
from tests.builders.requests import a_request
from tests.builders.rules import configured
from tests.builders.rules import weights

LINUX_PC = {'os_type': 'linux', 'hw_machine_type': 'pc'}
RUNNING = {'both': 'a', 'linux': 'a', 'windows': 'b', 'other': 'c',
           'bare': 'd'}
IMAGES = {'both': LINUX_PC, 'linux': {'os_type': 'linux'},
          'windows': {'os_type': 'windows', 'hw_machine_type': 'pc'},
          'other': {'os_type': 'linux'}}


def a_weigher(*settings, multiplier=1.0):
    return configured(ImagePropertiesWeigher,
                      image_props_weight_multiplier=multiplier,
                      image_props_weight_setting=list(settings))


def four_hosts():
    return hosts(*map(a_host, 'abcd'), running=RUNNING, images=IMAGES)


def raw(weigher, block, **properties):
    return weigher.raw(block, a_request(image_properties=properties)).tolist()


def stored(texts):
    """One host with one instance that keeps these image properties."""
    return hosts(a_host('a'), running={'u': 'a'}, images={'u': texts})


def test_counts_the_instances_that_share_a_property():
    assert raw(a_weigher(), four_hosts(), **LINUX_PC) == [3, 1, 1, 0]
    assert weights(a_weigher(), four_hosts(), a_request(
        image_properties=LINUX_PC)) == [1.0, 1 / 3, 1 / 3, 0.0]


@pytest.mark.parametrize(('settings', 'expected'), [
    (['os_type=2', 'hw_machine_type=0.5'], [4.5, 0.5, 2.0, 0.0]),
    (['hw_machine_type=-1'], [-1.0, -1.0, 0.0, 0.0]),
    (['os_type=5', 'os_type=1'], [2.0, 0.0, 1.0, 0.0]),
    (['os_type=2', 'bad', '=1', 'os_distro=x'], [4.0, 0.0, 2.0, 0.0]),
])
def test_settings_weight_the_properties(settings, expected):
    """The last setting of a name counts; other names count 0.

    Invalid settings are ignored.
    """
    assert raw(a_weigher(*settings), four_hosts(), **LINUX_PC) == expected


@pytest.mark.parametrize(('name', 'ours', 'theirs', 'shared'), [
    ('hw_qemu_guest_agent', True, 'yes', True),
    ('hw_qemu_guest_agent', False, 'false', True),
    ('hw_qemu_guest_agent', True, 'what', False),
    ('hw_qemu_guest_agent', 'true', 'yes', True),
    ('hw_cpu_sockets', '2', '02', True),
    ('os_type', 'Linux', 'LINUX', True),
    ('hw_cpu_sockets', 2, '02', True),
    ('hw_architecture', 'x86_64', 'AMD64', True),
    ('hw_architecture', 'x86_64', 'vax', False),
    ('os_distro', 'centos', 'CentOS', False),
])
def test_texts_are_compared_by_their_values(name, ours, theirs, shared):
    """The database has texts, and so have dicts of callers."""
    assert raw(a_weigher(), stored({name: theirs}), **{name: ours}) == [
        int(shared)]


@pytest.mark.parametrize(('properties', 'texts', 'shared'), [
    ({'hw_architecture': 'x86_64'}, {'architecture': 'x86_64'}, 1),
    ({'hw_architecture': 'x86_64'},
     {'architecture': 'i686', 'hw_architecture': 'x86_64'}, 1),
    ({'hw_disk_bus': 'ide'}, {'vmware_adaptertype': 'ide'}, 1),
    ({'hw_numa_mem': [1, 2]},
     {'hw_numa_mem.0': '1', 'hw_numa_mem.1': '2'}, 1),
    ({'hw_numa_mem': [1, 2]}, {'hw_numa_mem.0': '1'}, 0),
    ({'hw_numa_mem': [1], 'os_type': 'linux'},
     {'hw_numa_mem.0': 'x', 'os_type': 'linux'}, 1),
    ({'traits_required': ['A', 'B']},
     {'trait:B': 'required', 'trait:A': 'required'}, 1),
    ({'traits_required': ['A']},
     {'trait:B': 'required', 'trait:A': 'required'}, 0),
])
def test_properties_have_names_of_any_release(properties, texts, shared):
    assert raw(a_weigher(), stored(texts), **properties) == [shared]


def test_a_request_without_an_image_shares_nothing():
    assert a_weigher().raw(four_hosts(), a_request(image=None)).tolist() == [
        0, 0, 0, 0]


def test_instances_placed_by_the_same_request_have_no_properties():
    block = four_hosts()
    block.instances.place('both', 'd')

    assert raw(a_weigher(), block, **LINUX_PC) == [3, 1, 1, 0]


class TestQueries:
    """Queries of the database."""

    @pytest.fixture
    def queries(self):
        return []

    @pytest.fixture
    def block(self, queries):
        def images(hosts, names):
            queries.append((hosts, names))
            return [('a', 'u', 'os_type', 'linux')]
        key = 'image_props_weight_multiplier'
        return table(a_host('a', aggregates=[{key: '5'}]), a_host('b')
                     ).snapshot(instances.Instances(
                         None, None, images=images)).block()

    def test_are_none_while_the_multiplier_is_0(self, block, queries):
        """Even if an aggregate has another multiplier."""
        weigher = a_weigher(multiplier=0.0)

        assert raw(weigher, block, os_type='linux') == [0, 0]
        assert weigher.multipliers(block).tolist() == [5, 0]
        assert queries == []

    def test_are_none_for_image_without_weighted_names(self, block, queries):
        assert raw(a_weigher(), block) == [0, 0]
        assert raw(a_weigher('os_type=0'), block, os_type='linux') == [0, 0]
        assert queries == []

    def test_are_one_for_hosts_and_weighted_properties(self, block, queries):
        assert raw(a_weigher('os_type=1'), block, os_type='linux',
                   os_distro='ubuntu') == [1, 0]
        assert queries == [(['a', 'b'], ('os_type',))]

    def test_are_not_repeated_for_the_next_instance(self, block, queries):
        for _ in range(2):
            raw(a_weigher(), block, os_type='linux')

        assert len(queries) == 1
