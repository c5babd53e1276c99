"""Stories of conductors and compute nodes with this scheduler.

Daemons run on real brokers and databases; in memory the scheduler runs in
this process.
"""

import time

import pytest

from nova_sched import exception
from tests.builders import requests
from tests.functional import processes
from tests.functional import stage as stages

# Most of the memory of a host of tests.builders.clouds.
LARGE = {'memory_mb': 20000, 'vcpus': 2, 'root_gb': 20}
HOSTS = ['fake-0001', 'fake-0002', 'fake-0003', 'fake-0004']


def play(stage, driver):
    """(cloud of four equal hosts, caller of a scheduler with a driver)."""
    cloud = stage.cloud(len(HOSTS), alike=True)
    stage.scheduler(scheduler__driver=driver,
                    scheduler__periodic_task_interval=1)
    return cloud, stage.client()


@pytest.mark.parametrize('driver', stages.DRIVERS[:2])
def test_booted_instances_count_until_they_are_deleted(any_stage, driver):
    """Each of four hosts gets one; then a request is refused."""
    cloud, caller = play(any_stage, driver)
    instances = {}
    for _ in HOSTS:
        answer = caller.ask(**LARGE)
        stages.boot(cloud, caller.instances, answer,
                    requests.a_flavor(**LARGE))
        instances[stages.picks(answer)[0]] = caller.instances[0]
    assert sorted(instances) == HOSTS
    with pytest.raises(exception.NoValidHost,
                       match='0 of 4 hosts: 4 RamFilter'):
        caller.ask(**LARGE)

    # An instance that no read ever shows would count for its lifetime.
    time.sleep(1.5)
    cloud.delete(instances['fake-0003'])
    cloud.audit()
    assert processes.until(
        lambda: _fits(caller), 'a host is free again') == 'fake-0003'


def _fits(caller, wanted=LARGE):
    try:
        return caller.pick(**wanted)
    except exception.NoValidHost:
        return None


def test_hosts_without_heartbeats_are_not_picked(any_stage):
    """With the next heartbeat they are."""
    cloud = any_stage.cloud(4, live=False, alike=True)
    any_stage.scheduler(DEFAULT__service_down_time=3,
                        DEFAULT__report_interval=1)
    caller = any_stage.client()
    assert processes.until(lambda: not _fits(caller, {}), 'they are down')
    # On a busy machine a heartbeat may be late.
    assert processes.until(lambda: cloud.heartbeat() and _fits(caller, {}),
                           'they are up')
