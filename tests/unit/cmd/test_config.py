"""nova-sched-manage config"""

import json
import logging

from oslo_config import cfg
import pytest

from nova_sched.cmd import manage
from nova_sched.cmd.manage import config
from nova_sched.observe import logs
from tests.builders.case_tables import case_table


@pytest.fixture
def check(by):
    """Function: check a configuration file with this text.

    What comes out of it is read; words: more of the command line.
    """
    def check(text, *words):
        ended = by(text, 'config', 'check', '-f', 'json')(*words)
        return ended._replace(out=json.loads(ended.out))
    return check


def texts(rows, outcome):
    """The texts of the rows with an outcome: list."""
    return [f'{row["option"]}: {row["text"]}: {row["advice"]}'
            for row in rows if row['level'] == outcome]


def found(rows, check):
    """The text of the only row of a check."""
    text, = (row['text'] for row in rows if row['option'] == check)
    return text


def value(rows, check):
    """The same as a value."""
    found, = (row['value'] for row in rows if row['option'] == check)
    return found


class TestCheck:
    def test_has_the_effective_setup(self, check):
        """As texts, and for programs as values."""
        ended = check('[scheduler]\ndriver = caching_scheduler\n'
                      '[filter_scheduler]\n'
                      'enabled_filters = RamFilter,ComputeFilter\n'
                      'ram_weight_multiplier = -2\n'
                      'weight_classes = nova.scheduler.weights.ram.RAMWeigher,'
                      'nova.scheduler.weights.cpu.CPUWeigher\n')

        assert ended.code == 0
        assert list(ended.out[0]) == [
            'option', 'level', 'text', 'advice', 'value']
        assert {row['option']: (row['text'], row['value'])
                for row in ended.out[1:-1]} == {
            'driver': ('caching_scheduler', 'caching_scheduler'),
            'filters': ('RamFilter, ComputeFilter',
                        ['RamFilter', 'ComputeFilter']),
            'weighers': ('RAMWeigher -2, CPUWeigher 1',
                         {'RAMWeigher': -2.0, 'CPUWeigher': 1.0}),
            'request filters': ('none: Placement is not used', []),
            'notifications': ('off', None), 'workers': ('1', 1)}

    def test_has_the_enabled_request_filters(self, check):
        rows = check('[placement]\nauth_type = none\n[scheduler]\n'
                     'image_metadata_prefilter = true\n').out

        names = found(rows, 'request filters').split(', ')
        assert 'transform_image_metadata' in names
        assert 'compute_status_filter' in names
        assert 'isolate_aggregates' not in names

    def test_has_the_driver_of_notifications(self, check):
        rows = check('[oslo_messaging_notifications]\n'
                     'driver = messagingv2\n').out

        assert found(rows, 'notifications') == 'messagingv2, unversioned'

    def test_has_no_rules_for_the_chance_scheduler(self, check):
        rows = check('[scheduler]\ndriver = chance_scheduler\n').out

        assert found(rows, 'filters') == (
            'none: chance_scheduler draws among the hosts that are up')
        assert value(rows, 'filters') == []
        assert found(rows, 'weighers') == 'none'

    @case_table('cmd-config', 'refused')
    def test_refuses_values_that_prevent_a_start(self, check, text, words):
        ended = check(text)

        assert ended.code == 2
        assert words in texts(ended.out, 'error')[0]
        assert ended.err == ''
        assert 'driver' not in [row['option'] for row in ended.out]

    @case_table('cmd-config', 'without_effect')
    def test_warns_of_options_without_effect(self, check, text, words):
        ended = check(text)

        assert ended.code == 0
        assert words in texts(ended.out, 'warning')[0]

    def test_warns_of_unknown_options(self, check):
        ended = check('[filter_scheduler]\nenabled_filter = RamFilter\n'
                      '[scheduler]\nworkers = 1\n')

        assert ended.code == 0
        assert texts(ended.out, 'warning') == [
            '[filter_scheduler] enabled_filter: is not an option: Did you '
            'mean enabled_filters?']

    def test_prints_a_table_for_people(self, by):
        ended = by('', 'config', 'check')()

        assert ended.code == 0
        assert '| Check ' in ended.out
        assert '| What to do ' in ended.out


