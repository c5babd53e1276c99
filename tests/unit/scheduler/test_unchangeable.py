"""What is said of a request, or for all requests, nobody changes on the way.
"""

import dataclasses

import pytest

from nova_sched.scheduler import claims
from nova_sched.scheduler import manager
from nova_sched.scheduler import placing
from nova_sched.scheduler import request_filter
from nova_sched.scheduler.filters import image_props_filter
from nova_sched.scheduler.filters import json_filter
from tests.builders.requests import a_request
from tests.builders.rules import a_conf

CONF = a_conf()


def found():
    """One of each kind, and a field of it."""
    choice = placing.Choice(True, 1)
    assert choice.order([], None) is None
    wanted = placing.Wanted(a_request(), ['a'], 1)
    assert wanted.keys() == ['a']
    taken = claims.Taken(1)
    assert taken.on_the_wire() == 'null'
    image = image_props_filter._wanted(a_request())
    assert not image.names
    query = json_filter._read('["=", "$host", "a"]')
    assert query.variables == ['$host']
    return [(choice, 'shuffle'), (wanted, 'count'), (taken, 'row'),
            (manager.Limits.of(CONF), 'seconds'),
            (request_filter.Options.of(CONF), 'image_metadata_prefilter'),
            (image, 'bits'), (query, 'query')]


@pytest.mark.parametrize(('one', 'field'), found())
def test_no_field_can_be_set(one, field):
    value = getattr(one, field)

    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(one, field, None)
    assert getattr(one, field) == value
