"""Log lines are single, bounded and escaped, whatever text they contain."""

from concurrent import futures
import json
import logging
import logging.handlers
import os
import pathlib
import sys
import syslog
import threading

from oslo_context import context as oslo_context
from oslo_log import log as oslo_log
import pytest

from nova_sched import conf as config
from nova_sched import context
from nova_sched import exception
from nova_sched.observe import logs
from nova_sched.options import log_files

LOG = oslo_log.getLogger('nova_sched.test_logs')

FORGED = '2026-11-22 10:00:00.000 1 CRITICAL root [-] all is lost'

#: What ends a line, or makes it look like another one, in some reader.
HOSTILE = ['\n', '\r', '\x0b', '\x0c', '\x1b[2J', '\x85', '\u2028', '\u2029',
           '\u202e', '\u2066', '\x00', '\ud800']

#: Logging configured by a file, with a format of its own.
FILE = pathlib.Path(__file__).parents[2].joinpath(
    'data', 'logging.conf').read_text()


@pytest.fixture(autouse=True)
def restored(monkeypatch):
    """The handlers of the root logger, and the context, as they were."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    monkeypatch.setattr(sys, 'excepthook', sys.excepthook)
    monkeypatch.setattr(oslo_context, '_request_store', threading.local())
    monkeypatch.setattr(logging.Logger, 'handle', of_this_thread_alone())
    yield
    for handler in root.handlers:
        if handler not in handlers:
            handler.close()
    root.handlers[:] = handlers
    root.setLevel(level)
    del logging.getLogger('library').handlers[:]


@pytest.fixture
def set_up(tmp_path):
    """A function: options of [DEFAULT] -> function that returns the log so
    far.
    """
    path = tmp_path / 'all.log'

    def set_up_with(**options):
        conf = config.new_conf([], [])
        for name, value in {'log_file': str(path), **options}.items():
            conf.set_override(name, value)
        logs.setup(conf)
        return lambda: path.read_text()
    return set_up_with


def of_this_thread_alone():
    """Logger.handle, but for records of other threads.

    A thread that another test has left behind may log at any time, also
    while handlers are being set up.
    """
    handle, mine = logging.Logger.handle, threading.get_ident()

    def handle_if_mine(logger, record):
        if record.thread == mine:
            handle(logger, record)
    return handle_if_mine


@pytest.fixture
def by_file(set_up, tmp_path):
    """As ``set_up``, by a log_config_append; of a formatter's class."""
    def set_up_with(kind=None):
        path = tmp_path / 'logging.ini'
        path.write_text(FILE.format(
            path=tmp_path / 'all.log', keys='own',
            formatter='formatter = own' if kind else '',
            kind=f'class = {kind}' if kind else ''))
        return set_up(log_config_append=str(path))
    return set_up_with


class Kept(logging.Handler):
    """Writes messages to a list."""

    def __init__(self, found):
        super().__init__()
        self._found = found

    def emit(self, record):
        self._found.append(self.format(record))


def raised(error):
    """An error with a traceback."""
    try:
        raise error
    except type(error) as caught:
        return caught


def log_message(text):
    LOG.warning('No zone %s', text)


def log_of_a_library(text):
    logging.getLogger('library').warning('No zone %s', text)


def log_context(text):
    LOG.warning('Asked', context=context.RequestContext(
        request_id=f'req-{text}', user_id=text))


def log_error(text):
    try:
        raise RuntimeError(text)
    except RuntimeError:
        LOG.error('A failure')


