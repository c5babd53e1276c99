"""nova-sched-manage cloud"""

import contextlib
import json
import signal
import sqlite3

import pytest

from nova_sched.cloud import fake
from tests.builders import clouds


class TestFake:
    def test_makes_the_tables_and_that_many_hosts(self, run, read, url):
        ended = run('--database', url, 'cloud', 'fake', '--hosts', 7, '--once')

        assert ended.code == 0
        assert ended.out.startswith('7 fake compute nodes in sqlite:///')
        assert len(read('--database', url, 'host', 'list')) == 7

    @pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
    def test_a_signal_ends_the_heartbeats(self, run, url, monkeypatch, number):
        before = {each: signal.getsignal(each)
                  for each in (signal.SIGINT, signal.SIGTERM)}

        def beat(cloud, stop, interval):
            signal.raise_signal(number)
            assert (stop.is_set(), interval) == (True, 7)
        monkeypatch.setattr(fake.FakeCloud, 'run', beat)

        ended = run('--database', url, 'cloud', 'fake', '--interval', 7)
        for each, handler in before.items():
            signal.signal(each, handler)
        assert ended.code == 0

    def test_may_have_huge_pages_and_give_away_more_memory(
            self, run, read, url):
        run('--database', url, 'cloud', 'fake', '--hosts', 30, '--once',
            '--huge-pages', 25, '--ram-ratio', 1.5)

        hosts = [read('--database', url, 'host', 'show', host['Host'])
                 for host in read('--database', url, 'host', 'list')[:6]]
        assert {host['ram_allocation_ratio'] for host in hosts} == {1.5}
        cells = [cell for host in hosts for cell in host['numa_cells']]
        assert cells
        for cell in cells:
            small, huge = cell['pages']
            assert huge['total'] * 2 == cell['memory_mb'] // 4
            assert small['total'] * 4 // 1024 == cell['memory_mb'] * 3 // 4

    def test_replaces_what_was_there(self, run, cloud):
        cloud.load(['old'])

        run('--database', cloud.url, 'cloud', 'fake', '--hosts', 2, '--once')

        assert cloud.rows('SELECT host FROM compute_nodes ORDER BY host') == [
            ('fake-0001',), ('fake-0002',)]

    def test_is_the_same_for_the_same_seed(self, run, url):
        exports = []
        for seed in (3, 3, 4):
            run('--database', url, 'cloud', 'fake', '--hosts', 4, '--once',
                '--seed', seed)
            cloud = json.loads(run('--database', url, 'cloud', 'export').out)
            exports.append([node['uuid'] for node in cloud['compute_nodes']])

        assert exports[0] == exports[1] != exports[2]

def dump(cloud):
    """All that is in a CloudDatabase: list of statements."""
    with contextlib.closing(sqlite3.connect(cloud.path)) as connection:
        return list(connection.iterdump())


@pytest.mark.parametrize('words', [
    ['cloud', 'fake', '--once'], ['cloud', 'load', 'saved.json'],
    ['db', 'sync'], ['request', 'call', '--boot']], ids=' '.join)
def test_no_command_writes_to_a_database_of_nova(run, cloud, tmp_path,
                                                 monkeypatch, words):
    cloud.load(['a'], instances=[clouds.an_instance('a')])
    (tmp_path / 'saved.json').write_text(
        run('--database', cloud.url, 'cloud', 'export').out)
    monkeypatch.chdir(tmp_path)
    cloud.execute('DROP TABLE nova_sched_alembic_version')
    before = dump(cloud)

    ended = run('--database', cloud.url, '--transport-url', 'fake://', *words)

    assert ended.code == 2
    assert "probably it is Nova's own. Nothing was changed" in ended.err
    assert dump(cloud) == before


class TestExportAndLoad:
    @pytest.fixture
    def saved(self, run, cloud, tmp_path):
        """The file that a cloud of two hosts was exported to."""
        cloud.load(['a', 'b'], aggregates=[clouds.an_aggregate(
            1, ['a'], metadata={'availability_zone': 'north'})],
            instances=[clouds.an_instance('a')])
        file = tmp_path / 'saved.json'
        assert run('--database', cloud.url, 'cloud', 'export', file
                   ) == (0, '', '')
        return file

    def test_give_the_same_cloud_again(self, run, url, saved):
        ended = run('--database', url, 'cloud', 'load', '--as-saved', saved)

        assert ended.code == 0
        assert ended.out.startswith('2 compute nodes loaded into sqlite:///')
        again = json.loads(run('--database', url, 'cloud', 'export').out)
        before = json.loads(saved.read_text())
        for name in set(before) - {'now'}:
            assert again[name] == before[name], name

    def test_let_old_heartbeats_be_as_old_as_they_were(
            self, run, read, url, saved):
        text = saved.read_text()
        cloud = json.loads(text)
        year = cloud['now'][:4]
        saved.write_text(text.replace(f'"{year}-', '"2001-'))

        run('--database', url, 'cloud', 'load', saved)

        assert [host['Service'] for host in read(
            '--database', url, 'host', 'list')] == ['up', 'up']

    def test_name_the_table_of_an_unreadable_row(self, run, cloud):
        cloud.load(['a'])
        cloud.execute("UPDATE compute_nodes SET created_at = 'at noon'")
        ended = run('--database', cloud.url, 'cloud', 'export')

        assert ended.code == 3
        assert 'Table compute_nodes of database sqlite' in ended.err
        assert 'cannot be exported' in ended.err
        assert ended.err.count('\n') == 1

    def test_name_a_group_with_unreadable_rules(self, run, cloud):
        cloud.load(['a'])
        cloud.execute("INSERT INTO instance_groups (id, uuid) "
                      "VALUES (1, 'group-1')")
        cloud.execute('INSERT INTO instance_group_policy '
                      '(id, group_id, policy, rules) '
                      "VALUES (1, 1, 'affinity', '{')")
        ended = run('--database', cloud.url, 'cloud', 'export')

        assert ended.code == 1
        assert ended.err.startswith(
            'Instance group group-1 cannot be exported: the rules')

    @pytest.mark.parametrize('text', ['[DEFAULT]\n', '{}', '[' * 2_000_000],
                             ids=['options', 'empty', 'deep'])
    def test_never_replace_a_file_that_is_not_a_cloud(
            self, run, cloud, tmp_path, text):
        cloud.load(['a'])
        file = tmp_path / 'nova.conf'
        file.write_text(text)
        ended = run('--database', cloud.url, 'cloud', 'export', file)

        assert (ended.code, ended.err) == (
            2, f'{file} cannot be written: it exists and is not a cloud; name '
            'another file\n')
        assert file.read_text() == text

    def test_replace_another_cloud(self, run, cloud, saved):
        cloud.load(['c'])
        ended = run('--database', cloud.url, 'cloud', 'export', saved)

        assert ended.code == 0
        assert [node['host'] for node in json.loads(saved.read_text())[
            'compute_nodes']] == ['c']

    def test_refuse_a_file_that_is_not_a_database(self, run, tmp_path, caplog):
        """Without oslo.db's traceback."""
        (tmp_path / 'text').write_text('no database' * 100)
        ended = run('--database', f'sqlite:///{tmp_path}/text', 'cloud',
                    'export')

        assert (ended.code, ended.err.count('\n')) == (3, 1)
        assert 'file is not a database' in ended.err
        assert not [line for line in caplog.records
                    if line.name.startswith('oslo_db')]

    def test_refuse_a_database_without_tables(self, run, url):
        ended = run('--database', url, 'cloud', 'export')

        assert ended.code == 3
        assert 'Traceback' not in ended.err
