"""Commands name an option as the file does."""

import pytest


@pytest.fixture
def wrong(by):
    """Function: a command with a wrong URL under an older name."""
    return by('[DEFAULT]\nsql_connection = nonsense\n')


@pytest.mark.parametrize('command', [
    'db sync', 'db version', 'host list', 'host show a', 'cloud fake'])
def test_wrong_options_have_the_name_in_the_file(wrong, command):
    done = wrong(*command.split())

    assert done.code == 2
    assert '[DEFAULT] sql_connection = ' in done.err
    assert '(the option is now [database] connection)' in done.err
    assert 'nonsense' not in done.err


def test_options_of_the_command_line_have_the_present_name(wrong):
    done = wrong('--database', 'x', 'db', 'version')

    assert done.err.startswith('[database] connection = ')
