"""Nova 34 and the service over each kind of queue."""

import uuid

import pytest

from tests.builders import requests
from tests.functional import broker
from tests.interop.conftest import Nova

pytestmark = pytest.mark.real

KINDS = {
    'durable': {'amqp_durable_queues': 'true'},
    'all that is recommended': {
        'rabbit_quorum_queue': 'true', 'rabbit_quorum_delivery_limit': 5,
        'rabbit_transient_quorum_queue': 'true',
        'rabbit_stream_fanout': 'true', 'rabbit_qos_prefetch_count': 16,
        'use_queue_manager': 'true'},
}


@pytest.fixture(params=KINDS)
def options(request, stage):
    """Options of the service and of Nova; deletes their queues later."""
    with stage.scene():
        yield {'oslo_concurrency__lock_path': stage.directory,
               **{f'oslo_messaging_rabbit__{name}': value
                  for name, value in KINDS[request.param].items()}}
    with broker.channel(stage.transport_url) as channel:
        for name in ('scheduler', 'scheduler_fanout'):
            channel.queue_delete(name)
        channel.exchange_delete('scheduler_fanout')


def test_novas_calls_are_answered_and_its_casts_arrive(stage, options):
    """Both declare the queues alike, otherwise one would be refused."""
    stage.cloud(4)
    daemon = stage.daemon(DEFAULT__debug=True, **options)
    nova = Nova(stage.config_file('nova', **options))
    host = f'host-{uuid.uuid4().hex}'
    nova.will('cast', 'delete_instance_info', host, str(uuid.uuid4()))
    nova.will('select_destinations', requests.a_request(),
              [str(uuid.uuid4())], return_objects=True)

    _, found = nova.answers()

    assert len(found['answer']) == 1
    daemon.wait_for_lines(f'left host {host}')
    assert not daemon.lines('Traceback')
