"""What would end the start, or each request, is found before it."""

import os
import subprocess

import pytest

from nova_sched import conf
from nova_sched import exception
from nova_sched import rpc
from nova_sched.options import log_files
from nova_sched.options import nearest
from nova_sched.options import sections

LOGGING = """
[loggers]
keys = root
[handlers]
keys = one
[formatters]
keys =
[logger_root]
handlers = one
[handler_one]
class = {handler}
args = {args}
"""


def refusals(parsed, text):
    """What is wrong with a file: list of texts."""
    return list(map(str, conf.check(parsed(text))))


@pytest.mark.parametrize(('text', 'words'), [
    ('log_config_append = /no/such.ini',
     "[DEFAULT] log_config_append = '/no/such.ini': cannot be read: No such"),
    ('log_dir = /no/such', "log_dir = '/no/such': there is no directory"),
    ('log_file = /no/such/log', 'there is no directory /no/such; make it'),
    ('default_log_levels = amqp,sql=WARN',
     "default_log_levels = 'amqp': write LOGGER=LEVEL"),
    ('default_log_levels = sql=WARNNG', 'did you mean WARNING?'),
    ('use_syslog = true\nsyslog_log_facility = LOG_USR',
     "syslog_log_facility = 'LOG_USR': syslog facility must be one of: "),
    ('logging_context_format_string = %(nosuch)s',
     "Formatting field not found in record: 'nosuch'"),
    ('logging_default_format_string = %(asctime',
     'no line can be made of it: incomplete format key'),
    ('[database]\nconnection = mysql+nodriver://u:hunter2@h/nova',
     "[database] connection = 'mysql+nodriver://****': its driver cannot be "
     'used: '),
    ('[api_database]\nconnection = nosuch://u:hunter2@h/nova',
     "[api_database] connection = 'nosuch://****': its driver"),
    ('rate_limit_burst =', "rate_limit_burst = '': is empty"),
    ('executor_thread_pool_size = 0', 'must be a whole number, 1 or more'),
    ('executor_thread_pool_size =', "executor_thread_pool_size = '': is "
     'empty and must be a whole number'),
    ('service_down_time =', 'take the line out for the default, 60'),
    ('transport_url = kafka://u:hunter2@h/',
     "[DEFAULT] transport_url = 'kafka://u:***@h/': kafka carries "
     'notifications, but no requests'),
    ('[oslo_messaging_notifications]\n'
     'transport_url = kafka://u:hunter2@h/',
     'needs the Python module confluent_kafka'),
    ('transport_url = rabbit://u:pa$hunter2@h/',
     "[DEFAULT] transport_url = '****': a $ begins the name of another "
     'option; write $$ for a $'),
    ('[database]\nconnection = mysql://u:pa$hunter2@h/nova',
     "[database] connection = '****': a $ begins"),
    ('[oslo_messaging_rabbit]\nrabbit_retry_interval =', 'is empty'),
    ('[oslo_messaging_rabbit]\nssl = true\nssl_version = tlsv9',
     "ssl_version = 'tlsv9': is no version of TLS"),
    ('[oslo_messaging_rabbit]\nkombu_compression = bz2',
     "kombu_compression = 'bz2': no message could be sent by it"),
    ('[oslo_messaging_rabbit]\nrabbit_stream_fanout = true',
     'rabbit_stream_fanout need rabbit_transient_quorum_queue'),
    ('[oslo_messaging_rabbit]\nrabbit_quorum_queue = true\n'
     'rabbit_ha_queues = true', 'both enabled'),
    ('[placement]\nauth_type = password\ncafile = /no/such/ca',
     "[placement] cafile = '/no/such/ca': cannot be read")])
def test_a_value_is_refused_in_one_line(parsed, text, words):
    error, = refusals(parsed, '[DEFAULT]\n' + text + '\n')

    assert words in error
    assert '\n' not in error
    assert 'hunter2' not in error


def test_a_file_for_logging_is_tried_and_writes_nothing(parsed, tmp_path):
    log, file = tmp_path / 'a.log', tmp_path / 'logging.ini'
    option = f'[DEFAULT]\nlog_config_append = {file}\n'

    file.write_text(LOGGING.format(handler='FileHandler', args=(str(log),)))
    assert refusals(parsed, option) == []
    assert not log.exists()

    log = tmp_path / 'nowhere' / 'a.log'
    file.write_text(LOGGING.format(handler='FileHandler', args=(str(log),)))
    error, = refusals(parsed, option)
    assert f'{log} cannot be written' in error

    file.write_text(LOGGING.format(handler='NoSuchHandler', args='()'))
    error, = refusals(parsed, option)
    assert 'logging cannot be configured by it: ' in error
    assert 'NoSuchHandler' in error


