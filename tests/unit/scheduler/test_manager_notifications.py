"""When others are told of a request: never of one that has no hosts to filter.
"""

import oslo_messaging as messaging
import pytest

from nova_sched import context
from nova_sched import exception
from nova_sched import objects
from nova_sched.scheduler import caching_scheduler
from nova_sched.scheduler import chance
from nova_sched.scheduler import driver
from nova_sched.scheduler import manager
from nova_sched.scheduler.offer import NO_OFFER
from tests.builders import clouds
from tests.builders import drivers
from tests.builders import requests
from tests.builders import rules
from tests.builders.drivers import MemoryScheduler
from tests.builders.drivers import adapted
from tests.builders.hosts import a_host

UUIDS = [clouds.a_uuid(1), clouds.a_uuid(2)]
CONTEXT = context.RequestContext()


class Told:
    """Keeps what it is told."""

    def __init__(self):
        self.events = []

    def began(self, *event):
        self.events.append(('began', *event))

    def ended(self, *event):
        self.events.append(('ended', *event))

    @property
    def phases(self):
        return [name for name, *_ in self.events]


class CandidateSource:
    """Placement's part: offers nothing in particular, or refuses."""

    def __init__(self, refusal=None):
        self._refusal = refusal

    def fetch(self, context, spec_obj, record):
        if self._refusal:
            raise self._refusal
        return spec_obj, NO_OFFER


class Foreign(driver.Scheduler):
    """Another author's driver; told: what it looks at when it is asked."""

    def __init__(self, told):
        super().__init__(rules.a_conf())
        self._told, self.seen = told, None

    def select_destinations(self, context, spec_obj, instance_uuids,
                            return_alternates=False):
        self.seen = self._told.phases
        return [[objects.Selection(service_host='h', nodename='n',
                                   compute_node_uuid='', cell_uuid='')]]


class Telling(Foreign):
    """One that has others told of its requests."""

    NOTIFIES = True


@pytest.fixture
def told():
    return Told()


def ask(told, asked=None, offers=None, without='id', **request):
    """Have a driver asked for two instances.

    asked: the driver; None for one of two hosts.  without: a field that the
    request lacks.
    """
    asked = asked or MemoryScheduler(
        a_host('a', free_ram_mb=30000), a_host('b', free_ram_mb=29999),
        enabled_filters=['RamFilter'])
    asked = adapted(asked)
    door = manager.SchedulerManager(
        asked, offers or CandidateSource(), drivers.Records(), told)
    spec_obj = requests.a_request(**request).obj_to_primitive()
    spec_obj['nova_object.data'].pop(without, None)
    return door.select_destinations(
        CONTEXT, spec_obj=spec_obj, instance_uuids=UUIDS,
        return_objects=True)


def test_the_driver_is_asked_after_the_start(told):
    foreign = Telling(told)
    ask(told, foreign)

    assert foreign.seen == ['began']
    assert told.phases == ['began', 'ended']


def test_start_and_end_are_of_the_same_request_and_the_end_has_the_picks(
        told):
    ask(told)

    (_, ctxt, spec), (_, same_ctxt, same, picks) = told.events
    assert ctxt is same_ctxt is CONTEXT
    assert spec is same
    assert spec.instance_uuid == requests.INSTANCE_UUID
    assert [(pick.instance_uuid, pick.host) for pick in picks] == [
        (UUIDS[0], 'a'), (UUIDS[1], 'b')]


def test_a_request_that_no_host_passes_has_no_end(told):
    with pytest.raises(messaging.ExpectedException):
        ask(told, memory_mb=500000)

    assert told.phases == ['began']


@pytest.mark.parametrize('request_', [
    {'offers': CandidateSource(exception.NoValidHost(reason=''))},
    {'without': 'flavor'}], ids=['without candidates', 'wrong'])
def test_a_request_that_no_driver_is_asked_is_not_told_of(told, request_):
    with pytest.raises(messaging.ExpectedException):
        ask(told, **request_)

    assert told.phases == []


def test_of_another_author_s_driver_only_if_it_says_so(told):
    ask(told, Foreign(told))

    assert told.phases == []


def test_the_caching_driver_notifies_and_chance_does_not():
    assert MemoryScheduler.NOTIFIES
    assert caching_scheduler.CachingScheduler.NOTIFIES
    assert not chance.ChanceScheduler.NOTIFIES


def test_deciding_leaves_the_request_as_it_was_told(told):
    """Others may be told of it while it is decided."""
    def state(value):
        if hasattr(value, 'obj_to_primitive'):
            return value.obj_to_primitive()
        return value

    class Before(Told):
        def began(self, context, spec_obj):
            super().began(context, spec_obj)
            self.state = state(spec_obj)

    before = Before()
    ask(before, group={'policy': 'soft-affinity', 'hosts': ['b']},
        numa_topology=objects.InstanceNUMATopology(cells=[
            objects.InstanceNUMACell(id=0, cpuset={0}, memory=512)]))

    assert before.phases == ['began', 'ended']
    assert state(before.events[0][2]) == before.state
