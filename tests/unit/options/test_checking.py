"""Values that the service cannot run with: one clear line each."""

import pytest

from nova_sched import conf
from nova_sched import rpc
from nova_sched.options import nearest
from nova_sched.options import sections
from tests.builders.case_tables import case_table


def refusals(parsed, text):
    """The errors of a file: list of texts."""
    return list(map(str, conf.check(parsed(text))))


@case_table('options-checking', 'names_the_option')
def test_an_error_names_the_option_as_written_and_the_valid_values(
        parsed, text, message):
    assert refusals(parsed, text) == [message]


@case_table('options-checking', 'refused')
def test_a_value_is_refused_in_one_line_without_passwords(parsed, text, words):
    error, = refusals(parsed, '[DEFAULT]\n' + text + '\n')

    assert words in error
    assert '\n' not in error
    assert 'hunter2' not in error


@case_table('options-checking', 'valid')
def test_valid_values_are_accepted(parsed, tmp_path, text):
    assert refusals(parsed, text.format(path=tmp_path)) == []


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
