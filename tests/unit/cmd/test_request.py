"""nova-sched-manage request: real RPC calls to a service in the process."""

import argparse
import json

import pytest

from nova_sched import conf as config
from nova_sched import service
from nova_sched.cloud import fake as fake_cloud
from nova_sched.cmd.manage import request
from tests.builders import cloud_database
from tests.builders import http_placement
from tests.builders import requests
from tests.builders import rules

IMAGE = '155d900f-4e14-4e4c-a73d-069cbf4541e6'
FILE = """
[DEFAULT]
transport_url = fake://
control_exchange = commands
[database]
connection = {url}
"""


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
                        DEFAULT__control_exchange='commands')
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


def table(ended):
    assert ended.code == 0, ended.err
    return json.loads(ended.out)


class TestAnswer:
    def test_shows_selected_hosts_and_alternates(self, call):
        rows = table(call('--count', 2, '-f', 'json'))

        assert [row['Choice'] for row in rows] == [
            'selected', 'alternate 1', 'alternate 2'] * 2
        assert len({row['Instance'] for row in rows}) == 2
        assert all(row['Host'].startswith('fake-') for row in rows)
        assert 'memory_mb=' in rows[0]['Limits']
        assert rows[0]['Zone'] in ('az1', 'az2', 'az3')

    def test_is_a_table_unless_told_otherwise(self, call):
        ended = call()

        assert ended.code == 0
        assert '| Choice ' in ended.out

    def test_may_leave_out_alternates(self, call):
        rows = table(call('--no-alternates', '-f', 'json'))

        assert [row['Choice'] for row in rows] == ['selected']


class TestClaims:
    """What a scheduler claims for instances that nobody has."""

    @pytest.fixture
    def placement(self, monkeypatch, database):
        """A Placement that offers all hosts; the scheduler asks it."""
        with http_placement.placement() as server:
            server.on('GET', '/allocation_candidates', lambda asked: (
                http_placement.candidates(*(
                    http_placement.a_candidate(uuid) for uuid, in
                    database.rows('SELECT uuid FROM compute_nodes')))))
            yield server

    @pytest.fixture
    def ask(self, run, call, placement, database, tmp_path):
        """Function: "request call" of a scheduler that claims."""
        text = FILE.replace('commands', 'claims').format(url=database.url) + (
            '[placement]\nauth_type = none\n'
            f'endpoint_override = {placement.url}\n')
        (tmp_path / 'claims.conf').write_text(text)
        made = service.SchedulerService(config.new_conf(
            [], [str(tmp_path / 'claims.conf')]))
        made.start()
        yield lambda *options: run(
            '--config-file', tmp_path / 'claims.conf', 'request', 'call',
            *options)
        made.stop()

    def test_are_given_back(self, ask, placement):
        rows = table(ask('--count', 2, '--no-alternates', '-f', 'json'))

        uuids = {f'/allocations/{row["Instance"]}' for row in rows}
        assert {asked.path for asked in placement.asked
                if asked.method == 'PUT'} == uuids
        assert {asked.path for asked in placement.asked
                if asked.method == 'DELETE'} == uuids

    def test_that_cannot_be_given_back_are_named(self, ask, placement):
        placement.on('DELETE', '/allocations/', http_placement.error(500))

        ended = ask()

        assert ended.code == 1
        assert 'openstack resource provider allocation delete' in ended.err


