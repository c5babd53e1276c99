"""The driver of rabbit:// URLs, and its selection."""

from importlib import metadata
import threading
import types
from unittest import mock

import amqp
import kombu
import oslo_messaging as messaging
from oslo_messaging._drivers import common
from oslo_messaging._drivers import impl_rabbit
import pytest

from nova_sched import exception
from nova_sched import remote
from nova_sched import rpc
from nova_sched.concurrency import turns
from nova_sched.rpc import driver
from nova_sched.rpc import listener as rpc_listener
from tests.builders import rules
from tests.builders.listeners import a_consumer
from tests.builders.listeners import a_listener
from tests.builders.listeners import delivered


def a_channel():
    """A channel of its own amqp.Connection."""
    channel = mock.create_autospec(amqp.Channel, instance=True)
    channel.connection = mock.create_autospec(
        amqp.Connection, instance=True, on_inbound_method=None,
        on_inbound_frame=None)
    return channel


class TestChoice:
    def test_is_an_entry_point_of_oslo_messaging(self):
        found, = metadata.entry_points(group='oslo.messaging.drivers',
                                       name=driver.NAME)
        assert found.load() is driver.Driver

    @pytest.mark.parametrize('url', [
        'rabbit://', 'rabbit://me:p%2Fw@one:5673,you:x@two/v?ssl=true',
        'kombu://h/', 'kombu+memory://'])
    def test_serves_the_urls_of_rabbitmq_and_kombu(self, url):
        conf = rules.a_conf(DEFAULT__transport_url=url)
        made = rpc.get_transport(conf)._driver
        assert isinstance(made, driver.Driver)
        written = messaging.TransportURL.parse(conf, url)
        for found in (made._url, made._connection_pool.url):
            assert str(found) == str(written)

    def test_leaves_other_urls_to_their_drivers(self):
        made = rpc.get_transport(rules.a_conf(DEFAULT__transport_url='fake:'))
        assert not isinstance(made._driver, impl_rabbit.RabbitDriver)

    def test_is_no_scheme_for_operators(self):
        with pytest.raises(exception.ConfigurationError,
                           match='is no URL of a message broker'):
            rpc.get_transport(rules.a_conf(
                DEFAULT__transport_url='nova_sched_rabbit://h'))

    def test_missing_entry_point_is_reported_with_remedy(self, monkeypatch):
        """An installation may be older than its files."""
        monkeypatch.setattr(driver, 'NAME', 'never_installed')
        with pytest.raises(exception.ConfigurationError) as refused:
            rpc.get_transport(rules.a_conf(DEFAULT__transport_url='rabbit:'))
        assert str(refused.value).endswith(
            'Failed to load transport driver "rabbit": there is no entry '
            'point never_installed in oslo.messaging.drivers; install '
            'nova_sched again')


def a_connection(url, purpose=common.PURPOSE_LISTEN, **options):
    conf = rules.a_conf(DEFAULT__transport_url=url, **options)
    return rpc.get_transport(conf)._driver._get_connection(purpose)


class TestConnections:
    @pytest.mark.parametrize('purpose', [common.PURPOSE_LISTEN,
                                         common.PURPOSE_SEND])
    def test_have_the_class_of_the_driver(self, purpose):
        with a_connection('kombu+memory://', purpose) as found:
            assert isinstance(found.connection, driver.Connection)

    @pytest.mark.parametrize(('user', 'password'), [
        ('u%2Fs', 'a%2Fb'), ('u%40%3A', '%2F%25%3Bx'), ('u', '')])
    def test_quote_users_and_passwords(self, user, password):
        conf = rules.a_conf()
        url = messaging.TransportURL.parse(
            conf, f'rabbit://{user}:{password}@h/v')
        [host] = url.hosts
        found = kombu.Connection(
            driver.Connection._transform_transport_url(None, url, host))
        assert (found.userid or '', found.password or '') == (
            host.username, host.password)
        assert (found.hostname, found.virtual_host) == ('h', 'v')

    def test_have_the_default_user_without_a_host(self):
        url = messaging.TransportURL.parse(rules.a_conf(), 'rabbit://')
        assert driver.Connection._transform_transport_url(
            None, url, messaging.TransportHost(''), default_username='guest',
            default_password='guest', default_hostname='localhost') == (
                'amqp://guest:guest@localhost:5672/%2F')

    def test_close_the_connection_that_was_lost(self, monkeypatch):
        """kombu would leave its socket open."""
        monkeypatch.setattr(impl_rabbit.Connection, '_set_current_channel',
                            lambda self, channel: None)
        made = object.__new__(driver.Connection)
        lost, new = a_channel(), a_channel()

        made._set_current_channel(lost)
        made._set_current_channel(None)
        assert not lost.connection.collect.called

        made._set_current_channel(new)
        made._set_current_channel(new)
        assert lost.connection.collect.called
        assert not new.connection.collect.called

    def test_release_the_turn_while_the_broker_confirms(self, monkeypatch):
        """The library sets the same channel repeatedly."""
        monkeypatch.setattr(impl_rabbit.Connection, '_set_current_channel',
                            lambda self, channel: None)
        made, channel = object.__new__(driver.Connection), a_channel()
        channel.wait = wait = mock.Mock(return_value='confirmed')
        for _ in range(2000):
            made._set_current_channel(channel)

        def call():
            confirmed = channel.wait(['ack'], timeout=3)
            assert other.result(20)
            return confirmed

        pool = turns.TurnExecutor(2)
        with mock.patch.object(turns, 'PATIENCE', 60):
            replying = pool.submit(call)
            other = pool.submit(bool, 1)
            assert replying.result(20) == 'confirmed'
        pool.shutdown()
        wait.assert_called_once_with(['ack'], timeout=3)

    def test_stop_waiting_for_replies_within_half_a_second(self, monkeypatch):
        monkeypatch.setattr(impl_rabbit.Connection, '__init__',
                            lambda self, timeout: setattr(
                                self, '_poll_timeout', timeout))
        assert driver.Connection(10)._poll_timeout == rpc_listener.IDLE == 0.5
        assert driver.Connection(0.05)._poll_timeout == 0.05


