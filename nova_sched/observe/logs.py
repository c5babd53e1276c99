"""The log: each record is one line of bounded size, whatever text it holds.

Log lines hold texts from requests, databases and other services.  Characters
that could end or disguise a line are escaped (``printable.py``), and long
texts are cut, for the loggers of all libraries; code that logs need not do so.
A traceback keeps its lines, each behind oslo.log's prefix, or indented where a
formatter has no prefix.

An error is not repeated in a line: oslo.log's error summary at the end is
omitted if the message contains it.
"""

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

#: Most lines of a traceback (the middle is left out), and their length.
TRACEBACK_LINES = 400
LONGEST_LINE = 1000

#: Indentation of tracebacks without a prefix.
_INDENT = '  '

#: Most members of a list or a dict, in JSON logs.
_MEMBERS = 100

_SIZES = {'message': LONGEST, 'error_summary': LONGEST,
          'user_identity': 6 * LONGEST_FIELD}

#: Attributes that no log call sets, or that formatters need.
_TRUSTED = frozenset(vars(py_logging.makeLogRecord({}))) | {
    'asctime', 'isotime', 'color', 'reset_color', 'extra', 'extra_keys'}


def setup(conf, product=None):
    """Configure logging by oslo.log's options, with escaped and bounded lines.

    conf: ConfigOpts.  product: name for formats that show it, and of the
        file in a ``log_dir``; by default its project's, and its program's.
    Raises oslo.log's LogConfigError for an unusable ``log_config_append``, and
    OSError for a log file; then no logger is changed.
    """
    if py_logging.getLogRecordFactory() is py_logging.LogRecord:
        # A plug-in may have set its own factory; formatters escape its
        # messages.
        py_logging.setLogRecordFactory(_Record)
    # oslo.log would use the file of the outermost frame, which is Python's own
    # in all threads but the first.
    handlers._get_binary_name = lambda: product or conf.prog
    before = [(logger, logger.level, logger.propagate, logger.handlers[:])
              for logger in _loggers()]
    lacks_journal = log_files.lacks_journal(conf)
    if lacks_journal:
        conf.set_override('use_journal', False)
    try:
        logging.setup(conf, product or conf.project, version.version_string())
    except BaseException:
        for logger, level, logger.propagate, old_handlers in before:
            logger.setLevel(level)
            logger.handlers[:] = old_handlers
        raise
    finally:
        if lacks_journal:
            conf.clear_override('use_journal')
    logger_names.apply_logger_names(log_files.takes_nova_names(conf))
    for logger in _loggers():
        for handler in logger.handlers:
            _protect(handler)


def warn_of_no_log(conf):
    """Warn on stderr if no log line is written anywhere."""
    for warning in log_files.warnings(conf):
        sys.stderr.write(f'{conf.prog}: warning: {warning}\n')


def reopen():
    """Reopen the log files that were moved away from their paths.

    Raises OSError for a file that cannot be opened; the old one stays in use.
    """
    errors = []
    for logger in _loggers():
        for handler in logger.handlers:
            try:
                # A MemoryHandler passes records to another handler.
                _reopen(getattr(handler, 'target', handler))
            except OSError as error:
                errors.append(error)
    if errors:
        raise errors[0]


def _reopen(handler):
    """Reopen the file of a handler if it was moved away."""
    if not isinstance(handler, py_logging.FileHandler):
        return
    with handler.lock:
        written = handler.stream
        # Without a stream the handler opens the file for the next line.
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
    """Return the existing loggers: list."""
    loggers = list(py_logging.Logger.manager.loggerDict.values())
    return [py_logging.getLogger(), *(
        logger for logger in loggers if isinstance(logger, py_logging.Logger))]


def one_line(text, longest=LONGEST):
    """Return a text without characters that could end or disguise a line, cut.

    longest: most characters of the text, before they are escaped.
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
    """A record whose message is one line in every handler.

    Formatters of handlers that plug-ins add, of a MemoryHandler's target, and
    of handlers that a reload is about to set up, do not escape messages.
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
            # The prefix may contain any field of the record.
            _clean(record)
            # An empty error shows the prefix of oslo.log's error lines.
            shown = super().formatException((None,) * 3, record=record)
            prefix = shown.partition('NoneType')[0]
        return '\n'.join((prefix or _INDENT) + one_line(line, LONGEST_LINE)
                         for line in lines)


class _Structures:
    """Mixed into a formatter that writes JSON, or dicts, one for each record.

    JSON itself escapes the characters that could end a line.
    """

    def format(self, record):
        formatted = super().format(record)
        _clean(record)
        if not isinstance(formatted, str):
            return self._whole(record, formatted)
        if len(formatted) <= LONGEST and '\\ud' not in formatted:
            return formatted
        return json.dumps(self._whole(record, json.loads(formatted)))

    def _whole(self, record, formatted):
        """Return a record as a dict, of a bounded size."""
        bounded = _bounded(formatted)
        if isinstance(record, _Record) and 'message' in formatted:
            # It is cut already, and has its length.
            bounded['message'] = formatted['message']
        return bounded


def _protect(handler):
    """Have a handler escape and bound its lines."""
    formatter = handler.formatter or py_logging.Formatter()
    if not isinstance(formatter, (_Lines, _Structures)):
        formatter = copy.copy(formatter)
        formatter.__class__ = _protected(type(formatter))
        handler.setFormatter(formatter)
    # For characters that the log's encoding lacks.  Set on the handler too, as
    # files are reopened when they rotate.
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
    """Escape and cut the fields of a record that come from outside, in place.

    Handlers that write single fields, such as journald's, need that.
    """
    for name, value in vars(record).items():
        if name in _TRUSTED or (
                # It is clean already.
                name == 'message' and isinstance(record, _Record)):
            continue
        if isinstance(value, (list, tuple, dict, bytes)):
            value = str(value)
        if isinstance(value, str):
            setattr(record, name, one_line(
                value, _SIZES.get(name, LONGEST_FIELD)))


def _is_repeated(record):
    """Return whether a record's message contains the summary of its error."""
    summary = getattr(record, 'error_summary', '')
    kind, _, text = summary.partition(': ')
    # Whole words only: the error "4" is not in "Worker 42".
    edge = r'(?:(?<!\w)|(?!\w))'
    return bool(summary and re.search(
        f'{edge}{re.escape(text or kind)}{edge}', record.message))


def _bounded(value, longest=LONGEST):
    """Return a JSON value with its texts, lists and dicts cut."""
    if isinstance(value, str):
        text = cut(value, longest)
        return text.encode(errors='backslashreplace').decode()
    if isinstance(value, list):
        return [_bounded(part, longest) for part in value[:_MEMBERS]]
    if isinstance(value, dict):
        return {_bounded(name, LONGEST_FIELD): _bounded(
            part, LONGEST_FIELD if name == 'context' else longest)
            for name, part in list(value.items())[:_MEMBERS]}
    return value
