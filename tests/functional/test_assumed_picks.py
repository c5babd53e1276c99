"""A burst on a real broker and database: no host is promised twice.

By whichever worker of the service.
"""

import concurrent.futures
import threading
import time
import uuid

import pytest
import sqlalchemy as sa

from nova_sched import exception
from nova_sched.db import tables
from tests.builders import clouds
from tests.builders import requests
from tests.functional.stage import CACHING
from tests.functional.stage import FILTER

pytestmark = pytest.mark.real

HOSTS, SLOTS, CALLS, CALLERS = 20, 8, 190, 16
SIZE = 1000     # MB of an instance
#: Seconds after which a compute service has taken what was placed on it.
CLAIM = 0.05


class Compute:
    """Compute services: an instance gets its host, and usage is reported.

    As in Nova, one after the other; what does not fit is refused.
    """

    def __init__(self, engine):
        self._engine, self.refused = engine, []

    def take(self, instance_uuid, host):
        time.sleep(CLAIM)
        node = tables.compute_nodes
        with self._engine.begin() as connection:
            [free] = connection.execute(
                sa.select(node.c.free_ram_mb).where(node.c.host == host)
                .with_for_update()).one()
            if free < SIZE:
                self.refused.append(host)
                return
            connection.execute(tables.instances.insert(), {
                'uuid': instance_uuid, 'host': host, 'node': host,
                'vm_state': 'building', 'deleted': 0})
            connection.execute(
                node.update().where(node.c.host == host).values(
                    free_ram_mb=node.c.free_ram_mb - SIZE,
                    updated_at=sa.func.now()))


@pytest.fixture(params=[(FILTER, 1), (FILTER, 4), (CACHING, 4)],
                ids=lambda param: f'{param[0]}-{param[1]}')
def crowd(request, stage):
    """(Function that places an instance and has it taken, function that
    returns the Compute once it has taken all)."""
    stage.load(clouds.a_cloud(
        [f'h{number:02}' for number in range(HOSTS)],
        compute_nodes=[clouds.a_compute_node(
            f'h{number:02}', memory_mb=SIZE * SLOTS,
            free_ram_mb=SIZE * SLOTS) for number in range(HOSTS)]))
    driver, workers = request.param
    stage.daemon(workers, scheduler__driver=driver,
                 scheduler__periodic_task_interval=1,
                 DEFAULT__service_down_time=10 ** 9)
    caller, compute = stage.client(), Compute(stage.engine())
    taking = []

    def place(instance_uuid, **wanted):
        [[selected, *_]] = caller.place(requests.a_request(
            memory_mb=SIZE, instance_uuid=instance_uuid, **wanted))
        thread = threading.Thread(target=compute.take, args=(
            instance_uuid, selected.service_host))
        thread.start()
        taking.append(thread)
        return selected.service_host

    def taken():
        for thread in taking:
            thread.join()
        return compute

    yield place, taken
    taken()


def test_no_first_choice_of_a_burst_is_refused(crowd):
    place, taken = crowd
    with concurrent.futures.ThreadPoolExecutor(CALLERS) as pool:
        calls = [pool.submit(place, str(uuid.uuid4())) for _ in range(CALLS)]
    refused = [call for call in calls if call.exception()]

    assert taken().refused == []
    assert {type(call.exception()) for call in refused} == {
        exception.NoValidHost}
    assert len(refused) == CALLS - HOSTS * SLOTS


def test_members_of_a_group_that_come_at_once_keep_apart(crowd):
    place, _ = crowd
    members = [str(uuid.uuid4()) for _ in range(SLOTS)]
    with concurrent.futures.ThreadPoolExecutor(SLOTS) as pool:
        hosts = list(pool.map(lambda member: place(
            member, group={'policy': 'anti-affinity', 'members': members}),
            members))

    assert len(set(hosts)) == SLOTS
