"""Options of the message bus and of TLS that keep the service from a start."""

import pytest

from nova_sched import conf

RABBIT = '[oslo_messaging_rabbit]\n'


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
    managed = RABBIT + 'use_queue_manager = true\n'

    problem, = conf.check(parsed(managed))

    assert str(problem).startswith('[oslo_concurrency] lock_path = None: ')
    assert conf.check(parsed(
        f'{managed}[oslo_concurrency]\nlock_path = {tmp_path}\n')) == []
    assert conf.check(parsed(RABBIT + 'use_queue_manager = false\n')) == []
