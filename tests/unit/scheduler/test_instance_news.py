"""What compute services tell of their instances, and what decisions know.

Nova keeps the instances of each host and has compute services tell of every
change; with track_instance_changes off it asks the database at each request.
Here it is the database either way, so a decision is as Nova's is when all it
was told has arrived.
"""

import pytest

from nova_sched import context
from nova_sched import exception
from nova_sched import objects
from tests.builders import drivers
from tests.builders import instance_rules
from tests.builders import requests
from tests.builders.instance_rules import NODES
from tests.builders.instance_rules import OTHER
from tests.builders.instance_rules import OURS
from tests.builders.instance_rules import RULES
from tests.builders.instance_rules import THEIRS
from tests.builders.instance_rules import ask_for_other
from tests.builders.instance_rules import one_that_sends_to_b

CONTEXT = context.RequestContext()


@pytest.fixture(params=RULES)
def rule(request):
    return RULES[request.param]


@pytest.fixture(params=[True, False], ids='track={}'.format)
def track(request):
    return request.param


class Computes:
    """Compute services of the hosts a and b, and the scheduler they tell.

    told: whether what they tell arrives.
    """

    def __init__(self, cloud, options, told=True):
        self._cloud, self._told = cloud, told
        self.scheduler = drivers.door(cloud.driver(**options))

    def tell(self, method, **args):
        if self._told:
            assert getattr(self.scheduler, method)(CONTEXT, **args) is None

    def tell_of(self, uuid, host):
        """That an instance is on a host, whatever the database says."""
        self.tell('update_instance_info', host_name=host,
                  instance_info=objects.InstanceList(objects=[
                      objects.Instance(uuid=uuid, host=host)]
                  ).obj_to_primitive())

    def boot(self, uuid, host):
        """An instance comes up on a host."""
        self._cloud.execute(
            'INSERT INTO instances (uuid, host, node, instance_type_id, '
            'deleted) VALUES (?, ?, ?, ?, 0)', uuid, host, host, THEIRS)
        self._cloud.execute(
            'INSERT INTO instance_system_metadata (instance_uuid, "key", '
            "value, deleted) VALUES (?, 'image_os_distro', 'debian', 0)",
            uuid)
        self.tell_of(uuid, host)

    def move(self, uuid, host, to):
        """It goes to another host, of which only later rounds tell."""
        self._cloud.execute('UPDATE instances SET host = ? WHERE uuid = ?',
                            to, uuid)
        self.tell('sync_instance_info', host_name=host, instance_uuids=[])
        self.tell('sync_instance_info', host_name=to, instance_uuids=[uuid])

    def delete(self, uuid, host):
        self._cloud.execute('UPDATE instances SET deleted = id '
                            'WHERE uuid = ?', uuid)
        self.tell('delete_instance_info', host_name=host, instance_uuid=uuid)

    def pick(self, rule, **request):
        """The host that a request to which a rule matters gets, or None."""
        try:
            [host] = drivers.picks(self.scheduler.driver, requests.a_request(
                flavor=requests.a_flavor(id=OURS), **rule.request, **request))
        except exception.NoValidHost:
            return None
        return host


@pytest.fixture
def hosts(cloud):
    return instance_rules.load(cloud)


@pytest.fixture
def computes(hosts, rule, track):
    return without_memory(hosts, rule, track_instance_changes=track)


def without_memory(hosts, rule, told=True, **options):
    """Computes; of what is asked for, which nobody builds, nothing is kept."""
    return Computes(hosts, {**rule.options, **options,
                            'nova_sched__pick_lifetime': 0}, told)


def test_an_instance_that_appears_counts(computes, rule):
    assert computes.pick(rule) == rule.alone

    computes.boot(OTHER, one_that_sends_to_b(rule))

    assert computes.pick(rule) == 'b'


def test_an_instance_that_leaves_counts_no_more(computes, rule):
    host = one_that_sends_to_b(rule)
    computes.boot(OTHER, host)
    assert computes.pick(rule) == 'b'

    computes.delete(OTHER, host)

    assert computes.pick(rule) == rule.alone


def test_an_instance_that_moves_counts_where_it_is(computes, rule):
    """Nova learns it when both hosts are next compared with what it knows."""
    to = one_that_sends_to_b(rule)
    host, = {*NODES} - {to}
    computes.boot(OTHER, host)
    assert computes.pick(rule) == 'a'

    computes.move(OTHER, host, to)

    assert computes.pick(rule) == 'b'


def test_what_is_told_changes_nothing_that_the_database_does_not_show(
        hosts, rule):
    """A service tells what it has written; a late word is not the news."""
    computes = without_memory(hosts, rule)
    computes.tell_of(OTHER, one_that_sends_to_b(rule))
    assert computes.pick(rule) == rule.alone

    computes.boot(OTHER, one_that_sends_to_b(rule))
    for host in NODES:
        computes.tell('delete_instance_info', host_name=host,
                      instance_uuid=OTHER)
        computes.tell('sync_instance_info', host_name=host,
                      instance_uuids=[])

    assert computes.pick(rule) == 'b'


def test_a_word_that_is_lost_changes_nothing(hosts, rule):
    """Nova goes on with what it knows until the next comparison."""
    computes = without_memory(hosts, rule, told=False)
    host = one_that_sends_to_b(rule)

    computes.boot(OTHER, host)
    assert computes.pick(rule) == 'b'

    computes.delete(OTHER, host)
    assert computes.pick(rule) == rule.alone


def test_junk_does_no_harm(hosts, rule):
    computes = without_memory(hosts, rule)
    computes.boot(OTHER, one_that_sends_to_b(rule))
    for junk in (None, 5, [], [None], {'nova_object.name': 'InstanceList'},
                 {'nova_object.data': {}}, 'b', 'x' * 10 ** 5):
        computes.tell('update_instance_info', host_name=junk,
                      instance_info=junk)
        computes.tell('delete_instance_info', host_name='a',
                      instance_uuid=junk)
        computes.tell('sync_instance_info', host_name='b',
                      instance_uuids=junk)

    assert computes.pick(rule) == 'b'


def test_an_instance_that_was_placed_counts_before_anybody_tells(
        hosts, rule):
    """Unless it is about what only its database has."""
    computes = Computes(hosts, rule.options)

    ask_for_other(computes.scheduler.driver, rule, one_that_sends_to_b(rule))

    assert computes.pick(rule) == ('b' if rule.placed else 'a')
