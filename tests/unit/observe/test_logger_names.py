"""The service's log lines under the names of Nova's loggers."""

import importlib
import logging
import re

import pytest

from nova_sched.observe import logger_names
from nova_sched.observe import logs
from tests.builders import logging_files
from tests.builders import rules
from tests.builders.case_tables import case_table
from tests.unit import doc_pages

MANAGER = 'nova_sched.scheduler.manager'


@pytest.fixture(autouse=True)
def own_names():
    """The loggers have their own names after a test."""
    yield
    logger_names.apply_logger_names(False)


@pytest.fixture
def names_in_log(tmp_path):
    """Function: the names in the lines of a logger, at these levels: list."""
    def written(name, wanted=True, level='DEBUG', levels=()):
        path = tmp_path / 'log'
        path.unlink(missing_ok=True)
        logs.setup(rules.a_conf(
            DEFAULT__log_file=str(path), DEFAULT__default_log_levels=[
                *levels, *(['nova.any=INFO'] if wanted else [])]))
        logging.getLogger(name).log(getattr(logging, level), 'It is so.')
        return [line.split()[4] for line in path.read_text().splitlines()
                if 'It is so.' in line]

    return written


@case_table('observe-logger-names', 'modules')
def test_a_line_bears_the_name_of_nova_s_module(names_in_log, ours, novas):
    assert names_in_log(ours, level='INFO') == [novas]
    assert names_in_log(ours, wanted=False, level='INFO') == [ours]


@pytest.mark.parametrize(('levels', 'lines'), [
    ((), 0), (['nova.scheduler.manager=DEBUG'], 1),
    (['nova.scheduler=DEBUG'], 1), (['nova=DEBUG'], 1),
    (['nova=DEBUG', 'nova.scheduler.manager=WARNING'], 0),
    (['nova.scheduler.host_manager=DEBUG'], 0)])
def test_levels_of_nova_s_loggers_count(names_in_log, levels, lines):
    assert len(names_in_log(MANAGER, levels=levels)) == lines


def test_levels_of_the_service_s_own_loggers_count_otherwise(names_in_log):
    assert names_in_log(MANAGER, wanted=False, levels=[
        'nova_sched=DEBUG']) == [MANAGER]


def test_handlers_of_nova_s_loggers_get_the_lines(names_in_log, caplog):
    handler = logging.getLogger('nova.scheduler').handlers
    handler.append(caplog.handler)
    try:
        names_in_log(MANAGER, level='INFO')
    finally:
        handler.remove(caplog.handler)

    assert 'It is so.' in caplog.messages


def test_a_logger_that_is_made_later_changes_nothing(names_in_log):
    logger_names.apply_logger_names(True)
    logging.getLogger('nova_sched.scheduler')
    logging.getLogger('nova_sched.new.plug_in')

    assert names_in_log(MANAGER, level='INFO') == ['nova.scheduler.manager']


@pytest.mark.parametrize(('loggers', 'name'), [
    ({'nova': 'stdout'}, 'nova.scheduler.manager'),
    ({'nova_sched': 'stdout'}, MANAGER)])
def test_a_file_that_names_nova_s_loggers_alone_has_the_lines(
        tmp_path, capsys, loggers, name):
    logs.setup(rules.a_conf(DEFAULT__log_config_append=str(
        logging_files.a_file(tmp_path, **loggers))))
    try:
        logging.getLogger(MANAGER).info('It is so.')
    finally:
        for logger in ('nova', 'nova_sched'):
            logging.getLogger(logger).handlers.clear()
            logging.getLogger(logger).setLevel(logging.NOTSET)

    assert capsys.readouterr().out == f'INFO {name} It is so.\n'


def test_renamed_modules_exist():
    for name in logger_names.ELSEWHERE:
        importlib.import_module(f'nova_sched.{name}')


def test_the_page_names_the_loggers():
    page = doc_pages.PAGES['log-lines.rst']
    for name in logger_names.ELSEWHERE.values():
        assert re.search(f'``{re.escape(name)}``', page)
