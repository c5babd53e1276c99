"""The queue that a shadow listens to, at a broker in this process."""

import pytest

from nova_sched.shadow import tap
from tests.builders import rules

SOON = 0.05


@pytest.fixture
def listening(broker):
    """Function of options: a Tap that is open."""
    opened = []

    def listening(**options):
        found = tap.Tap(rules.a_conf(
            DEFAULT__transport_url='rabbit://u:p@localhost:1/',
            DEFAULT__control_exchange='nova', **options))
        opened.append(found)
        found.open()
        return found
    yield listening
    for found in opened:
        found.close()


def methods(found, count):
    """What is called by the next messages: None where there is none."""
    calls = [found.next(SOON) for _ in range(count)]
    return [call and call.method for call in calls]


def test_a_request_is_taken_once_and_in_its_order(broker, listening):
    found = listening()
    broker.call('one')
    broker.call('two')

    assert methods(found, 3) == ['one', 'two', None]


def test_more_requests_than_are_taken_ahead_come_all(broker, listening):
    found = listening()
    for number in range(20):
        broker.call(f'call{number}')

    assert methods(found, 21) == [
        *(f'call{number}' for number in range(20)), None]


def test_of_other_topics_nothing_is_heard(broker, listening):
    found = listening()
    broker.send({'method': 'build'}, topic='compute')

    assert found.next(SOON) is None


def test_it_tells_how_many_requests_wait(broker, listening):
    found = listening()
    assert found.queue_length() == 0
    broker.call()
    broker.call()

    assert found.queue_length() == 2


def test_an_exchange_that_was_made_anew_gets_its_queue_again(
        broker, listening):
    found = listening()
    broker.state.clear()
    broker.declare()
    found.queue_length()
    broker.call('one')

    assert methods(found, 1) == ['one']


def test_a_queue_has_a_name_of_its_own_which_the_broker_shows(
        broker, listening):
    names = [listening().queue, listening().queue]

    assert len(set(names)) == 2
    assert all(name.startswith('scheduler_shadow_') for name in names)
    assert {*names} <= {*broker.asked}


@pytest.mark.parametrize(('quorum', 'described'), [
    (False, {'durable': False, 'exclusive': True, 'auto_delete': True,
             'arguments': {'x-max-length': 1000, 'x-overflow': 'drop-head'}}),
    (True, {'durable': True, 'exclusive': False, 'auto_delete': False,
            'arguments': {'x-max-length': 1000, 'x-overflow': 'drop-head',
                          'x-queue-type': 'quorum', 'x-expires': 60_000}})])
def test_a_queue_is_bounded_and_ends_with_its_shadow(
        broker, listening, quorum, described):
    """The oldest requests go first; a quorum queue lasts for a minute."""
    found = listening(
        oslo_messaging_rabbit__rabbit_quorum_queue=quorum)

    assert broker.declared[found.queue].items() >= described.items()


def test_it_is_removed_at_the_end(broker, listening):
    found = listening()
    connection = found._connection
    assert list(broker.queues) == [found.queue]
    assert connection.connected
    found.close()
    found.close()

    assert list(broker.queues) == []
    assert not connection.connected


def test_what_was_left_in_it_is_dropped_when_it_is_opened_again(
        broker, listening):
    """As after a loss: it is too late to decide that."""
    found = listening()
    broker.call('late')
    found._connection.release()
    found.open()

    assert found.next(SOON) is None
    broker.call('timely')
    assert methods(found, 1) == ['timely']


def test_what_was_taken_ahead_is_dropped_when_it_is_opened_again(
        broker, listening):
    found = listening()
    for _ in range(3):
        broker.call('late')
    assert methods(found, 1) == ['late']
    found.open()

    assert found.next(SOON) is None


@pytest.mark.parametrize(('body', 'properties'), [
    ('[', {}), ('x', {'content_type': 'application/x-python-serialize',
                      'content_encoding': 'utf-8'}), ('{}', {})])
def test_a_message_that_cannot_be_read_is_none_and_keeps_no_other(
        broker, listening, body, properties):
    found = listening()
    broker.send(body, **properties)
    broker.call('one')

    with pytest.raises(ValueError):
        found.next(SOON)
    assert methods(found, 2) == ['one', None]


def test_it_makes_no_exchange_and_says_what_to_do(broker, listening):
    """Whoever makes it decides how long it lives."""
    broker.state.clear()

    with pytest.raises(tap.ConnectionLost,
                       match='there is no exchange nova; start '):
        listening()
    assert 'nova' not in broker.state.exchanges


def test_a_queue_that_is_gone_is_no_missing_exchange(broker, listening):
    found = listening()
    broker.forgetful = True

    with pytest.raises(tap.ConnectionLost, match='no queue '):
        found.queue_length()


@pytest.mark.parametrize(('error', 'words'), [
    (ConnectionResetError('it went away'), 'it went away'),
    (OSError(), 'OSError')])
def test_a_broker_that_goes_away_is_a_loss(broker, listening, error, words):
    found = listening()
    broker.down = error

    with pytest.raises(tap.ConnectionLost, match=words):
        found.next(SOON)
