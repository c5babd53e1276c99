"""Rows about the message broker."""

import socket
import ssl
import types

import amqp
import pytest

from nova_sched.preflight.message_broker import MessageBroker
from nova_sched.preflight.rows import ERROR
from nova_sched.preflight.rows import OK
from nova_sched.preflight.rows import WARNING
from nova_sched.rpc import brokers
from tests.builders import rules
from tests.builders.case_tables import case_table


def test_a_transport_in_memory_is_not_checked():
    row, = MessageBroker(rules.a_conf(DEFAULT__transport_url='fake://')).rows()

    assert row.outcome == OK
    assert 'is no RabbitMQ' in row.found


def test_each_host_of_the_broker_has_a_row():
    with socket.socket() as taken:
        taken.bind(('127.0.0.1', 0))    # without a listener
        port = taken.getsockname()[1]
        found = MessageBroker(rules.a_conf(
            DEFAULT__transport_url=f'rabbit://u:open-sesame@127.0.0.1:{port},'
            f'u:open-sesame@localhost:{port}/nova')).rows()

    assert [row.outcome for row in found] == [ERROR, ERROR]
    assert f'127.0.0.1:{port}, virtual host nova: ' in found[0].found
    assert 'refused' in found[0].found
    assert '[oslo_messaging_rabbit] ssl' in found[0].advice
    assert 'open-sesame' not in str(found)


@case_table('preflight-message-broker', 'urls')
def test_hosts_are_read_from_the_transport_url(url, where):
    broker, = brokers.brokers(rules.a_conf(), url)

    assert broker.where == where


def test_the_repr_of_a_broker_has_no_password():
    broker, = brokers.brokers(rules.a_conf(), 'rabbit://u:open-sesame@h/')

    assert 'open-sesame' not in repr(broker)


def test_the_notification_broker_has_a_row_if_notifications_are_on():
    options = {'DEFAULT__transport_url': 'fake://',
               'oslo_messaging_notifications__transport_url':
                   'rabbit://u:open-sesame@127.0.0.1:1/'}
    for idle in ([], ['noop'], ['log']):
        off = MessageBroker(rules.a_conf(
            **options, oslo_messaging_notifications__driver=idle)).rows()
        assert [row.check for row in off] == ['broker']

    on = MessageBroker(rules.a_conf(
        **options, oslo_messaging_notifications__driver=['messagingv2']
    )).rows()

    assert [(row.check, row.outcome) for row in on[1:]] == [
        ('notification broker', WARNING)]
    assert 'open-sesame' not in str(on)


class Connections:
    """Fake of amqp.Connection.

    count: consumers of any queue, or an error of its declaration.
    refusal: error of connecting, or None.
    made: the parameters of each; did: the calls, in order.
    """

    def __init__(self):
        self.count, self.refusal, self.made, self.did = 0, None, [], []

    def __call__(self, **parameters):
        self.made.append(parameters)
        return self

    def connect(self):
        if self.refusal:
            raise self.refusal

    def channel(self):
        return self

    def queue_declare(self, name, passive, **_arguments):
        self.did.append((name, passive))
        if isinstance(self.count, Exception):
            raise self.count
        return types.SimpleNamespace(consumer_count=self.count)

    exchange_declare = queue_declare

    def close(self):
        self.did.append('close')
        raise OSError('it has hung up')

    def collect(self):
        self.did.append('collect')


