"""The releases of Nova, and what options each of them had."""

import pytest

from nova_sched.options import known_options
from nova_sched.options import releases
from nova_sched.options import sections
from nova_sched.preflight import differences

FILES = ('kilo', 'mitaka', 'queens', '2026.2')


@pytest.mark.parametrize('text', [
    'queens', 'Queens', 'QUEENS ', 'stable/queens', 'unmaintained/queens',
    '17', '17.0', '17.0.13', '2018.1', '17.0.0 (Queens)'])
def test_a_release_is_known_however_it_is_written(text):
    found = releases.find(text)

    assert found.number == 17
    assert str(found) == '17.0.0 (Queens)'


@pytest.mark.parametrize('text, number, shown', [
    ('kilo', 11, '2015.1 (Kilo)'), ('2015.1.4', 11, '2015.1 (Kilo)'),
    ('liberty', 12, '12.0.0 (Liberty)'), ('zed', 26, '26.0.0 (Zed)'),
    ('2023.1', 27, '27.0.0 (2023.1)'), ('antelope', 27, '27.0.0 (2023.1)'),
    ('stable/2025.1', 31, '31.0.0 (2025.1)'),
    ('flamingo', 32, '32.0.0 (2025.2)'), ('34', 34, '34.0.0 (2026.2)'),
    ('2026.2', 34, '34.0.0 (2026.2)')])
def test_names_numbers_and_dates_go_together(text, number, shown):
    assert releases.find(text).number == number
    assert str(releases.find(text)) == shown


@pytest.mark.parametrize('text', [
    'juno', '10', '35', '2014.2', '2027.1', '2018.3', '2018', '170', 'master',
    '', '-17'])
def test_what_is_no_release_is_refused_with_what_to_write(text):
    with pytest.raises(ValueError, match=r'write a name, a number or a date'):
        releases.find(text)


@pytest.mark.parametrize(('text', 'first', 'last'), [
    ('queens', 17, 17), ('pike..', 16, 34), ('..zed', 11, 26),
    ('rocky..2023.1', 18, 27), ('..', 11, 34)])
def test_tables_name_a_release_or_several_in_a_row(text, first, last):
    assert releases.span(text) == range(first, last + 1)


def test_the_table_names_options_and_sections_that_there_are():
    known = sections.known_opts()
    names = {f'[{section}] {name}' for section, name in known} | {
        f'[{section}]' for section, _name in known}
    table = known_options.table('releases.toml')

    assert {*table['eras'], *table['moved']} <= names
    assert {row.about for row in differences.known('default')} <= names
    assert list(map(releases.span, table['eras'].values()))


@pytest.mark.parametrize('name', FILES)
def test_a_release_reads_all_of_a_file_of_its_own_time(era, name):
    """The names that were written then were those that it knew."""
    given = releases.written(era(name))

    assert given
    assert releases.not_read(given, releases.find(name)) == []


@pytest.mark.parametrize('text, release, lost', [
    ('[nova_sched]\npick_lifetime = 60\n', 'queens',
     '[nova_sched] pick_lifetime'),
    ('[scheduler]\nworkers = 2\n', 'queens', '[scheduler] workers'),
    ('[scheduler]\ndriver = filter_scheduler\n', 'wallaby',
     '[scheduler] driver'),
    ('[filter_scheduler]\nenabled_filters = RamFilter\n', 'mitaka',
     '[filter_scheduler] enabled_filters'),
    ('[DEFAULT]\nscheduler_default_filters = RamFilter\n', 'xena',
     '[DEFAULT] scheduler_default_filters'),
    ('[DEFAULT]\nscheduler_driver_task_period = 30\n', 'rocky',
     '[DEFAULT] scheduler_driver_task_period'),
    ('[placement]\nauth_type = password\n', 'mitaka',
     '[placement] auth_type'),
    ('[oslo_messaging_notifications]\ndriver = log\n', 'kilo',
     '[oslo_messaging_notifications] driver'),
    ('[notifications]\nnotification_format = both\n', 'mitaka',
     '[notifications] notification_format'),
])
def test_what_a_release_does_not_read_is_told_as_it_is_written(
        parsed, text, release, lost):
    given = releases.written(parsed(text))

    assert releases.not_read(given, releases.find(release)) == [lost]


@pytest.mark.parametrize('text, release', [
    ('[scheduler]\nworkers = 2\n', 'rocky'),
    ('[scheduler]\ndriver = filter_scheduler\n', 'victoria'),
    ('[DEFAULT]\nscheduler_default_filters = RamFilter\n', 'wallaby'),
    ('[filter_scheduler]\nenabled_filters = RamFilter\n', 'ocata'),
    ('[DEFAULT]\ncpu_allocation_ratio = 2\n', 'kilo'),
    ('[another_service]\nthing = 1\n', 'queens'),
])
def test_what_it_reads_is_not(parsed, text, release):
    given = releases.written(parsed(text))

    assert releases.not_read(given, releases.find(release)) == []


def test_an_option_that_works_there_alone_is_told(parsed):
    given = releases.written(parsed('[upgrade_levels]\nbaseapi = 1.1\n'))

    assert releases.ignored_here(given, releases.find('queens')) == [
        '[upgrade_levels] baseapi']


@pytest.mark.parametrize('version, release', [
    (2, 'liberty'), (9, 'mitaka'), (15, 'newton'), (16, 'ocata'),
    (22, 'pike'), (30, 'queens'), (35, 'rocky'), (37, 'stein'),
    (40, 'train'), (51, 'ussuri'), (53, 'victoria'), (56, 'wallaby'),
    (60, 'xena'), (61, 'yoga'), (64, 'zed'), (66, '2023.1'), (67, '2024.1'),
    (68, '2025.1'), (70, '2025.2'), (72, '2026.1'), (74, '2026.2'),
    (31, None), (None, None)])
def test_services_tell_their_release_by_a_version(version, release):
    assert releases.of_service(version) == (
        release and releases.find(release))
