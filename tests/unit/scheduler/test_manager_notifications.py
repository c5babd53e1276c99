"""When requests are notified: never without hosts to filter."""

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
from tests.builders.hosts import a_host

UUIDS = [clouds.a_uuid(1), clouds.a_uuid(2)]
CONTEXT = context.RequestContext()


class Notifier:
    """Keeps its events, and the request as it was at the start."""

    def __init__(self):
        self.events, self.before = [], None

    def began(self, context, spec_obj):
        self.events.append(('began', context, spec_obj))
        self.before = spec_obj.obj_to_primitive()

    def ended(self, *event):
        self.events.append(('ended', *event))

    @property
    def phases(self):
        return [name for name, *_ in self.events]


class CandidateSource:
    """A source without candidates, or with an error."""

    def __init__(self, refusal=None):
        self._refusal = refusal

    def fetch(self, context, spec_obj, record):
        if self._refusal:
            raise self._refusal
        return spec_obj, NO_OFFER


class PlugIn(driver.Scheduler):
    """Another author's driver, which notes the phases before its call."""

    def __init__(self, notifier):
        super().__init__(rules.a_conf())
        self._notifier, self.seen = notifier, None

    def select_destinations(self, context, spec_obj, instance_uuids,
                            return_alternates=False):
        self.seen = self._notifier.phases
        return [[objects.Selection(service_host='h', nodename='n',
                                   compute_node_uuid='', cell_uuid='')]]


class NotifyingPlugIn(PlugIn):
    NOTIFIES = True


@pytest.fixture
def notifier():
    return Notifier()


def ask(notifier, cls=None, source=None, without='id', **request):
    """Request two instances; return the driver.

    cls: of the driver.  without: a field to be removed from the request.
    """
    asked = cls(notifier) if cls else drivers.MemoryScheduler(
        a_host('a', free_ram_mb=30000), a_host('b', free_ram_mb=29999),
        enabled_filters=['RamFilter'])
    door = manager.SchedulerManager(
        drivers.adapted(asked), source or CandidateSource(),
        drivers.Records(), notifier)
    spec_obj = requests.a_request(**request).obj_to_primitive()
    spec_obj['nova_object.data'].pop(without, None)
    door.select_destinations(CONTEXT, spec_obj=spec_obj,
                             instance_uuids=UUIDS, return_objects=True)
    return asked


def test_start_and_end_have_the_request_and_the_end_has_the_picks(notifier):
    """The decision does not change the request."""
    ask(notifier, group={'policy': 'soft-affinity', 'hosts': ['b']},
        numa_topology=objects.InstanceNUMATopology(cells=[
            objects.InstanceNUMACell(id=0, cpuset={0}, memory=512)]))

    ((began, ctxt, spec), (ended, same_ctxt, same, picks)) = notifier.events
    assert (began, ended) == ('began', 'ended')
    assert ctxt is same_ctxt is CONTEXT
    assert spec is same
    assert spec.obj_to_primitive() == notifier.before
    assert [(pick.instance_uuid, pick.host) for pick in picks] == [
        (UUIDS[0], 'a'), (UUIDS[1], 'b')]


@pytest.mark.parametrize(('request_', 'phases'), [
    ({'memory_mb': 500000}, ['began']),
    ({'source': CandidateSource(exception.NoValidHost(reason=''))}, []),
    ({'without': 'flavor'}, [])],
    ids=['no host passes', 'no candidates', 'invalid'])
def test_a_refused_request_has_no_end(notifier, request_, phases):
    with pytest.raises(messaging.ExpectedException):
        ask(notifier, **request_)

    assert notifier.phases == phases


def test_drivers_choose_whether_they_notify(notifier):
    assert ask(notifier, PlugIn).seen == notifier.phases == []
    assert ask(notifier, NotifyingPlugIn).seen == ['began']
    assert notifier.phases == ['began', 'ended']
    assert drivers.MemoryScheduler.NOTIFIES
    assert caching_scheduler.CachingScheduler.NOTIFIES
    assert not chance.ChanceScheduler.NOTIFIES
