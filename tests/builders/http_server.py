"""A scripted HTTP server in a thread, which records requests."""

import collections
import contextlib
import dataclasses
import http.server
import json
import pathlib
import ssl
import threading

#: A self-signed certificate for localhost, and its key.
CERTIFICATE = str(pathlib.Path(__file__).parents[1] / 'data' / 'tls'
                  / 'localhost.pem')

#: Instead of an answer: no answer while the server runs, or a closed
#: connection.
HANG, DROP = 'hang', 'drop'


@dataclasses.dataclass(frozen=True)
class Asked:
    """A received request; body is its JSON, or None."""

    method: str
    path: str
    headers: dict
    body: object

    @property
    def version(self):
        """The requested microversion: text or None."""
        return self.headers.get('OpenStack-API-Version')


@dataclasses.dataclass(frozen=True)
class Answer:
    """An answer; a body that is no text is sent as JSON.

    trickles: the part that is sent a byte at a time: ``head``, ``body`` or
        neither.
    """

    status: int = 200
    body: object = ''
    headers: dict = dataclasses.field(default_factory=dict)
    trickles: str = ''

    @property
    def octets(self):
        text = self.body
        if not isinstance(text, str):
            text = json.dumps(text)
        return text.encode()


class Server:
    """Answers requests; url: its address, asked: list of Asked."""

    def __init__(self, tls=False):
        self.asked, self._routes = [], {}
        self.connections, self.ended = 0, threading.Event()
        self._http = http.server.ThreadingHTTPServer(
            ('localhost' if tls else '127.0.0.1', 0), _handler(self))
        # As many connections as deciding threads may wait.
        self._http.socket.listen(128)
        self._http.daemon_threads = True
        self._http.handle_error = lambda *args: None
        scheme = 'http'
        if tls:
            scheme, context = 'https', ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(CERTIFICATE)
            self._http.socket = context.wrap_socket(
                self._http.socket, server_side=True,
                do_handshake_on_connect=False)
        host, port = self._http.server_address[:2]
        self.url = f'{scheme}://{"localhost" if tls else host}:{port}'

    def on(self, method, path, *answers):
        """Set the answers to requests by method and prefix of the path.

        answers: Answer, HANG, DROP, or functions of Asked that return these;
        the last answer is repeated.  Later calls override earlier calls;
        longer paths go first.
        """
        self._routes[method, path] = collections.deque(answers)

    def routes(self, method, path):
        """The answers set for exactly this method and path: list."""
        return list(self._routes[method, path])

    def _answers(self, method, path):
        """The answers to a request, next answer first: deque, or None."""
        routes = [route for route in self._routes
                  if route[0] == method and path.startswith(route[1])]
        return self._routes[max(routes, key=lambda route: len(route[1]))
                            ] if routes else None

    def next_answer(self, method, path):
        """The answer to the next such request, or None."""
        return (self._answers(method, path) or [None])[0]

    def answer(self, asked):
        """Record a request; return its answer."""
        self.asked.append(asked)
        answers = self._answers(asked.method, asked.path)
        if answers is None:
            return Answer(404, 'no such page')
        answer = answers.popleft() if len(answers) > 1 else answers[0]
        return answer(asked) if callable(answer) else answer

    def to(self, method, path=''):
        """The requests so far, by method and prefix of the path: list."""
        return [asked for asked in self.asked if asked.method == method
                and asked.path.startswith(path)]

    @contextlib.contextmanager
    def running(self):
        """Serve for the time of a block."""
        thread = threading.Thread(target=self._http.serve_forever,
                                  args=(0.01,))
        thread.start()
        try:
            yield self
        finally:
            self.ended.set()
            self._http.shutdown()
            thread.join()
            self._http.server_close()


class _Trickle:
    """Writes ten bytes a second to a file, until an Event."""

    def __init__(self, file, ended):
        self._file, self._ended, self.flush = file, ended, file.flush
        self.close, self.closed = file.close, False

    def write(self, octets):
        for octet in octets:
            if self._ended.wait(0.1):
                break
            self._file.write(bytes([octet]))


def _handler(server):
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = 'HTTP/1.1'

        def setup(self):
            super().setup()
            server.connections += 1

        def _serve(self):
            length = int(self.headers['content-length'] or 0)
            text = self.rfile.read(length)
            answer = server.answer(Asked(
                self.command, self.path, dict(self.headers),
                json.loads(text) if text else None))
            if answer == HANG:
                server.ended.wait()
            if answer in (HANG, DROP):
                self.close_connection = True
                return
            _send(self, answer, server.ended)

        # The names that http.server looks for.
        do_GET = do_PUT = do_POST = do_DELETE = _serve  # noqa: N815

        def log_message(self, *args):
            pass

    return Handler


def _send(handler, answer, ended):
    """Send an Answer; ended: Event that ends trickling."""
    if answer.trickles == 'head':
        handler.wfile = _Trickle(handler.wfile, ended)
    handler.send_response(answer.status)
    if not isinstance(answer.body, str):
        handler.send_header('Content-Type', 'application/json')
    for name, value in answer.headers.items():
        handler.send_header(name, value)
    if answer.status != 204:
        handler.send_header('Content-Length', str(len(answer.octets)))
    handler.end_headers()
    if answer.trickles == 'body':
        handler.wfile = _Trickle(handler.wfile, ended)
    if answer.status != 204:
        handler.wfile.write(answer.octets)