@pytest.mark.parametrize('odd', HOSTILE)
class TestOneRecordIsOneLine:
    """For all line ends of str.splitlines and of files."""

    @pytest.mark.parametrize('log', [
        log_message, log_of_a_library, log_context, log_error])
    @pytest.mark.parametrize('kind', [
        'logging.Formatter', 'oslo_log.formatters.ContextFormatter',
        'oslo_log.formatters.JSONFormatter', None])
    def test_with_any_formatter(self, by_file, kind, log, odd):
        log_text = by_file(kind)
        log(f'x{odd}{FORGED}')
        line, = log_text().splitlines()
        assert odd not in line
        if line.startswith('{'):
            json.loads(line)['message'].encode()

    @pytest.mark.parametrize('log', [log_message, log_context, log_error])
    def test_with_the_options_of_the_service(self, set_up, log, odd):
        log_text = set_up()
        log(f'x{odd}{FORGED}')
        line, = log_text().splitlines()
        assert odd not in line
        # Of an error of several lines, oslo.log adds the first.
        assert log is log_error or f'x{ascii(odd)[1:-1]}2026' in line

    def test_in_handlers_of_plug_ins(self, set_up, odd):
        """Such as a handler that passes records to another one."""
        set_up()
        found = []
        handler = logging.handlers.MemoryHandler(1, target=Kept(found))
        logging.getLogger().addHandler(handler)
        LOG.warning('No zone %s', f'x{odd}{FORGED}')
        assert found == [f'No zone x{ascii(odd)[1:-1]}{FORGED}']

    def test_in_each_line_of_a_traceback(self, set_up, odd):
        """Its prefix contains the instance that a caller names."""
        log_text = set_up()
        caller = context.RequestContext(resource_uuid=f'uuid{odd}{FORGED}')
        LOG.error('A failure', exc_info=raised(OSError(f'x{odd}{FORGED}')),
                  context=caller)
        lines = log_text().splitlines()
        assert len(lines) > 3
        assert all(' ERROR nova_sched.test_logs ' in line for line in lines)
        assert odd not in log_text().replace('\n', '')

    def test_in_a_traceback_without_a_prefix(self, by_file, odd):
        log_text = by_file('logging.Formatter')
        LOG.error('A failure', exc_info=raised(OSError(f'x{odd}{FORGED}')))
        first, *lines = log_text().splitlines()
        assert first.endswith('OWN A failure')
        assert all(line.startswith('  ') for line in lines)


def test_printable_text_is_not_changed(set_up):
    log_text = set_up()
    LOG.info('%s', 'Zürich ☃ 日本 "a\\b"')
    assert log_text().rstrip().endswith('Zürich ☃ 日本 "a\\b"')


def test_a_character_that_the_encoding_lacks_costs_no_line(by_file):
    log_text = by_file()
    logging.getLogger('library').info('Zürich')
    assert log_text() == 'Z\\xfcrich\n'


class TestSizes:
    HUGE = 'x' * 10_000_000

    @pytest.mark.parametrize('options', [{}, {'use_json': True}])
    def test_ten_megabytes_of_request_id_are_a_short_line(
            self, set_up, options):
        log_text = set_up(**options)
        for _ in range(3):
            LOG.info('Asked', context=context.RequestContext(
                request_id=self.HUGE, user_id=self.HUGE))
        assert len(log_text().splitlines()) == 3
        assert len(log_text()) < 20000

    def test_lines_of_a_traceback_have_short_prefixes(self, set_up):
        log_text = set_up()
        LOG.error('A failure', exc_info=raised(OSError('x\n' * 300)),
                  context=context.RequestContext(resource_uuid=self.HUGE))
        assert 300 < len(log_text().splitlines()) < 400
        assert len(log_text()) < 200_000

    def test_a_message_is_cut_once(self, set_up):
        log_text = set_up()
        LOG.info('%s', '\u202e' * (logs.LONGEST + 10))
        assert log_text().rstrip().endswith(
            f'({logs.LONGEST + 10} characters)')
        assert log_text().count('\\u202e') == logs.LONGEST

    def test_a_request_id_of_another_type_is_cut(self, set_up):
        log_text = set_up()
        LOG.info('Asked', context=context.RequestContext(
            request_id={'a\n': ['b\n'] * 100000}))
        line, = log_text().splitlines()
        assert len(line) < 1000

    @pytest.mark.parametrize('options', [{}, {'use_json': True}])
    def test_a_long_message_is_cut_and_says_how_long_it_was(
            self, set_up, options):
        log_text = set_up(**options)
        LOG.info('No zone %s', self.HUGE)
        assert '(10000008 characters)' in log_text()
        assert len(log_text()) < 4 * logs.LONGEST

    @pytest.mark.parametrize('text', [HUGE, 'x\n' * 1_000_000])
    def test_a_traceback_is_cut(self, set_up, text):
        log_text = set_up()
        LOG.error('A failure', exc_info=raised(OSError(text)))
        assert 'Traceback (most recent call last)' in log_text()
        assert len(log_text()) < 200_000


