import os
import re
import socket
import threading

import pytest

from nova_sched.daemon import systemd


class Supervisor:
    """The other end: what systemd would receive."""

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
def supervisor(address):
    other_end = Supervisor(address)
    yield other_end
    other_end.sock.close()


@pytest.mark.parametrize('tell, told', [
    (lambda n: n.ready(), r'READY=1\nSTATUS=Serving requests'),
    (lambda n: n.waiting('the database'),
     r'STATUS=Waiting for the database'),
    (lambda n: n.reloading(), r'RELOADING=1\nMONOTONIC_USEC=\d+'),
    (lambda n: n.stopping(), r'STOPPING=1\nSTATUS=.*')])
def test_states_are_told_as_systemd_expects_them(
        address, supervisor, tell, told):
    tell(systemd.Notifier(address))
    assert re.fullmatch(told, supervisor.next())


def test_an_abstract_socket_has_an_at_sign_for_its_null():
    name = f'nova-sched-unit-test-{os.getpid()}'
    supervisor = Supervisor(f'\0{name}')
    systemd.Notifier(f'@{name}').ready()
    assert supervisor.next().startswith('READY=1')
    supervisor.sock.close()


def test_without_a_supervisor_nothing_is_told():
    notifier = systemd.Notifier()
    notifier.ready()
    notifier.keep_alive(threading.Event())


def test_a_supervisor_that_is_gone_does_no_harm(address):
    systemd.Notifier(address).ready()


def test_its_variables_are_taken_out_of_the_environment(address, supervisor):
    """Nobody else can report readiness: not the launcher, not a child."""
    environ = {'NOTIFY_SOCKET': address, 'WATCHDOG_USEC': '9000000',
               'WATCHDOG_PID': '42', 'HOME': '/root'}
    notifier = systemd.Notifier.from_environ(environ)
    assert environ == {'HOME': '/root'}
    assert notifier.watchdog == 9
    notifier.ready()
    assert supervisor.next().startswith('READY=1')


def test_an_environment_without_a_supervisor_is_fine():
    assert systemd.Notifier.from_environ({}).watchdog is None


def test_signs_of_life_come_three_times_within_the_limit_until_the_stop(
        address, supervisor):
    stopped = threading.Event()
    systemd.Notifier(address, watchdog=0.03).keep_alive(stopped)
    assert [supervisor.next() for _ in range(3)] == ['WATCHDOG=1'] * 3
    stopped.set()


def test_no_signs_of_life_unless_the_supervisor_asks_for_them(
        address, supervisor):
    systemd.Notifier(address).keep_alive(threading.Event())
    assert supervisor.silent()


@pytest.mark.parametrize(('watchdog', 'told'), [(5, True), (None, False)])
def test_one_sign_of_life_is_sent_where_the_supervisor_asks_for_them(
        address, supervisor, watchdog, told):
    systemd.Notifier(address, watchdog).alive()
    if told:
        assert supervisor.next() == 'WATCHDOG=1'
    assert supervisor.silent()


def test_nobody_is_kept_alive_without_a_supervisor():
    threads = threading.active_count()
    systemd.Notifier(None, watchdog=5).keep_alive(threading.Event())
    assert threading.active_count() <= threads


def test_a_supervisor_that_is_gone_costs_a_line(address, caplog):
    systemd.Notifier(address).ready()
    [line] = caplog.messages
    assert line.startswith(
        f'Cannot tell the supervisor READY=1 on {address}: ')


def test_a_reload_tells_when_it_began(address, supervisor):
    """In microseconds of the clock that systemd goes by."""
    clock = systemd.time.clock_gettime
    before = clock(systemd.time.CLOCK_MONOTONIC)
    systemd.Notifier(address).reloading()
    after = clock(systemd.time.CLOCK_MONOTONIC)
    told = int(supervisor.next().partition('MONOTONIC_USEC=')[2])
    assert int(before * 1e6) <= told <= after * 1e6


def test_signs_of_life_end_with_the_service(address, supervisor):
    """Each is a third of the time after the one before."""
    waits = []

    class Stopped(threading.Event):
        def wait(self, timeout):
            waits.append(timeout)
            return len(waits) == 3
    systemd.Notifier(address, watchdog=9)._keep_alive(Stopped())
    assert waits == [3, 3, 3]
    assert [supervisor.next() for _ in range(3)] == ['WATCHDOG=1'] * 3
    assert supervisor.silent()
