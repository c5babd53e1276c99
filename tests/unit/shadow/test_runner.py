"""A shadow that runs: its end, and what it says of itself."""

import logging

import pytest

from nova_sched.shadow import reading
from nova_sched.shadow import runner
from nova_sched.systemd import Notifier
from tests.builders import http_placement
from tests.builders.clouds import a_uuid


class Tap:
    """One at a broker that holds so many requests."""

    def __init__(self, waiting):
        self._waiting = waiting

    def waiting(self):
        return self._waiting


@pytest.fixture
def shadow(hosts):
    """Function of options: a Shadow that is not started."""
    def shadow(**options):
        return runner.Shadow(hosts().conf(
            DEFAULT__transport_url='rabbit://nova:x@localhost:1/',
            nova_sched__shadow_queue=50, **options), Notifier(None, None))
    return shadow


def test_is_stopped_where_there_is_no_placement(shadow):
    made = shadow()
    made.stop()
    assert made._stopping.is_set()


def test_a_stop_ends_what_is_asked_of_placement(shadow, server):
    server.on('GET', '/allocations/', http_placement.held({}))
    made = shadow(placement__auth_type='none',
                  placement__endpoint_override=server.url)
    assert made._placement.held(a_uuid()) == {}

    made.stop()

    with pytest.raises(reading.Stopped):
        made._placement.held(a_uuid())


@pytest.mark.parametrize(('waiting', 'warnings'), [
    (49, []), (50, ['[nova_sched] shadow_queue = 50 is full: the oldest '
                    'requests are dropped, and not compared'])])
def test_says_how_many_requests_wait_and_warns_when_the_queue_is_full(
        shadow, caplog, waiting, warnings):
    made = shadow()
    made._tap = Tap(waiting)
    caplog.set_level(logging.INFO)

    made._tell_health()

    health, *more = caplog.messages
    assert health.endswith(f'{waiting} waiting at the broker')
    assert more == warnings
