"""From the real nova-scheduler to nova-sched and back, without manual steps.

Both use the same nova.conf: the same queues, host name, databases and
Placement.
"""

import concurrent.futures
import contextlib
import uuid

import pytest
import sqlalchemy as sa

from nova_sched import context
from tests.builders import messages
from tests.builders import requests
from tests.functional import broker
from tests.functional import processes
from tests.interop import rig as rigs

pytestmark = pytest.mark.real

#: Seconds that a caller waits, longer than a start of nova-scheduler takes.
PATIENCE = 120
#: The exchange, and the [DEFAULT] host, of each scheduler.
IDENTITY = 'controller'
WAITING = 5


@pytest.fixture
def rig(tmp_path):
    """A cloud and a Placement, without a scheduler."""
    with rigs.Rig(tmp_path, [], '34') as rig:
        yield rig


@pytest.fixture
def callers():
    with concurrent.futures.ThreadPoolExecutor(WAITING) as pool:
        yield pool


def place(rig, held_by=None, **request):
    """Call for one instance: (its uuid, host, provider's uuid).

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
    """The number of messages in the shared queue."""
    with broker.channel(rig.bus) as channel:
        return channel.queue_declare('scheduler', passive=True).message_count


def record(rig):
    """The row of the only service record: dict."""
    engine = sa.create_engine(rig.databases.urls['cell0'])
    with contextlib.closing(engine.connect()) as connection:
        row = connection.execute(sa.text(
            'SELECT * FROM services')).mappings().one()
    engine.dispose()
    return dict(row)


@contextlib.contextmanager
def serving(rig, name):
    """A scheduler for a block."""
    scheduler = rig.start(name, IDENTITY, DEFAULT__report_interval=1)
    rig.wait_for(scheduler)
    yield scheduler
    status, _seconds = scheduler.stop()
    assert status == 0
    assert 'PRECONDITION_FAILED' not in scheduler.text


def evacuate(rig, instance, host, provider):
    """Check an evacuation: the instance holds both hosts."""
    held = rig.placement.allocations(instance)
    _, there, other = place(rig, instance, ignore_hosts=[host])

    assert there != host
    assert rig.placement.allocations(instance) == {
        **held, other: held[provider]}


def resize(rig, instance, host, provider):
    """Check a resize: the migration holds the source host."""
    migration, held = str(uuid.uuid4()), rig.placement.allocations(instance)
    rig.placement.allocate(instance, {})
    rig.placement.allocate(migration, held)
    _, there, other = place(rig, instance, ignore_hosts=[host], vcpus=2)

    assert there != host
    assert rig.placement.allocations(instance) == {
        other: {**held[provider], 'VCPU': 2}}
    assert rig.placement.allocations(migration) == held


def beaten(rig, before):
    """Wait until a record has more heartbeats than before; return it."""
    return processes.until(
        lambda: (found := record(rig))
        and found['report_count'] > before['report_count'] and found,
        'heartbeats')


def test_schedulers_take_over_from_each_other(rig, callers):
    """Waiting requests are answered, claims of the other scheduler can be
    moved, and there is one service record.
    """
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
