"""nova-sched-manage config"""

import json
import logging

from oslo_config import cfg
import pytest

from nova_sched.cmd import manage
from nova_sched.cmd.manage import config
from nova_sched.observe import logs
from tests.builders import logging_files


@pytest.fixture
def check(run, tmp_path):
    """Function: check a configuration file with this text.

    What comes out of it is read; words: more of the command line.
    """
    def check(text, *words):
        file = tmp_path / 'nova.conf'
        file.write_text(text)
        ended = run('--config-file', file, 'config', 'check', '-f', 'json',
                    *words)
        return ended._replace(out=json.loads(ended.out))
    return check


def told(rows, outcome):
    """What rows of an outcome say: list of texts."""
    return [f'{row["option"]}: {row["text"]}: {row["advice"]}'
            for row in rows if row['level'] == outcome]


def found(rows, check):
    """What the one row of a check found."""
    text, = (row['text'] for row in rows if row['option'] == check)
    return text


def value(rows, check):
    """The same as a value."""
    found, = (row['value'] for row in rows if row['option'] == check)
    return found


class TestCheck:
    def test_says_what_the_service_would_run_with(self, check):
        ended = check('[scheduler]\ndriver = caching_scheduler\n'
                      '[filter_scheduler]\n'
                      'enabled_filters = RamFilter,ComputeFilter\n'
                      'ram_weight_multiplier = -2\n')

        assert ended.code == 0
        assert found(ended.out, 'driver') == 'caching_scheduler'
        assert found(ended.out, 'filters') == 'RamFilter, ComputeFilter'
        assert found(ended.out, 'weighers').startswith(
            'RAMWeigher -2, CPUWeigher 1, ')
        assert found(ended.out, 'request filters').startswith('none')
        assert found(ended.out, 'notifications') == 'off'
        assert found(ended.out, 'workers') == '1'

    def test_says_which_request_filters_are_on(self, check):
        rows = check('[placement]\nauth_type = none\n[scheduler]\n'
                     'image_metadata_prefilter = true\n').out

        names = found(rows, 'request filters').split(', ')
        assert 'transform_image_metadata' in names
        assert 'compute_status_filter' in names
        assert 'isolate_aggregates' not in names

    def test_says_where_notifications_go(self, check):
        rows = check('[oslo_messaging_notifications]\n'
                     'driver = messagingv2\n').out

        assert found(rows, 'notifications') == 'messagingv2, unversioned'

    def test_reads_the_names_of_kilo(self, check):
        ended = check(
            '[DEFAULT]\nscheduler_driver = '
            'nova.scheduler.caching_scheduler.CachingScheduler\n'
            'scheduler_default_filters = DiskFilter\n')

        assert ended.code == 0
        assert found(ended.out, 'driver') == 'caching_scheduler'
        assert found(ended.out, 'filters') == 'DiskFilter'

    def test_says_that_nothing_ranks_hosts_that_are_drawn(self, check):
        rows = check('[scheduler]\ndriver = chance_scheduler\n').out

        assert found(rows, 'filters') == (
            'none: chance_scheduler draws among the hosts that are up')
        assert value(rows, 'filters') == []
        assert found(rows, 'weighers') == 'none'

    @pytest.mark.parametrize('text, words', [
        ('[scheduler]\ndriver = filter_sheduler\n',
         "[scheduler] driver: 'filter_sheduler': no such driver; "
         "did you mean filter_scheduler?"),
        ('[filter_scheduler]\nenabled_filters = RamFilte\n',
         'did you mean RamFilter?'),
        ('[filter_scheduler]\nweight_classes = nova.scheduler.weights.x.Y\n',
         'nova.scheduler.weights.x.Y'),
        ('[scheduler]\nmax_attempts = many\n', 'max_attempts'),
        ('[DEFAULT]\ndebug = maybe\n',
         "[DEFAULT] debug: 'maybe': must be true or false"),
        ('[DEFAULT]\nservice_down_time = long\n', 'service_down_time'),
        ('[scheduler]\nhost_manager = my.module.HostManager\n',
         "[scheduler] host_manager: 'my.module.HostManager': there "
         'is no module my'),
        ('[scheduler]\nhost_manager = ironic_host_manager\n'
         '[filter_scheduler]\nuse_baremetal_filters = true\n'
         'baremetal_enabled_filters = RamFilte\n',
         "[filter_scheduler] baremetal_enabled_filters: 'RamFilte': "
         'no such filter; did you mean RamFilter?'),
        ('[DEFAULT]\ntransport_url = nonsense\n', 'transport_url'),
        ('[database]\nconnection = nonsense\n', 'connection'),
        ('[DEFAULT]\nlog_config_append = /no/such.ini\n',
         "[DEFAULT] log_config_append: '/no/such.ini': cannot be read"),
        ('[DEFAULT]\ntransport_url = kafka://u:p@h/\n',
         "[DEFAULT] transport_url: 'kafka://u:***@h/': kafka carries "
         'notifications, but no requests'),
        ('[oslo_messaging_rabbit]\nconn_pool_min_size = 99\n',
         'rpc_conn_pool_size: 30 must be greater'),
    ])
    def test_refuses_what_the_service_would_not_start_with(self, check, text,
                                                           words):
        ended = check(text)

        assert ended.code == 2
        assert words in told(ended.out, 'error')[0]
        assert ended.err == ''
        assert 'driver' not in [row['option'] for row in ended.out]

    def test_warns_of_a_log_that_leads_nowhere(self, check, tmp_path):
        path = logging_files.a_file(tmp_path)
        ended = check(f'[DEFAULT]\nlog_config_append = {path}\n')

        assert any('the service writes no line' in text
                   for text in told(ended.out, 'warning'))

    def test_lists_every_wrong_filter(self, check):
        errors = told(check('[filter_scheduler]\n'
                            'enabled_filters = RamFilte,JsonFilte\n').out,
                      'error')

        assert len(errors) == 2 + 1
        assert 'did you mean JsonFilter?' in errors[1]

    def test_shows_no_password(self, check):
        ended = check('[DEFAULT]\ntransport_url = rabbit://u:secr/et@h:1/\n'
                      '[database]\nconnection = mysql:/u:secr/et@h/nova\n')

        assert ended.code == 2
        assert 'secr' not in str(ended.out) + ended.err

    @pytest.mark.parametrize('text, words', [
        ('[DEFAULT]\nperiodic_fuzzy_delay = 7\n',
         'This release accepts these options but does not act on '
         'them: [DEFAULT] periodic_fuzzy_delay'),
        ('[placement]\nauth_url = http://192.0.2.1:5000\n'
         '[scheduler]\ndriver = caching_scheduler\n'
         '[filter_scheduler]\nenabled_filters = RamFilter\n',
         '[placement] is configured, but the caching scheduler does '
         'not use Placement')])
    def test_warns_of_what_may_not_be_meant(self, check, text, words):
        ended = check(text)

        assert ended.code == 0
        assert words in told(ended.out, 'warning')[0]

    def test_warns_of_options_that_are_none(self, check):
        ended = check('[filter_scheduler]\nenabled_filter = RamFilter\n'
                      '[scheduler]\nworkers = 1\n')

        assert ended.code == 0
        assert told(ended.out, 'warning') == [
            '[filter_scheduler] enabled_filter: is no option: Did you mean '
            'enabled_filters?']

    @pytest.mark.parametrize('option', [
        'rabbit_quorum_queues', 'amqp_durable_queue'])
    def test_warns_that_one_service_alone_cannot_change_its_queues(
            self, check, option):
        ended = check(f'[oslo_messaging_rabbit]\n{option} = true\n')

        [text] = told(ended.out, 'warning')
        assert 'Set it for all services of Nova at once' in text

    @pytest.mark.parametrize('text', [
        None, b'garbage', b'\x7fELF\xff\xfe'])
    def test_of_a_file_that_cannot_be_read_is_an_error(self, run, tmp_path,
                                                       text):
        file = tmp_path / 'odd.conf'
        if text:
            file.write_bytes(text)
        ended = run('--config-file', file, 'config', 'check')

        assert ended.code == 2
        assert 'odd.conf' in ended.err
        assert 'Traceback' not in ended.err

    def test_gives_programs_values_beside_words(self, check):
        rows = check('[filter_scheduler]\nenabled_filters = RamFilter\n'
                     'weight_classes = nova.scheduler.weights.ram.RAMWeigher\n'
                     '[scheduler]\nworkers = 3\n').out

        assert list(rows[0]) == ['option', 'level', 'text', 'advice', 'value']
        assert value(rows, 'filters') == ['RamFilter']
        assert value(rows, 'weighers') == {'RAMWeigher': 1.0}
        assert value(rows, 'workers') == 3

    def test_of_older_names_writes_one_line(self, run, tmp_path):
        """Oslo.config has one for each."""
        file = tmp_path / 'nova.conf'
        file.write_text('[DEFAULT]\nscheduler_driver = filter_scheduler\n'
                        'scheduler_max_attempts = 3\nrabbit_host = h\n')
        ended = run('--config-file', file, 'config', 'check', '-f', 'json')

        assert ended.err == ''
        line, = (text for text in told(json.loads(ended.out), 'warning')
                 if 'deprecated' in text)
        assert '[DEFAULT] scheduler_driver (now [scheduler] driver)' in line
        assert '[DEFAULT] rabbit_host' in line

    def test_prints_a_table_for_people(self, run, tmp_path):
        file = tmp_path / 'nova.conf'
        file.write_text('')
        ended = run('--config-file', file, 'config', 'check')

        assert ended.code == 0
        assert '| Check ' in ended.out
        assert '| What to do ' in ended.out


