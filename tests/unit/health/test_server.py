"""HTTP for those who look after the service."""

import contextlib
import http.client
import json
import logging
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
    """Function that serves pages at a path, and returns once it does."""
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


class TestAPage:
    def test_is_answered_and_the_connection_closed(self, path, serve):
        serve()
        status, headers, body = ask(path)
        assert (status, body) == (200, WELL.body)
        assert headers['Content-Type'] == 'application/health+json'
        assert headers['Cache-Control'] == 'no-cache'
        assert headers['Connection'] == 'close'
        assert headers['Server'] == 'nova-sched'

    def test_has_its_headers_alone_for_head(self, path, serve):
        serve()
        status, headers, body = ask(path, method='HEAD')
        assert (status, body) == (200, b'')
        assert headers['Content-Length'] == str(len(WELL.body))

    def test_may_be_asked_for_with_a_query(self, path, serve):
        serve()
        assert ask(path, '/health?full=1')[0] == 200

    @pytest.mark.parametrize('page, method, status', [
        ('/', 'GET', 404), ('/health/', 'GET', 404),
        ('/health', 'POST', 405), ('/broken', 'GET', 500)])
    def test_that_is_none_is_refused_in_the_same_form(
            self, path, serve, page, method, status):
        serve()
        found, headers, body = ask(path, page, method)
        assert found == status
        assert headers['Content-Type'] == 'application/health+json'
        assert 'GET of /broken, /health' in json.loads(body)['output']
        assert ('Allow' in headers) == (status == 405)

    def test_that_is_none_is_refused_as_text_beside_metrics_alone(
            self, path, serve):
        serve({'/metrics': lambda accept: WELL})
        assert ask(path, '/')[1]['Content-Type'].startswith('text/plain')

    def test_whose_address_is_none_is_refused(self, path, serve):
        serve()
        with socket.socket(socket.AF_UNIX) as sock:
            sock.connect(path)
            sock.send(b'GET http://[ HTTP/1.1\r\n\r\n')
            assert sock.recv(12) == b'HTTP/1.1 400'

    def test_that_fails_is_logged(self, path, serve, caplog):
        serve()
        ask(path, '/broken')
        [record] = [each for each in caplog.records if each.exc_info]
        assert record.getMessage() == 'Answering /broken failed'


class TestASocket:
    def test_is_for_its_owner_and_group(self, path, serve):
        serve()
        assert os.stat(path).st_mode & 0o777 == 0o660

    def test_is_removed_in_the_end(self, path, serve):
        serve().stop()
        assert not os.path.exists(path)

    def test_takes_the_place_of_one_that_was_left(self, path, serve):
        left = socket.socket(socket.AF_UNIX)
        left.bind(path)
        left.close()
        serve()
        assert ask(path)[0] == 200

    def test_does_not_take_that_of_one_in_use(self, path, serve, caplog):
        serve()
        serve(waits=False)
        until(lambda: caplog.records, 'it is told')
        [record] = caplog.records
        assert record.levelno == logging.ERROR
        assert f'Cannot listen at unix://{path}' in record.getMessage()
        assert 'Address already in use' in record.getMessage()
        assert ask(path)[0] == 200

    def test_leaves_a_file_that_is_none_alone(
            self, path, serve, caplog, tmp_path):
        (tmp_path / 'health.sock').write_text('precious')
        serve(waits=False)
        until(lambda: caplog.records, 'it is told')
        assert 'It is a file that is not a socket' in caplog.text
        assert (tmp_path / 'health.sock').read_text() == 'precious'

    def test_leaves_that_of_another_one_alone_in_the_end(self, path, serve):
        first = serve()
        os.unlink(path)
        serve()
        first.stop()
        assert ask(path)[0] == 200

    def test_is_had_as_soon_as_it_is_free(self, path, serve, monkeypatch):
        monkeypatch.setattr(server, 'RETRY', 0.01)
        first = serve()
        second = serve(waits=False)
        first.stop()
        until(lambda: second._servers, 'it listens')
        assert ask(path)[0] == 200


class TestCallers:
    def held(self, path):
        """A connection of somebody who asks nothing."""
        sock = socket.socket(socket.AF_UNIX)
        sock.connect(path)
        return sock

    def test_who_have_come_first_are_sent_away_where_there_are_too_many(
            self, path, serve, monkeypatch):
        monkeypatch.setattr(server, 'MOST_CALLERS', 1)
        serve()
        with self.held(path) as first, self.held(path):
            assert first.recv(1) == b''

    def test_who_ask_at_once_are_answered_whoever_does_not(self, path, serve):
        """And comes back whenever he is sent away."""
        serve()
        with contextlib.ExitStack() as end:
            for _ in range(3):
                for _ in range(40):
                    slow = end.enter_context(self.held(path))
                    slow.send(b'GET /health HTTP/1.1\r\nHost:')
                assert [ask(path)[0] for _ in range(20)] == [200] * 20

    def test_of_elsewhere_send_away_none_of_this_machine(
            self, path, serve, monkeypatch):
        """Which asks whether the service lives."""
        monkeypatch.setattr(server, 'MOST_CALLERS', 1)
        addresses = iter(['', '192.0.2.1', '192.0.2.1'])
        of_socket = server._UnixServer.get_request
        monkeypatch.setattr(server._UnixServer, 'get_request', lambda self: (
            of_socket(self)[0], (next(addresses), 0)))
        serve()
        with self.held(path) as ours, self.held(path) as first, (
                self.held(path)):
            assert first.recv(1) == b''
            ours.send(b'GET /health HTTP/1.1\r\n\r\n')
            assert ours.recv(12) == b'HTTP/1.1 200'

    @pytest.mark.parametrize('host, is_ours', [
        ('', True), ('127.0.0.1', True), ('127.8.0.1', True), ('::1', True),
        ('::ffff:127.0.0.1', True), ('192.0.2.1', False),
        ('::ffff:192.0.2.1', False), ('fe80::1%eth0', False)])
    def test_are_of_this_machine_by_their_address(self, host, is_ours):
        assert server._is_local(host) is is_ours

    def test_who_take_too_long_are_sent_away(self, path, serve, monkeypatch):
        """Though they send something now and then."""
        monkeypatch.setattr(server, 'LONGEST', 1)
        serve()
        with self.held(path) as slow:
            slow.send(b'G')
            assert slow.recv(1) == b''


def test_a_host_that_no_resolver_takes_is_told(caplog):
    servers = server.Servers({'tcp://a..b:9010': PAGES})
    servers.start()
    until(lambda: 'domain name system' in caplog.text, 'it is told')
    servers.stop()
