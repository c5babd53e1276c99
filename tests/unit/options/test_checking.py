"""Values that the service cannot run with: one clear line each."""

import pytest

from nova_sched import conf
from nova_sched import rpc
from nova_sched.options import nearest
from nova_sched.options import sections


def refusals(parsed, text):
    """The errors of a file: list of texts."""
    return list(map(str, conf.check(parsed(text))))


@pytest.mark.parametrize(('text', 'message'), [
    ('[scheduler]\nmax_attempts = many\n',
     "[scheduler] max_attempts = 'many': must be a whole number, 1 or more"),
    ('[DEFAULT]\nscheduler_max_attempts = many\n',
     "[DEFAULT] scheduler_max_attempts = 'many': must be a whole number, "
     '1 or more (the option is now [scheduler] max_attempts)'),
    ('[filter_scheduler]\nram_weight_multiplier = 1,5\n',
     "[filter_scheduler] ram_weight_multiplier = '1,5': must be a number"),
    ('[filter_scheduler]\ntrack_instance_changes = perhaps\n',
     "[filter_scheduler] track_instance_changes = 'perhaps': must be true or "
     'false'),
    ('[oslo_messaging_rabbit]\nrabbit_port = 70000\n',
     "[oslo_messaging_rabbit] rabbit_port = '70000': must be a whole number "
     'from 0 to 65535'),
    ('[DEFAULT]\ndebug = perhaps\n',
     "[DEFAULT] debug = 'perhaps': must be true or false"),
    ('[notifications]\nnotification_format = verioned\n',
     "[notifications] notification_format = 'verioned': must be one of "
     'unversioned, versioned, both; did you mean versioned?'),
    *((f'[nova_sched]\nplugin_path = {path}\n',
       f"[nova_sched] plugin_path = '{path}': no such directory; write the "
       'absolute path of a directory with plug-ins')
      for path in ('relative', '/no/such/directory'))])
def test_an_error_names_the_option_as_written_and_the_valid_values(
        parsed, text, message):
    assert refusals(parsed, text) == [message]


@pytest.mark.parametrize(('text', 'words'), [
    ('servicegroup_driver = mc', 'not available in this release'),
    ('log_config_append = /no/such.ini',
     "[DEFAULT] log_config_append = '/no/such.ini': cannot be read: No such"),
    ('log_dir = /no/such', "log_dir = '/no/such': there is no directory"),
    ('log_file = /no/such/log', 'there is no directory /no/such; make it'),
    ('default_log_levels = amqp,sql=WARN',
     "default_log_levels = 'amqp': write LOGGER=LEVEL"),
    ('default_log_levels = sql=WARNNG', 'did you mean WARNING?'),
    *((f'use_syslog = true\nsyslog_log_facility = {name}',
       f"syslog_log_facility = '{name}': syslog facility must be one of: ")
      for name in ('local8', 'LOCAL', 'LOG_LOG_USER')),
    ('logging_context_format_string = %(nosuch)s',
     "Formatting field not found in record: 'nosuch'"),
    ('logging_default_format_string = %(asctime',
     'no line can be made of it: incomplete format key'),
    ('[database]\nconnection = hunter2',
     "[database] connection = '****': is no database URL"),
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
    ('rpc_backend = qpid', 'only rabbit is supported'),
    ('transport_url = kafka://u:hunter2@h/',
     "[DEFAULT] transport_url = 'kafka://u:***@h/': kafka carries "
     'notifications, but no requests'),
    ('[oslo_messaging_notifications]\n'
     'transport_url = kafka://u:hunter2@h/',
     'needs the Python module confluent_kafka'),
    ('[oslo_messaging_notifications]\n'
     'transport_url = rabit://u:hunter2@h/\n',
     "[oslo_messaging_notifications] transport_url = 'rabit://u:***@h/': is "
     'no URL'),
    ('transport_url = rabbit://u:pa$hunter2@h/',
     "[DEFAULT] transport_url = '****': a $ begins the name of another "
     'option; write $$ for a $'),
    ('[database]\nconnection = mysql://u:pa$hunter2@h/nova',
     "[database] connection = '****': a $ begins"),
    ('[oslo_messaging_rabbit]\nrabbit_hosts = mq:x', "rabbit_hosts = 'mq:x'"),
    ('[oslo_messaging_rabbit]\nrabbit_retry_interval =', 'is empty'),
    ('[oslo_messaging_rabbit]\nssl = true\nssl_version = tlsv9',
     "ssl_version = 'tlsv9': is no version of TLS"),
    ('[oslo_messaging_rabbit]\nkombu_compression = bz2',
     "kombu_compression = 'bz2': no message could be sent by it"),
    ('[oslo_messaging_rabbit]\nrabbit_stream_fanout = true',
     'rabbit_stream_fanout need rabbit_transient_quorum_queue'),
    ('[oslo_messaging_rabbit]\nrabbit_quorum_queue = true\n'
     'rabbit_ha_queues = true', 'both enabled'),
    ('[oslo_messaging_rabbit]\nuse_queue_manager = true',
     '[oslo_concurrency] lock_path = None: '),
    ('[placement]\nauth_type = password\ncafile = /no/such/ca',
     "[placement] cafile = '/no/such/ca': cannot be read"),
    *((f'[{section}]\nconnection = mysql://u:hunter2@h/n?{name}=/no/such.pem',
       f"[{section}] connection, {name} = '/no/such.pem': cannot be read: No "
       'such file or directory')
      for section, name in (('database', 'ssl_ca'),
                            ('api_database', 'ssl_key')))])
