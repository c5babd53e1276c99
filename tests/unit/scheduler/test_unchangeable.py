"""What is said of a request, or for all requests, nobody changes on the way.
"""

import dataclasses

import pytest

from nova_sched.scheduler import attempt
from nova_sched.scheduler import claims
from nova_sched.scheduler import manager
from nova_sched.scheduler import request_filter
from nova_sched.scheduler.filters import image_props_filter
from nova_sched.scheduler.filters import json_filter
from tests.builders.requests import a_request
from tests.builders.rules import a_conf

CONF = a_conf()


def found():
    """One of each kind, and a field of it."""
    selector = attempt.HostSelector(0.0, 1)
    assert selector.select([], None) is None
    request = attempt.SchedulingRequest(a_request(), ['a'], 1)
    assert request.keys() == ['a']
    claimed = claims.ClaimedHost(1)
    assert claimed.on_the_wire() == 'null'
    image = image_props_filter._requirements(a_request())
    assert not image.names
    query = json_filter._read('["=", "$host", "a"]')
    assert query.variables == ['$host']
    return [(selector, 'band'), (request, 'count'), (claimed, 'row'),
            (manager.Limits.of(CONF), 'seconds'),
            (request_filter.Options.of(CONF), 'image_metadata_prefilter'),
            (image, 'bits'), (query, 'query')]


@pytest.mark.parametrize(('one', 'field'), found())
def test_no_field_can_be_set(one, field):
    value = getattr(one, field)

    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(one, field, None)
    assert getattr(one, field) == value
