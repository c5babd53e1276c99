"""Messages name an option as the operator's file does."""

import pytest

from nova_sched import conf
from nova_sched.options import sections
from nova_sched.options import spelling
from nova_sched.preflight import startup
from tests.builders.case_tables import case_table

TODAY = '[filter_scheduler] enabled_filters'
KILO = '[DEFAULT] scheduler_default_filters'


def refusals(parsed, text):
    """The errors of a file: list of texts."""
    return list(map(str, startup.problems(parsed(text))))


@case_table('options-spelling', 'older')
def test_an_error_has_the_name_as_written_and_the_current_name(
        parsed, line, name, today):
    error, = refusals(parsed, f'[DEFAULT]\n{line}\n')

    assert error.startswith(f'[DEFAULT] {name} = ')
    assert error.endswith(f' (the option is now {today})')


def test_an_error_about_a_current_name_has_only_that(parsed):
    assert refusals(parsed, '[filter_scheduler]\nenabled_filters = RamFliter'
                    ) == [f"{TODAY} = 'RamFliter': no such filter; did you "
                          'mean RamFilter?']


def test_advice_on_another_option_has_its_name_as_written(parsed):
    error, = refusals(
        parsed, '[DEFAULT]\nscheduler_default_filters = RamFilter\n'
        'scheduler_available_filters = '
        'nova.scheduler.filters.disk_filter.DiskFilter\n')

    assert ('not among [DEFAULT] scheduler_available_filters; add to that '
            'option') in error


def test_an_error_names_the_line_with_the_wrong_value_of_many(parsed):
    errors = refusals(
        parsed, '[filter_scheduler]\navailable_filters = no.such.One\n'
        '[DEFAULT]\nscheduler_available_filters = no.such.Other\n')

    assert {error.partition(':')[0] for error in errors} == {
        "[filter_scheduler] available_filters = 'no.such.One'",
        "[DEFAULT] scheduler_available_filters = 'no.such.Other'"}


@pytest.mark.parametrize('text', [
    '[filter_scheduler]\n{today}\n[DEFAULT]\n{kilo}\n',
    '[DEFAULT]\n{kilo}\n[filter_scheduler]\n{today}\n'])
def test_the_current_name_overrides_the_older_name(parsed, text):
    found = refusals(parsed, text.format(
        kilo='scheduler_default_filters = B',
        today='enabled_filters = A'))

    assert [error.partition(':')[0] for error in found] == [f"{TODAY} = 'A'"]


def test_the_name_in_the_last_file_is_used(tmp_path):
    first, last = tmp_path / 'first', tmp_path / 'last'
    first.write_text('[filter_scheduler]\nenabled_filters = A\n')
    last.write_text('[DEFAULT]\nscheduler_default_filters = B\n')

    error, = startup.problems(conf.new_conf([], [str(first), str(last)]))

    assert str(error).startswith(f"{KILO} = 'B': no such filter")


def test_an_override_has_the_current_name(parsed):
    options = parsed('[DEFAULT]\nsql_connection = sqlite://\n')
    options.set_override('connection', 'nowhere', 'database')

    assert [error.option for error in startup.problems(options)] == [
        '[database] connection']


def test_a_warning_has_the_name_as_written(parsed):
    found = conf.warnings(parsed(
        '[DEFAULT]\nscheduler_default_filters = RamFilter\n'
        'scheduler_driver = nova.scheduler.chance.ChanceScheduler\n'
        'scheduler_host_subset_size = 0\n'))

    assert f'{KILO} has no effect: the chance scheduler draws' in str(found)
    assert ('[DEFAULT] scheduler_host_subset_size = 0 is below its minimum: '
            '1 is used') in found


def test_every_older_name_of_nova_and_the_libraries_is_known(parsed):
    older = {(place, name): f'[{section}] {opt.dest}'
             for (section, _dest), opt in sections.known_opts().items()
             for place, name in sections.places(section, opt)
             if place != section or name not in (opt.name, opt.dest)}
    assert len(older) > 50

    for (place, name), today in older.items():
        files = spelling.Spelling(parsed(f'[{place}]\n{name} = 1\n'))
        assert files.rename_in_text(today) == f'[{place}] {name}'
