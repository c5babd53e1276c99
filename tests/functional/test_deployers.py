"""The configuration of each deployer starts the service unchanged.

A second file has only the test's broker, database, Placement and paths.
"""

import json
import pathlib
import re
import shutil
import types

from oslo_log import handlers
import pytest

from nova_sched import conf as config
from nova_sched import rpc
from nova_sched.options import loading
from nova_sched.scheduler.client import query
from tests.builders import clouds
from tests.builders import http_placement
from tests.builders import http_server
from tests.functional import processes
from tests.functional import stage as stages
from tests.functional.conftest import HOSTS

pytestmark = pytest.mark.real

_FILES = pathlib.Path(__file__).parents[1] / 'data' / 'deployers'

#: Arguments of nova-scheduler ({} is /etc/nova), and the name of the second
#: file, which is read last.
COMMANDS = {
    'kolla-ansible': ('', 'nova-scheduler.conf.d/where.conf'),
    'openstack-ansible': ('', 'nova-scheduler.conf.d/where.conf'),
    'openstack-helm': (
        '--config-file {}/nova.conf --config-dir {}/nova.conf.d',
        'nova.conf.d/where.conf'),
    'charm': (
        '--config-file={}/nova.conf --log-file={}/nova-scheduler.log '
        '--config-file={}/where.conf', 'where.conf'),
    'nova-operator': ('', 'nova.conf.d/where.conf'),
    'devstack': (
        '--config-file {}/nova.conf --config-file {}/where.conf',
        'where.conf'),
    # Without an argument it reads the same, but the first from /usr/share.
    'rdo': (
        '--config-file {}/nova-dist.conf --config-file {}/nova.conf '
        '--config-dir {}/nova-scheduler.conf.d',
        'nova-scheduler.conf.d/where.conf'),
}

#: Options with paths that only one deployer has.
ELSEWHERE = {
    'kolla-ansible': {'DEFAULT__log_dir': '{}'},
    'openstack-helm': {'DEFAULT__log_config_append': '{}/logging.conf'},
    'charm': {'DEFAULT__log_dir': '{}'},
    'nova-operator': {'DEFAULT__log_file': '{}/nova-scheduler.log',
                      'oslo_reports__file_event_handler': '{}'},
    'rdo': {'DEFAULT__log_dir': '{}'},
}

#: The finding if Python lacks the module for the journal.
_NO_JOURNAL = [] if handlers.journal else [
    ('options', 'warning',
     '[DEFAULT] use_journal: the Python module systemd is missing',
     'install nova_sched[journal]')]

#: All findings of config check: option, level, words of the text, and words
#: of the remedy in text or advice.
FINDINGS = {
    'kolla-ansible': [],
    'openstack-ansible': _NO_JOURNAL,
    'openstack-helm': [
        ('[oslo_messaging_rabbit] rabbit_quorum_queues', 'warning',
         'is not an option', 'rabbit_quorum_queue? Set it for all services')],
    'charm': [
        ('[filter_scheduler] max_attempts', 'warning',
         'is not an option', 'Did you mean [scheduler] max_attempts?'),
        ('options', 'warning', '[DEFAULT] log_dir overrides [DEFAULT] '
         'logdir', 'remove the latter')],
    'nova-operator': [],
    'devstack': [],
    'rdo': [],
}


@pytest.fixture(params=COMMANDS)
def deployer(request):
    return request.param


@pytest.fixture
def deployed(deployer, stage, placement, monkeypatch):
    """The deployer's files on a host.

    etc: the directory of the files.  arguments: of nova-scheduler.
    """
    monkeypatch.setenv('HOME', str(stage.directory))
    etc = stage.directory / '.nova'
    shutil.copytree(_FILES / deployer, etc)
    command, where = COMMANDS[deployer]
    (etc / where).parent.mkdir(exist_ok=True)
    stages.write_config(etc / where, **_where(stage, placement), **{
        name: value.format(etc)
        for name, value in ELSEWHERE.get(deployer, {}).items()})
    return types.SimpleNamespace(
        etc=etc, arguments=command.replace('{}', str(etc)).split())


def _where(stage, placement):
    """Options with the test's servers and paths, as ``group__option``."""
    own = stage.conf.control_exchange
    return {
        'DEFAULT__transport_url': stage.transport_url,
        'DEFAULT__control_exchange': own,
        'DEFAULT__scheduler_topic': f'{own}-scheduler',
        'DEFAULT__host': stage.conf.host,
        # The broker of the tests has no certificate.
        'oslo_messaging_rabbit__ssl': False,
        'oslo_messaging_rabbit__rabbit_transient_queues_ttl': 60,
        'oslo_messaging_notifications__transport_url': stage.transport_url,
        'oslo_messaging_notifications__topics': f'{own}-notifications',
        'notifications__versioned_notifications_topics': f'{own}-versioned',
        'database__connection': stage.database_url,
        'api_database__connection': stage.database_url,
        'placement__auth_type': 'none',
        'placement__endpoint_override': placement.url,
        **{f'{service}__cafile': http_server.CERTIFICATE
           for service in ('placement', 'neutron', 'service_user')},
        'oslo_concurrency__lock_path': stage.directory}


@pytest.fixture
def daemon(deployed, stage):
    """The service, named nova-scheduler; ``logged`` returns all its logs."""
    stage.load(clouds.a_cloud(HOSTS))
    link = stage.directory / 'nova-scheduler'
    link.symlink_to(*processes.command_line('nova-sched'))
    with processes.running(str(link), deployed.arguments,
                           stage.directory / 'output') as daemon:
        daemon.logged = lambda: daemon.text + ''.join(
            path.read_text() for path in deployed.etc.glob('*.log'))
        yield daemon


@pytest.fixture
def caller(deployed, daemon):
    """A caller of the same configuration, as Nova's conductor is."""
    conf = config.new_conf(deployed.arguments, called=loading.NOVAS)
    transport = rpc.get_transport(conf)
    yield stages.Caller(query.SchedulerQueryClient(conf, transport))
    transport.cleanup()


def test_configuration_of_a_deployer_starts_the_service(
        daemon, caller, placement):
    """It claims the picked host, and stops by SIGTERM.

    Loggers and titles of processes have Nova's names.
    """
    processes.until(
        lambda: not daemon.running or 'Serving requests' in daemon.logged(),
        'it serves')
    assert daemon.running, daemon.text
    daemon.wait_for_messenger()
    for pid in (daemon.pid, daemon.messenger, *daemon.workers):
        assert pathlib.Path(f'/proc/{pid}/cmdline').read_text().startswith(
            'nova-scheduler: ')

    assert caller.pick() in HOSTS

    [instance] = caller.instances
    assert http_placement.written(placement, claims=True) == [
        f'/allocations/{instance}']
    assert daemon.stop()[0] == 0
    assert ' nova.observe.log_line ' in daemon.logged()
    assert not re.search('[A-Z] nova_sched[.]', daemon.logged())
    assert 'Traceback' not in daemon.logged()


def test_config_check_reports_known_findings_with_remedies(
        deployer, deployed):
    """There are no other findings."""
    output = processes.manage(*(
        word for word in deployed.arguments
        if not word.startswith('--log-file')), 'config', 'check', '-f', 'json')
    found = [row for row in json.loads(output) if row['level'] != 'ok']

    assert [(row['option'], row['level']) for row in found] == [
        wanted[:2] for wanted in FINDINGS[deployer]]
    for row, (_, _, words, remedy) in zip(
            found, FINDINGS[deployer], strict=True):
        assert words in row['text']
        assert remedy in row['advice'] or remedy in row['text']