class TestCheckInOnePass:
    """What is wrong hides nothing else that is wrong."""

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
        assert len(told(ended.out, 'warning')) == 2
        assert found(ended.out, 'verdict') == 'would start: no; 6 to look at'
        assert value(ended.out, 'verdict') == {
            'would_start': False, 'to_look_at': 6}

    def test_says_nothing_of_what_would_run(self, check):
        """Defaults in place of what is wrong would be no such thing."""
        options = [row['option'] for row in check(self.WRONG).out]

        assert {'driver', 'filters', 'workers'}.isdisjoint(options)

    def test_asks_whatever_needs_no_option_that_is_wrong(self, check, url,
                                                         run):
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
    def test_asks_nothing_by_defaults(self, check, text, option):
        """Under whichever name the file has them."""
        ended = check(f'[DEFAULT]\n{text}\n', '--connect')

        assert found(ended.out, '--connect') == (
            f'nothing was asked, because {option} must be right for that')

    def test_blames_no_plug_in_for_a_directory(self, check, tmp_path):
        ended = check(f'[nova_sched]\nplugin_path = {tmp_path}/no\n'
                      '[filter_scheduler]\n'
                      'available_filters = in_there.Filter\n')

        assert [row['option'] for row in ended.out
                if row['level'] == 'error'] == [
            '[nova_sched] plugin_path', 'verdict']

    def test_puts_no_default_in_the_way_of_what_follows(
            self, tmp_path, capsys):
        """In one process, as cliff's shell has it."""
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
    def test_says_what_differs_from_a_release(self, check):
        ended = check('', '--from', 'queens')

        assert ended.code == 0
        assert [text for text in told(ended.out, 'differs')
                if 'CPUWeigher' in text]

    def test_refuses_what_is_no_release(self, run, tmp_path):
        ended = run('config', 'check', '--from', 'quens')

        assert ended.code == 2
        assert 'quens is no release of Nova' in ended.err

    def test_says_nothing_of_releases_unasked(self, check):
        assert told(check('').out, 'differs') == []