class TestConsumers:
    @pytest.fixture
    def declared(self, monkeypatch):
        """The consumers that connections declare: a list."""
        declared = []
        monkeypatch.setattr(impl_rabbit.Connection, 'declare_consumer',
                            lambda self, consumer: declared.append(consumer))
        return declared

    def test_for_requests_are_declared_as_by_the_library(self, declared):
        listener = a_listener()
        with a_connection('kombu+memory://') as connection:
            connection.declare_topic_consumer('nova', 'scheduler', listener)
            connection.declare_fanout_consumer('scheduler', listener)
        topic, fanout = declared
        assert [type(topic), type(fanout)] == [driver.RequestConsumer] * 2
        assert (topic.exchange_name, topic.queue_name) == ('nova', 'scheduler')
        assert (fanout.exchange_name, fanout.type) == ('scheduler_fanout',
                                                       'fanout')

    def test_for_replies_are_the_library_s(self, declared):
        """Replies may have any size."""
        with a_connection('kombu+memory://') as connection:
            connection.declare_direct_consumer('reply_1', print)
        assert [type(made) for made in declared] == [impl_rabbit.Consumer]

    def test_drop_a_message_that_fails_the_listener(self, caplog):
        listener = a_listener()
        listener.msg_id_cache.check_duplicate_message = None
        consumer = a_consumer(listener)
        consumer._callback(delivered('{"method": "a"}'))
        assert consumer.queue.channel.rejected == [1]
        assert 'A message to scheduler is dropped' in caplog.messages[-1]

    @pytest.mark.parametrize(('streams', 'offset'), [(True, 8),
                                                     (False, 'last')])
    def test_remember_their_position_in_a_stream(self, streams, offset):
        consumer = a_consumer(a_listener(), rabbit_stream_fanout=streams)
        consumer._callback(delivered('{}', {'x-stream-offset': 7}))
        assert consumer.next_stream_offset == offset
        consumer._callback(delivered('{}'))
        assert consumer.next_stream_offset == offset


class Consumer(types.SimpleNamespace):
    """A consumer of a queue, hashable by identity."""

    __hash__ = object.__hash__


class Rabbit(driver.Connection):
    """A connection to no broker.

    error: of binding a queue, or None.  timeouts: as they were set.
    bound: names of queues.  closed: number of closed channels.
    """

    def __init__(self, connected=True, error=None):
        self.connection, self.connected = self, connected
        self.timeouts, self.bound, self.closed = [], [], 0
        self._error = error
        self.contact, self._new_tags = remote.Contact(), set()
        self._consumers = {self._consumer('queue'): 1,
                           Consumer(queue=None): 2,
                           self._consumer('fanout'): 3}

    def _consumer(self, name):
        def queue_bind(channel):
            assert self.timeouts == [driver.PATIENCE]
            if self._error:
                raise self._error
            self.bound.append(name)
        return Consumer(queue=types.SimpleNamespace(queue_bind=queue_bind))

    def channel(self):
        return types.SimpleNamespace(
            close=lambda: setattr(self, 'closed', self.closed + 1))

    def set_transport_socket_timeout(self, timeout=None):
        self.timeouts.append(timeout)

    def _set_current_channel(self, channel):
        assert channel is None


