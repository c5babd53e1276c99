"""HTTP on the addresses that options name, until it is stopped."""

import contextlib
import errno
from http import server
import ipaddress
import os
import socket
import socketserver
import stat
import threading
import time
import typing
from urllib import parse

from oslo_log import log as logging

from nova_sched.concurrency import threads
from nova_sched.conf import healthcheck

LOG = logging.getLogger(__name__)

#: Seconds between two tries at an address that cannot be had.
RETRY = 10
#: Seconds that a request takes at most, from its connection to its answer.
LONGEST = 5
#: How many callers are answered at a time: of this machine, and others.
MOST_CALLERS = 32
#: Of the file of a socket: for its owner and group.
MODE = 0o660


class Answer(typing.NamedTuple):
    """An answer: status of HTTP, headers, and a body of bytes."""

    status: int
    headers: dict
    body: bytes


class Servers:
    """HTTP on several addresses.

    pages: URI -> {path: function of the header Accept that returns an
        Answer}.
    """

    def __init__(self, pages):
        self._pages = pages
        self._stopped = threading.Event()
        self._servers, self._lock = [], threading.Lock()

    def start(self):
        """Listen, each address in a thread of its own."""
        for uri, pages in self._pages.items():
            threads.start('endpoint', self._serve, uri, pages)

    def stop(self):
        """End, and remove the files of sockets."""
        self._stopped.set()
        with self._lock:
            servers, self._servers = self._servers, []
        for each in servers:
            each.shutdown()
            each.server_close()

    def _serve(self, uri, pages):
        told = None
        while not self._stopped.is_set():
            try:
                listening = _listening(healthcheck.endpoint(uri), pages)
            except (OSError, UnicodeError) as error:
                if str(error) != told:
                    told = str(error)
                    LOG.error('Nothing is served at %(uri)s, which is tried '
                              'again every %(wait)d seconds; requests are '
                              'answered all the same: %(error)s. %(advice)s',
                              {'uri': uri, 'wait': RETRY,
                               'error': getattr(error, 'strerror',
                                                None) or error,
                               'advice': _advice(error)})
                self._stopped.wait(RETRY)
                continue
            with self._lock:
                if self._stopped.is_set():
                    listening.server_close()
                    return
                self._servers.append(listening)
            LOG.info('Serving %(paths)s at %(uri)s', {
                'paths': ' and '.join(sorted(pages)), 'uri': uri})
            listening.serve_forever()
            return


def _advice(error):
    if isinstance(error, UnicodeError):
        return 'Name a host as the domain name system has it'
    if error.errno == errno.EADDRINUSE:
        return ('Stop what listens there, which "ss -lpn" names, or set '
                'another address')
    if error.errno in (errno.EACCES, errno.EPERM):
        return 'Let the user of this service have it, or set another address'
    return 'Set an address of this machine'


class _Handler(server.BaseHTTPRequestHandler):
    """One request: GET and HEAD of the pages of its server."""

    protocol_version = 'HTTP/1.1'
    timeout = LONGEST

    def do_GET(self):
        try:
            page = self.server.pages.get(parse.urlsplit(self.path).path)
        except ValueError:
            self.send_error(400)
            return
        if page is None:
            self.send_error(404)
            return
        try:
            answer = page(self.headers.get('Accept'))
        except Exception:
            LOG.exception('Answering %s failed', self.path)
            self.send_error(500)
            return
        self._send(answer)

    do_HEAD = do_GET  # noqa: N815

    def send_error(self, code, message=None, explain=None):
        """Answer without a page; also what the library refuses."""
        kind = ('application/health+json' if '/health' in self.server.pages
                else 'text/plain; charset=utf-8')
        known = ', '.join(sorted(self.server.pages))
        headers = {'Content-Type': kind}
        if code == 501:
            code, headers['Allow'] = 405, 'GET, HEAD'
        text = f'{code} {self.responses[code][0]}; there is GET of {known}'
        self._send(Answer(code, headers, (
            f'{{"output": "{text}"}}' if 'json' in kind
            else f'{text}\n').encode()))

    def _send(self, answer):
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.send_header('Content-Length', str(len(answer.body)))
        self.send_header('Connection', 'close')
        self.end_headers()
        if self.command != 'HEAD':
            self.wfile.write(answer.body)

    def version_string(self):
        """Tell nobody which release of what answers."""
        return 'nova-sched'

    def log_message(self, format, *args):
        """Log a request, where somebody looks for everything."""
        LOG.debug('Endpoint: %s', format % args)


