"""A burst on a real broker and database: no room is given away twice."""

import concurrent.futures
import os
import random
import re
import signal
import threading
import time
import uuid

import oslo_messaging
import pytest
import sqlalchemy as sa

from nova_sched import exception
from nova_sched.db import tables
from nova_sched.inventory import ledger
from tests.builders import clouds
from tests.builders import requests
from tests.functional import processes
from tests.functional.stage import CACHING
from tests.functional.stage import FILTER

pytestmark = pytest.mark.real

HOSTS, SLOTS, CALLS, CALLERS = 20, 8, 190, 16
SIZE = 1000     # MB of an instance
#: Calls of a burst, and workers killed in it.
BURST, KILLS = 120, 4
#: Seconds that callers wait for an answer.
ANSWER = 5
#: Seconds until a compute service has claimed an instance.
CLAIM = 0.05


class Compute:
    """Compute services: they claim an instance and report the usage.

    As in Nova they work in sequence, and refuse what does not fit.
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

    def free(self):
        """The number of instances that all hosts report room for."""
        with self._engine.connect() as connection:
            free_mb = connection.scalars(
                sa.select(tables.compute_nodes.c.free_ram_mb)).all()
        return sum(free_mb) // SIZE


class Crowd:
    """Callers of a service, and compute services that build instances."""

    def __init__(self, stage, workers, **options):
        stage.load(clouds.a_cloud(
            [f'h{number:02}' for number in range(HOSTS)],
            compute_nodes=[clouds.a_compute_node(
                f'h{number:02}', memory_mb=SIZE * SLOTS,
                free_ram_mb=SIZE * SLOTS) for number in range(HOSTS)]))
        self._stage, self._options = stage, {
            'scheduler__workers': workers,
            'DEFAULT__service_down_time': 10 ** 9, **options}
        self.daemon = stage.start(**self._options)
        self.daemon.wait_for_lines('Serving requests', times=workers)
        self.daemon.wait_for_messenger()
        self.caller = stage.client()
        self._compute, self._taking = Compute(stage.engine()), []
        self._workers, self._killed = workers, set()

    def place(self, instance_uuid, is_built=True, **wanted):
        """Call for a host; if is_built, its compute service builds there."""
        [[selected, *_]] = self.caller.place(requests.a_request(
            memory_mb=SIZE, instance_uuid=instance_uuid, **wanted))
        if is_built:
            thread = threading.Thread(target=self._compute.take, args=(
                instance_uuid, selected.service_host))
            thread.start()
            self._taking.append(thread)
        return selected.service_host

    def taken(self):
        """The Compute, once it has built all instances."""
        for thread in self._taking:
            thread.join()
        return self._compute

    def kill(self):
        """Kill a random worker that was not killed before."""
        victim = random.choice([pid for pid in self.daemon.workers
                                if pid not in self._killed])
        self._killed.add(victim)
        os.kill(victim, signal.SIGKILL)

    def reload(self, **options):
        """Have the service reload with these options, too."""
        self._stage.config_file(**self._options, **options)
        self.daemon.signal(signal.SIGHUP)
        self.daemon.wait_for_lines('Configuration read again', times=len(
            self._serving()))

    def free(self):
        """The number of instances that each worker sees room for: set.

        After a worker's first read an instance may count twice for a moment.
        """
        self._free()
        time.sleep(ledger.GRACE)
        return {*self._free().values()}

    def _free(self):
        workers, seen = self._serving(), {}
        while seen.keys() != workers:
            request_id = f'req-{uuid.uuid4()}'
            with pytest.raises(exception.NoValidHost):
                self.caller.ask(memory_mb=SIZE, count=HOSTS * SLOTS + 1,
                                request_id=request_id)
            [line] = self.daemon.wait_for_lines(
                f'{request_id} - - - - - -] Request for ')
            seen[_pid(line)] = int(re.search(
                r'refused: (\d+) of', line).group(1))
        return seen

    def _serving(self):
        """Wait until all workers serve: their process ids."""
        def serving():
            found = {_pid(line) for line
                     in self.daemon.lines('Serving requests')} - self._killed
            return len(found) == self._workers and found
        return processes.until(serving, 'all workers serve')


def _pid(line):
    """The process id in a log line."""
    return int(line.split()[2])


@pytest.fixture(params=[(FILTER, 1), (FILTER, 4), (CACHING, 4)],
                ids=lambda param: f'{param[0]}-{param[1]}')
def crowd(request, stage):
    driver, workers = request.param
    found = Crowd(stage, workers, scheduler__driver=driver,
                  scheduler__periodic_task_interval=1)
    yield found
    found.taken()


def test_no_first_choice_of_a_burst_is_refused(crowd):
    with concurrent.futures.ThreadPoolExecutor(CALLERS) as pool:
        calls = [pool.submit(crowd.place, str(uuid.uuid4()))
                 for _ in range(CALLS)]
    refused = [call for call in calls if call.exception()]

    assert crowd.taken().refused == []
    assert {type(call.exception()) for call in refused} == {
        exception.NoValidHost}
    assert len(refused) == CALLS - HOSTS * SLOTS


def test_picks_of_killed_workers_count_for_their_lifetime(stage):
    """In each worker and in the replacements of killed workers.

    Callers of a killed worker may time out although it assumed a pick.
    """
    crowd = Crowd(stage, workers=4)
    crowd.caller = stage.client(DEFAULT__long_rpc_timeout=ANSWER)
    with concurrent.futures.ThreadPoolExecutor(CALLERS) as pool:
        calls = [pool.submit(crowd.place, str(uuid.uuid4()),
                             is_built=number % 2)
                 for number in range(BURST)]
        for number in range(KILLS):
            calls[BURST * number // KILLS].exception()
            time.sleep(random.uniform(0, 0.1))
            crowd.kill()
    lost = [call for call in calls if call.exception()]
    assert {type(call.exception()) for call in lost} <= {
        oslo_messaging.MessagingTimeout}
    assert crowd.taken().refused == []

    [free] = crowd.free()
    assert 0 <= free - (HOSTS * SLOTS - BURST) <= len(lost)
    crowd.reload(nova_sched__pick_lifetime=1)
    crowd.kill()
    time.sleep(1)
    assert crowd.free() == {crowd.taken().free()}
