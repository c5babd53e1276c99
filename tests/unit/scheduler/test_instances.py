"""Where instances run is asked for at most once, and only when wanted."""

from nova_sched.scheduler import instances


class Asked:
    """Instances u1 and u2 on a, u3 on b; writes down what it is asked."""

    HOSTS = {'u1': 'a', 'u2': 'a', 'u3': 'b'}

    def __init__(self):
        self.located, self.listed = [], 0

    def locate(self, uuids):
        self.located.append(list(uuids))
        return {uuid: self.HOSTS[uuid] for uuid in uuids
                if uuid in self.HOSTS}

    def on_hosts(self):
        self.listed += 1
        return [{'uuid': uuid, 'host': host, 'vcpus': 2}
                for uuid, host in self.HOSTS.items()]


def made(placed=None):
    asked = Asked()
    return instances.Instances(asked.locate, asked.on_hosts, placed), asked


class TestLocated:
    def test_are_those_on_a_host(self):
        found, _ = made()

        assert found.located(['u1', 'u3', 'u9']) == {'u1': 'a', 'u3': 'b'}

    def test_are_asked_for_once(self):
        found, asked = made()
        for uuids in (['u1', 'u9'], ['u1', 'u9'], ['u9', 'u3']):
            found.located(uuids)

        assert asked.located == [['u1', 'u9'], ['u3']]

    def test_of_nobody_asks_nobody(self):
        found, asked = made()

        assert found.located([]) == {}
        assert asked.located == []

    def test_are_where_they_were_just_placed(self):
        """The database may not show it yet, or show where they were."""
        found, _ = made(placed={'u1': 'c', 'u9': 'd'})
        found.place('u3', 'e')

        assert found.located(['u1', 'u2', 'u3', 'u9']) == {
            'u1': 'c', 'u2': 'a', 'u3': 'e', 'u9': 'd'}

    def test_do_not_change_what_they_were_made_from(self):
        placed = {'u9': 'd'}
        found, _ = made(placed=placed)
        found.place('u3', 'e')

        assert placed == {'u9': 'd'}


class TestOnHost:
    def test_are_objects_by_uuid(self):
        found, _ = made()

        assert list(found.on_host('a')) == ['u1', 'u2']
        assert found.on_host('a')['u1'].vcpus == 2
        assert found.on_host('c') == {}

    def test_are_listed_once_for_all_hosts(self):
        found, asked = made()
        for host in 'abc':
            found.on_host(host)

        assert asked.listed == 1

    def test_are_a_new_dict_each_time(self):
        found, _ = made()
        found.on_host('a').clear()

        assert len(found.on_host('a')) == 2

    def test_gain_those_just_placed(self):
        found, _ = made()
        found.place('u9', 'b')

        assert list(found.on_host('b')) == ['u3', 'u9']

    def test_are_on_both_hosts_while_they_move(self):
        """Until the database no longer has them where they were."""
        found, _ = made()
        found.place('u1', 'b')

        assert list(found.on_host('a')) == ['u1', 'u2']
        assert list(found.on_host('b')) == ['u3', 'u1']
