"""What a file of log_config_append does with the service's loggers."""

import pytest

from nova_sched import conf
from nova_sched.options import loading
from nova_sched.options import log_files
from tests.builders import logging_files


@pytest.fixture
def configured(parsed):
    """Function: a ConfigOpts of the path of such a file, and more options."""
    def configured(path, more=''):
        return parsed(f'[DEFAULT]\nlog_config_append = {path}\n{more}')
    return configured


def nowhere(config):
    """The warnings about loggers."""
    return [text for text in conf.warnings(config) if 'log_config' in text]


@pytest.mark.parametrize(('loggers', 'taken'), [
    ({}, False), ({'nova': 'stdout'}, True), ({'nova_sched': ''}, False),
    ({'nova__scheduler': 'stdout'}, True), ({'novajoin': 'stdout'}, False),
    ({'nova': 'stdout', 'nova_sched__filters': ''}, False)])
def test_nova_s_names_are_taken_from_a_file_that_knows_no_others(
        configured, tmp_path, loggers, taken):
    config = configured(logging_files.a_file(tmp_path, **loggers))

    assert log_files.takes_nova_names(config) is taken


@pytest.mark.parametrize(('levels', 'taken'), [
    ('amqp=WARN', False), ('nova.scheduler=DEBUG', True),
    ('nova=INFO,nova_sched=INFO', False)])
def test_without_that_file_default_log_levels_decides(parsed, levels, taken):
    assert log_files.takes_nova_names(parsed('')) is False
    assert log_files.takes_nova_names(parsed(
        f'[DEFAULT]\ndefault_log_levels = {levels}\n')) is taken


@pytest.mark.parametrize(('loggers', 'taken'), [
    ({}, True), ({'nova': 'stdout'}, True), ({'nova_sched': ''}, False),
    ({'nova': 'stdout', 'nova_sched__filters': ''}, True)])
def test_under_nova_s_name_only_a_file_of_ours_alone_keeps_ours(
        tmp_path, loggers, taken):
    config = conf.new_conf([], [], called=loading.NOVAS)
    config.set_override('log_config_append', str(
        logging_files.a_file(tmp_path, **loggers)))

    assert log_files.takes_nova_names(config) is taken


@pytest.mark.parametrize(('text', 'module', 'told'), [
    ('use_journal = true', None, True), ('use_journal = true', 'there', False),
    ('', None, False)])
def test_a_journal_that_cannot_be_written_is_told_of(
        parsed, monkeypatch, text, module, told):
    monkeypatch.setattr(log_files.handlers, 'journal', module)
    found = [sentence for sentence in conf.warnings(
        parsed(f'[DEFAULT]\n{text}\n')) if 'use_journal' in sentence]

    assert len(found) == told
    assert all('nova_sched[journal]' in sentence for sentence in found)


@pytest.mark.parametrize('loggers', [
    {}, {'amqp': 'stdout'}, {'nova': ''}, {'nova': 'null'},
    {'nova_sched': 'null'}, {'nova': 'stdout', 'nova_sched': ''},
    {'root': 'stdout', 'propagate': 0, 'nova': 'null'},
    {'nova': 'stdout', 'nova_sched': 'null'}])
def test_loggers_that_lead_nowhere_are_told(configured, tmp_path, loggers):
    path = logging_files.a_file(tmp_path, **loggers)

    [warning] = nowhere(configured(path))
    assert warning.startswith(f'[DEFAULT] log_config_append = {path}: ')
    assert 'give its logger nova' in warning


@pytest.mark.parametrize('loggers', [
    {'nova': 'stdout'}, {'nova_sched': 'stdout'}, {'root': 'stdout'},
    {'root': 'null, stdout'}, {'root': 'stdout', 'nova': ''},
    {'nova__scheduler__manager': 'stdout'},
    {'propagate': 0, 'nova_sched': 'stdout'}])
def test_loggers_that_lead_somewhere_are_not(configured, tmp_path, loggers):
    assert nowhere(configured(
        logging_files.a_file(tmp_path, **loggers))) == []


def test_values_may_be_of_other_values(configured, tmp_path):
    """As logging reads such files, but for formats."""
    path = logging_files.a_file(tmp_path, nova='%(output)s')
    path.write_text(f'[DEFAULT]\noutput = stdout\n{path.read_text()}')

    assert log_files.takes_nova_names(configured(path))
    assert nowhere(configured(path)) == []


@pytest.mark.parametrize('text', ['', 'no section', '[loggers]\nkeys = x\n'])
def test_a_file_that_cannot_be_used_is_told_elsewhere(
        configured, tmp_path, text):
    path = tmp_path / 'logging.conf'
    path.write_text(text)

    assert nowhere(configured(path)) == []
    assert nowhere(configured(tmp_path / 'none')) == []
