"""Instances of hosts, and their details: queried once, and on demand."""

import pytest

from nova_sched import exception
from nova_sched.hosts import instances
from nova_sched.hosts.instance_details import InstanceDetails
from nova_sched.inventory.in_flight import PlacedInstance
from tests.builders import requests
from tests.builders.clouds import a_uuid


class Asked:
    """Instances u1 and u2 on a, u3 on b; notes its queries."""

    HOSTS = {'u1': 'a', 'u2': 'a', 'u3': 'b'}

    def __init__(self):
        self.located, self.listed = [], []


    def locate(self, uuids):
        self.located.append(list(uuids))
        return {uuid: self.HOSTS[uuid] for uuid in uuids if uuid in self.HOSTS}

    def on_hosts(self, *names):
        self.listed.append(names)
        rows = [{'uuid': uuid, 'host': host, 'vcpus': 2}
                for uuid, host in self.HOSTS.items()]
        return [{name: row[name] for name in names or row if name in row}
                for row in rows]


def made(placed=None):
    """Instances, and the Asked behind; placed: {uuid: host}."""
    asked = Asked()
    return instances.Instances(
        asked.locate, asked.on_hosts, in_flight=lambda: {
            uuid: instances.Placed(uuid, host)
            for uuid, host in (placed or {}).items()}), asked


class TestUnseen:
    """Instances of bare-metal nodes, which rules do not see."""

    def found(self):
        asked = Asked()
        return instances.Instances(
            asked.locate, asked.on_hosts, unseen=frozenset('a'),
            images=lambda hosts, names: [
                (host, uuid, 'os_type', 'linux')
                for uuid, host in Asked.HOSTS.items() if host in hosts])

    def test_instances_are_running_but_not_located(self):
        found = self.found()

        assert found.running(['u1', 'u3']) == {'u1': 'a', 'u3': 'b'}
        assert found.located(['u1', 'u3']) == {'u3': 'b'}

    def test_instances_are_on_no_host(self):
        assert self.found().on_host('a') == {}
        assert list(self.found().on_host('b')) == ['u3']

    def test_instances_have_no_values_and_no_images(self):
        assert self.found().each('vcpus') == {'b': {2}}
        assert self.found().image_properties(['a', 'b'], ('os_type',)) == {
            'a': (), 'b': [(('os_type', 'linux'),)]}


class TestLocated:
    def test_are_those_on_a_host(self):
        found, _ = made()

        assert found.located(['u1', 'u3', 'u9']) == {'u1': 'a', 'u3': 'b'}

    def test_are_queried_once(self):
        found, asked = made()
        for uuids in (['u1', 'u9'], ['u1', 'u9'], ['u9', 'u3']):
            found.located(uuids)

        found.located([])
        assert asked.located == [['u1', 'u9'], ['u3']]

    def test_are_on_the_hosts_just_picked(self):
        """The database may lack them, or show an earlier host."""
        found, _ = made(placed={'u1': 'c', 'u9': 'd'})
        found.place('u3', 'e')

        assert found.located(['u1', 'u2', 'u3', 'u9']) == {
            'u1': 'c', 'u2': 'a', 'u3': 'e', 'u9': 'd'}


class TestOnHost:
    def test_are_objects_by_uuid(self):
        found, _ = made()

        found.on_host('a').clear()
        assert list(found.on_host('a')) == ['u1', 'u2']
        assert (found.on_host('a')['u1'].vcpus, found.on_host('c')) == (2, {})

    def test_are_listed_once_for_all_hosts(self):
        found, asked = made()
        for host in 'abc':
            found.on_host(host)

        assert asked.listed == [()]

    def test_can_be_listed_in_advance(self):
        """Instances that are placed in between show, too."""
        placed = {}
        asked = Asked()
        found = instances.Instances(asked.locate, asked.on_hosts,
                                    in_flight=lambda: dict(placed))
        found.pending = {}
        found.cache_all(asked.on_hosts())
        placed['u9'] = instances.Placed('u9', 'b')
        found.start_over(dict(placed))

        assert list(found.on_host('b')) == ['u3', 'u9']
        assert asked.listed == [()]

    def test_gain_those_just_placed(self):
        found, _ = made()
        found.place('u9', 'b')

        assert list(found.on_host('b')) == ['u3', 'u9']

    def test_are_on_both_hosts_while_they_move(self):
        """Until the database no longer shows the earlier host."""
        found, _ = made()
        found.place('u1', 'b')

        assert list(found.on_host('a')) == ['u1', 'u2']
        assert list(found.on_host('b')) == ['u3', 'u1']


