"""A service with several brokers in transport_url, one of them alive.

Each broker is a Door to the same RabbitMQ, open or closed.
"""

import contextlib
import json
import re
import uuid

import kombu
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


class Endpoint:
    """Records the numbers in casts."""

    def __init__(self):
        self.seen = []

    def note(self, ctxt, number):
        self.seen.append(number)


@pytest.fixture
def url():
    """URL of the RabbitMQ, past all doors."""
    return conftest.broker()


@pytest.fixture
def doors_of(url):
    """Function that returns a number of closed Doors."""
    target = sa.make_url(url)
    with contextlib.ExitStack() as stack:
        def make(number):
            made = [Door(target.host, target.port) for _ in range(number)]
            for door in made:
                stack.callback(door.close)
            return made
        yield make


def transport_url(url, doors):
    """The URL of a cluster with these Doors, as operators write it."""
    parsed = sa.make_url(url)
    hosts = ','.join(f'{parsed.username}:{parsed.password}@127.0.0.1:'
                     f'{door.port}' for door in doors)
    return f'rabbit://{hosts}/{parsed.database or ""}'


@pytest.mark.parametrize('number', [1, 2, 6])
def test_only_living_broker_is_found(url, doors_of, number, caplog):
    caplog.set_level('INFO', 'nova_sched.rpc')
    topic, doors = f'clusters-{uuid.uuid4().hex[:8]}', doors_of(number)
    conf = rules.a_conf(
        DEFAULT__host='here', DEFAULT__scheduler_topic=topic,
        DEFAULT__control_exchange=topic,
        oslo_messaging_rabbit__amqp_auto_delete=True)
    endpoint = Endpoint()
    doors[0].open()

    with (messages.transport(conf, transport_url(url, doors)) as transport,
          messages.serving(transport, conf, endpoint)):
        for alive, door in enumerate([*doors[1:], doors[0]]):
            for other in doors:
                other.close()
            door.open()
            until(lambda number=alive: _is_noted(
                url, topic, endpoint, number), 'a consumer again', PATIENCE,
                0.2)

    lines = [line for line in caplog.messages
             if line.startswith('The message broker at')]
    ports = {str(door.port) for door in doors}
    for line in lines:
        here, there = re.fullmatch(
            r'The message broker at 127\.0\.0\.1:(\d+) is unreachable: .*\. '
            r'Trying (?:127\.0\.0\.1:(\d+)|it again) next', line).groups()
        assert here in ports
        assert there in ports - {here} if number > 1 else there is None
    assert sa.make_url(url).password not in ''.join(lines)


def _is_noted(url, topic, endpoint, number):
    """Send a cast past all doors; return whether one has arrived."""
    # Without a consumer the exchange does not exist either. The broker then
    # closes the channel; a client that closes it at the same time would wait
    # for ever, so it waits for the confirm first.
    with (kombu.Connection(broker.plain_url(url), transport_options={
            'confirm_publish': True}) as connection,
          contextlib.suppress(*connection.channel_errors)):
        connection.Producer().publish({
            'oslo.version': '2.0', 'oslo.message': json.dumps({
                'method': 'note', 'args': {'number': number},
                'version': '1.0', '_unique_id': uuid.uuid4().hex})},
            exchange=topic, routing_key=topic)
    return number in endpoint.seen
