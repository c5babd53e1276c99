"""A broker is away during a call, and the service reconnects first.

The caller declares its reply queue only after the service's first attempt to
reply, like a caller that reconnects later.
"""

import logging
import time

import pytest

from tests.functional import raw_bus
from tests.functional.processes import PATIENCE
from tests.functional.processes import door_to
from tests.functional.processes import until

pytestmark = pytest.mark.real

#: Seconds that a reply is retried while its queue is missing.
MISSING = 5
#: Seconds without a sign of life after which a caller gives up.
MONITOR = 2
#: Words of log lines: a reply without a queue, a reply that is given up, and
#: a keepalive that fails.
NO_QUEUE, GIVEN_UP = 'finds no queue', 'Abandoning'
KEEPALIVE_FAILED = 'Heartbeat send failed'


@pytest.fixture
def door(bus):
    """The open Door of the service to its broker."""
    with door_to(bus.url) as door:
        yield door


@pytest.fixture
def endpoint(bus, door):
    """The Endpoint of a server."""
    with raw_bus.serving(
            bus, url=door.url,
            # The service tries to reconnect every two seconds.
            oslo_messaging_rabbit__rabbit_interval_max=1,
            oslo_messaging_rabbit__kombu_missing_consumer_retry_timeout=(
                MISSING)) as endpoint:
        yield endpoint


def test_reply_waits_for_its_queue_from_the_reconnection_on(
        bus, endpoint, door, caplog):
    """The time without a broker does not count."""
    caplog.set_level(logging.DEBUG, 'nova_sched.rpc')
    bus.call('work', queue='late')
    assert endpoint.begun.acquire(timeout=PATIENCE)

    door.close()
    endpoint.done.set()
    time.sleep(MISSING)
    door.open()
    until(lambda: NO_QUEUE in caplog.text or GIVEN_UP in caplog.text,
          'a reply is tried')

    with bus.replies_to('late') as reply:
        assert reply()['result'] == 'done'
    assert GIVEN_UP not in caplog.text


def test_keepalives_go_on_after_one_fails(
        bus, endpoint, door, caplog):
    caplog.set_level(logging.DEBUG, 'oslo_messaging')
    caplog.set_level(logging.DEBUG, 'nova_sched.rpc')
    bus.call('work', queue='late', _timeout=MONITOR)
    assert endpoint.begun.acquire(timeout=PATIENCE)

    door.close()
    until(lambda: 'unreachable' in caplog.text, 'the broker is missed')
    door.open()
    until(lambda: KEEPALIVE_FAILED in caplog.text, 'a keepalive is tried')

    with bus.replies_to('late') as reply:
        received = reply()
        assert not received['ending']
        endpoint.done.set()
        while not received['ending']:
            received = reply()
    assert received['result'] == 'done'
