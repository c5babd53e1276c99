"""HTTP servers on the addresses of [healthcheck] uri and metrics_uri."""

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

#: Seconds between two attempts to listen at an address.
RETRY = 10
#: Maximum seconds of a request, from its connection to its answer.
LONGEST = 5
#: Maximum number of concurrent callers of this machine, and of others.
MOST_CALLERS = 32
#: Mode of a socket's file: for owner and group.
MODE = 0o660


class Answer(typing.NamedTuple):
    """An answer: HTTP status, headers, and a body of bytes."""

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
        """Serve each address in a thread of its own."""
        for uri, pages in self._pages.items():
            threads.start('endpoint', self._serve, uri, pages)

    def stop(self):
        """Stop the servers, and remove the files of sockets."""
        self._stopped.set()
        with self._lock:
            servers, self._servers = self._servers, []
        for each in servers:
            each.shutdown()
            each.server_close()

    def _serve(self, uri, pages):
        server = self._listen(uri, pages)
        if server is None:
            return
        with self._lock:
            if self._stopped.is_set():
                server.server_close()
                return
            self._servers.append(server)
        LOG.info('Serving %(paths)s at %(uri)s', {
            'paths': ' and '.join(sorted(pages)), 'uri': uri})
        server.serve_forever()

    def _listen(self, uri, pages):
        """Return the server of an address; None if it is stopped before.

        Retries, and logs each new error.
        """
        logged = None
        while not self._stopped.is_set():
            try:
                return _listening(healthcheck.endpoint(uri), pages)
            except (OSError, UnicodeError) as error:
                if str(error) != logged:
                    logged = str(error)
                    LOG.error('Cannot listen at %(uri)s, retrying every '
                              '%(wait)d seconds; scheduling is not affected: '
                              '%(error)s. %(advice)s',
                              {'uri': uri, 'wait': RETRY,
                               'error': getattr(error, 'strerror',
                                                None) or error,
                               'advice': _advice(error)})
                self._stopped.wait(RETRY)
        return None


def _advice(error):
    if isinstance(error, UnicodeError):
        return 'Use a valid host name of the domain name system'
    if error.errno == errno.EADDRINUSE:
        return ('Stop the program that listens there ("ss -lpn" names it), '
                'or set another address')
    if error.errno in (errno.EACCES, errno.EPERM):
        return ('Permit the user of this service to use it, or set another '
                'address')
    return 'Set an address of this machine'


class _Handler(server.BaseHTTPRequestHandler):
    """One request: GET or HEAD of a page."""

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
        """Send an error; the library calls it, too."""
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
        """Return the Server header, without a version."""
        return 'nova-sched'

    def log_message(self, format, *args):
        """Log a request, at DEBUG."""
        LOG.debug('Endpoint: %s', format % args)


class _Server(socketserver.ThreadingMixIn, socketserver.TCPServer):
    daemon_threads = True
    # A stop does not wait for slow readers.
    block_on_close = False
    allow_reuse_address = True
    # A burst of callers must fit into the backlog.
    request_queue_size = 4 * MOST_CALLERS

    def __init__(self, address, family, pages):
        self.address_family, self.pages = family, pages
        # Whether callers are local -> connection -> its start, oldest first.
        self._callers, self._lock = {True: {}, False: {}}, threading.Lock()
        super().__init__(address, _Handler)

    def process_request(self, request, client_address):
        """Answer in a thread.

        Beyond MOST_CALLERS the oldest connection is closed, so that idle
        connections never keep a prompt caller from its answer.
        """
        callers = self._callers[_is_local(client_address[0])]
        with self._lock:
            if len(callers) >= MOST_CALLERS:
                oldest = next(iter(callers))
                del callers[oldest]
                _close(oldest)
            callers[request] = time.monotonic()
        super().process_request(request, client_address)

    def shutdown_request(self, request):
        """Close the connection of a caller."""
        with self._lock:
            for callers in self._callers.values():
                callers.pop(request, None)
        super().shutdown_request(request)

    def service_actions(self):
        """Close connections older than LONGEST; called twice a second."""
        earliest = time.monotonic() - LONGEST
        with self._lock:
            for callers in self._callers.values():
                for request, began in callers.items():
                    if began < earliest:
                        _close(request)

    def handle_error(self, request, client_address):
        LOG.debug('A caller of an endpoint disconnected', exc_info=True)


def _is_local(host):
    """Return whether a caller's address is a loopback address.

    host: empty for a Unix domain socket, which is local.
    """
    if not host:
        return True
    address = ipaddress.ip_address(host)
    return (getattr(address, 'ipv4_mapped', None) or address).is_loopback


def _close(request):
    with contextlib.suppress(OSError):
        request.shutdown(socket.SHUT_RDWR)


class _UnixServer(_Server):
    """A server on a Unix domain socket.

    The file appears once the server listens, with its final mode.
    """

    allow_reuse_address = False

    def __init__(self, path, pages):
        _check_unused(path)
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
        # Keep the file of another server that replaced this one.
        with contextlib.suppress(FileNotFoundError, AttributeError):
            if os.path.samestat(os.stat(self._path), self._file):
                os.unlink(self._path)


def _check_unused(path):
    """Raise OSError if the path of a socket is in use.

    A socket without a listener is the leftover of a killed server.
    """
    try:
        kind = os.stat(path).st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(kind):
        raise OSError(errno.EADDRINUSE, 'It is a file that is not a socket')
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
