"""Limits of one request: instances, sizes, and processor time."""

import json

import oslo_messaging as messaging
import pytest

from nova_sched import context
from nova_sched import exception
from nova_sched.hosts import budget
from nova_sched.hosts import decision
from nova_sched.objects import bounds
from nova_sched.scheduler import filters
from nova_sched.scheduler import manager
from tests.builders import clouds
from tests.builders import drivers
from tests.builders import requests
from tests.builders import rules
from tests.builders.hosts import a_host
from tests.builders.placement import Placement

UUIDS = [clouds.a_uuid(number) for number in range(4)]
CONTEXT = context.RequestContext()
DRIVERS = ['filter_scheduler', 'caching_scheduler', 'chance_scheduler']


def ask(door, count=2, **spec):
    """The answer to a request for so many instances."""
    return door.select_destinations(
        CONTEXT, spec_obj=requests.a_request(**spec).obj_to_primitive(),
        instance_uuids=UUIDS[:count], return_objects=True)


def refusal(door, *args, **kwargs):
    """The reason a request is refused for."""
    with pytest.raises(messaging.ExpectedException) as caught:
        ask(door, *args, **kwargs)
    kind, error, _ = caught.value.exc_info
    assert kind is exception.InvalidInput
    [record] = door.recorder.decisions
    assert record.outcome == decision.REFUSED
    return error.kwargs['reason']


def limited(driver, **limits):
    """The endpoint of a driver, with limits."""
    return drivers.door(driver, limits=manager.Limits(**limits))


@pytest.fixture
def driver(cloud):
    """Function: the driver of that name, on two hosts."""
    def made(name):
        cloud.load(['a', 'b'])
        return cloud.driver(name)
    return made


@pytest.mark.parametrize('name', DRIVERS)
def test_too_many_instances_are_refused(driver, name):
    door = limited(driver(name), instances=2)
    ask(door)
    door = limited(driver(name), instances=2)

    assert refusal(door, 3) == (
        'the request: 3 instances, and at most 2 are allowed by '
        '[nova_sched] max_instances_per_request')
    # Callers without uuids have a number of instances.
    with pytest.raises(messaging.ExpectedException) as caught:
        door.select_destinations(CONTEXT, spec_obj=requests.a_request(
            num_instances=3).obj_to_primitive())
    assert 'max_instances_per_request' in str(caught.value.exc_info[1])


@pytest.mark.parametrize('field, spec', [
    ('ignore_hosts', {'ignore_hosts': ['x'] * 3}),
    ('force_hosts', {'force_hosts': ['x'] * 3}),
    ('force_nodes', {'force_nodes': ['x'] * 3}),
    ('instance_group.members', {'group': {
        'policy': 'affinity', 'members': ['x'] * 3, 'hosts': []}}),
    ('instance_group.hosts', {'group': {
        'policy': 'affinity', 'members': [], 'hosts': ['x'] * 3}})])
def test_lists_count_for_each_instance(field, spec, monkeypatch):
    monkeypatch.setattr(bounds, 'NAMED_WORK', 5)
    door = drivers.door(drivers.MemoryScheduler(a_host()))

    assert refusal(door, 2, **spec) == (
        f'{field} times instances: 6 items, and at most 5 are allowed')


def test_too_large_a_request_is_not_kept(monkeypatch):
    """Except for its instances."""
    monkeypatch.setattr(bounds, 'REQUEST_BYTES', 20_000)
    door = drivers.door(drivers.MemoryScheduler(a_host()))

    assert 'bytes of JSON' in refusal(door, ignore_hosts=['x'] * 9000)
    [record] = door.recorder.decisions
    assert json.loads(bytes(record.request)) == {'instance_uuids': UUIDS[:2]}
    assert drivers.picks(door.driver, requests.a_request()) == ['host0']


