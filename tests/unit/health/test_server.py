"""The HTTP servers of health and metrics."""

import contextlib
import http.client
import json
import os
import socket

import pytest

from nova_sched.health import server
from nova_sched.health.server import Answer
from tests.builders.waiting import until

WELL = Answer(200, {'Content-Type': 'application/health+json',
                    'Cache-Control': 'no-cache'}, b'{"status": "pass"}')


def broken(accept):
    raise RuntimeError('boom')


PAGES = {'/health': lambda accept: WELL, '/broken': broken}


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / 'health.sock')


@pytest.fixture
def serve(path):
    """Function that serves pages at a path, and returns once it listens."""
    made = []

    def serve(pages=PAGES, waits=True):
        made.append(server.Servers({f'unix://{path}': pages}))
        made[-1].start()
        if waits:
            until(lambda: made[-1]._servers, 'it listens')
        return made[-1]
    yield serve
    for each in made:
        each.stop()


def ask(path, page='/health', method='GET'):
    """(status, headers, body) of an answer at a socket."""
    connection = http.client.HTTPConnection('localhost')
    connection.sock = socket.socket(socket.AF_UNIX)
    connection.sock.connect(path)
    try:
        connection.request(method, page)
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read()
    finally:
        connection.close()


class TestPage:
    @pytest.mark.parametrize('page', ['/health', '/health?full=1'])
    def test_is_answered_and_the_connection_closed(self, path, serve, page):
        serve()
        status, headers, body = ask(path, page)
        assert (status, body) == (200, WELL.body)
        expected = {**WELL.headers, 'Connection': 'close',
                    'Server': 'nova-sched'}
        assert headers.items() >= expected.items()

    def test_has_headers_only_for_head(self, path, serve):
        serve()
        status, headers, body = ask(path, method='HEAD')
        assert (status, body) == (200, b'')
        assert headers['Content-Length'] == str(len(WELL.body))

    @pytest.mark.parametrize('page, method, status', [
        ('/', 'GET', 404), ('/health/', 'GET', 404),
        ('/health', 'POST', 405), ('/broken', 'GET', 500)])
    def test_error_has_the_same_form(self, path, serve, caplog, page, method,
                                     status):
        serve()
        found, headers, body = ask(path, page, method)
        assert found == status
        assert headers['Content-Type'] == 'application/health+json'
        assert 'GET of /broken, /health' in json.loads(body)['output']
        assert ('Allow' in headers) == (status == 405)
        assert ('Answering /broken failed' in caplog.text) == (status == 500)

    def test_error_is_text_on_a_server_of_metrics_only(self, path, serve):
        serve({'/metrics': lambda accept: WELL})
        assert ask(path, '/')[1]['Content-Type'].startswith('text/plain')

    def test_malformed_address_is_refused(self, path, serve):
        serve()
        with socket.socket(socket.AF_UNIX) as sock:
            sock.connect(path)
            sock.send(b'GET http://[ HTTP/1.1\r\n\r\n')
            assert sock.recv(12) == b'HTTP/1.1 400'


class TestSocket:
    def test_has_its_mode_and_is_removed_by_the_stop(self, path, serve):
        made = serve()
        assert os.stat(path).st_mode & 0o777 == 0o660
        made.stop()
        assert not os.path.exists(path)

    def test_replaces_the_leftover_of_a_killed_server(self, path, serve):
        leftover = socket.socket(socket.AF_UNIX)
        leftover.bind(path)
        leftover.close()
        serve()
        assert ask(path)[0] == 200

    def test_in_use_is_logged_and_taken_once_it_is_free(
            self, path, serve, caplog, monkeypatch):
        caplog.set_level('INFO')
        monkeypatch.setattr(server, 'RETRY', 0.01)
        first = serve()
        assert f'Serving /broken and /health at unix://{path}' in caplog.text
        second = serve(waits=False)
        until(lambda: caplog.records[1:], 'an error')
        assert f'Cannot listen at unix://{path}' in caplog.text
        assert 'Address already in use' in caplog.text
        assert ask(path)[0] == 200
        first.stop()
        until(lambda: second._servers, 'it listens')
        assert ask(path)[0] == 200

    def test_leaves_a_regular_file_alone(self, path, serve, caplog, tmp_path):
        (tmp_path / 'health.sock').write_text('precious')
        serve(waits=False)
        until(lambda: caplog.records, 'an error')
        assert 'It is a file that is not a socket' in caplog.text
        assert (tmp_path / 'health.sock').read_text() == 'precious'

    def test_stop_leaves_the_file_of_another_server_alone(self, path, serve):
        first = serve()
        os.unlink(path)
        serve()
        first.stop()
        assert ask(path)[0] == 200


class TestCallers:
    def idle(self, path):
        """A connection without a request."""
        sock = socket.socket(socket.AF_UNIX)
        sock.connect(path)
        return sock

    def test_idle_callers_keep_none_from_an_answer(self, path, serve):
        """Each new connection closes the oldest one beyond the limit."""
        serve()
        with contextlib.ExitStack() as end:
            for _ in range(3):
                for _ in range(40):
                    slow = end.enter_context(self.idle(path))
                    slow.send(b'GET /health HTTP/1.1\r\nHost:')
                assert [ask(path)[0] for _ in range(20)] == [200] * 20

    def test_remote_callers_close_no_local_one(self, path, serve, monkeypatch):
        """Local probes find out whether the service lives."""
        monkeypatch.setattr(server, 'MOST_CALLERS', 1)
        addresses = iter(['', '192.0.2.1', '192.0.2.1'])
        of_socket = server._UnixServer.get_request
        monkeypatch.setattr(server._UnixServer, 'get_request', lambda self: (
            of_socket(self)[0], (next(addresses), 0)))
        serve()
        with self.idle(path) as local, self.idle(path) as first, (
                self.idle(path)):
            assert first.recv(1) == b''
            local.send(b'GET /health HTTP/1.1\r\n\r\n')
            assert local.recv(12) == b'HTTP/1.1 200'

    @pytest.mark.parametrize('host, is_local', [
        ('', True), ('127.0.0.1', True), ('127.8.0.1', True), ('::1', True),
        ('::ffff:127.0.0.1', True), ('192.0.2.1', False),
        ('::ffff:192.0.2.1', False), ('fe80::1%eth0', False)])
    def test_are_local_by_their_address(self, host, is_local):
        assert server._is_local(host) is is_local

    def test_slow_request_is_closed(self, path, serve, monkeypatch):
        monkeypatch.setattr(server, 'LONGEST', 1)
        serve()
        with self.idle(path) as slow:
            slow.send(b'G')
            assert slow.recv(1) == b''


def test_invalid_host_name_is_logged(caplog):
    servers = server.Servers({'tcp://a..b:9010': PAGES})
    servers.start()
    until(lambda: 'domain name system' in caplog.text, 'an error')
    servers.stop()
