"""What a server declares, by the options of the library."""

import pytest

from nova_sched.rpc import declarations
from tests.builders import rules

PLAIN = {'durable': False, 'auto_delete': False, 'arguments': {}}
QUORUM = {'durable': True, 'auto_delete': False,
          'arguments': {'x-queue-type': 'quorum'}}


def consumed(query='', **options):
    """What a server at rabbit://one/ consumes, as of_server has it."""
    return declarations.of_server(rules.a_conf(
        DEFAULT__host='here', DEFAULT__control_exchange='nova',
        **{f'oslo_messaging_rabbit__{name}': value
           for name, value in options.items()}), f'rabbit://one/{query}')


def test_are_the_shared_queue_its_own_and_the_fanout():
    names = [[declaration.name for declaration in first]
             for first, *_again in consumed()]

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
    # These are for other queues.
    ({'rabbit_transient_quorum_queue': True,
      'rabbit_transient_queues_ttl': 9}, PLAIN)])
def test_have_the_form_that_the_options_say(options, form):
    ((exchange, queue), *_again), *_others = consumed(**options)

    assert queue.arguments == form
    assert exchange.arguments == {
        'type': 'topic', 'durable': form['durable'],
        'auto_delete': form['auto_delete']}


def test_may_have_options_in_the_url():
    ((_exchange, queue), *_again), *_others = consumed(
        '?amqp_durable_queues=true')

    assert queue.arguments['durable']


def test_of_durable_queues_are_tried_without():
    """Quorum queues cannot be."""
    (_first, (exchange, queue)), *_others = consumed(amqp_durable_queues=True)

    assert not exchange.arguments['durable']
    assert queue.arguments == PLAIN
    assert [len(attempts) for attempts in consumed()] == [1, 1, 1]
    assert len(consumed(rabbit_quorum_queue=True)[0]) == 1