class Fault(Exception):
    pass


class TestWordsOfAnError:
    @pytest.mark.parametrize(('error', 'message', 'ending'), [
        (Fault('4'), 'Worker 42 cannot', ': 4'),
        (Fault('it'), 'No unit', ': it'),
        (Fault('42'), 'Worker 42 cannot', 'cannot'),
        (Fault('4'), 'No worker: 4', ': 4'),
        (Fault('a', 1), "No worker: Fault('a', 1)", "Fault('a', 1)"),
        (Fault('a\nb'), 'No worker: a\nb', ': a\\nb'),
        (Fault(), 'The Faults here', '.Fault')])
    def test_are_repeated_where_they_are_whole_words(
            self, set_up, error, message, ending):
        log_text = set_up()
        LOG.error(message, exc_info=(type(error), error, None))
        line, *_ = log_text().splitlines()
        assert line.endswith(ending)
        if ending.startswith(': ') and message.endswith(ending):
            assert line.count(ending) == 1

    def test_stand_once_in_a_line(self, set_up):
        log_text = set_up()
        try:
            raise exception.DatabaseUnavailable('it is away')
        except exception.DatabaseUnavailable as error:
            LOG.error('No hosts: %s', error)
            LOG.error('No hosts: %r', error)
            LOG.exception('No hosts: %s', error)
        assert [line.count('it is away') for line in log_text().splitlines()
                if 'No hosts' in line] == [1, 1, 1]
        assert log_text().splitlines()[0].endswith('No hosts: it is away')

    def test_stand_where_a_format_of_the_operator_has_them(self, set_up):
        log_text = set_up(logging_default_format_string=(
            '<%(error_summary)s> %(message)s'))
        try:
            raise OSError('it is away')
        except OSError as error:
            LOG.error('No hosts')
            LOG.error('No hosts: %s', error)
        assert log_text().splitlines() == [
            '<OSError: it is away> No hosts', '<-> No hosts: it is away']


def test_fields_of_a_record_are_clean_for_handlers_that_send_them(set_up):
    """As journald's handler does, after it has formatted the record."""
    set_up()
    handler, = logging.getLogger().handlers
    caller = context.RequestContext(request_id='req-1\nreq-2')
    record = logging.makeLogRecord({
        'msg': 'Asked', 'levelno': logging.INFO, 'context': caller})
    handler.format(record)
    assert record.request_id == 'req-1\\nreq-2'


def test_setting_up_again_changes_nothing(by_file):
    log_text = by_file('logging.Formatter')
    by_file('logging.Formatter')
    LOG.info('a\nb')
    assert log_text().count('a\\nb') == 1


class TestASetUpThatFails:
    """The earlier setup continues."""

    @pytest.mark.parametrize('options', [
        {'log_file': '/no/such/directory/all.log'},
        {'log_config_append': '/no/such/file'}])
    def test_leaves_the_handlers(self, set_up, options):
        log_text = set_up()
        handlers = logging.getLogger().handlers[:]
        with pytest.raises((OSError, oslo_log.LogConfigError)):
            set_up(**options)
        assert logging.getLogger().handlers == handlers
        LOG.info('Still here')
        assert 'Still here' in log_text()

    def test_leaves_them_where_a_file_has_begun_to_be_read(
            self, set_up, by_file, tmp_path):
        log_text = by_file('logging.Formatter')
        path = tmp_path / 'wrong.ini'
        path.write_text((tmp_path / 'logging.ini').read_text().replace(
            "args = ('", "args = ('/no/such/directory"))
        with pytest.raises(oslo_log.LogConfigError):
            set_up(log_config_append=str(path))
        LOG.debug('Still here')
        logging.getLogger('library').debug('Here, too')
        assert 'OWN Still here' in log_text()
        assert log_text().count('Here, too') == 1