class TestRequest:
    @pytest.mark.parametrize('options, hosts', [
        (['--force-host', 'FAKE-0003'], {'fake-0003'}),
        (['--zone', 'az2'], {'fake-0002', 'fake-0005'}),
        ([word for number in (1, 2, 4, 5, 6)
          for word in ('--ignore-host', f'fake-000{number}')],
         {'fake-0003'}),
    ])
    def test_goes_by_its_options(self, call, options, hosts):
        rows = table(call(*options, '-f', 'json'))

        assert {row['Host'] for row in rows} == hosts

    def test_has_the_sizes_hints_and_properties_it_is_given(self, call,
                                                            scheduler):
        ended = call('--vcpus', 3, '--ram', 700, '--disk', 5, '--ephemeral',
                     2, '--swap', 64, '--hint', 'a=1', '--hint', 'a=2',
                     '--extra-spec', 'x=y=z', '--image-property',
                     'hw_disk_bus=ide')

        assert ended.code == 0
        assert scheduler.decisions[-1].instances == 1

    def test_has_the_names_it_is_given(self):
        """Of flavor, image and project; rules compare them with others."""
        parser = argparse.ArgumentParser()
        request.add_request_arguments(parser)

        spec = request.build_spec(parser.parse_args(
            ['--flavor', 'm1.gold', '--image', IMAGE, '--project', 'p1']), [])

        assert (spec.flavor.name, spec.image.id, spec.project_id) == (
            'm1.gold', IMAGE, 'p1')

    def test_may_be_a_whole_spec_from_a_file(self, call, tmp_path):
        file = tmp_path / 'spec.json'
        file.write_text(json.dumps(requests.a_request(
            force_hosts=['fake-0002']).obj_to_primitive()))

        rows = table(call('--spec', file, '-f', 'json'))

        assert rows[0]['Host'] == 'fake-0002'

    @pytest.mark.parametrize('options, words', [
        (['--hint', 'no-equals-sign'], 'invalid KEY=VALUE'),
        (['--count', 'x'], 'invalid int value'),
    ])
    def test_with_wrong_options_is_not_sent(self, call, options, words):
        ended = call(*options)

        assert ended.code == 2
        assert words in ended.err

    def test_with_a_spec_that_cannot_be_read_is_not_sent(self, call,
                                                         tmp_path):
        ended = call('--spec', tmp_path / 'none.json')

        assert ended.code == 1
        assert 'none.json' in ended.err


class TestRefusal:
    def test_ends_with_code_1_and_the_reasons(self, call):
        ended = call('--ram', 10 ** 6)

        assert ended.code == 1
        assert ended.out == ''
        assert ('No valid host was found. There are not enough hosts '
                'available. 0 of 6 hosts: 6 RamFilter (need 1000000 MB, '
                'largest host ') in ended.err
        assert 'Traceback' not in ended.err

    def test_of_a_wrong_request_names_the_field(self, call):
        ended = call('--ram', -5)

        assert ended.code == 1
        assert 'memory_mb' in ended.err

    def test_of_an_absent_service_says_so(self, run, database):
        ended = run('--database', database.url, '--transport-url', 'fake://',
                    'request', 'call', '--timeout', 1)

        assert ended.code == 1
        assert 'No answer within 1 seconds' in ended.err
        assert 'Traceback' not in ended.err


class TestBoot:
    def test_puts_the_instances_on_the_selected_hosts(self, call, database):
        rows = table(call('--boot', '--count', 2, '--ram', 4096, '-f',
                          'json', '--no-alternates'))

        assert sorted(database.rows(
            'SELECT uuid, host, memory_mb FROM instances')) == sorted(
            (row['Instance'], row['Host'], 4096) for row in rows)

    def test_of_a_spec_from_a_file_puts_what_it_asks_for(
            self, call, database, tmp_path):
        """And not what the options would say."""
        file = tmp_path / 'spec.json'
        file.write_text(json.dumps(requests.a_request(
            memory_mb=3072, vcpus=3, root_gb=7).obj_to_primitive()))

        table(call('--boot', '--spec', file, '-f', 'json'))

        assert database.rows('SELECT memory_mb, vcpus, root_gb FROM '
                             'instances') == [(3072, 3, 7)]

    def test_of_a_refused_request_puts_nothing(self, call, database):
        call('--boot', '--ram', 10 ** 6)

        assert database.rows('SELECT * FROM instances') == []
