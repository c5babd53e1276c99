"""What a conductor and compute nodes live through with this scheduler.

On every pair of broker and database: daemons on the real ones, a scheduler
within this process on those in memory.
"""

import time

import pytest

from nova_sched import exception
from tests.builders import requests
from tests.functional import processes
from tests.functional import stage as stages

# Takes most of the memory of a host of tests.builders.clouds.
LARGE = {'memory_mb': 20000, 'vcpus': 2, 'root_gb': 20}
HOSTS = ['fake-0001', 'fake-0002', 'fake-0003', 'fake-0004']


def play(stage, driver):
    """(cloud of four equal hosts, caller), that driver between them."""
    cloud = stage.cloud(len(HOSTS), alike=True)
    stage.scheduler(scheduler__driver=driver,
                    scheduler__periodic_task_interval=1)
    return cloud, stage.client()


@pytest.mark.parametrize('driver', stages.DRIVERS[:2])
def test_what_was_booted_counts_in_the_next_answer(any_stage, driver):
    """Compute nodes fill up and report it until there is no more room.

    When one is freed again, it is chosen again.
    """
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

    # One that comes and goes between two reads counts for its lifetime.
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


@pytest.mark.parametrize('driver', stages.DRIVERS[:2])
def test_instances_of_a_request_take_what_is_left_by_those_before(
        any_stage, driver):
    """All of them get a host, or none does; a refusal consumes nothing."""
    _, caller = play(any_stage, driver)
    with pytest.raises(exception.NoValidHost,
                       match='4 of 5 instances could be placed'):
        caller.ask(count=5, **LARGE)
    assert sorted(stages.picks(caller.ask(count=4, **LARGE))) == HOSTS


@pytest.mark.parametrize('driver', stages.DRIVERS[:2])
def test_a_server_group_keeps_its_instances_apart(any_stage, driver):
    """Three at a time, and the fourth sees where the first three went.

    Its conductor does not say where they are, as Queens' ones do: they are
    looked up.
    """
    cloud, caller = play(any_stage, driver)
    answer = caller.ask(count=3, group={'hosts': []})
    members = caller.instances
    stages.boot(cloud, members, answer, requests.a_flavor())
    group = requests.a_group(members=members)
    group.hosts = None
    fourth = caller.pick(group=group)
    assert sorted([*stages.picks(answer), fourth]) == HOSTS


def test_hosts_that_die_are_chosen_no_more(any_stage):
    """Without heartbeats nothing is scheduled; with the next one it is."""
    cloud = any_stage.cloud(4, live=False, alike=True)
    any_stage.scheduler(DEFAULT__service_down_time=3,
                        DEFAULT__report_interval=1)
    caller = any_stage.client()
    assert processes.until(lambda: not _fits(caller, {}), 'they are down')
    # On a busy machine the next may be late.
    assert processes.until(lambda: cloud.heartbeat() and _fits(caller, {}),
                           'they are up')


@pytest.mark.real
def test_two_daemons_share_the_work(stage):
    """Both answer calls from the one queue; nobody is asked twice."""
    stage.cloud(8)
    daemons = [stage.daemon(name=name, DEFAULT__host=name)
               for name in ('first', 'second')]
    caller = stage.client()
    for future in caller.crowd(40, callers=8):
        assert future.result(processes.PATIENCE)
    served = processes.until(lambda: _served(daemons, 40), 'a line of each')
    assert sum(served) == 40
    assert min(served) > 0


def _served(daemons, count):
    """How many instances each has placed, if so many in all; else None."""
    served = [len(daemon.lines('instance(s) placed: ')) for daemon in daemons]
    return served if sum(served) >= count else None