@pytest.mark.parametrize(('error', 'bound', 'lines'), [
    (None, ['queue', 'fanout'], 0), (ConnectionResetError(), [], 0),
    (amqp.NotFound('no exchange nova'), [], 1),
    (amqp.ConsumerCancelled('gone'), [], 1)])
def test_bindings_are_restored_on_a_channel_of_their_own(
        error, bound, lines, caplog):
    """After the deletion of an exchange all consumers are declared again."""
    rabbit = Rabbit(error=error)
    rabbit.bind_again()
    assert rabbit.bound == bound
    assert rabbit.timeouts == [driver.PATIENCE, None]
    assert rabbit.closed == 1
    assert rabbit._new_tags == ({1, 2, 3} if lines else set())
    assert [line.startswith('The request queue or its exchange was deleted')
            for line in caplog.messages] == [True] * lines


def test_bindings_are_not_checked_without_a_connection():
    """A channel would connect without consuming."""
    rabbit = Rabbit(connected=False)
    rabbit.bind_again()
    assert rabbit.timeouts == []


def test_contact_counts_each_failed_attempt_to_connect():
    """The library's error that starts a reconnection does not count."""
    rabbit = Rabbit()
    rabbit.note_alive()
    assert rabbit.contact.last_success
    rabbit._note(ConnectionResetError('reset by peer'))
    rabbit._note(amqp.RecoverableConnectionError())
    rabbit.connected = False
    rabbit.note_alive()
    assert (rabbit.contact.failures, rabbit.contact.error) == (
        1, 'reset by peer')
    rabbit._note(ConnectionRefusedError('refused'))
    assert (rabbit.contact.failures, rabbit.contact.error) == (2, 'refused')


def test_deleted_queue_is_no_lost_broker():
    rabbit = Rabbit()
    rabbit._note(amqp.ConsumerCancelled('gone'))
    rabbit._new_tags = {1}
    rabbit.note_alive()
    assert (rabbit.gone_count, rabbit.is_gone) == (1, True)
    assert rabbit.contact.failures == 0
    # As soon as it consumes again.
    rabbit._new_tags = set()
    rabbit.note_alive()
    assert (rabbit.gone_count, rabbit.is_gone) == (1, False)


class TestUnreachableBrokers:
    """A lost connection, and several brokers."""

    @pytest.fixture
    def lost(self, monkeypatch):
        """Function of all hosts and of living ones: returns a connection."""
        monkeypatch.setattr(driver.time, 'sleep', lambda seconds: None)

        def make(hosts, alive):
            tried = []

            def establish(connection):
                tried.append(connection.hostname)
                if connection.hostname not in alive:
                    raise ConnectionRefusedError('refused')
                return mock.Mock()
            monkeypatch.setattr(kombu.Connection, '_establish_connection',
                                establish)
            made = driver.Connection.__new__(driver.Connection)
            made.connection = kombu.Connection(';'.join(
                f'amqp://me:secret@{host}:5672//' for host in hosts))
            made.contact, made._unreachable = remote.Contact(), set()
            made._connection_lock = threading.RLock()
            made._consumers, made.channel = {}, None
            made.kombu_reconnect_delay = 1.0
            made.set_transport_socket_timeout = lambda: None
            return made, tried
        return make

    @pytest.mark.parametrize('count', range(1, 7))
    def test_are_each_tried_in_a_round_until_one_answers(self, lost, count):
        hosts = [f'h{number}' for number in range(count)]
        made, tried = lost(hosts, ())
        for _ in range(2):
            with pytest.raises(common.Timeout):
                made._connect_again()
        assert tried == hosts * 2

        for alive in hosts:
            made, tried = lost(hosts, [alive])
            made._connect_again()
            assert made.connection.hostname == tried[-1] == alive
            assert len(tried) <= count

    def test_are_logged_once_each_with_the_next_one(self, lost, caplog):
        caplog.set_level('INFO')
        alive, attempts = [], []
        made, _ = lost(['one', 'two', 'three'], alive)
        made.on_failed_attempt = lambda: attempts.append(1)
        for _ in range(3):
            with pytest.raises(common.Timeout):
                made._connect_again()
        alive.append('two')
        made._connect_again()

        assert [line for line in caplog.messages if 'broker' in line] == [
            'The message broker at one:5672 is unreachable: refused. Trying '
            'two:5672 next',
            'The message broker at two:5672 is unreachable: refused. Trying '
            'three:5672 next',
            'The message broker at three:5672 is unreachable: refused. Trying '
            'one:5672 next',
            'Connected again to the message broker at two:5672']
        assert len(attempts) == 10
        assert 'secret' not in caplog.text
