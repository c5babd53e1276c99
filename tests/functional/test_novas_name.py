"""The service under the name of nova-scheduler: a link, and Nova's files."""

import pathlib

import pytest

from tests.functional import processes

pytestmark = pytest.mark.real


@pytest.fixture
def daemon(stage, tmp_path):
    """A daemon that is called nova-scheduler, and given no argument."""
    stage.cloud(4)
    home, logs = tmp_path / 'home', tmp_path / 'logs'
    (home / '.nova').mkdir(parents=True)
    logs.mkdir()
    stage.config_file('nova', DEFAULT__log_dir=logs).rename(
        home / '.nova/nova.conf')
    (home / '.nova/nova-scheduler.conf').write_text(
        '[scheduler]\nworkers = 2\n')
    (home / '.nova/nova.conf.d').mkdir()
    (home / '.nova/nova.conf.d/one.conf').write_text(
        '[scheduler]\nmax_attempts = 2\n')
    link = tmp_path / 'nova-scheduler'
    link.symlink_to(*processes.command_line('nova-sched'))
    with processes.running(str(link), [], tmp_path / 'output', {
            'HOME': str(home)}) as daemon:
        daemon.log = logs / 'nova-scheduler.log'
        processes.until(daemon.log.exists, 'a log with the name')
        daemon.wait_until_said('Serving requests', times=2)
        daemon.wait_for_messenger()
        yield daemon


def test_all_that_goes_by_the_name_is_as_of_nova(stage, daemon):
    """Files, the log's name, loggers, and what lists of processes show."""
    assert stage.client().ask()

    daemon.wait_until_said('INFO nova.observe.log_line ')
    assert daemon.said(' 1 alternate(s), ')
    assert not daemon.said(' nova_sched.')
    for pid in (daemon.pid, daemon.messenger, *daemon.workers):
        assert pathlib.Path(f'/proc/{pid}/cmdline').read_text().startswith(
            'nova-scheduler: ')
