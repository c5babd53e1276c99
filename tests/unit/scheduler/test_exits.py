"""An exit in the midst of a request: claims go back, the record is closed."""

import pytest

from nova_sched import context
from nova_sched.hosts import decision
from nova_sched.scheduler import driver
from nova_sched.scheduler import filters
from nova_sched.scheduler.candidates import CandidateSource
from tests.builders import clouds
from tests.builders import drivers
from tests.builders import requests
from tests.builders import rules
from tests.builders.hosts import a_host
from tests.builders.placement import Placement

FIRST, SECOND = clouds.a_uuid(1), clouds.a_uuid(2)
CONTEXT = context.RequestContext()


class ExitingFilter(filters.BaseHostFilter):
    """Asks for the end as soon as an instance was placed."""

    def host_passes(self, host_state, spec_obj):
        if host_state.num_instances:
            raise SystemExit
        return True


class ExitingDriver(driver.Scheduler):
    """Another author's, which claims, and gives nothing back itself."""

    def select_destinations(self, context, spec_obj, instance_uuids,
                            return_alternates=False, offer=None, record=None):
        [request] = offer.candidates.of('a')
        assert offer.claims.claim(FIRST, request, spec_obj)
        raise SystemExit


def a_spec(count=1):
    return requests.a_request(num_instances=count)


def test_a_driver_gives_back_what_it_has_claimed():
    placement = Placement('ab')
    scheduler = drivers.MemoryScheduler(
        a_host('a', uuid='a'), a_host('b', uuid='b'),
        weight_classes=['nova.scheduler.weights.ram.RAMWeigher'],
        available_filters=[f'{__name__}.ExitingFilter'],
        enabled_filters=['ExitingFilter'])

    with pytest.raises(SystemExit):
        drivers.select(scheduler, a_spec(2), [FIRST, SECOND],
                       offer=placement.offer())

    assert placement.released == [FIRST]


@pytest.fixture
def door(monkeypatch):
    """The endpoint before a driver that exits, and its Placement."""
    placement = Placement('a')
    monkeypatch.setattr(
        CandidateSource, 'fetch', lambda self, context, spec_obj, *args: (
            spec_obj, placement.offer()))
    return drivers.door(ExitingDriver(rules.a_conf())), placement


def test_what_a_driver_does_not_give_back_is_given_back_behind_it(door):
    made, placement = door

    with pytest.raises(SystemExit):
        made.select_destinations(
            CONTEXT, spec_obj=a_spec().obj_to_primitive(),
            instance_uuids=[FIRST])

    assert placement.released == [FIRST]


def test_the_request_is_on_record_as_one_that_failed(door):
    made, _ = door

    with pytest.raises(SystemExit):
        made.select_destinations(
            CONTEXT, spec_obj=a_spec().obj_to_primitive(),
            instance_uuids=[FIRST])

    [record] = made.recorder.decisions
    assert record.outcome == decision.FAILED