def test_the_record_factory_of_a_plug_in_stays(set_up):
    class Own(logging.LogRecord):
        pass
    logging.setLogRecordFactory(Own)
    log_text = set_up()
    LOG.info('a\nb')
    assert logging.getLogRecordFactory() is Own
    assert 'a\\nb' in log_text()


def test_without_the_module_for_the_journal_lines_go_to_stdout(
        monkeypatch, capsys):
    """As OpenStack-Ansible writes it, on a machine without the module."""
    monkeypatch.setattr(log_files.handlers, 'journal', None)
    conf = config.new_conf([], [])
    conf.set_default('use_journal', True)
    logs.setup(conf)
    LOG.warning('a line')

    assert 'WARNING nova_sched.test_logs [-] a line' in capsys.readouterr().out
    assert conf.use_journal


class TestNames:
    """The name of the program in the log, in whichever thread it is set up."""

    @pytest.fixture
    def in_a_thread(self):
        """A function: what another one returns in a thread of its own."""
        def run(act):
            with futures.ThreadPoolExecutor(1) as threads:
                return threads.submit(act).result()
        return run

    @pytest.mark.parametrize(('product', 'name'), [
        (None, 'nova-sched.log'), ('nova-sched-manage',
                                   'nova-sched-manage.log')])
    def test_a_log_dir_has_a_file_of_the_program(
            self, in_a_thread, tmp_path, product, name):
        conf = config.new_conf([], [])
        conf.set_override('log_dir', str(tmp_path))
        in_a_thread(lambda: logs.setup(conf, product))
        LOG.info('a line')
        assert [path.name for path in tmp_path.iterdir()] == [name]

    def test_syslog_has_its_name(self, in_a_thread, monkeypatch):
        opened = []
        monkeypatch.setattr(syslog, 'openlog',
                            lambda *args: opened.append(args[0]))
        conf = config.new_conf([], [])
        conf.set_override('use_syslog', True)
        in_a_thread(lambda: logs.setup(conf))
        assert opened == ['nova-sched']


class TestReopening:
    """Files that log rotation has moved away are opened again."""

    @pytest.fixture(params=[{}, {'log_rotation_type': 'size'}, 'file'])
    def log_text(self, request, set_up, by_file):
        """Function: the content of the log at its path, for each kind of
        handler.
        """
        return (by_file() if request.param == 'file'
                else set_up(**request.param))

    @pytest.fixture
    def handler(self, log_text, tmp_path):
        """The handler that writes it."""
        found, = [each for each in logging.getLogger().handlers if getattr(
            each, 'baseFilename', None) == str(tmp_path / 'all.log')]
        return found

    def test_one_that_was_not_stays_open(self, handler):
        before = handler.stream
        logs.reopen()
        assert handler.stream is before

    def test_one_that_cannot_be_opened_is_written_on(self, handler, tmp_path):
        os.rename(tmp_path / 'all.log', tmp_path / 'moved')
        (tmp_path / 'all.log').mkdir()
        with pytest.raises(IsADirectoryError):
            logs.reopen()
        assert os.path.samestat(os.fstat(handler.stream.fileno()),
                                os.stat(tmp_path / 'moved'))

    def test_a_handler_behind_another_opens_its_file_anew(self, tmp_path):
        path = tmp_path / 'behind.log'
        behind = logging.FileHandler(path)
        logging.getLogger().addHandler(
            logging.handlers.MemoryHandler(1, target=behind))
        os.rename(path, tmp_path / 'behind.log.1')
        logs.reopen()
        assert path.exists()
        behind.close()