class TestImageProperties:
    def test_are_those_of_each_instance_by_host(self):
        found = instances.Instances(None, None, images=lambda hosts, names: [
            ('a', 'u1', 'os_type', 'linux'), ('a', 'u1', 'os_distro', 'x'),
            ('a', 'u2', 'os_type', 'linux')])

        assert found.image_properties(['a', 'b'], ('os_*',)) == {
            'a': [(('os_distro', 'x'), ('os_type', 'linux')),
                  (('os_type', 'linux'),)],
            'b': ()}

    def test_are_queried_once(self):
        asked = []
        found = instances.Instances(
            None, None, images=lambda *args: asked.append(args) or [])
        for hosts, names in ((['a', 'b'], ('n',)), (['b'], ('n',)),
                             (['b', 'c'], ('n',)), (['b'], ('m',))):
            found.image_properties(hosts, names)

        assert asked == [(['a', 'b'], ('n',)), (['c'], ('n',)),
                         (['b'], ('m',))]


class TestEach:
    def test_has_the_values_of_each_hosts_instances(self):
        found, _ = made()

        assert found.each('uuid') == {'a': {'u1', 'u2'}, 'b': {'u3'}}
        assert found.each('vcpus') == {'a': {2}, 'b': {2}}

    def test_is_queried_once(self):
        found, asked = made()
        for name in ('uuid', 'vcpus', 'vcpus', 'uuid'):
            found.each(name)

        assert asked.listed == [('host', 'uuid'), ('host', 'vcpus')]

    def test_lacks_instances_of_the_same_request(self):
        found, _ = made()
        found.place('u9', 'c')

        assert found.each('vcpus') == {'a': {2}, 'b': {2}}

    def test_has_instances_of_other_requests_in_flight(self):
        """With the values of their requests."""
        asked = Asked()
        found = instances.Instances(
            asked.locate, asked.on_hosts, unseen=frozenset('d'),
            in_flight=lambda: {pick.key: pick for pick in (
                in_flight('u8', 'a', vcpus=4), in_flight('u9', 'c', vcpus=8),
                in_flight('u10', 'd', vcpus=1))})

        assert found.each('vcpus') == {'a': {2, 4}, 'b': {2}, 'c': {8}}
        assert found.each('project_id') == {}
        assert found.on_host('c')['u9'].vcpus == 8

    def test_is_queried_again_after_a_failure(self):
        asked, found = Asked(), None
        broken = [exception.DatabaseUnavailable('gone')]

        def on_hosts(*names):
            if broken:
                raise broken.pop()
            return asked.on_hosts(*names)

        found = instances.Instances(None, on_hosts)
        with pytest.raises(exception.DatabaseUnavailable):
            found.each('vcpus')

        assert found.each('vcpus') == {'a': {2}, 'b': {2}}


def in_flight(key, host, **flavor):
    """A pick of another request."""
    return PlacedInstance(
        key, host, host, requests.a_request(**flavor).demand(), None, None,
        0.0)


A, B = a_uuid(1), a_uuid(2)


def test_a_failed_read_is_not_repeated():
    reads = []

    def read(name):
        reads.append(name)
        raise exception.DatabaseUnavailable('gone')

    kept = InstanceDetails(read)
    for uuid in (A, B, A):
        with pytest.raises(exception.DatabaseUnavailable):
            kept.of(uuid, 'flavor')

    assert reads == ['flavor']


@pytest.mark.parametrize('text', [
    'x', '7', 'null', '[]', '{"cur": 7}', '{"cur": {"nova_object.data": 7}}',
    '{"cur": {"nova_object.name": [], "nova_object.data": {}}}', '[' * 99999])
@pytest.mark.parametrize('name', ['flavor', 'numa_topology', 'pci_requests'])
def test_unreadable_details_are_absent_and_logged_with_their_instance(
        name, text, caplog):
    kept = InstanceDetails(lambda name: {A: text, B: text})

    for uuid in (A, B):
        found = kept.of(uuid, name)
        assert found is None or found.requests == []
    assert len(caplog.records) <= 1
    assert all(f'of instance {A}, and of others' in line
               for line in caplog.messages)
