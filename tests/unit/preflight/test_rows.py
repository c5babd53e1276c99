"""Rows of a report, and checks that fail."""

import logging

from nova_sched import exception
from nova_sched.preflight import rows


def test_a_known_error_is_reported_with_its_text():
    def fail():
        raise exception.DatabaseUnavailable('it is down')

    assert rows.attempt('database', 'start it', fail) == [
        rows.Row('database', rows.ERROR, 'it is down', 'start it')]


def test_an_unknown_error_is_reported_with_its_class_only(caplog):
    """Its traceback is logged at DEBUG."""
    def fail():
        raise TypeError('open-sesame')

    caplog.set_level(logging.DEBUG, rows.LOG.logger.name)
    row, = rows.attempt('database', '', fail)
    assert 'TypeError' in row.found
    assert 'open-sesame' not in str(row)
    assert 'Traceback' in caplog.text


def test_a_long_list_of_names_is_cut():
    assert rows.counted(['b', 'a'], 'hosts') == '2 hosts: a, b'
    assert rows.counted([f'h{n}' for n in range(7)], 'hosts') == (
        '7 hosts: h0, h1, h2, h3, h4, ...')
