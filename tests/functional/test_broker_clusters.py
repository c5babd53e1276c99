"""A service with several brokers in transport_url, one of them alive.

Each broker is a Door to the same RabbitMQ, open or closed.
"""

import contextlib
import re
import uuid

import pytest
import sqlalchemy as sa

from tests.functional import broker
from tests.functional import raw_bus
from tests.functional.processes import PATIENCE
from tests.functional.processes import door_to

pytestmark = pytest.mark.real


@pytest.mark.parametrize('number', [1, 2, 6])
def test_only_living_broker_is_found(bus, number, caplog):
    caplog.set_level('INFO', 'nova_sched.rpc')
    doors = [door_to(bus.url) for _ in range(number)]
    doors[0].open()
    with contextlib.ExitStack() as exits:
        for door in doors:
            exits.callback(door.close)
        endpoint = exits.enter_context(raw_bus.serving(
            bus, url=broker.of_cluster([door.url for door in doors])))
        endpoint.done.set()
        for alive in [*doors[1:], doors[0]]:
            for door in doors:
                door.close()
            alive.open()
            # A cast, because replies would be retried after the test.
            bus.send({'method': 'work', 'args': {}, 'version': '1.0',
                      '_unique_id': uuid.uuid4().hex})
            assert endpoint.begun.acquire(timeout=PATIENCE)

    lines = [line for line in caplog.messages
             if line.startswith('The message broker at')]
    ports = {str(door.port) for door in doors}
    for line in lines:
        here, there = re.fullmatch(
            r'The message broker at 127\.0\.0\.1:(\d+) is unreachable: .*\. '
            r'Trying (?:127\.0\.0\.1:(\d+)|it again) next', line).groups()
        assert here in ports
        assert there in ports - {here} if number > 1 else there is None
    assert sa.make_url(bus.url).password not in ''.join(lines)
