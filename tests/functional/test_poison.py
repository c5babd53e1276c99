"""Odd properties and headers of messages do not disturb the service.

Each property and header type of AMQP 0-9-1 comes with odd values by the
shared queue, the host's queue and the fanout; after each message a good call
is answered.
"""

import contextlib
import json

import pytest

from tests.builders import poison
from tests.functional import broker
from tests.functional import captures
from tests.functional import raw_bus
from tests.functional.poisoner import Poisoner
from tests.functional.processes import SOON

pytestmark = pytest.mark.real

CAST = json.dumps({'oslo.version': '2.0', 'oslo.message': json.dumps(
    {'method': 'no_such', 'args': {}, 'version': '4.0'})}).encode()


#: Exchanges and routing keys that lead to a service on the host sched1.
WAYS = (('nova', 'scheduler'), ('nova', 'scheduler.sched1'),
        ('scheduler_fanout', ''), ('scheduler_fanout', poison.NOT_UTF8))


def _is_checked_by_brokers(what):
    """Whether RabbitMQ itself refuses such a message."""
    return what.startswith(('expiration', 'user_id', 'delivery_mode')) or (
        what.endswith((' nan', ' inf')))


def test_content_encoding_does_not_choose_the_codec(bus):
    """Decoding 3 MB of punycode would take minutes."""
    body = (b'a' * 1_500_000 + b'-' + b'9a' * 750_000)
    with raw_bus.serving(bus):
        with contextlib.closing(Poisoner(bus.url)) as poisoner:
            poisoner.publish('', poison.message(
                body, {'content_encoding': b'punycode'}), bus.topic, bus.topic)

        bus.call(args={'arg': 'good'})
        assert bus.reply(SOON)['result'] == 'good'


def test_good_call_is_answered_after_each_odd_message(tmp_path):
    """By the same workers, and no message stays in the queue.

    Each undecodable message costs a line.
    """
    with captures.open_stage(tmp_path) as stage:
        daemon = stage.daemon(workers=2)
        workers = daemon.workers
        poisoner = Poisoner(stage.transport_url)
        good = captures.load('34-simple-flavor')['request']
        with broker.wire(stage.transport_url) as wire:
            for what, message in poison.messages(CAST):
                for exchange, key in WAYS:
                    poisoner.publish(what, message, exchange, key)
                call = wire.fresh(good)
                wire.send(call)
                msg_id = call['body']['oslo.message']['_msg_id']
                reply = wire.replies([msg_id]).get(msg_id)
                assert reply, what
                assert reply['failure'] is None, what
        poisoner.close()
        assert all(_is_checked_by_brokers(what) for what in poisoner.refused)
        assert daemon.workers == workers
        dropped = daemon.lines('is dropped: ')
        for words in ('year', 'RecursionError', 'UnicodeDecodeError'):
            assert any(words in line for line in dropped), words
        assert max(map(len, dropped)) < 700
        assert not daemon.lines('Reconnected')
        assert not daemon.lines('Traceback')
        with broker.channel(stage.transport_url) as channel:
            queue = channel.queue_declare('scheduler', passive=True)
        assert queue.message_count == 0
