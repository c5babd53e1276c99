"""Checks of the log options, and the names of the loggers."""

import os
import subprocess

import pytest

from nova_sched import conf
from nova_sched.options import loading
from nova_sched.options import log_files
from tests.builders import logging_files

LOGGING = """
[loggers]
keys = root
[handlers]
keys = one
[formatters]
keys =
[logger_root]
handlers = one
[handler_one]
class = {handler}
args = {args}
"""


@pytest.fixture
def configured(parsed):
    """Function: a ConfigOpts of the path of such a file, and more options."""
    def configured(path, more=''):
        return parsed(f'[DEFAULT]\nlog_config_append = {path}\n{more}')
    return configured


def refusals(config):
    return list(map(str, conf.check(config)))


def without_handler(config):
    """The warnings about loggers without a handler."""
    return [text for text in conf.warnings(config) if 'log_config' in text]


def test_log_config_append_is_loaded_without_writing(configured, tmp_path):
    log, file = tmp_path / 'a.log', tmp_path / 'logging.ini'

    file.write_text(LOGGING.format(handler='FileHandler', args=(str(log),)))
    assert refusals(configured(file)) == []
    assert not log.exists()

    log = tmp_path / 'nowhere' / 'a.log'
    file.write_text(LOGGING.format(handler='FileHandler', args=(str(log),)))
    error, = refusals(configured(file))
    assert f'{log} cannot be written' in error

    file.write_text(LOGGING.format(handler='NoSuchHandler', args='()'))
    error, = refusals(configured(file))
    assert 'logging cannot be configured by it: ' in error
    assert 'NoSuchHandler' in error


def _hang(command, timeout, **kwargs):
    raise subprocess.TimeoutExpired(command, timeout)


@pytest.mark.parametrize(('run', 'words'), [
    (_hang, 'logging is not configured by it within 60 seconds'),
    (lambda command, **kwargs: subprocess.CompletedProcess(
        command, 1, '', ''), 'cannot be configured by it: no reason given'),
    (lambda command, **kwargs: subprocess.CompletedProcess(
        command, 1, '', 'one\ntwo\n'), 'cannot be configured by it: two')])
def test_a_failed_load_is_reported_with_the_last_line(
        configured, tmp_path, monkeypatch, run, words):
    file = tmp_path / 'logging.ini'
    file.touch()
    monkeypatch.setattr(log_files.subprocess, 'run', run)

    [error] = refusals(configured(file))

    assert error.endswith(words)


@pytest.mark.parametrize('append', [True, False])
def test_options_without_effect_are_not_checked(parsed, tmp_path, append):
    """log_config_append replaces them all, and use_json the format."""
    file = tmp_path / 'logging.ini'
    file.write_text(LOGGING.format(handler='NullHandler', args='()'))
    text = '[DEFAULT]\nlogging_default_format_string = %(asctime\n'
    assert refusals(parsed(text))

    assert refusals(parsed(text + (
        'log_dir = /no/such\nuse_syslog = true\nsyslog_log_facility = no\n'
        f'default_log_levels = no\nlog_config_append = {file}\n'
        if append else 'use_json = true\n'))) == []


def test_the_check_creates_no_log_file(parsed, tmp_path, monkeypatch):
    assert refusals(parsed(f'[DEFAULT]\nlog_dir = {tmp_path}\n'
                           'log_file = a.log\nlog_rotation_type = size\n')
                    ) == []
    assert os.listdir(tmp_path) == ['nova.conf']
    monkeypatch.chdir(tmp_path)
    assert refusals(parsed('[DEFAULT]\nlog_file = a.log\n')) == []


def test_a_directory_is_no_log_file(parsed, tmp_path):
    (tmp_path / 'a.log').mkdir()
    assert refusals(parsed(f'[DEFAULT]\nlog_dir = {tmp_path}\n'
                           'log_file = a.log\n')) == [
        f"[DEFAULT] log_file = '{tmp_path}/a.log': is a directory; name "
        'a file in it']