class TestHost:
    @pytest.fixture
    def connections(self, monkeypatch):
        made = Connections()
        monkeypatch.setattr(brokers.amqp, 'Connection', made)
        return made

    @pytest.fixture
    def found(self, connections):
        """Function of a URL: the rows of its bus."""
        def found(url='rabbit://me:p%2Fw@one:1/v', **options):
            return MessageBroker(rules.a_conf(
                DEFAULT__transport_url=url, **options)).rows()
        return found

    @pytest.mark.parametrize(('count', 'outcome', 'words'), [
        (0, OK, 'no scheduler takes requests'),
        (1, WARNING, '1 consumers take requests'),
        (8, WARNING, '8 consumers take requests'),
        (amqp.NotFound('no queue'), OK, 'does not exist yet')])
    def test_the_consumers_of_requests_have_a_row(
            self, connections, found, count, outcome, words):
        connections.count = count
        host, queue = found(DEFAULT__scheduler_topic='sched')
        assert (host.outcome, host.found) == (
            OK, 'one:1, virtual host v: connects and logs in')
        assert (queue.check, queue.outcome) == ('queue sched', outcome)
        assert queue.found.startswith(words)

    def test_queues_are_declared_passively_first(self, connections, found):
        """A queue that does not exist is not created."""
        connections.count = amqp.NotFound('nothing')
        found(DEFAULT__control_exchange='nova', DEFAULT__host='here')
        *asked, fanout = [asked for asked in connections.did
                          if isinstance(asked, tuple)]
        assert asked == [
            ('scheduler', True), ('nova', True), ('scheduler', True),
            ('nova', True), ('scheduler.here', True),
            ('scheduler_fanout', True)]
        assert fanout[0].startswith('scheduler_fanout_')
        assert connections.did[-2:] == ['close', 'collect']

    def test_an_empty_exchange_name_is_not_declared(self, connections, found):
        found(DEFAULT__control_exchange='')
        assert not [asked for asked in connections.did if asked[0] == '']

    @pytest.mark.parametrize(('url', 'user', 'password'), [
        ('rabbit://me:p%2Fw@one:1/v', 'me', 'p/w'),
        ('rabbit://one:1/v', '', '')])
    def test_a_connection_has_the_parameters_of_the_url(
            self, connections, found, url, user, password):
        found(url, oslo_messaging_rabbit__rabbit_login_method='PLAIN')
        [parameters] = connections.made
        capabilities = parameters.pop('client_properties')['capabilities']
        assert capabilities == {'authentication_failure_close': True,
                                'consumer_cancel_notify': True}
        assert parameters == {
            'host': 'one:1', 'virtual_host': 'v', 'ssl': False,
            'userid': user, 'password': password, 'login_method': 'PLAIN',
            'connect_timeout': 10, 'read_timeout': 10, 'write_timeout': 10}

    @pytest.mark.parametrize(('error', 'told', 'advice'), [
        (amqp.AccessRefused('LOGIN was refused'), 'LOGIN was refused',
         'Check user and password in [DEFAULT] transport_url'),
        (amqp.NotAllowed('vhost v not found'), 'vhost v not found',
         'Check the virtual host in [DEFAULT] transport_url'),
        (socket.gaierror(-2, 'Name or\nservice not known'),
         '[Errno -2] Name or service not known', 'Check the host name in'),
        (ConnectionRefusedError(), 'ConnectionRefusedError',
         'Check that it runs'),
        (ssl.SSLError('handshake failure'), "('handshake failure',)",
         'Check the ssl options of [oslo_messaging_rabbit]'),
        (amqp.ResourceError('it is full'), 'it is full', 'See the log of'),
        (ZeroDivisionError('x'), 'unexpected ZeroDivisionError',
         'See the log of the broker')])
    def test_a_failed_connection_has_advice(
            self, connections, found, error, told, advice):
        connections.refusal = error
        [row] = found()
        assert row.outcome == ERROR
        assert row.found == f'one:1, virtual host v: {told}'
        assert row.advice.startswith(advice)
        assert connections.did == ['close', 'collect']

    def test_an_unreachable_host_of_a_cluster_hides_no_other(
            self, found, monkeypatch):
        """The first host that answers is queried for the queue."""
        class OneOfTwo(Connections):
            def __call__(self, **parameters):
                made = Connections()
                if parameters['host'] == 'one:5672':
                    made.refusal = OSError('no route')
                made.count = 3
                return made
        monkeypatch.setattr(brokers.amqp, 'Connection', OneOfTwo())
        rows = found('rabbit://one,two,three/')
        assert [(row.check, row.outcome) for row in rows] == [
            ('broker', ERROR), ('broker', OK), ('broker', OK),
            ('queue scheduler', WARNING)]