def test_a_value_is_refused_in_one_line_without_passwords(
        parsed, text, words):
    error, = refusals(parsed, '[DEFAULT]\n' + text + '\n')

    assert words in error
    assert '\n' not in error
    assert 'hunter2' not in error


@pytest.mark.parametrize('text', [
    '[scheduler]\nworkers =\n',
    '[oslo_messaging_rabbit]\nuse_queue_manager = true\n'
    '[oslo_concurrency]\nlock_path = {path}\n',
    '[database]\nconnection = mysql://u:p@h/n?ssl_ca={path}/nova.conf\n',
    '[DEFAULT]\ndefault_log_levels = a=INFO,b=-1,c=15,d=CRITICAL\n',
    '[DEFAULT]\nsyslog_log_facility = nosuch\n',
    *(f'[DEFAULT]\nuse_syslog = true\nsyslog_log_facility = {name}\n'
      for name in ('user', 'LOG_USER', 'LOCAL0', 'local7'))])
def test_valid_values_are_accepted(parsed, tmp_path, text):
    assert refusals(parsed, text.format(path=tmp_path)) == []


def test_all_errors_are_reported_at_once(parsed):
    errors = conf.check(parsed(
        '[scheduler]\nmax_attempts = x\nworkers = y\n'
        '[DEFAULT]\nservicegroup_driver = mc\n'))

    assert {error.option for error in errors} == {
        '[scheduler] max_attempts', '[scheduler] workers',
        '[DEFAULT] servicegroup_driver'}


def test_a_value_from_the_environment_is_checked(parsed, monkeypatch):
    """oslo.config also reads OS_SECTION__NAME."""
    monkeypatch.setenv('OS_SCHEDULER__MAX_ATTEMPTS', 'many')

    assert '[scheduler] max_attempts' in refusals(parsed, '')[0]


def test_a_deprecated_option_of_the_driver_is_registered_again(parsed):
    """check reads it; oslo.messaging registers it after that."""
    config = parsed('[DEFAULT]\ntransport_url = rabbit://127.0.0.1:1/\n'
                    '[oslo_messaging_rabbit]\n'
                    'ssl_enforce_fips_mode = false\n')
    assert conf.check(config) == []

    rpc.get_transport(config).cleanup()


@pytest.mark.parametrize('value', [
    '', '-1', '99999999999999999999', '/no/such/file',
    '$no_such_option', 'kafka://é,b'])
def test_no_value_of_any_option_breaks_the_check(parsed, value):
    by_section = {}
    for section, name in sections.known_opts():
        by_section.setdefault(section, []).append(f'{name} = {value}\n')
    errors = refusals(parsed, ''.join(
        f'[{section}]\n{"".join(lines)}'
        for section, lines in by_section.items()))

    assert errors
    assert not [error for error in errors if '\n' in error]


@pytest.mark.parametrize(('wrong', 'names', 'hint'), [
    ('x', [], 'there is nothing to choose from'),
    ('qqq', ['b', 'a'], 'choose from a, b'),
    ('RAMFILTE', ['RamFilter', 'other'], 'did you mean RamFilter?'),
    ('NumaFilter', ['RamFilter', 'NUMATopologyFilter'],
     'did you mean NUMATopologyFilter?')])
def test_a_hint_has_the_nearest_name_or_all_names(wrong, names, hint):
    assert nearest.did_you_mean(wrong, names) == hint


def test_the_nearest_name_must_be_similar():
    assert nearest.nearest('abcde', ['abxyz']) is None
    assert nearest.nearest('abcde', ['abcyz']) == 'abcyz'
    assert nearest.nearest('abcde', ['abcyz'], cutoff=0.7) is None
