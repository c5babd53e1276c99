"""Programs of this project, forked by a process with all imports done.

Imports take most of a program's start, and a test run starts hundreds of
programs.  With NOVA_SCHED_TEST_EXEC each program is executed instead, as by
an operator.
"""

import atexit
import functools
import importlib.metadata
import json
import os
import subprocess
import sys
import threading
import time

import setproctitle

PROJECT = 'nova_sched'
#: Modules that its programs import late.
IMPORTED = (
    'nova_sched.cmd.scheduler', 'nova_sched.cmd.manage',
    'kombu.transport.pyamqp', 'oslo_messaging._drivers.impl_rabbit',
    'sqlalchemy.dialects.mysql.pymysql')


class Fork:
    """A program in a session of its own; as subprocess.Popen.

    command: words, the first the path of the program.  output, error: paths
    of files that its output is appended to.
    environ: its whole environment.
    """

    def __init__(self, command, output, error, environ):
        self.args, self.returncode = command, None
        self.pid = _parent().ask(start=[
            command, [os.devnull, str(output), str(error)], environ,
            os.getcwd(), _umask()])

    def poll(self):
        """Its exit status, the negative signal that ended it, or None."""
        if self.returncode is None:
            self.returncode = _parent().ask(poll=self.pid)
        return self.returncode

    def wait(self, timeout):
        """Wait for its end; return as ``poll``.  Raises TimeoutExpired."""
        end = time.monotonic() + timeout
        while self.poll() is None:
            if time.monotonic() > end:
                raise subprocess.TimeoutExpired(self.args, timeout)
            time.sleep(0.02)
        return self.returncode

    def send_signal(self, number):
        if self.poll() is None:
            os.kill(self.pid, number)


class _Parent:
    """The process that forks programs for one test process."""

    def __init__(self):
        self._lock = threading.Lock()
        self._process = subprocess.Popen(
            [sys.executable, '-P', __file__], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True, start_new_session=True)

    def ask(self, **question):
        with self._lock:
            self._process.stdin.write(json.dumps(question) + '\n')
            self._process.stdin.flush()
            return json.loads(self._process.stdout.readline())

    def close(self):
        self._process.communicate()


def _umask():
    """The umask of this process, which can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


_lock = threading.Lock()


def _parent():
    with _lock:
        return _only_parent()


@functools.cache
def _only_parent():
    parent = _Parent()
    atexit.register(parent.close)
    return parent


# In the process that forks.


def _main():
    """Serve requests until the end of input.

    In a forked child, return the program to run.
    """
    for name in IMPORTED:
        importlib.import_module(name)
    # The title overwrites the environment, which must still be in place.
    setproctitle.setproctitle('forks for tests')
    programs, ended = {}, {}
    for point in importlib.metadata.distribution(PROJECT).entry_points:
        loaded = point.load()
        if point.group == 'console_scripts':
            programs[point.name] = loaded
    for line in sys.stdin:
        question, = json.loads(line).items()
        match question:
            case 'start', of:
                become, became = os.pipe()
                answer = os.fork()
                if not answer:
                    program = _become(*of, programs)
                    os.close(become)
                    os.close(became)
                    return program
                os.close(became)
                # Wait until the child is in a session of its own.
                os.read(become, 1)
                os.close(become)
            case 'poll', pid:
                answer = _status(pid, ended)
        print(json.dumps(answer), flush=True)    # noqa: T201
    return int


def _status(pid, ended):
    if pid not in ended:
        found, status = os.waitpid(pid, os.WNOHANG)
        if not found:
            return None
        ended[pid] = os.waitstatus_to_exitcode(status)
    return ended[pid]


def _become(command, files, environ, directory, umask, programs):
    """Become like a newly started process; return the program to run."""
    os.setsid()
    os.umask(umask)
    os.chdir(directory)
    for descriptor, path in enumerate(files):
        opened = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o666)
        os.dup2(opened, descriptor)
        os.close(opened)
    # The parent has the plug-ins' directories of the first program.
    inherited = _python_path(os.environ)
    sys.path[:] = _python_path(environ) + [
        path for path in sys.path if path not in inherited]
    os.environ.clear()
    os.environ.update(environ)
    sys.argv = command
    return programs[os.path.basename(command[0])]


def _python_path(environ):
    return [*filter(None, environ.get('PYTHONPATH', '').split(os.pathsep))]


if __name__ == '__main__':
    sys.exit(_main()())
