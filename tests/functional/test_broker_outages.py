"""A broker is away during a call, and the service reconnects first.

The caller declares its reply queue only after the service's first attempt to
reply, like a caller that reconnects later.
"""

import contextlib
import json
import logging
import threading
import time
import uuid

import kombu
import oslo_messaging as messaging
import pytest
import sqlalchemy as sa

from tests.builders import messages
from tests.builders import rules
from tests.functional import broker
from tests.functional import conftest
from tests.functional.processes import PATIENCE
from tests.functional.processes import Door
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


class Endpoint:
    """Works on calls until ``done`` is set."""

    target = messaging.Target(version='1.0')

    def __init__(self):
        self.begun, self.done = threading.Event(), threading.Event()

    def work(self, ctxt):
        self.begun.set()
        assert self.done.wait(2 * PATIENCE)
        return 'done'


class Caller:
    """A caller with a reply queue during a block only.

    url: of the broker.  topic: of the service, and the name of its exchange.
    """

    def __init__(self, url, topic):
        self._url, self._topic = broker.plain_url(url), topic
        self._queue = uuid.uuid4().hex

    def call(self, monitor=None):
        """Send a call; monitor: seconds as MONITOR."""
        # Connect now, so that ``replies`` only has to declare the queue.
        self._connection = kombu.Connection(self._url)
        self._connection.connect()
        message = {
            'method': 'work', 'args': {}, 'version': '1.0',
            '_msg_id': uuid.uuid4().hex, '_unique_id': uuid.uuid4().hex,
            '_reply_q': self._queue, '_timeout': monitor}
        self._connection.Producer().publish(
            {'oslo.version': '2.0', 'oslo.message': json.dumps(message)},
            exchange=self._topic, routing_key=self._topic)

    @contextlib.contextmanager
    def replies(self):
        """Function that waits for a reply and returns its message."""
        with (self._connection as connection,
              connection.SimpleQueue(
                  kombu.Queue(self._queue, durable=False, exclusive=True),
                  no_ack=True) as queue):
            yield lambda: json.loads(json.loads(
                queue.get(timeout=PATIENCE).body)['oslo.message'])


@pytest.fixture
def url():
    """URL of the broker, past the Door."""
    return conftest.broker()


@pytest.fixture
def door(url):
    """The open Door of the service to its broker."""
    target = sa.make_url(url)
    door = Door(target.host, target.port)
    door.open()
    yield door
    door.close()


@pytest.fixture
def topic():
    return f'restarts-{uuid.uuid4().hex[:8]}'


@pytest.fixture
def endpoint(url, door, topic):
    """The Endpoint of a server."""
    conf = rules.a_conf(
        DEFAULT__host='here', DEFAULT__scheduler_topic=topic,
        DEFAULT__control_exchange=topic,
        oslo_messaging_rabbit__amqp_auto_delete=True,
        # The service tries to reconnect every two seconds.
        oslo_messaging_rabbit__rabbit_interval_max=1,
        oslo_messaging_rabbit__kombu_missing_consumer_retry_timeout=MISSING)
    through = sa.make_url(url).set(host='127.0.0.1', port=door.port)
    endpoint = Endpoint()
    with (messages.transport(conf, through.render_as_string(
                hide_password=False)) as transport,
          messages.serving(transport, conf, endpoint)):
        yield endpoint
        endpoint.done.set()


@pytest.fixture
def caller(url, topic):
    return Caller(url, topic)


def test_reply_waits_for_its_queue_from_the_reconnection_on(
        caller, endpoint, door, caplog):
    """The time without a broker does not count."""
    caplog.set_level(logging.DEBUG, 'nova_sched.rpc')
    caller.call()
    assert endpoint.begun.wait(PATIENCE)

    door.close()
    endpoint.done.set()
    time.sleep(MISSING)
    door.open()
    until(lambda: NO_QUEUE in caplog.text or GIVEN_UP in caplog.text,
          'a reply is tried')

    with caller.replies() as reply:
        assert reply()['result'] == 'done'
    assert GIVEN_UP not in caplog.text


def test_keepalives_go_on_after_one_fails(
        caller, endpoint, door, caplog):
    caplog.set_level(logging.DEBUG, 'oslo_messaging')
    caplog.set_level(logging.DEBUG, 'nova_sched.rpc')
    caller.call(MONITOR)
    assert endpoint.begun.wait(PATIENCE)

    door.close()
    until(lambda: 'unreachable' in caplog.text, 'the broker is missed')
    door.open()
    until(lambda: KEEPALIVE_FAILED in caplog.text, 'a keepalive is tried')

    with caller.replies() as reply:
        received = reply()
        assert not received['ending']
        endpoint.done.set()
        while not received['ending']:
            received = reply()
    assert received['result'] == 'done'