@pytest.mark.parametrize('text', [
    'use_json = true\n', 'log_config_append = {file}\n'])
def test_a_format_that_no_line_is_made_by_may_be_wrong(
        parsed, tmp_path, text):
    file = tmp_path / 'logging.ini'
    file.write_text(LOGGING.format(handler='NullHandler', args='()'))
    wrong = 'logging_default_format_string = %(asctime\n'

    assert refusals(parsed, '[DEFAULT]\n' + wrong)
    assert refusals(
        parsed, '[DEFAULT]\n' + wrong + text.format(file=file)) == []


def test_a_log_that_can_be_written_is_not_made(parsed, tmp_path):
    assert refusals(parsed, f'[DEFAULT]\nlog_dir = {tmp_path}\n'
                    'log_file = a.log\nlog_rotation_type = size\n') == []
    assert os.listdir(tmp_path) == ['nova.conf']


def test_an_empty_number_that_has_no_default_is_unset(parsed):
    assert refusals(parsed, '[scheduler]\nworkers =\n') == []


def test_an_option_of_the_driver_that_is_deprecated_may_be_given(parsed):
    """It is read here, and registered by oslo.messaging after that."""
    config = parsed('[DEFAULT]\ntransport_url = rabbit://127.0.0.1:1/\n'
                    '[oslo_messaging_rabbit]\n'
                    'ssl_enforce_fips_mode = false\n')
    assert conf.check(config) == []

    rpc.get_transport(config).cleanup()


@pytest.mark.parametrize('value', [
    '', '-1', '99999999999999999999', '/no/such/file',
    '$no_such_option', 'kafka://é,b'])
def test_no_value_of_any_option_fails_the_check_itself(parsed, value):
    """Each option has it at once; each refusal is one line."""
    by_section = {}
    for section, name in sections.known_opts():
        by_section.setdefault(section, []).append(f'{name} = {value}\n')
    errors = refusals(parsed, ''.join(
        f'[{section}]\n{"".join(lines)}'
        for section, lines in by_section.items()))

    assert errors
    assert not [error for error in errors if '\n' in error]


@pytest.mark.parametrize(('text', 'option'), [
    ('[database]\nconnection = mysql://u:hunter2@h/n?ssl_ca={}\n',
     '[database] connection, ssl_ca'),
    ('[api_database]\nconnection = mysql://u:hunter2@h/n?ssl_key={}\n',
     '[api_database] connection, ssl_key')])
def test_a_file_of_tls_that_cannot_be_read_is_named(parsed, tmp_path, text,
                                                    option):
    """The libraries say that there is no such file, but not which."""
    path = tmp_path / 'no-such.pem'

    problem, = conf.check(parsed(text.format(path)))

    assert str(problem) == (f'{option} = {str(path)!r}: cannot be read: No '
                            f'such file or directory')

    path.touch()

    assert conf.check(parsed(text.format(path))) == []


def test_a_queue_manager_needs_a_place_for_locks(parsed, tmp_path):
    managed = '[oslo_messaging_rabbit]\nuse_queue_manager = true\n'

    problem, = conf.check(parsed(managed))

    assert str(problem).startswith('[oslo_concurrency] lock_path = None: ')
    assert conf.check(parsed(
        f'{managed}[oslo_concurrency]\nlock_path = {tmp_path}\n')) == []
    assert conf.check(parsed(managed.replace('true', 'false'))) == []


