"""Notifications to systemd."""

import os
import re
import socket
import threading

import pytest

from nova_sched.daemon import systemd
from tests.builders.waiting import until


class Systemd:
    """The receiver of notifications."""

    def __init__(self, address):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.sock.bind(address)
        self.sock.settimeout(30)

    def next(self):
        return self.sock.recv(1024).decode()

    def silent(self):
        self.sock.setblocking(False)
        with pytest.raises(BlockingIOError):
            self.sock.recv(1024)
        return True


@pytest.fixture
def address(tmp_path):
    return str(tmp_path / 'notify')


@pytest.fixture
def received(address):
    made = Systemd(address)
    yield made
    made.sock.close()


@pytest.mark.parametrize('notify, text', [
    (lambda n: n.ready(), r'READY=1\nSTATUS=Serving requests'),
    (lambda n: n.waiting('the database'),
     r'STATUS=Waiting for the database'),
    (lambda n: n.stopping(), r'STOPPING=1\nSTATUS=.*')])
def test_states_have_the_form_of_sd_notify(address, received, notify, text):
    notify(systemd.Notifier(address))
    assert re.fullmatch(text, received.next())


def test_reload_has_its_begin_in_microseconds(address, received):
    clock = systemd.time.clock_gettime
    before = clock(systemd.time.CLOCK_MONOTONIC)
    systemd.Notifier(address).reloading()
    after = clock(systemd.time.CLOCK_MONOTONIC)
    state, begin = received.next().split('\nMONOTONIC_USEC=')
    assert state == 'RELOADING=1'
    assert int(before * 1e6) <= int(begin) <= after * 1e6


def test_abstract_socket_has_an_at_sign():
    name = f'nova-sched-unit-test-{os.getpid()}'
    received = Systemd(f'\0{name}')
    systemd.Notifier(f'@{name}').ready()
    assert received.next().startswith('READY=1')
    received.sock.close()


def test_missing_socket_costs_a_line(address, caplog):
    systemd.Notifier().ready()
    assert caplog.messages == []
    systemd.Notifier(address).ready()
    [line] = caplog.messages
    assert line.startswith(f'Cannot notify systemd of READY=1 at {address}: ')


def test_variables_are_removed_from_the_environment(address, received):
    """Neither launcher nor child processes may report readiness."""
    environ = {'NOTIFY_SOCKET': address, 'WATCHDOG_USEC': '9000000',
               'WATCHDOG_PID': '42', 'HOME': '/root'}
    notifier = systemd.Notifier.from_environ(environ)
    assert environ == {'HOME': '/root'}
    assert notifier.watchdog == 9
    notifier.ready()
    assert received.next().startswith('READY=1')
    assert systemd.Notifier.from_environ({}).watchdog is None


@pytest.mark.parametrize(('watchdog', 'count'), [(9, 4), (None, 0)])
def test_only_a_watchdog_gets_heartbeats(address, received, watchdog, count):
    """Three within its time, until the stop."""
    waits = []

    class Stopped(threading.Event):
        def wait(self, timeout):
            waits.append(timeout)
            return len(waits) == 3
    notifier = systemd.Notifier(address, watchdog)
    notifier.alive()
    notifier.keep_alive(Stopped())
    assert [received.next() for _ in range(count)] == ['WATCHDOG=1'] * count
    # The thread waits a last time after the last heartbeat.
    until(lambda: len(waits) == min(count, 3), 'the last wait')
    assert received.silent()
    assert waits == [3, 3, 3][:count]
