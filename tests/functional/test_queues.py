"""Calls and casts over each kind of queue of oslo.messaging.

All services on a message bus must declare a queue alike, so the service has
the options and defaults of Nova's services.
"""

import logging
import pathlib
import uuid

from oslo_concurrency import lockutils
import oslo_messaging as messaging
import pytest

from nova_sched import context
from nova_sched import rpc
from tests.functional import broker
from tests.functional import conftest
from tests.functional import processes

pytestmark = pytest.mark.real

LIMITS = {'rabbit_quorum_delivery_limit': 5,
          'rabbit_quorum_max_memory_length': 1000,
          'rabbit_quorum_max_memory_bytes': 10 ** 7}
LIMITED = {'x-delivery-limit': 5, 'x-max-in-memory-length': 1000,
           'x-max-in-memory-bytes': 10 ** 7}
QUORUM = {'x-queue-type': 'quorum'}
MANAGED = {'use_queue_manager': True, 'processname': 'nova-sched'}
#: Time to live: of queues for casts to all, and of messages in streams.
TTL_MS, TTL_TEXT = {'x-expires': 60000}, {'x-max-age': '60s'}

#: Name -> options, expected arguments of the topic's queue, and of the fanout
#: queue (suffix of its name, arguments) if its name is known.
KINDS = {
    'classic': ({}, {}, None),
    'durable': ({'amqp_durable_queues': True}, {'durable': True}, None),
    'short-lived': ({'amqp_auto_delete': True}, {'auto_delete': True}, None),
    'named': (
        MANAGED, {},
        ('_here:nova-sched:1', {'arguments': TTL_MS})),
    'quorum': (
        {'rabbit_quorum_queue': True}, {'durable': True, 'arguments': QUORUM},
        None),
    'quorum with limits': (
        {'rabbit_quorum_queue': True, **LIMITS},
        {'durable': True, 'arguments': QUORUM | LIMITED}, None),
    'all quorum': (
        {'rabbit_quorum_queue': True, 'rabbit_transient_quorum_queue': True,
         **MANAGED},
        {'durable': True, 'arguments': QUORUM},
        ('_here:nova-sched:1',
         {'durable': True, 'arguments': QUORUM | TTL_MS})),
    'stream': (
        {'rabbit_quorum_queue': True, 'rabbit_transient_quorum_queue': True,
         'rabbit_stream_fanout': True, **MANAGED},
        {'durable': True, 'arguments': QUORUM},
        ('', {'durable': True,
              'arguments': {'x-queue-type': 'stream'} | TTL_TEXT})),
    'compressed': (
        {'kombu_compression': 'gzip', 'enable_cancel_on_failover': True}, {},
        None),
}


@pytest.fixture(scope='module')
def cloud(tmp_path_factory):
    """A Stage with hosts."""
    with conftest.open_stage(tmp_path_factory.mktemp('queues')) as stage:
        stage.cloud(4)
        yield stage


@pytest.fixture
def stage(cloud):
    with cloud.scene():
        yield cloud


@pytest.fixture
def topic(stage):
    """A topic of this test; names of queues and exchanges follow from it."""
    topic = f'sched-{uuid.uuid4().hex[:8]}'
    yield topic
    lockutils.set_defaults(None)
    for counter in pathlib.Path('/dev/shm').glob(f'{topic}_*_qmanager'):
        counter.unlink()
    with broker.channel(stage.transport_url) as bus:
        for name in (topic, f'{topic}.{stage.conf.host}', f'{topic}_fanout',
                     f'{topic}_fanout_{topic}:nova-sched:1'):
            bus.queue_delete(name)


def options(stage, topic, **rabbit):
    """Options of the service and of its callers."""
    return {'DEFAULT__scheduler_topic': topic,
            'DEFAULT__control_exchange': f'nova-{topic}',
            'oslo_concurrency__lock_path': stage.directory,
            'oslo_messaging_rabbit__hostname': topic,
            **{f'oslo_messaging_rabbit__{name}': value
               for name, value in rabbit.items()}}


@pytest.mark.parametrize('kind', KINDS)
def test_calls_are_answered_and_casts_arrive(stage, topic, caplog, kind):
    """The queues are declared in the options' kind."""
    caplog.set_level(logging.DEBUG, 'nova_sched.scheduler')
    rabbit, wanted, fanout = KINDS[kind]
    settings = options(stage, topic, **rabbit)
    stage.embedded(**settings)
    settings['oslo_messaging_rabbit__processname'] = 'nova-conductor'
    to_all = rpc.get_client(stage.transport(**settings), messaging.Target(
        topic=topic, version='4.2', fanout=True))

    assert stage.client(**settings).pick()
    host = f'host-{uuid.uuid4().hex}'
    to_all.cast(context.RequestContext(), 'delete_instance_info',
                host_name=host, instance_uuid=str(uuid.uuid4()))
    processes.until(lambda: f'left host {host}' in caplog.text,
                    'the cast arrives')

    queues = {topic: wanted, f'{topic}.{stage.conf.host}': wanted}
    if fanout is not None:
        suffix, declared = fanout
        queues[f'{topic}_fanout{suffix.replace("here", topic)}'] = declared
    for name, declared in queues.items():
        # The broker refuses a declaration with other arguments.
        with broker.channel(stage.transport_url) as bus:
            bus.queue_declare(name, **{
                'durable': False, 'auto_delete': False, **declared})