@pytest.mark.parametrize('exists', [True, False])
def test_an_unwritable_file_or_directory_is_reported(
        parsed, tmp_path, monkeypatch, exists):
    checked = []

    def access(path, mode):
        checked.append((path, mode))
        return False
    if exists:
        (tmp_path / 'a.log').touch()
    config = parsed(f'[DEFAULT]\nlog_file = {tmp_path}/a.log\n')
    monkeypatch.setattr(log_files.os, 'access', access)

    [error] = refusals(config)

    assert 'may not be written by this user' in error
    assert checked == [
        (f'{tmp_path}/a.log' if exists else str(tmp_path), os.W_OK)]


@pytest.mark.parametrize(('loggers', 'called', 'taken'), [
    ({}, loading.OURS, False), ({'nova': 'stdout'}, loading.OURS, True),
    ({'nova_sched': ''}, loading.OURS, False),
    ({'nova__scheduler': 'stdout'}, loading.OURS, True),
    ({'novajoin': 'stdout'}, loading.OURS, False),
    ({'nova': 'stdout', 'nova_sched__filters': ''}, loading.OURS, False),
    ({}, loading.NOVAS, True), ({'nova': 'stdout'}, loading.NOVAS, True),
    ({'nova_sched': ''}, loading.NOVAS, False),
    ({'nova': 'stdout', 'nova_sched__filters': ''}, loading.NOVAS, True)])
def test_log_config_append_and_the_program_name_decide_on_novas_names(
        tmp_path, loggers, called, taken):
    config = conf.new_conf([], [], called=called)
    config.set_override('log_config_append', str(
        logging_files.a_file(tmp_path, **loggers)))

    assert log_files.takes_nova_names(config) is taken


@pytest.mark.parametrize(('levels', 'taken'), [
    ('amqp=WARN', False), ('nova.scheduler=DEBUG', True),
    ('nova=INFO,nova_sched=INFO', False)])
def test_without_that_file_default_log_levels_decides(parsed, levels, taken):
    assert log_files.takes_nova_names(parsed('')) is False
    assert log_files.takes_nova_names(parsed(
        f'[DEFAULT]\ndefault_log_levels = {levels}\n')) is taken


@pytest.mark.parametrize(('text', 'module', 'warned'), [
    ('use_journal = true', None, True), ('use_journal = true', 'there', False),
    ('', None, False)])
def test_a_missing_journal_module_is_a_warning(
        parsed, monkeypatch, text, module, warned):
    monkeypatch.setattr(log_files.handlers, 'journal', module)
    sentences = [sentence for sentence in conf.warnings(
        parsed(f'[DEFAULT]\n{text}\n')) if 'use_journal' in sentence]

    assert len(sentences) == warned
    assert all('nova_sched[journal]' in sentence for sentence in sentences)


@pytest.mark.parametrize(('loggers', 'warned'), [
    ({}, True), ({'amqp': 'stdout'}, True), ({'nova': ''}, True),
    ({'nova': 'null'}, True), ({'nova_sched': 'null'}, True),
    ({'nova': 'stdout', 'nova_sched': ''}, True),
    ({'root': 'stdout', 'propagate': 0, 'nova': 'null'}, True),
    ({'nova': 'stdout', 'nova_sched': 'null'}, True),
    ({'nova': 'stdout'}, False), ({'nova_sched': 'stdout'}, False),
    ({'root': 'stdout'}, False), ({'root': 'null, stdout'}, False),
    ({'root': 'stdout', 'nova': ''}, False), ({'nova': '%(output)s'}, False),
    ({'nova__scheduler__manager': 'stdout'}, False),
    ({'propagate': 0, 'nova_sched': 'stdout'}, False)])
def test_loggers_without_a_writing_handler_are_a_warning(
        configured, tmp_path, loggers, warned):
    path = logging_files.a_file(tmp_path, **loggers)
    path.write_text(f'[DEFAULT]\noutput = stdout\n{path.read_text()}')

    found = without_handler(configured(path))
    assert len(found) == warned
    for warning in found:
        assert warning.startswith(f'[DEFAULT] log_config_append = {path}: ')
        assert 'give its logger nova' in warning


@pytest.mark.parametrize('text', ['', 'no section', '[loggers]\nkeys = x\n'])
def test_an_unusable_file_is_no_warning(configured, tmp_path, text):
    """It is an error of the check."""
    path = tmp_path / 'logging.conf'
    path.write_text(text)

    assert without_handler(configured(path)) == []
    assert without_handler(configured(tmp_path / 'none')) == []
