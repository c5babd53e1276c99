"""Daemons on one queue exchange their picks."""

import concurrent.futures
import dataclasses
import functools
import hashlib
import os
import signal
import time

import oslo_messaging as messaging
from oslo_utils import uuidutils
import pytest

from nova_sched import context
from nova_sched.inventory import picks_on_wire
from nova_sched.inventory.in_flight import News
from nova_sched.inventory.in_flight import PlacedInstance
from nova_sched.inventory.signed_news import Signer
from nova_sched.rpc.broadcast import Broadcast
from tests.builders import clouds
from tests.builders import messages
from tests.builders import requests
from tests.functional import processes

pytestmark = pytest.mark.real

#: MB of an instance, and of the only host.
SIZE = 1000
#: Seconds until other daemons know of a pick.
TOLD = 1.5
#: A secret of the scheduler hosts.
KEY = 'a secret text of all schedulers'


@pytest.fixture
def daemons(stage):
    """Function that starts daemons with these names: list.

    They decide on one host with room for one instance, which is never built.
    """
    stage.load(clouds.a_cloud(['a'], compute_nodes=[clouds.a_compute_node(
        'a', memory_mb=SIZE, free_ram_mb=SIZE)]))

    def start(*names, **options):
        options = {'nova_sched__picks_key': KEY} | options
        return [stage.daemon(name=name, DEFAULT__host=name,
                             DEFAULT__service_down_time=10 ** 9, **options)
                for name in names]
    return start


@pytest.fixture
def places(stage):
    """Function: whether a daemon, by name, finds room for an instance."""
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
    """Wait until a daemon knows the picks of other daemons."""
    for name in names:
        daemon.wait_for_lines(f'The daemon on host {name} publishes')
    time.sleep(TOLD)


def test_pick_of_a_daemon_counts_at_another(daemons, places):
    _, other = daemons('one', 'other')
    hears(other, 'one')

    assert places('one')
    time.sleep(TOLD)
    assert not places('other')


def test_killed_messenger_is_replaced(daemons, places):
    one, other = daemons('one', 'other')
    hears(other, 'one')
    killed, workers = one.messenger, one.workers
    os.kill(killed, signal.SIGKILL)
    other.wait_for_lines('The daemon on host one publishes', times=2)
    time.sleep(TOLD)

    assert places('one')
    time.sleep(TOLD)
    assert not places('other')
    assert one.messenger not in (None, killed)
    assert one.workers == workers


def a_pick(**fields):
    """A pick of the only host, as JSON."""
    return dataclasses.replace(PlacedInstance(
        clouds.a_uuid(), 'a', 'a', requests.a_request(
            memory_mb=SIZE).demand(), None, None, time.time()), **fields)


def message(key=KEY, picks=None):
    """A message of a daemon that has picked the only host.

    key: of its signature.  picks: in place of that pick.
    """
    signer = Signer(lambda: hashlib.sha256(
        f'nova_sched picks {key}'.encode()).digest())
    signer.refresh()
    return signer.sign('forger', {
        'host': 'forger', 'author': 'forger', 'number': 1,
        'at': time.time(), 'to': None, 'heard': None, 'asks': False,
        **picks_on_wire.written([News(picks or [a_pick()])])})


@pytest.mark.parametrize('forged', [
    lambda: message('another key'),
    lambda: message(picks=[a_pick(host='unknown')]),
    lambda: message(picks=[a_pick(demand=requests.a_request(
        memory_mb=10 ** 9).demand())])],
    ids=['of another key', 'of an unknown host', 'of more than it has'])
def test_forged_message_takes_no_room(daemons, places, stage, forged):
    """Unit tests have other messages that are dropped."""
    [daemon] = daemons('one')
    broadcast = Broadcast(stage.conf, stage.transport())

    broadcast.publish(forged())

    time.sleep(TOLD)
    assert places('one')
    daemon.wait_for_lines('dropped')
    assert 'Traceback' not in daemon.text
    assert max(map(len, daemon.text.splitlines())) < 2000


def test_message_signed_with_the_key_counts(daemons, places, stage):
    [daemon] = daemons('one')

    Broadcast(stage.conf, stage.transport()).publish(message())

    daemon.wait_for_lines('host forger publishes')
    time.sleep(TOLD)
    assert not places('one')


@pytest.mark.parametrize('policy', ['anti-affinity', 'affinity'])
def test_group_policy_holds_across_daemons_and_workers(stage, policy):
    """All members are placed at the same time."""
    hosts, groups = [f'h{number}' for number in range(6)], 5
    stage.load(clouds.a_cloud(hosts, compute_nodes=[
        clouds.a_compute_node(host, memory_mb=64 * SIZE,
                              free_ram_mb=64 * SIZE) for host in hosts]))
    daemons = [stage.daemon(
        2, name=name, DEFAULT__host=name, nova_sched__picks_key=KEY,
        nova_sched__spread_near_equal=10,
        DEFAULT__service_down_time=10 ** 9) for name in ('one', 'other')]
    hears(daemons[0], 'other')
    hears(daemons[1], 'one')
    caller = stage.client()

    def place(uuid, group, members):
        [[selected, *_]] = caller.place(requests.a_request(
            memory_mb=SIZE, instance_uuid=uuid,
            group={
                'uuid': group, 'policy': policy, 'members': members}))
        return selected.service_host

    for _ in range(groups):
        group, *members = (uuidutils.generate_uuid() for _ in ['', *hosts])
        with concurrent.futures.ThreadPoolExecutor(len(hosts)) as pool:
            found = list(pool.map(functools.partial(
                place, group=group, members=members), members))
        assert len(set(found)) == (
            len(hosts) if policy == 'anti-affinity' else 1)