@pytest.mark.parametrize('number, known', [(1, 2), (2, 2), (3, 3)])
def test_rules_know_the_number_of_instances(number, known):
    """They share the work of a query."""
    driver, seen = drivers.MemoryScheduler(a_host()), []
    ranked = driver.ranker.ranked
    driver.ranker.ranked = lambda hosts, spec, *args: (
        seen.append(spec.num_instances), ranked(hosts, spec, *args))[1]

    ask(drivers.door(driver), 2, num_instances=number)

    assert seen == [known, known]


def test_the_limits_are_those_of_the_options():
    assert manager.Limits() == manager.Limits(bounds.INSTANCES, seconds=0)
    conf = rules.a_conf()
    assert manager.Limits.of(conf) == manager.Limits(1000, 10)
    conf.set_override('max_instances_per_request', 5, 'nova_sched')
    conf.set_override('request_time_budget', 0.5, 'nova_sched')
    assert manager.Limits.of(conf) == manager.Limits(5, 0.5)


@pytest.mark.parametrize('name', DRIVERS)
def test_too_long_a_request_is_refused_with_step_and_budget(driver, name):
    assert refusal(limited(driver(name), seconds=1e-9)) == (
        'the request took more than the 1e-09 s of [nova_sched] '
        'request_time_budget, in step arguments; request less at a time, or '
        'have the option raised')


class NotingBudget(budget.Budget):
    """Notes its steps, and ends at the step ``spent_at``."""

    def __init__(self, spent_at=None):
        super().__init__()
        self.steps, self._spent_at = [], spent_at

    def check(self, step=None, index=None):
        if step is None:
            return
        if self.steps[-1:] != [(step, index)]:
            self.steps.append((step, index))
        if (step, index) == self._spent_at:
            raise exception.InvalidInput(reason='spent')


class OneAtATimeFilter(filters.BaseHostFilter):
    """A plug-in."""

    def host_passes(self, host_state, spec_obj):
        return True


def scheduler():
    return drivers.MemoryScheduler(
        *(a_host(name, uuid=f'{name}-uuid') for name in 'abc'),
        available_filters=['nova.scheduler.filters.all_filters',
                           f'{__name__}.OneAtATimeFilter'],
        enabled_filters=['RamFilter', 'OneAtATimeFilter'],
        weight_classes=['nova.scheduler.weights.ram.RAMWeigher',
                        'nova.scheduler.weights.cpu.CPUWeigher'])


def placed(spending, placement=None):
    offered = {} if placement is None else {'offer': placement.offer()}
    with budget.charged(spending):
        return drivers.select(
            scheduler(), requests.a_request(num_instances=2), UUIDS[:2],
            return_alternates=True, **offered)


def test_each_filter_weigher_claim_and_instance_is_a_step():
    """The alternates are a third run of the rules."""
    spending = NotingBudget()

    placed(spending, Placement([f'{name}-uuid' for name in 'abc']))

    assert spending.steps.count(('claims', None)) == 2
    for step, indices in (
            ('RamFilter', [0, 1, 1]), ('OneAtATimeFilter', [0, 1, 1]),
            ('RAMWeigher', [0, 1, 1]), ('CPUWeigher', [0, 1, 1]),
            ('consumption', [0, 1])):
        assert [index for name, index in spending.steps
                if name == step] == indices


@pytest.mark.parametrize('step, released', [
    (('RamFilter', 1), UUIDS[:1]), (('CPUWeigher', 1), UUIDS[:1]),
    (('claims', None), UUIDS[:1]), (('consumption', 1), UUIDS[:1])])
def test_a_spent_budget_releases_the_claims(step, released):
    placement = Placement([f'{name}-uuid' for name in 'abc'])

    with pytest.raises(exception.InvalidInput):
        placed(NotingBudget(step), placement)

    assert placement.released == released


def test_a_plain_request_is_written_as_json_once(monkeypatch):
    """The checked JSON is that of the record."""
    door, made = drivers.door(drivers.MemoryScheduler(a_host())), []
    plain = decision.Packed
    monkeypatch.setattr(decision, 'Packed', type('Packed', (plain,), {
        '__init__': lambda self, call: made.append(1) or plain.__init__(
            self, call)}))

    ask(door, 1)

    assert made == [1]
