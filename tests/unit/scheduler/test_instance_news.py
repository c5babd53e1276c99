"""Reports of compute services about instances, and decisions.

Nova keeps the instances of each host, and compute services report every
change; with track_instance_changes off it queries the database at each
request.  This scheduler always queries the database, so it decides as Nova
does after all reports have arrived.
"""

import pytest

from nova_sched import context
from nova_sched import exception
from nova_sched import objects
from tests.builders import drivers
from tests.builders import instance_rules
from tests.builders import requests
from tests.builders.instance_rules import OTHER
from tests.builders.instance_rules import OURS
from tests.builders.instance_rules import THEIRS
from tests.builders.instance_rules import ask_for_other
from tests.builders.instance_rules import one_that_sends_to_b

CONTEXT = context.RequestContext()


@pytest.fixture(params=instance_rules.RULES)
def rule(request):
    return instance_rules.RULES[request.param]


class Computes:
    """Compute services of the hosts a and b, and the scheduler.

    reports: whether their reports arrive.
    """

    def __init__(self, cloud, options, reports=True):
        self._cloud, self._told = cloud, reports
        self.scheduler = drivers.door(cloud.driver(**options))

    def report(self, method, **args):
        if self._told:
            assert getattr(self.scheduler, method)(CONTEXT, **args) is None

    def report_instance(self, uuid, host):
        """Report that an instance is on a host."""
        self.report('update_instance_info', host_name=host,
                  instance_info=objects.InstanceList(objects=[
                      objects.Instance(uuid=uuid, host=host)]
                  ).obj_to_primitive())

    def boot(self, uuid, host):
        """Start an instance on a host."""
        self._cloud.execute(
            'INSERT INTO instances (uuid, host, node, instance_type_id, '
            'deleted) VALUES (?, ?, ?, ?, 0)', uuid, host, host, THEIRS)
        self._cloud.execute(
            'INSERT INTO instance_system_metadata (instance_uuid, "key", '
            "value, deleted) VALUES (?, 'image_os_distro', 'debian', 0)",
            uuid)
        self.report_instance(uuid, host)

    def delete(self, uuid, host):
        self._cloud.execute('UPDATE instances SET deleted = id '
                            'WHERE uuid = ?', uuid)
        self.report('delete_instance_info', host_name=host, instance_uuid=uuid)

    def pick(self, rule, **request):
        """The host of a request to which a rule applies, or None."""
        try:
            [host] = drivers.picks(self.scheduler.driver, requests.a_request(
                flavor=requests.a_flavor(id=OURS), **rule.request, **request))
        except exception.NoValidHost:
            return None
        return host


@pytest.fixture
def hosts(cloud):
    return instance_rules.load(cloud)


def without_memory(hosts, rule, reports=True, **options):
    """Computes; picks, which are not built, expire at once."""
    return Computes(hosts, {**rule.options, **options,
                            'nova_sched__pick_lifetime': 0}, reports)


@pytest.mark.parametrize('track', [True, False])
@pytest.mark.parametrize('reports', [True, False])
def test_an_instance_counts_on_its_current_host(hosts, rule, track, reports):
    """Also without reports."""
    computes = without_memory(hosts, rule, reports,
                              track_instance_changes=track)
    to = one_that_sends_to_b(rule)
    host, = {*instance_rules.NODES} - {to}
    assert computes.pick(rule) == rule.alone

    computes.boot(OTHER, host)
    assert computes.pick(rule) == 'a'

    hosts.execute('UPDATE instances SET host = ? WHERE uuid = ?', to, OTHER)
    for name, uuids in ((host, []), (to, [OTHER])):
        computes.report('sync_instance_info', host_name=name,
                      instance_uuids=uuids)
    assert computes.pick(rule) == 'b'

    computes.delete(OTHER, to)
    assert computes.pick(rule) == rule.alone


def test_reports_that_the_database_does_not_show_are_ignored(hosts, rule):
    """Services report their writes; a late report is outdated."""
    computes = without_memory(hosts, rule)
    computes.report_instance(OTHER, one_that_sends_to_b(rule))
    assert computes.pick(rule) == rule.alone

    computes.boot(OTHER, one_that_sends_to_b(rule))
    for host in instance_rules.NODES:
        computes.report('delete_instance_info', host_name=host,
                      instance_uuid=OTHER)
        computes.report('sync_instance_info', host_name=host,
                      instance_uuids=[])

    assert computes.pick(rule) == 'b'


def test_a_picked_instance_counts_before_any_report(hosts, rule):
    """Except for rules about attributes that only the database has."""
    computes = Computes(hosts, rule.options)

    ask_for_other(computes.scheduler.driver, rule, one_that_sends_to_b(rule))

    assert computes.pick(rule) == ('b' if rule.placed else 'a')
