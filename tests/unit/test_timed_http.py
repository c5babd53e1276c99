"""The total time of an HTTP response."""

import contextlib
import socket
import threading

import pytest

from nova_sched import service_adapter
from nova_sched.service_adapter import FailureReason
from tests.builders import http_keystone
from tests.builders import http_placement
from tests.builders import http_server

SECONDS = 1
LONG = '{"a": "%s"}' % ('a' * 300)


def an_adapter(directory, url, **options):
    return service_adapter.ServiceAdapter(http_placement.a_conf(
        directory, **{'auth_type': 'none', 'endpoint_override': url,
                      'timeout': SECONDS, **options}), 'placement')


@contextlib.contextmanager
def slow_handshakes():
    """A port that sends a TLS record byte by byte."""
    ended, links = threading.Event(), []

    def serve(listening):
        with contextlib.suppress(OSError):
            while True:
                links.append(listening.accept()[0])
                links[-1].sendall(b'\x16\x03\x03\x40\x00')
                threading.Thread(target=trickle, args=(links[-1],)).start()

    def trickle(link):
        with contextlib.suppress(OSError):
            while not ended.wait(0.1):
                link.sendall(b'\x02')

    with socket.create_server(('127.0.0.1', 0)) as listening:
        thread = threading.Thread(target=serve, args=(listening,))
        thread.start()
        try:
            yield f'https://127.0.0.1:{listening.getsockname()[1]}'
        finally:
            ended.set()
            listening.shutdown(socket.SHUT_RDWR)
            thread.join()
            for link in links:
                link.close()


@pytest.mark.parametrize('tls', [False, True], ids=['http', 'https'])
@pytest.mark.parametrize('part', ['head', 'body'])
def test_trickling_response_is_given_up(part, tls, tmp_path):
    with http_server.Server(tls=tls).running() as server:
        server.on('GET', '/slow', http_server.Answer(body=LONG, trickles=part))
        server.on('GET', '/good', http_server.Answer(body='{}'))
        adapter = an_adapter(tmp_path, server.url, **(
            {'cafile': http_server.CERTIFICATE} if tls else {}))

        with pytest.raises(service_adapter.ServiceUnreachable) as raised:
            adapter.request('GET', '/slow')

        assert raised.value.reason is FailureReason.TOO_LATE
        assert raised.value.transient
        assert raised.value.detail == (
            f'Request to {server.url}/slow timed out after 1 seconds')
        # Other requests use other connections.
        assert adapter.request('GET', '/good').status == 200


def test_trickling_handshake_is_given_up(tmp_path):
    with slow_handshakes() as url:
        adapter = an_adapter(tmp_path, url)

        with pytest.raises(service_adapter.ServiceUnreachable) as raised:
            adapter.request('GET', '/')

        assert raised.value.reason is FailureReason.TOO_LATE


def test_trickling_log_in_is_given_up(tmp_path):
    with http_keystone.keystone() as keystone:
        keystone.on('POST', '/v3/auth/tokens', http_server.Answer(
            201, LONG, trickles='body'))
        adapter = an_adapter(
            tmp_path, 'http://127.0.0.1:9', auth_type='password',
            auth_url=keystone.url + '/v3', username='u', password='p',
            project_name='p', user_domain_id='d', project_domain_id='d')

        with pytest.raises(service_adapter.ServiceUnreachable) as raised:
            adapter.request('GET', '/')

        assert raised.value.reason is FailureReason.KEYSTONE_TOO_LATE


def test_idle_connection_is_left_alone(tmp_path):
    """The time limit ends with its response."""
    with http_server.Server().running() as server:
        server.on('GET', '/', http_server.Answer(body='{}'))
        adapter = an_adapter(tmp_path, server.url)
        adapter.request('GET', '/')

        server.ended.wait(2 * SECONDS)

        assert adapter.request('GET', '/').status == 200
        assert server.connections == 1