class TestLog:
    """What is wrong with the place where the log is to be."""

    def test_is_that_it_is_a_directory(self, parsed, tmp_path):
        (tmp_path / 'a.log').mkdir()
        assert refusals(parsed, f'[DEFAULT]\nlog_dir = {tmp_path}\n'
                        'log_file = a.log\n') == [
            f"[DEFAULT] log_file = '{tmp_path}/a.log': is a directory; name "
            'a file in it']

    @pytest.mark.parametrize('there', [True, False])
    def test_is_that_this_user_may_not_write_there(
            self, parsed, tmp_path, monkeypatch, there):
        """Into the file where there is one, else into its directory."""
        asked = []

        def access(path, mode):
            asked.append((path, mode))
            return False
        if there:
            (tmp_path / 'a.log').touch()
        config = parsed(f'[DEFAULT]\nlog_file = {tmp_path}/a.log\n')
        monkeypatch.setattr(log_files.os, 'access', access)
        with pytest.raises(exception.ConfigurationError,
                           match='may not be written by this user'):
            log_files.CHECKS[1](config)
        assert asked == [
            (f'{tmp_path}/a.log' if there else str(tmp_path), os.W_OK)]

    def test_is_nothing_where_it_is_left_to_a_file_for_logging(
            self, parsed, tmp_path, monkeypatch):
        file = tmp_path / 'logging.ini'
        file.touch()
        monkeypatch.setattr(
            log_files.subprocess, 'run', lambda command, **kwargs: (
                subprocess.CompletedProcess(command, 0)))
        assert refusals(parsed, '[DEFAULT]\nlog_dir = /no/such\n'
                        'use_syslog = true\nsyslog_log_facility = no\n'
                        'use_journal = true\ndefault_log_levels = no\n'
                        f'log_config_append = {file}\n') == []

    def test_is_nothing_of_a_file_beside_the_process(
            self, parsed, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        assert refusals(parsed, '[DEFAULT]\nlog_file = a.log\n') == []

    def test_is_a_file_for_logging_that_hangs(
            self, parsed, tmp_path, monkeypatch):
        file, seconds = tmp_path / 'logging.ini', []
        file.touch()

        def hang(command, timeout, **kwargs):
            seconds.append(timeout)
            raise subprocess.TimeoutExpired(command, timeout)
        monkeypatch.setattr(log_files.subprocess, 'run', hang)
        [error] = refusals(
            parsed, f'[DEFAULT]\nlog_config_append = {file}\n')
        assert error.endswith(
            'logging is not configured by it within 60 seconds')
        assert seconds == [60]

    @pytest.mark.parametrize(('said', 'told'), [
        ('', 'no reason given'), ('one\ntwo\n', 'two')])
    def test_is_what_logging_says_last(
            self, parsed, tmp_path, monkeypatch, said, told):
        file = tmp_path / 'logging.ini'
        file.touch()
        monkeypatch.setattr(
            log_files.subprocess, 'run', lambda command, **kwargs: (
                subprocess.CompletedProcess(command, 1, '', said)))
        [error] = refusals(
            parsed, f'[DEFAULT]\nlog_config_append = {file}\n')
        assert error.endswith(f'cannot be configured by it: {told}')

    @pytest.mark.parametrize('text', [
        'default_log_levels = a=INFO,b=-1,c=15,d=CRITICAL',
        *[f'use_syslog = true\nsyslog_log_facility = {name}'
          for name in ('user', 'LOG_USER', 'LOCAL0', 'local7')],
        'syslog_log_facility = nosuch'])
    def test_is_nothing_of_levels_and_facilities_that_there_are(
            self, parsed, text):
        assert refusals(parsed, f'[DEFAULT]\n{text}\n') == []

    @pytest.mark.parametrize('name', ['local8', 'LOCAL', 'LOG_LOG_USER'])
    def test_is_a_facility_that_there_is_not(self, parsed, name):
        [error] = refusals(parsed, '[DEFAULT]\nuse_syslog = true\n'
                           f'syslog_log_facility = {name}\n')
        assert 'must be one of' in error


@pytest.mark.parametrize(('wrong', 'names', 'hint'), [
    ('x', [], 'there is nothing to choose from'),
    ('qqq', ['b', 'a'], 'choose from a, b'),
    ('RAMFILTE', ['RamFilter', 'other'], 'did you mean RamFilter?'),
    ('NumaFilter', ['RamFilter', 'NUMATopologyFilter'],
     'did you mean NUMATopologyFilter?')])
def test_a_hint_names_the_nearest_name_or_all(wrong, names, hint):
    assert nearest.did_you_mean(wrong, names) == hint


def test_a_name_that_is_little_like_any_is_near_to_none():
    assert nearest.nearest('abcde', ['abxyz']) is None
    assert nearest.nearest('abcde', ['abcyz']) == 'abcyz'
    assert nearest.nearest('abcde', ['abcyz'], cutoff=0.7) is None
