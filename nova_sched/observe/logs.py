"""The log: each record one line, of a bounded size, whoever wrote its words.

Requests, databases and other services say what ends up in log lines. So
whatever could end or disguise a line is written as an escape
(``printable.py``). What is too long is cut. This holds for the loggers of all
libraries; other code logs words as they are. A traceback keeps its lines,
each behind oslo.log's prefix, or indented where a formatter has none.

An error's words stand in a line once: oslo.log's summary of the error at the
end of a line is left out where the message says it.
"""

import contextlib
import copy
import functools
import json
import logging as py_logging
import os
import re
import sys

from oslo_log import formatters
from oslo_log import handlers
from oslo_log import log as logging

from nova_sched import version
from nova_sched.observe import logger_names
from nova_sched.options import log_files
from nova_sched.printable import printable

#: Characters of a message, and of other fields, such as the request id.
LONGEST = 16384
LONGEST_FIELD = 100

#: Lines of a traceback, of which the middle is left out, and their length.
TRACEBACK_LINES = 400
LONGEST_LINE = 1000

#: Before the lines of tracebacks that have no prefix.
_INDENT = '  '

#: Members of a list or a dict, in logs that are JSON.
_MEMBERS = 100

_SIZES = {'message': LONGEST, 'error_summary': LONGEST,
          'user_identity': 6 * LONGEST_FIELD}

#: What the caller of a logger does not decide, or formatters work with.
_TRUSTED = frozenset(vars(py_logging.makeLogRecord({}))) | {
    'asctime', 'isotime', 'color', 'reset_color', 'extra', 'extra_keys'}


def setup(conf, product=None):
    """Configure logging by oslo.log's options, with lines to be trusted.

    conf: ConfigOpts.  product: name for formats that show it, and of the
        file in a ``log_dir``; by default its project's, and its program's.
    Raises oslo.log's LogConfigError for a ``log_config_append`` that cannot
    be used, and OSError for a file; all loggers are as they were then.
    """
    if py_logging.getLogRecordFactory() is py_logging.LogRecord:
        # Another one is a plug-in's; formatters escape its messages.
        py_logging.setLogRecordFactory(_Record)
    # By itself oslo.log takes the file of the outermost frame, which is
    # Python's own in each thread but the first.
    handlers._get_binary_name = lambda: product or conf.prog
    before = [(logger, logger.level, logger.propagate, logger.handlers[:])
              for logger in _loggers()]
    try:
        with _without_journal(conf):
            logging.setup(conf, product or conf.project,
                          version.version_string())
    except BaseException:
        for logger, level, logger.propagate, kept in before:
            logger.setLevel(level)
            logger.handlers[:] = kept
        raise
    logger_names.apply_logger_names(log_files.takes_nova_names(conf))
    for logger in _loggers():
        for handler in logger.handlers:
            _protect(handler)


@contextlib.contextmanager
def _without_journal(conf):
    """Have use_journal count for nothing in a block, if it cannot be used."""
    if not log_files.lacks_journal(conf):
        yield
        return
    conf.set_override('use_journal', False)
    try:
        yield
    finally:
        conf.clear_override('use_journal')


def warn_of_no_log(conf):
    """Say on stderr if no line is written, which the log cannot say."""
    for nowhere in log_files.warnings(conf):
        sys.stderr.write(f'{conf.prog}: warning: {nowhere}\n')


def reopen():
    """Open the files of all handlers anew that are not at their paths by now.

    Raises OSError for one that cannot be opened, which is written on.
    """
    errors = []
    for logger in _loggers():
        for handler in logger.handlers:
            try:
                # A MemoryHandler hands over to another one.
                _reopen(getattr(handler, 'target', handler))
            except OSError as error:
                errors.append(error)
    if errors:
        raise errors[0]


def _reopen(handler):
    """Open the file of a handler anew if it was moved away."""
    if not isinstance(handler, py_logging.FileHandler):
        return
    with handler.lock:
        written = handler.stream
        # Without one it opens the file for the next line.
        if written is None or _is_at(handler.baseFilename, written):
            return
        handler.stream = handler._open()
        written.close()