class TestCheckInOnePass:
    """One error hides no other error."""

    WRONG = ('[DEFAULT]\nlog_dir = /nowhere\n'
             '[scheduler]\nmax_attempts = many\ndriver = filter_schedular\n'
             '[filter_scheduler]\nenabled_filters = RamFilters\n'
             'scheduler_weight_classes = x\n'
             '[metrics]\nweight_setting = a\n')

    def test_finds_values_names_and_oddities_at_once(self, check):
        ended = check(self.WRONG)

        assert ended.code == 2
        assert [row['option'] for row in ended.out
                if row['level'] == 'error'] == [
            '[scheduler] max_attempts', '[DEFAULT] log_dir',
            '[scheduler] driver', '[filter_scheduler] enabled_filters',
            'verdict']
        assert len(texts(ended.out, 'warning')) == 2
        assert found(ended.out, 'verdict') == 'would start: no; 6 to look at'
        assert value(ended.out, 'verdict') == {
            'would_start': False, 'to_look_at': 6}

    def test_queries_services_that_need_no_wrong_option(self, check, url, run):
        run('--database', url, 'db', 'sync')
        ended = check(f'[database]\nconnection = {url}\n'
                      '[DEFAULT]\ntransport_url = fake://\n'
                      '[scheduler]\nmax_attempts = many\n', '--connect')

        assert ended.code == 2
        assert "this service's own" in found(ended.out, 'hosts')

    @pytest.mark.parametrize(('text', 'option'), [
        ('transport_url = kafka://', '[DEFAULT] transport_url'),
        ('sql_connection = nonsense', '[database] connection'),
        ('rabbit_use_ssl = maybe', '[oslo_messaging_rabbit] ssl'),
        ('rpc_backend = zmq', '[DEFAULT] rpc_backend')])
    def test_queries_no_service_at_a_default_address(
            self, check, text, option):
        """Under any name of the option."""
        ended = check(f'[DEFAULT]\n{text}\n', '--connect')

        assert found(ended.out, '--connect') == (
            f'no service was queried: {option} must be correct first')

    def test_blames_no_plug_in_for_a_directory(self, check, tmp_path):
        ended = check(f'[nova_sched]\nplugin_path = {tmp_path}/no\n'
                      '[filter_scheduler]\n'
                      'available_filters = in_there.Filter\n')

        assert [row['option'] for row in ended.out
                if row['level'] == 'error'] == [
            '[nova_sched] plugin_path', 'verdict']

    def test_leaves_the_configuration_unchanged(self, tmp_path, capsys):
        """In one process, as in cliff's shell."""
        file = tmp_path / 'nova.conf'
        file.write_text('[scheduler]\nmax_attempts = many\n')
        app = manage.ManageApp()
        for _ in range(2):
            assert app.run(['--config-file', str(file), 'config',
                            'check']) == 2
            with pytest.raises(ValueError):
                _ = app.conf.scheduler.max_attempts

    def test_ends_with_1_for_warnings_if_it_is_to_be_strict(self, check):
        text = '[scheduler]\nmax_attemps = 3\n'

        assert check(text).code == 0
        assert check(text, '--strict').code == 1
        assert check('', '--strict').code == 0

    def test_ends_with_a_verdict_that_all_is_well(self, check):
        last = check('').out[-1]

        assert last['level'] == 'ok'
        assert last['text'] == 'would start: yes; nothing to look at'


class TestCheckFrom:
    def test_lists_differences_from_a_release(self, check):
        ended = check('', '--from', 'queens')

        assert ended.code == 0
        assert [text for text in texts(ended.out, 'differs')
                if 'CPUWeigher' in text]


class TestCheckConnect:

    def test_fails_without_an_answer(self, check, url):
        ended = check(f'[database]\nconnection = {url}\n'
                      '[DEFAULT]\ntransport_url = fake://\n', '--connect')

        assert ended.code == 1
        *_, verdict = errors = [row for row in ended.out
                                if row['level'] == 'error']
        assert [row['advice'] for row in errors] == 2 * [
            'Check its path and permissions, and [database] connection'
        ] + ['']
        assert verdict['text'].startswith(
            'would start: yes, but would not work right, as 2 errors say; ')
        assert ended.err == ''

    def test_is_optional(self, check, url):
        """A missing database is not an error without it."""
        assert check(f'[database]\nconnection = {url}\n').code == 0


class TestAppOptions:
    """What all commands share."""

    @pytest.fixture
    def setups(self, monkeypatch):
        """(debug, program) of each log setup."""
        seen = []
        monkeypatch.setattr(logs, 'setup', lambda conf, name: (
            seen.append((conf.debug, name))))
        return seen

    @pytest.mark.parametrize(('words', 'levels', 'made'), [
        ([], [logging.WARNING, logging.CRITICAL], []),
        (['-v'], [logging.NOTSET] * 2, [(True, 'nova-sched-manage')])])
    def test_libraries_are_hushed_unless_all_log_lines_are_wanted(
            self, run, setups, words, levels, made):
        run(*words, '--database', 'sqlite://', 'config', 'check')

        assert [logging.getLogger(name).level for name in (
            'alembic', 'oslo_db.sqlalchemy.exc_filters')] == levels
        assert setups == made

    def test_an_error_of_the_options_library_is_a_row(self, run, monkeypatch):
        monkeypatch.setattr(config.startup, 'all_problems', lambda _: (
            [cfg.ConfigFileValueError('it is odd')], set()))
        ended = run('config', 'check', '-f', 'json')

        assert ended.code == 2
        assert {
            'option': 'options', 'level': 'error', 'text': 'it is odd',
            'advice': '', 'value': None} in json.loads(ended.out)
