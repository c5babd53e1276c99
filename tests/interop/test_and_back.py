"""From the real nova-scheduler to ours and back, with nothing done by hand.

Both have the same nova.conf: the same queues, host name, databases and
Placement.
"""

import concurrent.futures
import contextlib
import uuid

import kombu
import pytest
import sqlalchemy as sa

from nova_sched import context
from tests.builders import messages
from tests.builders import requests
from tests.functional import broker
from tests.functional import processes
from tests.interop import rig as rigs

pytestmark = pytest.mark.real

#: Seconds that a caller waits: as long as a nova-scheduler may take to start.
PATIENCE = 120
#: The exchange, and the [DEFAULT] host, of each scheduler.
IDENTITY = 'controller'
WAITING = 5


@pytest.fixture
def rig(tmp_path):
    """A cloud and a Placement, and no scheduler yet."""
    with rigs.Rig(tmp_path, [], '34') as rig:
        yield rig


@pytest.fixture
def callers():
    with concurrent.futures.ThreadPoolExecutor(WAITING) as pool:
        yield pool


def place(rig, held_by=None, **request):
    """Ask for one instance: (its uuid, host, provider's uuid).

    held_by: uuid of an instance that moves.
    """
    instance = held_by or str(uuid.uuid4())
    spec = requests.a_request(instance_uuid=instance, memory_mb=512,
                              root_gb=1, **request)
    [[selected, *_]] = messages.raw_client(
        rig.transport, exchange=IDENTITY, version='4.5').prepare(
            timeout=PATIENCE).call(
                context.RequestContext(user_id='u', project_id='p'),
                'select_destinations', instance_uuids=[instance],
                spec_obj=spec.obj_to_primitive(), return_objects=True,
                return_alternates=True)
    data = selected['nova_object.data']
    return instance, data['service_host'], data['compute_node_uuid']


def waiting(rig):
    """How many requests wait in the queue for whoever is free."""
    with kombu.Connection(broker.plain_url(rig.bus)) as connection:
        return connection.default_channel.queue_declare(
            'scheduler', passive=True).message_count


def record(rig):
    """The row of the one scheduler that there is: dict."""
    engine = sa.create_engine(rig.databases.urls['cell0'])
    with contextlib.closing(engine.connect()) as connection:
        row = connection.execute(sa.text(
            'SELECT * FROM services')).mappings().one()
    engine.dispose()
    return dict(row)


@contextlib.contextmanager
def serving(rig, name):
    """One of the schedulers, which is stopped at the end of the block."""
    scheduler = rig.start(name, IDENTITY, DEFAULT__report_interval=1)
    rig.wait_for(scheduler)
    yield scheduler
    status, _seconds = scheduler.stop()
    assert status == 0
    assert 'PRECONDITION_FAILED' not in scheduler.text


def evacuate(rig, instance, host, provider):
    """It holds what it held, and something of another host."""
    held = rig.placement.allocations(instance)
    _, there, other = place(rig, instance, ignore_hosts=[host])

    assert there != host
    assert rig.placement.allocations(instance) == {
        **held, other: held[provider]}


def resize(rig, instance, host, provider):
    """The migration holds the source, and the instance another host."""
    migration, held = str(uuid.uuid4()), rig.placement.allocations(instance)
    rig.placement.allocate(instance, {})
    rig.placement.allocate(migration, held)
    _, there, other = place(rig, instance, ignore_hosts=[host], vcpus=2)

    assert there != host
    assert rig.placement.allocations(instance) == {
        other: {**held[provider], 'VCPU': 2}}
    assert rig.placement.allocations(migration) == held


def beaten(rig, before):
    """The record, once it has more heartbeats than one of before."""
    return processes.until(
        lambda: (found := record(rig))
        and found['report_count'] > before['report_count'] and found,
        'heartbeats')


def test_each_takes_over_from_the_other_without_a_hand(rig, callers):
    """Requests that wait meanwhile are answered, what one has claimed the
    other moves, and there is one service record."""
    placed, calls, last = [], [], {'report_count': 0}
    for name, successor in (('nova', True), ('ours', True), ('nova', False)):
        with serving(rig, name):
            for call in calls:
                instance, _host, provider = call.result(PATIENCE)
                assert [*rig.placement.allocations(instance)] == [provider]
            for move, moving in zip((evacuate, resize), placed,
                                    strict=False):
                move(rig, *moving)
            placed = [place(rig) for _ in (evacuate, resize)]
            found = beaten(rig, last)
            assert {name for name in last if last[name] != found[name]} <= {
                'report_count', 'last_seen_up', 'updated_at'}
            last = found
        if successor:
            calls = [callers.submit(place, rig) for _ in range(WAITING)]
            processes.until(lambda: waiting(rig) == WAITING, 'calls wait')
