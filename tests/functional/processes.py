"""Processes of a test, and doors to a broker that open when it says so."""

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

#: Seconds for what is not to wait for anything, such as a stop.
SOON = 20

#: Seconds between two bytes of what a Door has trickle.
TRICKLE = 0.5


def until(condition, what, seconds=PATIENCE, interval=0.05):
    """Wait for a true result of ``condition``; as tests.builders.waiting."""
    return waiting.until(condition, what, seconds, interval)


def command_line(name, *arguments):
    """How to run a program of this project: list of texts.

    name: of the program, or its path.
    """
    return [str(pathlib.Path(sys.executable).parent / name),
            *map(str, arguments)]


class Program:
    """A program of this project in a process group of its own.

    name, arguments: its command line.
    log: file that gets its output, behind what is in it.
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
        return f'a program that {state} and said:\n{self.text}'

    @property
    def text(self):
        """What it has said so far."""
        with self.log.open('rb') as output:
            output.seek(self._begin)
            return output.read().decode(errors='replace')

    def said(self, words):
        """The lines so far that contain these words."""
        return [line for line in self.text.splitlines() if words in line]

    def wait_until_said(self, words, times=1, seconds=PATIENCE):
        """Return these lines as soon as there are so many; not if it ends."""
        def heard():
            lines = self.said(words)
            if len(lines) < times:
                assert self.running, f'it has ended:\n{self.text}'
            return lines if len(lines) >= times else None
        return until(heard, f'{times} lines with "{words}"', seconds)

    @property
    def running(self):
        return self._process.poll() is None

    @property
    def workers(self):
        """Process ids of its living workers."""
        return [pid for pid in self._children if not _role(pid)]

    @property
    def messenger(self):
        """Process id of the one that tells other daemons of picks, or None."""
        return self._with_role('messenger')

    def wait_for_messenger(self):
        """Wait until it has its name; until then it seems to be a worker."""
        until(lambda: self.messenger or not self.running, 'a messenger')

    @property
    def endpoints(self):
        """Process id of the one that tells how the service is, or None."""
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
        """Its exit status, once it has ended."""
        return self._process.wait(seconds)

    def stop(self, seconds=PATIENCE):
        """End it as an operator does; returns (exit status, seconds)."""
        begin = time.monotonic()
        self.signal(signal.SIGTERM)
        return self.wait(seconds), time.monotonic() - begin

    def end(self):
        """Leave nothing of it behind, whatever it is doing."""
        if self.running:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.stop(15)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self._process.wait(PATIENCE)


def _role(pid):
    """What a process is there for, if it is no worker; None for one."""
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


def _started(name, arguments, output, error, environ):
    """Start a program, with files for what it says: its process.

    A program that is given by its path is another one than the project's.
    """
    command = command_line(name, *arguments)
    if os.environ.get('NOVA_SCHED_TEST_EXEC') or '/' in name:
        with open(output, 'ab') as out, open(error, 'ab') as err:
            return subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                start_new_session=True, env=environ)
    return forks.Fork(command, output, error, environ)


class Door:
    """A TCP port that leads to another one, but only while it is open.

    Before ``open`` and after ``close`` connections are refused: the port of
    a server that is not there.

    target: (host, port), or the path of a socket.
    trickles: whether what the other end says comes a byte at a time.
    loses: regular expression of bytes that do not get to the other end, until
        a cut.
    """

    trickles, loses = False, None

    def __init__(self, *target):
        self._target = target
        self._listener, self._sockets = None, []
        self.port = ports.free_port()

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
        """Close all connections; others can be made."""
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
                self.cut()    # It was closed meanwhile.
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
                target.sendall(data)
        _end(target)

    def _copy_back(self, source, target):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                for at in range(len(data)):
                    if not self.trickles:
                        target.sendall(data[at:])
                        break
                    target.sendall(data[at:at + 1])
                    time.sleep(TRICKLE)
        _end(target)


def _end(sock):
    """Say nothing more on a socket; the other end learns of it."""
    with contextlib.suppress(OSError):
        sock.shutdown(socket.SHUT_WR)


def door_to_database(url):
    """An open Door to a database on a socket or a port.

    Besides, it has the URL through it, ``url``, and the one given, ``direct``.
    """
    url = sa.make_url(url)
    path = url.query.get('unix_socket')
    door = Door(path) if path else Door(url.host, url.port)
    door.open()
    door.direct = url.render_as_string(hide_password=False)
    door.url = url._replace(query={}).set(
        host='127.0.0.1', port=door.port).render_as_string(
            hide_password=False)
    return door


@contextlib.contextmanager
def supervisor_socket(directory):
    """(address, received): a socket such as systemd has, and its messages.

    received: list of texts, which grows as they come in.
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
