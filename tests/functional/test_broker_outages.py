"""A broker is away during a call, and the service finds it first.

The caller here has its queue for replies only when the service has tried it
in vain, as one that takes longer to find the broker again.
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

#: Seconds that a missing queue for replies is waited for.
MISSING = 5
#: Seconds without a sign of life after which a caller gives up.
MONITOR = 2
#: What is said of a reply that finds no queue, at first and at last, and of a
#: keepalive.
IN_VAIN, GIVEN_UP = 'finds no queue', 'Abandoning'
NOT_TOLD = 'Heartbeat send failed'


class Endpoint:
    """Works on calls until it is told that they are done."""

    target = messaging.Target(version='1.0')

    def __init__(self):
        self.begun, self.done = threading.Event(), threading.Event()

    def work(self, ctxt):
        self.begun.set()
        assert self.done.wait(2 * PATIENCE)
        return 'done'


class Caller:
    """A caller whose queue for replies is there for a block alone.

    url: of the broker.  topic: of the service, and the name of its exchange.
    """

    def __init__(self, url, topic):
        self._url, self._topic = broker.plain_url(url), topic
        self._queue = uuid.uuid4().hex

    def call(self, monitor=None):
        """Send a call; monitor: seconds as MONITOR."""
        # So that a queue takes no more than to declare it.
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
        """Function that waits for a reply, and returns its message."""
        with (self._connection as connection,
              connection.SimpleQueue(
                  kombu.Queue(self._queue, durable=False, exclusive=True),
                  no_ack=True) as queue):
            yield lambda: json.loads(json.loads(
                queue.get(timeout=PATIENCE).body)['oslo.message'])


@pytest.fixture
def url():
    """Of a broker, past the Door."""
    return conftest.broker()


@pytest.fixture
def door(url):
    """The way of the service to its broker, open."""
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
        # A broker that is gone is tried every two seconds.
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


def test_a_reply_waits_for_its_queue_from_when_the_broker_is_back(
        caller, endpoint, door, caplog):
    """However long the broker was away."""
    caplog.set_level(logging.DEBUG, 'nova_sched.rpc')
    caller.call()
    assert endpoint.begun.wait(PATIENCE)

    door.close()
    endpoint.done.set()
    time.sleep(MISSING)
    door.open()
    until(lambda: IN_VAIN in caplog.text or GIVEN_UP in caplog.text,
          'a reply is tried')

    with caller.replies() as reply:
        assert reply()['result'] == 'done'
    assert GIVEN_UP not in caplog.text


def test_a_caller_is_told_that_its_call_is_worked_on_once_it_can_be(
        caller, endpoint, door, caplog):
    """A keepalive that is not delivered is not the last one."""
    caplog.set_level(logging.DEBUG, 'oslo_messaging')
    caplog.set_level(logging.DEBUG, 'nova_sched.rpc')
    caller.call(MONITOR)
    assert endpoint.begun.wait(PATIENCE)

    door.close()
    until(lambda: 'unreachable' in caplog.text, 'the broker is missed')
    door.open()
    until(lambda: NOT_TOLD in caplog.text, 'a keepalive is tried')

    with caller.replies() as reply:
        told = reply()
        assert not told['ending']
        endpoint.done.set()
        while not told['ending']:
            told = reply()
    assert told['result'] == 'done'
