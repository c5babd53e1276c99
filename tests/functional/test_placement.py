"""The daemon over a real broker, with a scripted Placement.

tests/interop has the real Placement.
"""

import json
import threading
import time
import uuid

import oslo_messaging as messaging
import pytest

from tests.builders import clouds
from tests.builders import http_placement
from tests.builders import http_server
from tests.builders import requests
from tests.functional import broker
from tests.functional.conftest import HOSTS
from tests.functional.processes import PATIENCE
from tests.functional.processes import until

pytestmark = pytest.mark.real

#: Seconds that Placement may take; some picks take less on a busy machine.
TIMEOUT = 10
#: Seconds that a reply to a missing caller is retried.
MISSING = 1


@pytest.fixture
def daemon(stage, placement):
    stage.load(clouds.a_cloud(HOSTS))
    return stage.daemon(
        placement__auth_type='none', placement__timeout=TIMEOUT,
        placement__endpoint_override=placement.url,
        DEFAULT__service_down_time=10 ** 9,
        oslo_messaging_rabbit__kombu_missing_consumer_retry_timeout=MISSING)


def a_call(stage, uuids):
    """A call in the form of a capture."""
    spec = requests.a_request(num_instances=len(uuids))
    message = {
        'method': 'select_destinations', 'version': '4.5', '_msg_id': 'x',
        '_reply_q': 'x', 'args': {
            'spec_obj': spec.obj_to_primitive(), 'instance_uuids': uuids,
            'return_objects': True, 'return_alternates': True}}
    return {
        'exchange': stage.conf.control_exchange, 'routing_key': 'scheduler',
        'headers': {}, 'properties': {'content_type': 'application/json',
                                      'content_encoding': 'utf-8'},
        'body_raw': json.dumps({'oslo.version': '2.0',
                                'oslo.message': json.dumps(message)})}


def test_hanging_listing_does_not_hold_up_other_requests(
        stage, daemon, placement):
    """Placement never answers for the flavor of one request."""
    placement.on('GET', '/allocation_candidates?limit=1000&resources=DISK_GB'
                 '%3A1%2CMEMORY_MB%3A7777', http_server.HANG)
    client, slow = stage.client(), stage.client()
    client.pick()
    outcome = []

    def ask():
        try:
            slow.pick(flavor=requests.a_flavor(memory_mb=7777))
        except messaging.RemoteError as error:
            outcome.append(error.exc_type)

    thread = threading.Thread(target=ask)
    thread.start()
    until(lambda: any('7777' in asked.path for asked in placement.asked),
          'Placement is asked')
    begin = time.monotonic()
    for _ in range(10):
        client.pick()
    assert time.monotonic() - begin < TIMEOUT
    assert thread.is_alive()

    thread.join()
    assert outcome == ['PlacementUnavailable']
    assert daemon.lines('does not respond in time')


def test_claims_of_a_gone_caller_are_released(stage, daemon, placement):
    """Its reply queue is gone when the answer is ready."""
    reached, gone = threading.Event(), threading.Event()

    def taken(asked):
        reached.set()
        gone.wait(PATIENCE)
        return http_placement.TAKEN

    # In one request, or in two if a slow machine decides them in slices.
    for method, path in (('POST', '/allocations'), ('PUT', '/allocations/')):
        placement.on(method, path, taken)
    uuids = [str(uuid.uuid4()) for _ in range(2)]
    with broker.wire(stage.transport_url) as wire:
        wire.cast(a_call(stage, uuids))
        assert reached.wait(PATIENCE)
    gone.set()

    until(lambda: sorted(http_placement.written(
        placement, claims=False)) == sorted(
            f'/allocations/{instance}' for instance in uuids),
        'the release of both')
    assert daemon.lines('does not reach its caller')
