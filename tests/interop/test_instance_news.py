"""An instance appears, moves and disappears: schedulers pick the same hosts.

Beside nova-sched run two nova-schedulers: one tracks instances by the casts
of compute services, the other reads the database at each request
(track_instance_changes).  Compute services write first and cast then; casts
do not change what nova-sched knows.
"""

import copy

import pytest
import sqlalchemy as sa

from nova_sched import context
from nova_sched import objects
from tests.builders import clouds
from tests.builders import messages
from tests.builders import requests
from tests.functional import captures
from tests.functional.processes import until
from tests.interop import generate
from tests.interop import rig as rigs
from tests.interop import rig_providers

pytestmark = pytest.mark.real

NEW = clouds.a_uuid(77)
HOME, NEXT = 'ssd-a', 'ssd-b'
CELL = 'cell2'
#: So that no other weigher decides the order of hosts.
OPTIONS = {f'filter_scheduler__soft_{policy}_weight_multiplier': 1000
           for policy in ('affinity', 'anti_affinity')}
#: Requests whose answer depends on the instance, by kind.
REQUESTS = {
    'same_host': {'hints': {'same_host': [NEW]}},
    'different_host': {'hints': {'different_host': [NEW]}},
    **{policy: {'group': {'policy': policy, 'members': [NEW]}}
       for policy in ('anti-affinity', 'soft-affinity',
                      'soft-anti-affinity')}}


@pytest.fixture
def rig(tmp_path):
    with rigs.Rig(tmp_path, [], 'instances') as rig:
        yield rig


class Schedulers:
    """The three schedulers, and a cell's compute services."""

    def __init__(self, rig):
        self._rig = rig
        self.tracking, self.asking, self.ours = self.all = [
            rig.start(name, filter_scheduler__track_instance_changes=tracks,
                      **OPTIONS)
            for name, tracks in (('nova', True), ('nova', False),
                                 ('ours', True))]
        for scheduler in self.all:
            rig.wait_for(scheduler)
        self._cell = sa.create_engine(rig.databases.urls[CELL])

    def close(self):
        self._cell.dispose()

    def write(self, statement, **values):
        with self._cell.begin() as connection:
            connection.execute(sa.text(statement), values)

    def tell(self, method, **args):
        """Cast to all schedulers, as a compute service does."""
        for scheduler in self.all:
            messages.raw_client(
                self._rig.transport, version='4.2', fanout=True,
                exchange=scheduler.exchange).cast(
                    context.get_admin_context(), method, **args)

    def hosts(self, scheduler, group=None, **wanted):
        """Names of all fitting hosts of the cell, best first.

        group: keywords of a_group.  Each call has a group of its own, because
        its instances are never built.
        """
        uuid = clouds.a_uuid()
        if group:
            wanted['group'] = group | {'uuid': clouds.a_uuid()}
        spec = requests.a_request(
            memory_mb=64, instance_uuid=uuid,
            requested_destination=requests.a_destination(
                cell=objects.CellMapping(**self._rig.cells[CELL])), **wanted)
        question = generate.Question('', spec.obj_to_primitive(), [uuid], {})
        _refused, answer = self._rig.call(scheduler, question)
        rig_providers.forget(self._rig.placement, question.consumers)
        return [selection['nova_object.data']['service_host']
                for chosen in answer for selection in chosen]

    def choices(self, scheduler, host):
        """The hosts for each kind of request: name -> host names.

        host: of the instance, or None; then soft groups have no effect.
        """
        found = {name: self.hosts(scheduler, **wanted)
                 for name, wanted in REQUESTS.items()
                 if host or not name.startswith('soft')}
        return {name: names[:1] if name == 'soft-affinity'
                else names[-1:] if name == 'soft-anti-affinity'
                else sorted(names) for name, names in found.items()}

    def check(self, host):
        """Check the picks of all schedulers for the instance's host."""
        every = sorted(self.hosts(self.ours))
        others = sorted({*every} - {host})
        wanted = {'same_host': [host] if host else [],
                  'different_host': others, 'anti-affinity': others}
        if host:
            wanted |= {'soft-affinity': [host], 'soft-anti-affinity': [host]}
        assert len(every) > 2
        assert self.choices(self.ours, host) == wanted
        assert self.choices(self.asking, host) == wanted
        until(lambda: self.choices(self.tracking, host) == wanted,
              'the casts have arrived')


@pytest.fixture
def schedulers(rig):
    schedulers = Schedulers(rig)
    yield schedulers
    schedulers.close()


def an_instance(uuid, host):
    """The primitive that a compute service sends of an instance."""
    sent = copy.deepcopy(captures.load('34-info-update-instance-info')[
        'request']['decoded']['oslo.message']['args']['instance_info'])
    [instance] = sent['nova_object.data']['objects'][:1]
    instance['nova_object.data'] |= {'uuid': uuid, 'host': host}
    sent['nova_object.data']['objects'] = [instance]
    return sent


def test_schedulers_pick_by_the_current_host_of_an_instance(schedulers):
    """The tracking nova-scheduler does so after the casts."""
    schedulers.check(None)

    schedulers.write(
        'INSERT INTO instances (uuid, host, node, vm_state, deleted) '
        'VALUES (:uuid, :host, :host, :state, 0)',
        uuid=NEW, host=HOME, state='active')
    schedulers.tell('update_instance_info', host_name=HOME,
                    instance_info=an_instance(NEW, HOME))
    schedulers.check(HOME)

    schedulers.write('UPDATE instances SET host = :host WHERE uuid = :uuid',
                     uuid=NEW, host=NEXT)
    for host, uuids in ((HOME, []), (NEXT, [NEW])):
        schedulers.tell('sync_instance_info', host_name=host,
                        instance_uuids=uuids)
    schedulers.check(NEXT)

    schedulers.write('UPDATE instances SET deleted = id WHERE uuid = :uuid',
                     uuid=NEW)
    schedulers.tell('delete_instance_info', host_name=NEXT,
                    instance_uuid=NEW)
    schedulers.check(None)
