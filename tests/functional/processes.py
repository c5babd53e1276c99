"""Processes of a test, and TCP doors that it opens and closes."""

import contextlib
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

import sqlalchemy as sa

from tests.builders import waiting
from tests.builders.waiting import PATIENCE
from tests.functional import forks
from tests.functional import ports

#: Seconds for an operation that must not wait for anything, such as a stop.
SOON = 20

#: Seconds between two bytes that a Door lets trickle.
TRICKLE = 0.5


def until(condition, what, seconds=PATIENCE, interval=0.05):
    """Wait for a true result of ``condition``; as tests.builders.waiting."""
    return waiting.until(condition, what, seconds, interval)


def command_line(name, *arguments):
    """The command line of a program of this project: list of texts.

    name: of the program, or its path.
    """
    return [str(pathlib.Path(sys.executable).parent / name),
            *map(str, arguments)]


class Program:
    """A program of this project in a process group of its own.

    name, arguments: its command line.
    log: file that its output is appended to.
    environ: variables to add.
    """

    #: Where in the file its own output begins.
    _begin = 0

    def __init__(self, name, arguments, log, environ=None):
        self.log = pathlib.Path(log)
        with self.log.open('ab') as output:
            self._begin = output.tell()
        self._process = _started(
            name, arguments, self.log, self.log,
            {**os.environ, **(environ or {})})
        self.pid = self._process.pid

    def __repr__(self):
        state = 'runs' if self.running else 'has ended'
        return f'a program that {state}, with the output:\n{self.text}'

    @property
    def text(self):
        """Its output so far."""
        with self.log.open('rb') as output:
            output.seek(self._begin)
            return output.read().decode(errors='replace')

    def lines(self, words):
        """The lines of its output that contain these words."""
        return [line for line in self.text.splitlines() if words in line]

    def wait_for_lines(self, words, times=1, seconds=PATIENCE):
        """Return such lines once there are ``times`` of them.

        Fails if the program ends first.
        """
        def written():
            lines = self.lines(words)
            if len(lines) < times:
                assert self.running, f'it has ended:\n{self.text}'
            return lines if len(lines) >= times else None
        return until(written, f'{times} lines with "{words}"', seconds)

    @property
    def running(self):
        return self._process.poll() is None

    @property
    def workers(self):
        """Process ids of its living workers."""
        return [pid for pid in self._children if not _role(pid)]

    @property
    def messenger(self):
        """Process id of the messenger, or None."""
        return self._with_role('messenger')

    def wait_for_messenger(self):
        """Wait until the messenger has set its title.

        Before, it cannot be told from a worker.
        """
        until(lambda: self.messenger or not self.running, 'a messenger')

    @property
    def endpoints(self):
        """Process id of the health process, or None."""
        return self._with_role('endpoints')

    def _with_role(self, role):
        return next((pid for pid in self._children if _role(pid) == role),
                    None)

    @property
    def _children(self):
        tasks = pathlib.Path(f'/proc/{self.pid}/task').glob('*/children')
        return sorted(int(pid) for path in tasks
                      for pid in path.read_text().split())

    def signal(self, number):
        self._process.send_signal(number)

    def wait(self, seconds=PATIENCE):
        """Wait for its end; return the exit status."""
        return self._process.wait(seconds)

    def stop(self, seconds=PATIENCE):
        """Stop it as an operator does; return (exit status, seconds)."""
        begin = time.monotonic()
        self.signal(signal.SIGTERM)
        return self.wait(seconds), time.monotonic() - begin

    def end(self):
        """Stop it, or else kill its whole process group."""
        if self.running:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.stop(15)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self._process.wait(PATIENCE)


def _role(pid):
    """The role of a daemon's process: messenger, endpoints; None: worker."""
    command = pathlib.Path(f'/proc/{pid}/cmdline')
    with contextlib.suppress(OSError):
        title = command.read_bytes().partition(b'\0')[0].decode()
        return next((role for role in ('messenger', 'endpoints')
                     if title.endswith(f': {role}')), None)
    return None


@contextlib.contextmanager
def running(*args, **kwargs):
    """A Program for the time of a block."""
    program = Program(*args, **kwargs)
    try:
        yield program
    finally:
        program.end()


