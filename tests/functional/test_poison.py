"""Odd properties and headers of messages do not disturb the service.

Each property and header type of AMQP 0-9-1 comes with odd values by the
shared queue, the host's queue and the fanout; after each message a good call
is answered.
"""

import json
import logging

import kombu
import pytest

from tests.builders import poison
from tests.functional import broker
from tests.functional import captures
from tests.functional import conftest
from tests.functional import raw_bus
from tests.functional.poisoner import Poisoner
from tests.functional.processes import SOON
from tests.functional.processes import until

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


@pytest.fixture
def poisoner(season):
    made = Poisoner(season.url)
    yield made
    made.close()


@pytest.fixture(scope='module')
def season():
    url = conftest.broker()
    with raw_bus.bus(url) as bus, raw_bus.serving(url, bus):
        bus.url = url
        yield bus


@pytest.mark.parametrize(('odd', 'words'), [
    ({'headers': {b'x-sent': poison.ITEMS[f'T {10 ** 12}']}}, 'year'),
    ({'headers': {b'x-sent': poison.ITEMS[f'T {2 ** 63}']}}, 'Error'),
    ({'headers': {b'x-deep': poison.ITEMS['F 5000 deep']}}, 'RecursionError'),
    ({'texts': {'content_type': poison.NOT_UTF8}}, 'UnicodeDecodeError'),
    ({'texts': {'content_encoding': poison.NOT_UTF8}}, 'UnicodeDecodeError'),
    ({'texts': {'correlation_id': poison.NOT_UTF8}}, 'UnicodeDecodeError')],
    ids=str)
def test_undecodable_properties_cost_a_line(
        season, poisoner, caplog, odd, words):
    caplog.set_level(logging.INFO)
    poisoner.publish('', poison.message(CAST, **odd), season.topic,
                     season.topic)

    season.call(args={'arg': 'good'})
    assert season.reply()['result'] == 'good'
    dropped = until(lambda: [record.getMessage() for record in caplog.records
                             if 'is dropped' in record.getMessage()],
                    'it is dropped')
    assert len(dropped) == 1
    assert season.topic in dropped[0]
    assert words in dropped[0]
    assert len(dropped[0]) < 600
    assert 'Reconnected' not in caplog.text
    assert 'Traceback' not in caplog.text


def test_routing_key_that_is_no_text_costs_a_line(season, poisoner, caplog):
    poisoner.publish('', poison.message(CAST), f'{season.topic}_fanout',
                     poison.NOT_UTF8)

    assert 'UnicodeDecodeError' in until(
        lambda: [record.getMessage() for record in caplog.records
                 if 'is dropped' in record.getMessage()], 'it is dropped')[0]
    season.call(args={'arg': 'good'})
    assert season.reply()['result'] == 'good'


def test_content_encoding_does_not_choose_the_codec(season, poisoner):
    """Decoding 3 MB of punycode would take minutes."""
    body = (b'a' * 1_500_000 + b'-' + b'9a' * 750_000)
    poisoner.publish('', poison.message(
        body, {'content_encoding': b'punycode'}), season.topic, season.topic)

    season.call(args={'arg': 'good'})
    assert season.reply(SOON)['result'] == 'good'


def test_good_call_is_answered_after_each_odd_message(tmp_path):
    """By the same workers, and no message stays in the queue."""
    with conftest.open_stage(
            tmp_path, DEFAULT__control_exchange='nova', DEFAULT__host='sched1',
            DEFAULT__service_down_time=86400, scheduler__workers=2) as stage:
        stage.load(captures.cloud('34'))
        daemon = stage.daemon()
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
        assert not daemon.lines('Reconnected')
        assert not daemon.lines('Traceback')
        with kombu.Connection(broker.plain_url(
                stage.transport_url)) as connection:
            queue = connection.default_channel.queue_declare(
                'scheduler', passive=True)
        assert queue.message_count == 0
