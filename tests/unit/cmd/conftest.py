"""Commands run in the test's process, on files of the test."""

import json
from typing import NamedTuple

import pytest

from nova_sched import service
from nova_sched.cloud import fake as fake_cloud
from nova_sched.cmd import manage
from tests.builders import cloud_database
from tests.builders import commands
from tests.builders import messages
from tests.builders import plans as plan_hosts
from tests.builders import rules

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
def plans():
    """What a plan keeps this process from, the next test may do."""
    with commands.plans_undone():
        yield


@pytest.fixture
def plan_by(run, plans, tmp_path):
    """Function: "request plan" by a configuration file with this text."""
    def plan_by(text):
        file = tmp_path / 'plan.conf'
        file.write_text(text)
        return lambda *options: run('--config-file', file, 'request', 'plan',
                                    *options)
    return plan_by


@pytest.fixture
def plan(plan_by, cloud):
    """Function: "request plan" with these options; more: of the file.

    On the hosts a, b and c, each with less free memory.
    """
    cloud.load_nodes(*plan_hosts.nodes())
    return lambda *options, more='': plan_by(
        plan_hosts.FILE.format(url=cloud.url) + more)(*options)


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
def call(run, scheduler, database, tmp_path):
    """Function: "request call" with these options, on a cloud of its own."""
    fake_cloud.FakeCloud(database._db.engine, hosts=6).create()
    file = tmp_path / 'client.conf'
    file.write_text(FILE.format(url=database.url))

    def call(*options):
        return run('--config-file', file, 'request', 'call', *options)
    return call


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