def _is_at(path, file):
    """Return whether a path leads to an open file."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(file.fileno()))
    except FileNotFoundError:
        return False


def _loggers():
    """Return the loggers that there are: list."""
    others = list(py_logging.Logger.manager.loggerDict.values())
    return [py_logging.getLogger(), *(
        each for each in others if isinstance(each, py_logging.Logger))]


def one_line(text, longest=LONGEST):
    """Return a text without characters that could end or disguise a line, cut.

    longest: characters of the text that are kept, before they are escaped.
    """
    return printable(cut(text, longest))


def field(value):
    """Return any value from outside as a short text on one line."""
    return one_line(str(value), LONGEST_FIELD)


def cut(text, longest):
    """Return a text, or its beginning and its length in characters."""
    if len(text) <= longest:
        return text
    return f'{text[:longest]}... ({len(text)} characters)'


class _Record(py_logging.LogRecord):
    """A record whose message is one line, whoever writes it where.

    Handlers that plug-ins add have other formatters, as have those to which
    handlers hand over, and those that a reload is about to set up.
    """

    def getMessage(self):    # noqa: N802, logging's own name
        return one_line(super().getMessage())


class _Lines:
    """Mixed into a formatter that writes lines."""

    def formatMessage(self, record):    # noqa: N802, logging's own name
        _clean(record)
        repeated = _is_repeated(record)
        if repeated:
            record.error_summary = '-'
        text = super().formatMessage(record)
        return text.removesuffix(': -') if repeated else text

    def formatException(self, ei, record=None):    # noqa: N802, as above
        lines = super().formatException(ei).rstrip('\n').split('\n')
        if len(lines) > TRACEBACK_LINES:
            half = TRACEBACK_LINES // 2
            lines[half:-half] = [f'... {len(lines) - 2 * half} lines ...']
        prefix = ''
        if record is not None:
            # The prefix may have any field of the record.
            _clean(record)
            # How oslo.log begins the lines of an error, shown by none.
            shown = super().formatException((None,) * 3, record=record)
            prefix = shown.partition('NoneType')[0]
        return '\n'.join((prefix or _INDENT) + one_line(line, LONGEST_LINE)
                         for line in lines)


class _Structures:
    """Mixed into a formatter that writes JSON, or dicts, a record each.

    JSON has escapes of its own for what could end a line.
    """

    def format(self, record):
        made = super().format(record)
        _clean(record)
        if not isinstance(made, str):
            return self._whole(record, made)
        if len(made) <= LONGEST and '\\ud' not in made:
            return made
        return json.dumps(self._whole(record, json.loads(made)))

    def _whole(self, record, made):
        """Return a record as a dict, of a bounded size."""
        found = _bounded(made)
        if isinstance(record, _Record) and 'message' in made:
            # It is cut already, and says how long it was.
            found['message'] = made['message']
        return found


def _protect(handler):
    """Have a handler write lines that can be trusted."""
    formatter = handler.formatter or py_logging.Formatter()
    if not isinstance(formatter, (_Lines, _Structures)):
        formatter = copy.copy(formatter)
        formatter.__class__ = _protected(type(formatter))
        handler.setFormatter(formatter)
    # For what a log's encoding lacks; files are opened anew when they rotate.
    handler.errors = 'backslashreplace'
    reconfigure = getattr(getattr(handler, 'stream', None), 'reconfigure',
                          None)
    if reconfigure is not None:
        reconfigure(errors=handler.errors)


@functools.cache
def _protected(cls):
    """Return a formatter's class with one of the above mixed in."""
    structured = issubclass(
        cls, (formatters.JSONFormatter, formatters.FluentFormatter))
    mixin = _Structures if structured else _Lines
    return type(cls.__name__, (mixin, cls), {})


def _clean(record):
    """Make what a record has from outside fit for a line, in place.

    Handlers that write single fields, as journald's does, find them clean.
    """
    for name, value in vars(record).items():
        if name in _TRUSTED or (
                # It is clean, and would be cut once more.
                name == 'message' and isinstance(record, _Record)):
            continue
        if isinstance(value, (list, tuple, dict, bytes)):
            value = str(value)
        if isinstance(value, str):
            setattr(record, name, one_line(
                value, _SIZES.get(name, LONGEST_FIELD)))


def _is_repeated(record):
    """Return whether a record's message has the summary of its error."""
    summary = getattr(record, 'error_summary', '')
    kind, _, words = summary.partition(': ')
    if not summary:
        return False
    # Whole words of it: 4 is not said by 'Worker 42'.
    edge = r'(?:(?<!\w)|(?!\w))'
    return re.search(f'{edge}{re.escape(words or kind)}{edge}',
                     record.message) is not None


def _bounded(value, longest=LONGEST):
    """Return a value of JSON with its texts, lists and dicts cut."""
    if isinstance(value, str):
        text = cut(value, longest)
        return text.encode(errors='backslashreplace').decode()
    if isinstance(value, list):
        return [_bounded(each, longest) for each in value[:_MEMBERS]]
    if isinstance(value, dict):
        return {_bounded(name, LONGEST_FIELD): _bounded(
            each, LONGEST_FIELD if name == 'context' else longest)
            for name, each in list(value.items())[:_MEMBERS]}
    return value
