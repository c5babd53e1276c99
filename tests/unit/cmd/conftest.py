"""Commands run in the test's process, on files of the test."""

import contextlib
import json
from typing import NamedTuple

import oslo_messaging as messaging
import pytest

from nova_sched import context
from nova_sched import service
from nova_sched.cloud import fake as fake_cloud
from nova_sched.cmd import manage
from nova_sched.observe.recorder import Recorder
from nova_sched.scheduler import manager
from tests.builders import cloud_database
from tests.builders import clouds
from tests.builders import commands
from tests.builders import drivers
from tests.builders import messages
from tests.builders import plans as plan_hosts
from tests.builders import requests
from tests.builders import rules
from tests.builders.decisions import UUIDS

#: Configuration of a client of the scheduler of ``call``.
FILE = """
[DEFAULT]
transport_url = fake://
control_exchange = commands
[database]
connection = {url}
"""


class Outcome(NamedTuple):
    """The exit code of a command and its output."""

    code: int
    out: str
    err: str


@pytest.fixture
def run(capsys):
    """Function: run one command line of nova-sched-manage."""
    def run(*argv):
        capsys.readouterr()
        try:
            code = manage.main([str(word) for word in argv])
        except SystemExit as ended:
            code = ended.code
        return Outcome(code, *capsys.readouterr())
    with commands.logging_kept():
        yield run


@pytest.fixture
def read(run):
    """Function: the JSON that a successful command line writes."""
    return lambda *argv: table(run(*argv, '-f', 'json'))


@pytest.fixture
def plans():
    """What a plan keeps this process from, the next test may do."""
    with commands.plans_undone():
        yield


@pytest.fixture
def by(run, tmp_path):
    """Function: run command lines by a configuration file with this text."""
    def by(text, *command):
        file = tmp_path / 'nova-sched.conf'
        file.write_text(text)
        return lambda *words: run('--config-file', file, *command, *words)
    return by


@pytest.fixture
def plan_by(by, plans):
    """Function: "request plan" by a configuration file with this text."""
    return lambda text: by(text, 'request', 'plan')


@pytest.fixture
def plan(plan_by, cloud):
    """Function: "request plan" with these options; more: of the file.

    On the hosts a, b and c, each with less free memory.
    """
    cloud.load_nodes(*plan_hosts.nodes())
    return lambda *options, more='': plan_by(
        plan_hosts.FILE.format(url=cloud.url) + more)(*options)


@pytest.fixture
def plan_stored(plan_by, mapped_cloud):
    """Function: "request plan" on a MappedCloud that stores requests."""
    mapped_cloud.api.execute(
        'CREATE TABLE request_specs (id INTEGER PRIMARY KEY, '
        'instance_uuid VARCHAR(36), spec TEXT)')
    return plan_by(plan_hosts.FILE.format(url=mapped_cloud.cell0.url) + (
        f'[api_database]\nconnection = {mapped_cloud.api.url}\n'))


@pytest.fixture
def store(plan_stored, mapped_cloud):
    """Function: the uuid of an instance on a host, with a stored request."""
    def store(host='a', **fields):
        uuid = clouds.a_uuid()
        spec = requests.a_request(instance_uuid=uuid, **fields)
        mapped_cloud.api.execute(
            'INSERT INTO request_specs (instance_uuid, spec) VALUES (?, ?)',
            uuid, json.dumps(spec.obj_to_primitive()))
        mapped_cloud.one.execute(
            'INSERT INTO instances (uuid, host, vm_state, deleted) '
            "VALUES (?, ?, 'active', 0)", uuid, host)
        return uuid
    return store


@pytest.fixture
def decided(cloud, tmp_path):
    """Function: decide requests on the cloud, and store the decisions.

    asked: (request id, fields of the request) of each.
    It returns the text of a file with that state_path and database.
    """
    def decided(*asked, more=()):
        recorder = Recorder(rules.a_conf(DEFAULT__state_path=str(tmp_path)))
        door = manager.SchedulerManager(
            cloud.driver(), drivers.door(cloud.driver()).candidate_source,
            recorder)
        for request_id, fields in asked:
            with contextlib.suppress(messaging.ExpectedException):
                door.select_destinations(
                    context.RequestContext(request_id=request_id),
                    spec_obj=requests.a_request(**fields).obj_to_primitive(),
                    instance_uuids=UUIDS[:1])
        with recorder.reading() as store:
            store.add(more)
        recorder.stop()
        return (f'[DEFAULT]\nstate_path = {tmp_path}\n'
                f'[database]\nconnection = {cloud.url}\n')
    return decided


@pytest.fixture
def url(tmp_path):
    """URL of a database that is not made yet."""
    return f'sqlite:///{tmp_path}/new.sqlite'


@pytest.fixture(scope='module')
def database(tables_file, tmp_path_factory):
    """A CloudDatabase that the scheduler of this module reads."""
    made = cloud_database.CloudDatabase(
        tables_file, tmp_path_factory.mktemp('requests'))
    yield made
    made.close()


@pytest.fixture(scope='module')
def scheduler(database):
    """A SchedulerService that serves in this process."""
    conf = rules.a_conf(database__connection=database.url,
                        DEFAULT__transport_url='fake://',
                        DEFAULT__control_exchange='commands',
                        nova_sched__no_valid_host_text='counts')
    made = service.SchedulerService(conf)
    made.start()
    yield made
    made.stop()


@pytest.fixture
def call(by, scheduler, database):
    """Function: "request call" with these options, on a cloud of its own."""
    fake_cloud.FakeCloud(database._db.engine, hosts=6).create()
    return by(FILE.format(url=database.url), 'request', 'call')


def decisions(scheduler):
    """What a SchedulerService has decided: documents, the newest first."""
    messages.until_over(scheduler.server)
    with scheduler.recorder.reading() as store:
        return [store.document(summary.number)
                for summary in store.summaries(1000)]


def table(ended):
    """The rows that a command wrote as JSON."""
    assert ended.code == 0, ended.err
    return json.loads(ended.out)
