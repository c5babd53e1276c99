"""The rows about the broker."""

import contextlib
import socket
import threading

import pytest

from nova_sched.preflight.bus import Bus
from nova_sched.preflight.rows import ERROR
from nova_sched.preflight.rows import OK
from nova_sched.preflight.rows import WARNING
from nova_sched.rpc import brokers
from tests.builders import authority
from tests.builders import rules


def test_a_transport_in_memory_is_not_asked():
    row, = Bus(rules.a_conf(DEFAULT__transport_url='fake://')).rows()

    assert row.outcome == OK
    assert 'is no RabbitMQ' in row.found


def test_each_host_has_a_row_of_its_own():
    with socket.socket() as taken:
        taken.bind(('127.0.0.1', 0))    # nobody listens there
        port = taken.getsockname()[1]
        found = Bus(rules.a_conf(
            DEFAULT__transport_url=f'rabbit://u:open-sesame@127.0.0.1:{port},'
            f'u:open-sesame@localhost:{port}/nova')).rows()

    assert [row.outcome for row in found] == [ERROR, ERROR]
    assert f'127.0.0.1:{port}, virtual host nova: ' in found[0].found
    assert 'refused' in found[0].found
    assert '[oslo_messaging_rabbit] ssl' in found[0].advice
    assert 'open-sesame' not in str(found)


@pytest.mark.parametrize('url, where', [
    ('rabbit://', 'localhost:5672, virtual host /'),
    ('rabbit://u:p@h', 'h:5672, virtual host /'),
    ('rabbit://u:p@h:1/', 'h:1, virtual host /'),
    ('rabbit://u:p@h:1//', 'h:1, virtual host /'),
    ('rabbit://u:p@h:1//nova', 'h:1, virtual host /nova'),
    ('rabbit://u:p@h:1/nova', 'h:1, virtual host nova'),
    ('rabbit://u:p@[::1]:1/nova', '[::1]:1, virtual host nova')])
def test_hosts_are_read_from_the_transport_url(url, where):
    broker, = brokers.brokers(rules.a_conf(), url)

    assert broker.where == where


def test_what_a_broker_prints_as_has_no_password():
    broker, = brokers.brokers(rules.a_conf(), 'rabbit://u:open-sesame@h/')

    assert 'open-sesame' not in repr(broker)


def test_a_bus_for_notifications_has_a_row_where_they_are_on():
    options = {'DEFAULT__transport_url': 'fake://',
               'oslo_messaging_notifications__transport_url':
                   'rabbit://u:open-sesame@127.0.0.1:1/'}
    for idle in ([], ['noop'], ['log']):
        off = Bus(rules.a_conf(
            **options, oslo_messaging_notifications__driver=idle)).rows()
        assert [row.check for row in off] == ['broker']

    on = Bus(rules.a_conf(
        **options, oslo_messaging_notifications__driver=['messagingv2']
    )).rows()

    assert [(row.check, row.outcome) for row in on[1:]] == [
        ('notification broker', WARNING)]
    assert 'open-sesame' not in str(on)


@contextlib.contextmanager
def a_server(issued):
    """The port of what greets by TLS and hangs up; issued: its certificate."""
    context = authority.server_context(issued)

    def serve(listener):
        while True:
            try:
                plain, _ = listener.accept()
            except OSError:
                return
            with plain, contextlib.suppress(OSError):
                context.wrap_socket(plain, server_side=True).close()

    with socket.create_server(('127.0.0.1', 0)) as listener:
        threading.Thread(target=serve, args=(listener,), daemon=True).start()
        yield listener.getsockname()[1]
        # A thread in accept() keeps a closed socket listening.
        listener.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize('names, trusted, hosts, words', [
    (['localhost'], True, ['localhost'], 'closed connection'),
    (['localhost'], False, ['localhost'], 'certificate verify failed'),
    (['elsewhere'], True, ['localhost'], 'not valid for'),
    (['elsewhere'], True, ['localhost', 'localhost'], 'closed connection')])
def test_the_certificate_of_a_broker_is_looked_at_as_the_service_does(
        tmp_path, names, trusted, hosts, words):
    """Of a cluster no name is compared."""
    ours = authority.Authority(tmp_path / 'ours')
    theirs = authority.Authority(tmp_path / 'theirs')
    with a_server(ours.issue(*names)) as port:
        url = 'rabbit://' + ','.join(f'u:p@{host}:{port}' for host in hosts)
        row = Bus(rules.a_conf(
            DEFAULT__transport_url=url, oslo_messaging_rabbit__ssl=True,
            oslo_messaging_rabbit__ssl_ca_file=(
                ours if trusted else theirs).file)).rows()[0]

    assert row.outcome == ERROR
    assert words in row.found
    assert ('ssl options' in row.advice) == (words != 'closed connection')
