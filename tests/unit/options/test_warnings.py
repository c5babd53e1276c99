"""Warnings about values that the operator may not have intended."""

from nova_sched import conf
from tests.builders.case_tables import case_table

FILTERS = '[filter_scheduler]\nenabled_filters = '


def only_warning(parsed, text):
    """The only warning about a file."""
    warning, = conf.warnings(parsed(text))
    return warning


@case_table('options-warnings', 'doubtful')
def test_a_doubtful_value_is_a_warning_and_no_error(parsed, text, sentence):
    assert only_warning(parsed, text).startswith(sentence)
    assert conf.check(parsed(text)) == []


@case_table('options-warnings', 'accepted')
def test_other_values_are_no_warning(parsed, text):
    assert conf.warnings(parsed(text)) == []


def test_ignored_options_that_are_set_are_named_in_one_line(parsed):
    config = parsed(
        '[DEFAULT]\ncell_worker_thread_pool_size = 7\n'
        'periodic_fuzzy_delay = 60\n'
        '[notifications]\ndefault_level = WARN\n'
        '[database]\nslave_connection = mysql://u:hunter2@h/n\n')

    assert conf.warnings(config) == [
        'This release accepts these options but does not act on them: '
        '[DEFAULT] cell_worker_thread_pool_size, '
        '[database] slave_connection, '
        '[notifications] default_level; '
        'remove them, unless another service reads this file']


def test_an_option_given_twice_is_named_with_its_file(parsed, tmp_path):
    assert only_warning(
        parsed, FILTERS + 'RamFilter\nenabled_filters = DiskFilter\n') == (
        '[filter_scheduler] enabled_filters is set 2 times in '
        f'{tmp_path}/nova.conf; only the last value is used')


def test_deprecated_names_are_listed_in_one_line(parsed, caplog):
    """oslo.config's own lines, one for each name, are not in the log."""
    config = parsed('[DEFAULT]\nscheduler_driver = filter_scheduler\n'
                    'scheduler_max_attempts = 3\nrabbit_host = h\n'
                    '[oslo_messaging_rabbit]\nrabbit_userid = u\n'
                    '[database]\nidle_timeout = 5\n')
    assert conf.check(config) == []

    line, = conf.warnings(config)
    start, _, rest = line.partition(': ')
    listed, _, advice = rest.partition('; ')
    assert start == 'These options are deprecated and still have an effect'
    assert advice == 'use the newer name where there is one'
    assert sorted(listed.split(', ')) == [
        '[DEFAULT] rabbit_host (now [oslo_messaging_rabbit] rabbit_host)',
        '[DEFAULT] scheduler_driver (now [scheduler] driver)',
        '[DEFAULT] scheduler_max_attempts (now [scheduler] max_attempts)',
        '[database] idle_timeout (now [database] connection_recycle_time)',
        '[oslo_messaging_rabbit] rabbit_userid']
    assert caplog.records == []


def test_the_last_of_several_files_overrides_the_others(tmp_path):
    older, newer = tmp_path / 'older.conf', tmp_path / 'newer.conf'
    older.write_text('[DEFAULT]\nscheduler_max_attempts = 5\n')
    newer.write_text('[scheduler]\nmax_attempts = 3\n')
    config = conf.new_conf([], [str(newer), str(older)])

    first, second = conf.warnings(config)
    assert config.scheduler.max_attempts == 5
    assert first == ('[DEFAULT] scheduler_max_attempts overrides '
                     '[scheduler] max_attempts; remove the latter')
    assert second.startswith('These options are deprecated and still have an '
                             'effect: [DEFAULT] scheduler_max_attempts')


@case_table('options-warnings', 'misspelt')
def test_a_misspelt_or_misplaced_option_has_the_nearest_name(
        parsed, section, name, near):
    assert conf.unknown_options(parsed(f'[{section}]\n{name} = x\n')) == [
        (section, name, near)]


def test_any_unknown_option_of_the_own_section_is_misspelt(parsed):
    assert len(conf.unknown_options(parsed(
        '[nova_sched]\nquite_another = 3\n'))) == 1


def test_unknown_options_of_other_services_and_plug_ins_are_accepted(parsed):
    config = parsed('[DEFAULT]\nmy_ip = 192.0.2.1\n'
                    '[libvirt]\ndriver_name = kvm\n'
                    '[filter_scheduler]\nsomething_of_a_plugin = 1\n')

    assert (conf.unknown_options(config), conf.check(config)) == ([], [])
