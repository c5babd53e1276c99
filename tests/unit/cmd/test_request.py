"""nova-sched-manage request: real RPC calls to a service in the process."""

import json

import oslo_messaging as messaging
import pytest

from nova_sched import conf as config
from nova_sched import objects
from nova_sched import service
from nova_sched.cmd.manage import request
from tests.builders import http_placement
from tests.builders import requests
from tests.unit.cmd import conftest


class TestAnswer:
    def test_shows_selected_hosts_and_alternates(self, call):
        rows = conftest.table(call('--count', 2, '-f', 'json'))

        assert len({row['Instance'] for row in rows}) == 2
        assert all(row['Host'].startswith('fake-') for row in rows)
        assert [len({row['Host'], *(other['Host'] for other
                                    in row['Alternates'])})
                for row in rows] == [3, 3]
        assert isinstance(rows[0]['Limits']['memory_mb'], int)
        assert rows[0]['Zone'] in ('az1', 'az2', 'az3')

    def test_has_a_row_an_instance(self, call):
        ended = call('--count', 5)

        # Between three lines, and below the names.
        assert len(ended.out.splitlines()) == 4 + 5
        assert '{' not in ended.out

    def test_says_the_limits_of_cells_in_words(self):
        limits = request.limits(objects.Selection(
            limits=objects.SchedulerLimits(
                memory_mb=5, numa_topology=objects.NUMATopologyLimits(
                    cpu_allocation_ratio=16.0, ram_allocation_ratio=1.5))))

        assert limits.human_readable() == (
            'memory_mb=5, numa_topology=cpu_allocation_ratio=16.0 '
            'ram_allocation_ratio=1.5')
        assert limits.machine_readable()['numa_topology'] == {
            'cpu_allocation_ratio': 16.0, 'ram_allocation_ratio': 1.5}

    def test_has_the_request_id_that_was_asked_for(self, call, scheduler):
        row, = conftest.table(call('--request-id', 'req-mine', '-f', 'json'))

        assert row['Request'] == 'req-mine'
        assert conftest.decisions(scheduler)[0]['request_id'] == 'req-mine'

    @pytest.mark.parametrize('options', [
        [], ['--ram', 10 ** 6], ['--vcpus', -5],
        ['--image-property', 'hw_numa_nodes=none']])
    def test_names_the_request_whatever_it_is(self, call, scheduler, options):
        ended = call(*options)

        assert 'Request req-' in ended.err
        asked = conftest.decisions(scheduler)[0]['instance_uuids']
        if ended.code in (0, 3):
            assert f' for instance(s) {asked[0]}\n' in ended.err

    def test_may_leave_out_alternates(self, call):
        rows = conftest.table(call('--no-alternates', '-f', 'json'))

        assert [row['Alternates'] for row in rows] == [[]]


class TestClaims:
    """Claims for the made-up instances."""

    @pytest.fixture
    def placement(self, monkeypatch, database):
        """A Placement that offers all hosts to the scheduler."""
        with http_placement.placement() as server:
            server.on('GET', '/allocation_candidates', lambda asked: (
                http_placement.candidates(*(
                    http_placement.a_candidate(uuid) for uuid, in
                    database.rows('SELECT uuid FROM compute_nodes')))))
            yield server

    @pytest.fixture
    def ask(self, by, call, placement, database, tmp_path):
        """Function: "request call" of a scheduler that claims."""
        file = conftest.FILE.replace('commands', 'claims')
        text = file.format(url=database.url) + (
            '[placement]\nauth_type = none\n'
            f'endpoint_override = {placement.url}\n')
        ask = by(text, 'request', 'call')
        made = service.SchedulerService(config.new_conf(
            [], [str(tmp_path / 'nova-sched.conf')]))
        made.start()
        yield ask
        made.stop()

    def test_are_released(self, ask, placement):
        rows = conftest.table(ask('--count', 2, '--no-alternates', '-f',
                                  'json'))

        uuids = {f'/allocations/{row["Instance"]}' for row in rows}
        for claims in (True, False):
            assert set(http_placement.written(placement, claims)) == uuids

    def test_which_cannot_be_released_are_named(self, ask, placement):
        placement.on('DELETE', '/allocations/', http_placement.error(500))

        ended = ask()

        assert ended.code == 1
        assert 'openstack resource provider allocation delete' in ended.err


class TestRefusal:
    def test_ends_with_code_1_and_the_reasons(self, call):
        ended = call('--ram', 10 ** 6)

        assert (ended.code, ended.out) == (1, '')
        assert ('No valid host was found. There are not enough hosts '
                'available. 0 of 6 hosts: 6 RamFilter (need 1000000 MB)'
                ) in ended.err
        assert 'Traceback' not in ended.err

    def test_names_the_wrong_field(self, call):
        ended = call('--vcpus', -5)

        assert ended.code == 2
        assert 'vcpus = -5: must be an integer' in ended.err

    def test_has_the_error_of_a_broken_service(
            self, call, scheduler, monkeypatch):
        def broken(*args, **kwargs):
            raise messaging.RemoteError('LookupError', 'odd', ['Traceback'])
        monkeypatch.setattr(scheduler.driver, 'select_destinations', broken)

        ended = call()

        assert ended.code == 1
        assert 'The scheduler failed with LookupError: odd; ' in ended.err
        assert 'Request req-' in ended.err


class TestBoot:
    def test_uses_the_sizes_of_a_spec(self, call, database, tmp_path):
        """Not the sizes of the options."""
        file = tmp_path / 'spec.json'
        file.write_text(json.dumps(requests.a_request(
            memory_mb=3072, vcpus=3, root_gb=7).obj_to_primitive()))

        conftest.table(call('--boot', '--spec', file, '-f', 'json'))

        assert database.rows('SELECT memory_mb, vcpus, root_gb FROM '
                             'instances') == [(3072, 3, 7)]

    def test_is_refused_in_a_database_of_nova(self, call, database, scheduler):
        """Before the scheduler is called."""
        before = len(conftest.decisions(scheduler))
        database.execute('CREATE TABLE alembic_version (version_num TEXT)')

        ended = call('--boot')
        database.execute('DROP TABLE alembic_version')

        assert ended.code == 2
        assert "probably it is Nova's own" in ended.err
        assert len(conftest.decisions(scheduler)) == before

    def test_does_nothing_for_a_refused_request(self, call, database):
        call('--boot', '--ram', 10 ** 6)

        assert database.rows('SELECT * FROM instances') == []
