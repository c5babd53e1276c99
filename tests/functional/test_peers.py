"""Daemons on one queue tell each other what they have picked."""

import os
import signal
import time

import oslo_messaging as messaging
import pytest

from nova_sched import context
from tests.builders import clouds
from tests.builders import messages
from tests.builders import requests
from tests.functional import processes

pytestmark = pytest.mark.real

#: MB of an instance, and of the only host.
SIZE = 1000
#: Seconds within which the others are told.
TOLD = 1.5


@pytest.fixture
def daemons(stage):
    """Function that starts daemons of these names: list.

    They decide on a host with room for one instance, which nobody builds.
    """
    stage.load(clouds.a_cloud(['a'], compute_nodes=[clouds.a_compute_node(
        'a', memory_mb=SIZE, free_ram_mb=SIZE)]))

    def start(*names, **options):
        return [stage.daemon(name=name, DEFAULT__host=name,
                             DEFAULT__service_down_time=10 ** 9, **options)
                for name in names]
    return start


@pytest.fixture
def places(stage):
    """Function: whether the daemon of a name finds room for an instance."""
    transport = stage.transport()

    def places(name):
        client = messages.raw_client(
            transport, '4.5', exchange=stage.conf.control_exchange,
            server=name).prepare(timeout=processes.PATIENCE)
        uuid = clouds.a_uuid()
        try:
            client.call(
                context.RequestContext(), 'select_destinations',
                spec_obj=requests.a_request(
                    memory_mb=SIZE, instance_uuid=uuid).obj_to_primitive(),
                instance_uuids=[uuid], return_objects=True)
        except messaging.RemoteError as error:
            assert error.exc_type == 'NoValidHost'
            return False
        return True
    return places


def hears(daemon, *names):
    """Wait until a daemon hears others, and is told what they know."""
    for name in names:
        daemon.wait_until_said(f'The daemon on host {name} tells')
    time.sleep(TOLD)


def test_what_one_has_picked_counts_at_the_other(daemons, places):
    _, other = daemons('one', 'other')
    hears(other, 'one')

    assert places('one')
    time.sleep(TOLD)
    assert not places('other')


def test_what_was_picked_before_it_started_counts_as_well(daemons, places):
    daemons('one')
    assert places('one')

    [other] = daemons('other')

    hears(other, 'one')
    assert not places('other')


def test_who_tells_is_replaced_when_it_is_killed(daemons, places):
    one, other = daemons('one', 'other')
    hears(other, 'one')
    killed, workers = one.messenger, one.workers
    os.kill(killed, signal.SIGKILL)
    other.wait_until_said('The daemon on host one tells', times=2)
    time.sleep(TOLD)

    assert places('one')
    time.sleep(TOLD)
    assert not places('other')
    assert one.messenger not in (None, killed)
    assert one.workers == workers


def test_nothing_is_told_where_the_option_says_so(daemons, places):
    one, _ = daemons('one', 'other', nova_sched__tell_picks=False)
    assert one.messenger is None

    assert places('one')
    time.sleep(TOLD)
    assert places('other')
