"""An exit during a request: claims are released, the record is closed."""

import pytest

from nova_sched import context
from nova_sched.hosts import decision
from nova_sched.scheduler import driver
from nova_sched.scheduler.candidates import CandidateSource
from tests.builders import clouds
from tests.builders import drivers
from tests.builders import requests
from tests.builders import rules
from tests.builders.placement import Placement

FIRST = clouds.a_uuid(1)
CONTEXT = context.RequestContext()


class ExitingDriver(driver.Scheduler):
    """A plug-in that claims, and releases nothing."""

    def select_destinations(self, context, spec_obj, instance_uuids,
                            return_alternates=False, offer=None, record=None):
        [request] = offer.candidates.of('a')
        assert offer.claims.claim(FIRST, request, spec_obj)
        raise SystemExit


@pytest.fixture
def door(monkeypatch):
    """The endpoint before a driver that exits, and its Placement."""
    placement = Placement('a')
    monkeypatch.setattr(
        CandidateSource, 'fetch', lambda self, context, spec_obj, *args: (
            spec_obj, placement.offer()))
    return drivers.door(ExitingDriver(rules.a_conf())), placement


def test_claims_of_a_driver_that_exits_are_released(door):
    made, placement = door

    with pytest.raises(SystemExit):
        made.select_destinations(
            CONTEXT, spec_obj=requests.a_request().obj_to_primitive(),
            instance_uuids=[FIRST])

    assert placement.released == [FIRST]
    [record] = made.recorder.decisions
    assert record.outcome == decision.FAILED