class _Server(socketserver.ThreadingMixIn, socketserver.TCPServer):
    daemon_threads = True
    # Who stops it waits for nobody who reads slowly.
    block_on_close = False
    allow_reuse_address = True
    # Of those who wait, none is lost.
    request_queue_size = 4 * MOST_CALLERS

    def __init__(self, address, family, pages):
        self.address_family, self.pages = family, pages
        # Whether they are of this machine -> their connections, and when
        # these began, in that order.
        self._callers, self._lock = {True: {}, False: {}}, threading.Lock()
        super().__init__(address, _Handler)

    def process_request(self, request, client_address):
        """Answer in a thread.

        Of too many callers the one that has come first is sent away: who asks
        at once is answered at once, however many do not.
        """
        callers = self._callers[_is_of_this_machine(client_address[0])]
        with self._lock:
            if len(callers) >= MOST_CALLERS:
                first = next(iter(callers))
                del callers[first]
                _cut(first)
            callers[request] = time.monotonic()
        super().process_request(request, client_address)

    def shutdown_request(self, request):
        """End the connection of a caller who was answered, or was not."""
        with self._lock:
            for callers in self._callers.values():
                callers.pop(request, None)
        super().shutdown_request(request)

    def service_actions(self):
        """Send away who takes too long; called twice a second."""
        earliest = time.monotonic() - LONGEST
        with self._lock:
            for callers in self._callers.values():
                for request, began in callers.items():
                    if began < earliest:
                        _cut(request)

    def handle_error(self, request, client_address):
        LOG.debug('A caller of an endpoint went away', exc_info=True)


def _is_of_this_machine(host):
    """Return whether a caller's address is one of this machine alone.

    host: empty for a socket with a file.
    """
    if not host:
        return True
    address = ipaddress.ip_address(host)
    return (getattr(address, 'ipv4_mapped', None) or address).is_loopback


def _cut(request):
    """End the connection of a caller who takes too long."""
    with contextlib.suppress(OSError):
        request.shutdown(socket.SHUT_RDWR)


class _UnixServer(_Server):
    """A server on a socket with a file.

    The file appears when it can be used, by those who may.
    """

    allow_reuse_address = False

    def __init__(self, path, pages):
        _make_way(path)
        self._path = path
        super().__init__(f'{path}.new', socket.AF_UNIX, pages)

    def server_bind(self):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.server_address)
        super().server_bind()
        os.chmod(f'{self._path}.new', MODE)

    def server_activate(self):
        super().server_activate()
        os.rename(f'{self._path}.new', self._path)
        self._file = os.stat(self._path)

    def get_request(self):
        request, _ = super().get_request()
        return request, ('', 0)

    def server_close(self):
        super().server_close()
        # Unless somebody has another one there by now.
        with contextlib.suppress(FileNotFoundError, AttributeError):
            if os.path.samestat(os.stat(self._path), self._file):
                os.unlink(self._path)


def _make_way(path):
    """Raise OSError if there is something at the path of a socket.

    A socket that nobody listens on is what somebody left who was killed.
    """
    try:
        kind = os.stat(path).st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(kind):
        raise OSError(errno.EADDRINUSE, 'There is a file, which is no socket')
    with socket.socket(socket.AF_UNIX) as sock:
        try:
            sock.connect(path)
        except ConnectionRefusedError:
            return
    raise OSError(errno.EADDRINUSE, os.strerror(errno.EADDRINUSE))


def _listening(endpoint, pages):
    """Return a server on a conf.healthcheck.Endpoint.  Raises OSError."""
    if endpoint.path:
        return _UnixServer(endpoint.path, pages)
    family, *_, address = socket.getaddrinfo(
        endpoint.host, endpoint.port, type=socket.SOCK_STREAM,
        flags=socket.AI_PASSIVE)[0]
    return _Server(address, family, pages)