class TestCheckConnect:
    def test_asks_what_the_service_depends_on(self, check, url, run):
        assert run('--database', url, 'db', 'sync').code == 0
        ended = check(f'[database]\nconnection = {url}\n'
                      '[DEFAULT]\ntransport_url = fake://\n', '--connect')

        assert ended.code == 0
        assert "this service's own" in found(ended.out, 'hosts')
        assert 'is no RabbitMQ' in found(ended.out, 'broker')
        assert ended.err == ''

    def test_fails_where_something_does_not_answer(self, check, url):
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

    def test_asks_nothing_unasked(self, check, url):
        """A database that is not there is no error then."""
        assert check(f'[database]\nconnection = {url}\n').code == 0


class TestAppOptions:
    """What all commands share."""

    @pytest.fixture
    def levels(self):
        """Function: the levels of loggers that talk much; as before then."""
        names = ('alembic', 'oslo_db.sqlalchemy.exc_filters')
        loggers = [logging.getLogger(name) for name in names]
        before = [logger.level for logger in loggers]
        yield lambda: [logger.level for logger in loggers]
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)

    @pytest.fixture
    def setups(self, monkeypatch):
        """Whether each log that was set up is at DEBUG, and whose it is."""
        seen = []
        monkeypatch.setattr(logs, 'setup', lambda conf, name: (
            seen.append((conf.debug, name))))
        return seen

    def test_a_file_that_is_missing_keeps_any_command_from_running(
            self, run, tmp_path):
        ended = run('--config-file', tmp_path / 'none.conf', 'host', 'list')

        assert ended.code == 2
        assert 'none.conf' in ended.err

    def test_libraries_are_hushed(self, run, levels, setups):
        run('--database', 'sqlite://', 'config', 'check')

        assert levels() == [logging.WARNING, logging.CRITICAL]
        assert setups == []

    def test_v_has_all_tell_all(self, run, levels, setups):
        run('-v', '--database', 'sqlite://', 'config', 'check')

        assert levels() == [logging.NOTSET] * 2
        assert setups == [(True, 'nova-sched-manage')]

    def test_an_error_of_the_options_library_is_a_row(
            self, run, monkeypatch):
        monkeypatch.setattr(config.startup, 'all_problems', lambda _: (
            [cfg.ConfigFileValueError('it is odd')], set()))
        ended = run('config', 'check', '-f', 'json')

        assert ended.code == 2
        assert {
            'option': 'options', 'level': 'error', 'text': 'it is odd',
            'advice': '', 'value': None} in json.loads(ended.out)
