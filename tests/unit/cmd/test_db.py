"""nova-sched-manage db"""

import json

import pytest

from nova_sched.db import engine


class TestSync:
    def test_makes_the_tables_and_prints_their_version(self, run, url):
        made = run('--database', url, 'db', 'sync')

        assert made.code == 0
        assert run('--database', url, 'db', 'version').out == made.out
        engine.Database(url).check()

    def test_may_be_repeated(self, run, url):
        first = run('--database', url, 'db', 'sync')

        assert run('--database', url, 'db', 'sync') == first

    def test_uses_the_configured_database(self, run, by, url):
        assert by(f'[database]\nconnection = {url}\n')('db', 'sync').code == 0
        assert run('--database', url, 'db', 'version').out.strip() != 'none'


class TestVersion:
    def test_is_none_before_the_first_sync(self, run, url, tmp_path):
        (tmp_path / 'new.sqlite').touch()
        assert run('--database', url, 'db', 'version') == (0, 'none\n', '')

    def test_is_an_object_for_programs(self, run, url, tmp_path):
        (tmp_path / 'new.sqlite').touch()

        def version():
            return json.loads(run('--database', url, 'db', 'version', '-f',
                                  'json').out)

        assert version() == {'version': None}
        made = run('--database', url, 'db', 'sync').out.strip()
        assert version() == {'version': made}

    @pytest.mark.parametrize('words', [
        ('db', 'version'), ('host', 'list'), ('cloud', 'export')])
    def test_makes_no_file_for_a_mistyped_name(
            self, run, url, tmp_path, words):
        ended = run('--database', url, *words)

        assert ended.code != 0
        assert 'there is no such file' in ended.err
        assert not (tmp_path / 'new.sqlite').exists()
