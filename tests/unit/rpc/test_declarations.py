"""The declarations of a server follow the options of oslo.messaging."""

import pytest

from nova_sched.rpc import declarations
from tests.builders import rules

PLAIN = {'durable': False, 'auto_delete': False, 'arguments': {}}
QUORUM = {'durable': True, 'auto_delete': False,
          'arguments': {'x-queue-type': 'quorum'}}


def consumed(query='', **options):
    """The result of of_server for rabbit://one/."""
    return declarations.of_server(rules.a_conf(
        DEFAULT__host='here', DEFAULT__control_exchange='nova',
        **{f'oslo_messaging_rabbit__{name}': value
           for name, value in options.items()}), f'rabbit://one/{query}')


def test_queues_are_shared_of_the_host_and_fanout():
    names = [[declaration.name for declaration in first]
             for first, *_later in consumed()]

    assert names[:2] == [['nova', 'scheduler'], ['nova', 'scheduler.here']]
    assert names[2][0] == 'scheduler_fanout'


@pytest.mark.parametrize('options, form', [
    ({}, PLAIN), ({'amqp_durable_queues': True}, PLAIN | {'durable': True}),
    ({'amqp_auto_delete': True}, PLAIN | {'auto_delete': True}),
    ({'rabbit_quorum_queue': True}, QUORUM),
    ({'rabbit_quorum_queue': True, 'rabbit_quorum_delivery_limit': 3},
     QUORUM | {'arguments': QUORUM['arguments'] | {'x-delivery-limit': 3}}),
    ({'rabbit_ha_queues': True},
     PLAIN | {'arguments': {'x-ha-policy': 'all'}}),
    # Options of transient queues.
    ({'rabbit_transient_quorum_queue': True,
      'rabbit_transient_queues_ttl': 9}, PLAIN)])
def test_form_follows_the_options(options, form):
    ((exchange, queue), *_later), *_others = consumed(**options)

    assert queue.arguments == form
    assert exchange.arguments == {
        'type': 'topic', 'durable': form['durable'],
        'auto_delete': form['auto_delete']}


def test_url_may_have_options():
    ((_exchange, queue), *_later), *_others = consumed(
        '?amqp_durable_queues=true')

    assert queue.arguments['durable']


def test_durable_queues_have_a_second_attempt_except_quorum_queues():
    (_first, (exchange, queue)), *_others = consumed(amqp_durable_queues=True)

    assert not exchange.arguments['durable']
    assert queue.arguments == PLAIN
    assert [len(attempts) for attempts in consumed()] == [1, 1, 1]
    assert len(consumed(rabbit_quorum_queue=True)[0]) == 1
