"""The Containerfile, executed in a bare Debian, with real servers."""

import contextlib
import os
import pathlib
import shutil
import signal
import subprocess

import pytest

from tests.functional import containers
from tests.functional import probes
from tests.functional import processes

pytestmark = pytest.mark.real

TOP = pathlib.Path(__file__).parents[2]
HOST = 'contained'


@pytest.fixture(scope='module')
def container(tmp_path_factory):
    made = containers.Container(TOP, tmp_path_factory.mktemp('image') / 'root')
    made.build()
    yield made
    shutil.rmtree(made.root)


@pytest.fixture
def doors(stage):
    with probes.doors(stage) as doors:
        yield doors


class Contained(processes.Program):
    """A running container; ``pid`` is its first process, as seen here."""

    def __init__(self, container, log):
        program, *words = container.program()
        super().__init__(shutil.which(program), words, log)
        self.pid, = processes.until(lambda: self._children, 'its process 1')

    @property
    def is_one(self):
        """Whether it is process 1 of its PID namespace."""
        status = pathlib.Path(f'/proc/{self.pid}/status').read_text()
        [inside] = [line.split()[-1] for line in status.splitlines()
                    if line.startswith('NSpid:')]
        return inside == '1'

    def signal(self, number):
        os.kill(self.pid, number)

    def end(self):
        if self.running:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.stop(15)
        self._process.kill()
        self._process.wait(processes.PATIENCE)


@pytest.fixture
def contained(stage, doors, container, tmp_path):
    """The running container, with a nova.conf."""
    stage.cloud(4, live=False)
    file = stage.config_file(
        'nova', DEFAULT__host=HOST, scheduler__workers=2,
        DEFAULT__transport_url=doors['broker'].url,
        database__connection=doors['database'].url)
    shutil.copy(file, container.root / 'etc/nova/nova.conf')
    program = Contained(container, tmp_path / 'log')
    try:
        program.wait_for_lines('Serving requests', times=2)
        yield program
    finally:
        program.end()


def test_container_serves_as_process_1_and_as_nova_user(
        stage, doors, container, contained):
    """It reloads and stops by signals, as process 1 must."""
    user, = {process.username() for process in probes.named()
             if process.pid in (contained.pid, *contained.workers)}
    uid = int(container.run('id', '-u', 'nova'))

    assert stage.client().ask()
    assert contained.is_one
    assert user in (str(uid), 'nova')
    assert {door.port for door in doors.values()} <= probes.ports()
    assert probes.running([contained.pid]) == {contained.pid}
    assert probes.is_alive(stage, HOST)
    assert contained.lines('nova.cmd.scheduler [-] Starting')

    workers = contained.workers
    os.killpg(contained.pid, signal.SIGHUP)     # as dumb-init does
    contained.wait_for_lines('Configuration read again', times=2)
    assert contained.workers == workers
    assert stage.client().ask()

    assert contained.stop()[0] == 0


def test_commands_are_installed(container):
    assert 'config check' in container.run('nova-sched-manage', 'help')


def test_python_has_the_imports_of_helms_probe(container):
    container.run('env', f'PATH={container.environ["PATH"]}', 'python', '-c',
                  'import oslo_config, oslo_db, oslo_messaging, psutil')


def test_without_servers_the_script_lists_packages_to_install(container):
    shutil.copy(TOP / 'tools/with-services.sh', container.root / 'tmp')

    with pytest.raises(AssertionError, match=(
            'Install these packages.*: rabbitmq-server mariadb-server '
            r'postgresql\. Without them, tox -e embedded')):
        container.run('bash', '/tmp/with-services.sh', 'true')


def test_nova_scheduler_name_can_be_uninstalled_alone(container):
    pip = '/opt/nova-sched/bin/pip'
    container.run(pip, 'uninstall', '--yes', 'nova_sched_as_nova_scheduler')

    programs = container.root / 'opt/nova-sched/bin'
    assert not (programs / 'nova-scheduler').exists()
    assert 'usage: nova-sched' in container.run(
        '/opt/nova-sched/bin/nova-sched', '--help')
