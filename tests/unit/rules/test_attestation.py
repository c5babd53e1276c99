"""Trust levels of nodes: their lifetime, and the attestation server."""

import contextlib
import http.client
import http.server
import json
import pathlib
import ssl
import threading

import pytest

from nova_sched.rules import attestation
from nova_sched.rules.attestation import AttestationServer
from nova_sched.rules.attestation import TrustLevels
from tests.builders.drivers import MemoryScheduler
from tests.builders.drivers import picks
from tests.builders.hosts import a_host
from tests.builders.requests import a_request
from tests.builders.rules import a_conf
from tests.builders.services import wait_for

NOW = 1_700_000_000.0       # 2023-11-14T22:13:20Z
LONG = 10
FRESH = '2023-11-14T22:13:00Z'


class Server:
    """Returns given answers, and notes its queries."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.asked = []

    def __call__(self, nodes):
        self.asked.append(nodes)
        return self.answers


def trusted(name, level='trusted', vtime=FRESH):
    return {'host_name': name, 'trust_lvl': level, 'vtime': vtime}


class Levels(TrustLevels):
    """Levels at a time that a test sets; queries are answered at once."""

    def __init__(self, poll, lifetime=60):
        super().__init__(poll, lifetime, clock=lambda: self.now)
        self.now = NOW

    def _start_poll(self, all_nodes):
        thread = super()._start_poll(all_nodes)
        thread.join(LONG)
        return thread


def test_one_query_is_for_all_nodes():
    server = Server(trusted('a'), trusted('b', 'untrusted'))
    found = Levels(server)

    assert found.known(['a']) == {'a': 'unknown'}
    assert server.asked == []
    assert found.of(['a'], ['a', 'b', 'c']) == {'a': 'trusted'}
    assert found.of(['b'], ['a', 'b', 'c']) == {'b': 'untrusted'}
    assert server.asked == [['a', 'b', 'c']]


@pytest.mark.parametrize(('vtime', 'questions'), [
    ('2023-11-14T22:12:20Z', 1), ('2023-11-14T22:12:19Z', 2),
    ('2023-11-14T23:12:20+01:00', 1), ('2023-11-14T22:12:20', 1),
    ('2030-01-01T00:00:00Z', 1), ('Tue Nov 14 22:13:00 2023', 1),
    ('Tue Nov 14 22:10:00 2023', 2)])
def test_an_attestation_is_good_for_its_lifetime(vtime, questions):
    """An old one counts until the next answer."""
    server = Server(trusted('a', vtime=vtime))
    found = Levels(server)

    assert found.of(['a'], ['a']) == found.of(['a'], ['a']) == {
        'a': 'trusted'}
    assert len(server.asked) == questions


@pytest.mark.parametrize('vtime', ['yesterday', '', None, 5, [],
                                   '99999-01-01T00:00:00Z'])
def test_without_a_readable_time_the_level_is_unknown(vtime):
    """For the same lifetime."""
    server = Server(trusted('a', vtime=vtime))
    found = Levels(server)

    assert found.of(['a'], ['a']) == {'a': 'unknown'}
    assert found.of(['a'], ['a']) == {'a': 'unknown'}
    assert len(server.asked) == 1


def test_nodes_without_an_answer_are_unknown_and_queried_again():
    server = Server(trusted('a'))
    found = Levels(server)
    found.of(['a', 'b'], ['a', 'b'])
    server.answers = []

    assert found.of(['b'], ['a', 'b']) == {'b': 'unknown'}
    assert found.known(['a']) == {'a': 'unknown'}
    assert len(server.asked) == 2


@pytest.mark.parametrize('answer', [
    None, 'a', {}, {'host_name': ['a']}, {'host_name': 'stranger'},
    {'host_name': 'a'}])
def test_an_invalid_answer_is_ignored(answer):
    assert Levels(Server(answer)).of(['a'], ['a']) == {'a': 'unknown'}
    without_level = Server({'host_name': 'a', 'vtime': FRESH})
    assert Levels(without_level).of(['a'], ['a']) == {'a': None}


@pytest.mark.parametrize(('seconds', 'questions'), [
    (30, 1), (31, 2), (60, 2), (61, 2)])
def test_an_answer_is_renewed_after_half_of_its_lifetime(seconds, questions):
    server = Server(trusted('a', vtime='2030-01-01T00:00:00Z'))
    found = Levels(server)
    found.of(['a'], ['a'])
    found.now += seconds

    assert found.of(['a'], ['a']) == {'a': 'trusted'}
    assert len(server.asked) == questions


def test_an_error_of_a_query_leaves_levels_unknown(monkeypatch):
    raised = []
    monkeypatch.setattr(threading, 'excepthook', raised.append)
    server = Server(trusted('a'))
    found = Levels(server)
    found.of(['a'], ['a'])
    server.answers = None
    found.now += 61

    assert found.of(['a'], ['a']) == {'a': 'unknown'}
    assert [each.exc_type for each in raised] == [TypeError]


class SlowServer(Server):
    """Answers once a test lets it."""

    def __init__(self, *answers):
        super().__init__(*answers)
        self.begun, self.answering = threading.Event(), threading.Event()

    def __call__(self, nodes):
        super().__call__(nodes)
        self.begun.set()
        assert self.answering.wait(LONG)
        return self.answers


class TestDuringAQuery:
    @pytest.fixture
    def server(self):
        server = SlowServer(trusted('a'))
        yield server
        server.answering.set()

    def levels(self, server):
        now = [NOW]
        return TrustLevels(server, 60, clock=lambda: now[0]), now

    def test_the_last_answer_counts_for_its_lifetime(self, server):
        found, now = self.levels(server)
        server.answering.set()
        found.of(['a'], ['a'])
        server.answering.clear()
        server.begun.clear()
        now[0] += 60

        assert found.of(['a'], ['a', 'b']) == {'a': 'trusted'}
        assert server.begun.wait(LONG)
        assert found.of(['a', 'b'], ['a', 'b']) == {
            'a': 'trusted', 'b': 'unknown'}
        assert server.asked == [['a'], ['a', 'b']]

    @pytest.mark.parametrize('seconds', [0, 61])
    def test_nodes_are_unknown_when_no_answer_comes_in_time(
            self, server, seconds):
        """Also if the last answer is too old."""
        found, now = self.levels(server)
        found.PATIENCE = 0.0
        if seconds:
            server.answering.set()
            found.PATIENCE = LONG
            found.of(['a'], ['a'])
            found.PATIENCE = 0.0
            server.answering.clear()
            now[0] += seconds

        assert found.of(['a'], ['a']) == {'a': 'unknown'}

    def test_requests_that_wait_for_an_answer_share_it(
            self, server, monkeypatch):
        """Also an empty one, instead of one query each."""
        server.answers = []
        found, _ = self.levels(server)
        ask, waits = found._start_poll, threading.Semaphore(0)

        def asked(everyone):
            try:
                return ask(everyone)
            finally:
                waits.release()

        monkeypatch.setattr(found, '_start_poll', asked)
        waiting = [threading.Thread(target=found.of, args=(['a'], ['a']))
                   for _ in range(5)]
        for thread in waiting:
            thread.start()
        for _ in waiting:
            assert waits.acquire(timeout=LONG), 'a request does not ask'
        server.answering.set()
        for thread in waiting:
            thread.join(LONG)

        assert server.asked == [['a']]


#: A certificate for localhost that signs itself, and its key.
CERTIFICATE = str(pathlib.Path(__file__).parents[2] / 'data' / 'tls'
                  / 'localhost.pem')
ANSWER = [{'host_name': 'a', 'trust_lvl': 'trusted',
           'vtime': '2023-11-14T22:13:00Z'}]


@pytest.fixture
def serve():
    """Function: start a server with one answer; return its requests."""
    with contextlib.ExitStack() as stack:
        yield lambda status=200, body=None: stack.enter_context(
            serving(status, json.dumps({'hosts': ANSWER}).encode()
                    if body is None else body))


@contextlib.contextmanager
def serving(status, body, may_answer=None):
    """(port, requests): the requests come as (path, headers, body).

    status: None for a body that is no HTTP.
    may_answer: Event to wait for before each answer.
    """
    requests = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            length = int(self.headers['content-length'])
            requests.append((self.path, dict(self.headers),
                             json.loads(self.rfile.read(length))))
            if may_answer is not None:
                may_answer.wait(60)
            if status is None:
                self.wfile.write(body)
                return
            self.send_response(status)
            self.send_header('Location', '/elsewhere')
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args):
            pass

    server = http.server.ThreadingHTTPServer(('localhost', 0), Handler)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(CERTIFICATE)
    server.socket = tls.wrap_socket(server.socket, server_side=True)
    server.handle_error = lambda *args: None
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield server.server_address[1], requests
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def options_for(port, **options):
    """Options of [trusted_computing], as of ``a_conf``."""
    return {f'trusted_computing__attestation_{name}': value
            for name, value in {'server': 'localhost', 'port': str(port),
                                'server_ca_file': CERTIFICATE, **options
                                }.items()}


def client(port, **options):
    return AttestationServer(a_conf(**options_for(port, **options)))


def test_queries_nodes_and_returns_the_answer(serve):
    port, requests = serve()

    assert client(port, auth_blob='sesame').poll(['a', 'b']) == ANSWER
    (path, headers, body), = requests
    assert path == '/OpenAttestationWebServices/V1.0/PollHosts'
    assert body == {'count': 2, 'hosts': ['a', 'b']}
    assert headers['content-type'] == headers['Accept'] == 'application/json'
    assert headers['x-auth-blob'] == 'sesame'


@pytest.mark.parametrize('status', [200, 201, 202])
def test_the_secret_and_the_url_are_options(serve, status):
    port, requests = serve(status)

    assert client(port, api_url='/v2').poll([]) == ANSWER
    (path, headers, body), = requests
    assert path == '/v2/PollHosts'
    assert body == {'count': 0, 'hosts': []}
    assert 'x-auth-blob' not in headers


@pytest.mark.parametrize(('status', 'body'), [
    (500, None), (302, None), (404, None), (203, None), (205, None),
    (204, b''), (200, b'no json'),
    (200, b'[]'), (200, b'{"hosts": {}}'), (200, b'{}'), (200, b'\xff'),
    (200, b'[' * 100000)])
def test_an_invalid_response_is_ignored(serve, caplog, status, body):
    """With one warning, without the secret."""
    port, _requests = serve(status, body)

    assert client(port, auth_blob='sesame').poll(['a']) == []
    message, = caplog.messages
    assert f'localhost:{port}' in message
    assert 'sesame' not in message


@pytest.mark.parametrize('more', [0, 1])
def test_too_long_an_answer_is_ignored(serve, caplog, monkeypatch, more):
    body = json.dumps({'hosts': ANSWER}).encode()
    monkeypatch.setattr(attestation, '_TOO_LONG', len(body) + more)

    answer = client(serve(body=body)[0]).poll(['a'])

    assert answer == (ANSWER if more else [])
    assert (f'a response of {len(body)} bytes or more' in caplog.text
            ) == (not more)


@pytest.mark.parametrize('status', [200, None])
def test_no_connection_is_left_open(serve, monkeypatch, status):
    opened, connect = [], http.client.HTTPSConnection.connect

    def connected(connection):
        opened.append(connection)
        connect(connection)

    monkeypatch.setattr(http.client.HTTPSConnection, 'connect', connected)

    assert client(serve(status, None if status else b'no HTTP\r\n\r\n')[0]
                  ).poll(['a']) == (ANSWER if status else [])
    [connection] = opened
    assert connection.sock is None
    assert connection.timeout == 20


def test_a_certificate_is_checked_against_the_given_authority(serve, caplog):
    port, requests = serve()

    assert client(port, server_ca_file=None).poll(['a']) == []
    assert 'CERTIFICATE_VERIFY_FAILED' in caplog.text
    assert requests == []


def test_a_certificate_may_be_taken_unchecked(serve):
    port, _requests = serve()

    assert client(port, server_ca_file=None, insecure_ssl=True).poll(
        ['a']) == ANSWER


def test_a_request_that_waits_for_the_server_holds_up_no_other():
    """However long the wait is."""
    may_answer, found = threading.Event(), []
    body = json.dumps({'hosts': ANSWER}).encode()
    with serving(200, body, may_answer) as (port, requests):
        driver = MemoryScheduler(a_host('a'), a_host('b'), enabled_filters=[
            'TrustedFilter'], **options_for(port))
        trusted = threading.Thread(target=lambda: found.extend(picks(
            driver, a_request(extra_specs={
                'trust:trusted_host': 'trusted'}))))
        trusted.start()
        wait_for(lambda: requests)
        other = threading.Thread(target=picks, args=(driver, a_request()))
        other.start()
        other.join(10)
        answered = not other.is_alive()
        may_answer.set()
        trusted.join(30)
        other.join(30)

    assert answered
    assert found == ['a']
