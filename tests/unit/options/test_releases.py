"""The releases of Nova, and the options of each release."""

import pytest

from nova_sched import toml_files
from nova_sched.options import releases
from nova_sched.options import sections
from nova_sched.preflight import differences
from tests.builders.case_tables import case_table


@pytest.mark.parametrize('text, number, shown', [
    *((text, 17, '17.0.0 (Queens)') for text in (
        'queens', 'QUEENS ', 'stable/queens', 'unmaintained/queens', '17',
        '17.0.13', '2018.1', '17.0.0 (Queens)')),
    ('kilo', 11, '2015.1 (Kilo)'), ('2015.1.4', 11, '2015.1 (Kilo)'),
    ('liberty', 12, '12.0.0 (Liberty)'), ('zed', 26, '26.0.0 (Zed)'),
    ('2023.1', 27, '27.0.0 (2023.1)'), ('antelope', 27, '27.0.0 (2023.1)'),
    ('stable/2025.1', 31, '31.0.0 (2025.1)'),
    ('flamingo', 32, '32.0.0 (2025.2)'), ('34', 34, '34.0.0 (2026.2)'),
    ('2026.2', 34, '34.0.0 (2026.2)')])
def test_names_numbers_and_dates_are_equivalent(text, number, shown):
    assert releases.find(text).number == number
    assert str(releases.find(text)) == shown


@pytest.mark.parametrize('text', [
    'juno', '10', '35', '2014.2', '2027.1', '2018.3', '2018', '170', 'master',
    '', '-17'])
def test_an_unknown_release_is_refused_with_a_hint(text):
    with pytest.raises(ValueError, match=r'write a name, a number or a date'):
        releases.find(text)


@pytest.mark.parametrize(('text', 'first', 'last'), [
    ('queens', 17, 17), ('pike..', 16, 34), ('..zed', 11, 26),
    ('rocky..2023.1', 18, 27), ('..', 11, 34)])
def test_a_span_is_one_release_or_consecutive_releases(text, first, last):
    assert releases.span(text) == range(first, last + 1)


def test_the_tables_name_existing_options_and_sections():
    known = sections.known_opts()
    names = {f'[{section}] {name}' for section, name in known} | {
        f'[{section}]' for section, _name in known}
    table = toml_files.read('releases.toml', 'nova_sched.options')

    assert {*table['eras'], *table['moved']} <= names
    assert {row.about for row in differences.known('default')} <= names
    assert list(map(releases.span, table['eras'].values()))


@pytest.mark.parametrize('name', ['kilo', 'mitaka', 'queens', '2026.2'])
def test_a_release_reads_all_options_of_a_file_of_its_time(era, name):
    given = releases.written(era(name))

    assert given
    assert releases.not_read(given, releases.find(name)) == []


@case_table('options-releases', 'reads')
def test_options_that_a_release_does_not_read_are_listed_as_written(
        parsed, option, release, is_read):
    section, name = option.split()
    given = releases.written(parsed(f'{section}\n{name} = 1\n'))

    assert releases.not_read(given, releases.find(release)) == (
        [] if is_read else [option])


def test_options_that_only_the_release_uses_are_listed(parsed):
    given = releases.written(parsed('[upgrade_levels]\nbaseapi = 1.1\n'))

    assert releases.ignored_here(given, releases.find('queens')) == [
        '[upgrade_levels] baseapi']


@pytest.mark.parametrize('version, release', [
    (2, 'liberty'), (30, 'queens'), (74, '2026.2'), (31, None), (None, None)])
def test_a_service_version_belongs_to_a_release(version, release):
    assert releases.of_service(version) == (release and releases.find(release))
