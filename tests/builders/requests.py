"""Requests for tests; see nova_sched.testing."""

from nova_sched.testing.request_builders import GROUP_UUID
from nova_sched.testing.request_builders import IMAGE_ID
from nova_sched.testing.request_builders import INSTANCE_UUID
from nova_sched.testing.request_builders import a_destination
from nova_sched.testing.request_builders import a_flavor
from nova_sched.testing.request_builders import a_group
from nova_sched.testing.request_builders import a_request_spec as a_request
from nova_sched.testing.request_builders import a_retry
from nova_sched.testing.request_builders import an_image

__all__ = (
    'GROUP_UUID',
    'IMAGE_ID',
    'INSTANCE_UUID',
    'a_destination',
    'a_flavor',
    'a_group',
    'a_request',
    'a_retry',
    'an_image',
)
