"""Answers of each driver, on each broker and database."""

import pytest

from nova_sched import exception
from tests.functional import conftest
from tests.functional import stage as stages

HOSTS = 20


@pytest.fixture(scope='module', params=conftest.BACKENDS)
def backend(request):
    return request.param


@pytest.fixture(scope='module', params=stages.DRIVERS)
def driver(request):
    return request.param


@pytest.fixture(scope='module')
def season(backend, driver, tmp_path_factory):
    """(stage, cloud of 20 hosts); the tests consume little of it."""
    with conftest.open_stage(tmp_path_factory.mktemp('season'),
                             backend) as stage:
        cloud = stage.cloud(HOSTS)
        stage.scheduler(scheduler__driver=driver)
        yield stage, cloud


@pytest.fixture
def caller(season):
    stage, _ = season
    with stage.scene():
        yield stage.client()


def test_instance_gets_a_host_and_two_alternates(season, caller):
    """All three are different hosts that are up and enabled."""
    _, cloud = season
    for _ in range(5):
        (chosen,) = stages.names(caller.ask())
        assert len(set(chosen)) == 3
        assert cloud.dead_host not in chosen
        assert cloud.disabled_host not in chosen
    assert [len(chosen) for chosen in caller.ask(alternates=False)] == [1]


def test_each_of_several_instances_gets_a_host(caller):
    """Alternates are hosts that no instance was given."""
    answer = caller.ask(count=4)
    assert len(answer) == 4
    for chosen in stages.names(answer):
        assert len(set(chosen)) == 3
        assert not set(chosen[1:]) & set(stages.picks(answer))


def test_refusal_counts_the_rejected_hosts(caller, driver):
    """Per filter with its reason, the filter of most hosts first."""
    if driver == stages.CHANCE:
        all_hosts = [f'fake-{number:04d}' for number in range(1, HOSTS + 1)]
        with pytest.raises(exception.NoValidHost,
                           match='Could not find another compute'):
            caller.ask(ignore_hosts=all_hosts)
        return
    with pytest.raises(exception.NoValidHost) as raised:
        caller.ask(memory_mb=999999, availability_zone='az1')
    assert str(raised.value) == (
        'No valid host was found. There are not enough hosts available. '
        "0 of 20 hosts: 13 AvailabilityZoneFilter (zone 'az1' requested), "
        '7 RamFilter (need 999999 MB)')
    with pytest.raises(exception.NoValidHost, match='No such host'):
        caller.ask(force_hosts=['elsewhere'])


def test_unknown_hints_are_ignored(caller):
    """A hint may be meant for an operator's own filter."""
    assert caller.pick(hints={'colour': ['green'], 'size': ['large']})