def run(name, *arguments):
    """Run a program to its end; returns (exit status, stdout, stderr)."""
    with tempfile.TemporaryDirectory() as directory:
        files = [pathlib.Path(directory) / name for name in ('out', 'error')]
        process = _started(name, arguments, *files, dict(os.environ))
        try:
            status = process.wait(PATIENCE)
        finally:
            process.send_signal(signal.SIGKILL)
        return status, *(file.read_text() for file in files)


def manage(*words, status=0):
    """Run nova-sched-manage to its end; return its output."""
    ended = run('nova-sched-manage', *words)
    assert ended[0] == status, ended
    return ended[1]


def _started(name, arguments, output, error, environ):
    """Start a program with its output in files; return its process.

    A name with a slash is the path of a program that is not the project's.
    """
    command = command_line(name, *arguments)
    if os.environ.get('NOVA_SCHED_TEST_EXEC') or '/' in name:
        with open(output, 'ab') as out, open(error, 'ab') as err:
            return subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                start_new_session=True, env=environ)
    return forks.Fork(command, output, error, environ)


class Door:
    """A TCP port that leads to a target while it is open.

    Before ``open`` and after ``close`` connections are refused, as by a
    server that does not run.  It is open during a ``with`` block.

    target: (host, port), or the path of a socket.
    hangs: whether no more bytes are forwarded either way.
    trickles: whether answers of the target come a byte at a time.
    loses: regular expression of bytes that are not forwarded to the target,
        until a cut.
    """

    hangs, trickles, loses = False, False, None

    def __init__(self, *target):
        self._target = target
        self._listener, self._sockets = None, []
        self.port = ports.free_port()

    def __enter__(self):
        self.open()
        return self

    def __exit__(self, *error):
        self.close()

    def open(self):
        self._listener = socket.create_server(('127.0.0.1', self.port))
        threading.Thread(target=self._accept, args=(self._listener,),
                         daemon=True).start()

    def close(self):
        if self._listener is None:
            return
        # A thread in accept() keeps a closed socket listening.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._listener = None
        self.cut()

    def cut(self):
        """Close all connections; new ones can be opened."""
        while self._sockets:
            sock = self._sockets.pop()
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
            sock.close()
        self.loses = None

    def _accept(self, listener):
        while True:
            try:
                inner, _ = listener.accept()
                outer = self._connected()
            except OSError:
                return
            self._sockets.extend((inner, outer))
            if self._listener is not listener:
                self.cut()    # The door was closed between the two.
            for copy, *pair in ((self._copy, inner, outer),
                                (self._copy_back, outer, inner)):
                threading.Thread(target=copy, args=pair, daemon=True).start()

    def _connected(self):
        if len(self._target) == 2:
            return socket.create_connection(self._target)
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        sock.connect(self._target[0])
        return sock

    def _copy(self, source, target):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if loses := self.loses:
                    data = loses.sub(b'', data)
                if not self.hangs:
                    target.sendall(data)
        _end(target)

    def _copy_back(self, source, target):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                for at in range(0 if self.hangs else len(data)):
                    if not self.trickles:
                        target.sendall(data[at:])
                        break
                    target.sendall(data[at:at + 1])
                    time.sleep(TRICKLE)
        _end(target)


def _end(sock):
    """Shut down the sending side of a socket."""
    with contextlib.suppress(OSError):
        sock.shutdown(socket.SHUT_WR)


def door_to(url):
    """A Door to a server on a socket or a port, not open yet.

    It has one more attribute: ``url``, which leads through the door.
    """
    url = sa.make_url(url)
    path = url.query.get('unix_socket')
    door = Door(path) if path else Door(url.host, url.port)
    door.url = url._replace(query={}).set(
        host='127.0.0.1', port=door.port).render_as_string(
            hide_password=False)
    return door


@contextlib.contextmanager
def supervisor_socket(directory):
    """(address, received): a notify socket as systemd's, and its messages.

    received: list of texts, which grows as messages arrive.
    """
    address = f'{directory}/notify'
    received = []
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
        sock.bind(address)
        sock.settimeout(0.1)
        ended = threading.Event()

        def listen():
            while not ended.is_set():
                with contextlib.suppress(TimeoutError):
                    received.append(sock.recv(4096).decode())

        thread = threading.Thread(target=listen)
        thread.start()
        try:
            yield address, received
        finally:
            ended.set()
            thread.join()
