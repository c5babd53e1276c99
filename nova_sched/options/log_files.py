"""The log options: whether the log can be written, and the loggers' names.

oslo.log reports one error at a time when it opens the log, without the name of
the option. The checks here open and create no file. A file of
log_config_append is often written for Nova.
"""

import configparser
import logging as py_logging
import os
import subprocess
import sys
import typing

from oslo_log import formatters
from oslo_log import handlers
from oslo_log import log

from nova_sched import context
from nova_sched import exception
from nova_sched import version
from nova_sched.options import files
from nova_sched.options import nearest

#: The top of the service's loggers, under their own names and under Nova's.
OURS, NOVAS = version.PACKAGE, 'nova'

#: Reads a file of log_config_append in a separate process, which opens
#: /dev/null in place of the log files.
_TRIAL = """
import logging.config, os, sys
from nova_sched import conf
from nova_sched.options import log_files
conf.new_conf([], [])
def opened(self):
    if not log_files.is_writable(self.baseFilename):
        raise OSError(f'{self.baseFilename} cannot be written')
    return open(os.devnull, 'a')
logging.FileHandler._open = opened
try:
    logging.config.fileConfig(sys.argv[1], disable_existing_loggers=False)
except Exception as error:
    sys.exit(' '.join(f'{type(error).__name__}: {error}'.split()))
"""
_TRIAL_SECONDS = 60


def is_writable(path):
    """Return whether this user may write a file, or make it: bool."""
    return os.access(path if os.path.exists(path)
                     else os.path.dirname(path) or '.', os.W_OK)


def check_config_file(conf):
    """Check that the file of log_config_append loads."""
    option, path = '[DEFAULT] log_config_append', conf.log_config_append
    if not path:
        return
    files.check_readable(option, path, '; name a file of the form of '
                         'logging.config, or take the option out')
    try:
        tried = subprocess.run(    # noqa: S603, our own words and a path
            [sys.executable, '-c', _TRIAL, path], timeout=_TRIAL_SECONDS,
            stdin=subprocess.DEVNULL, capture_output=True, text=True,
            check=False)
    except subprocess.TimeoutExpired as error:
        raise exception.ConfigurationError(
            option, path, 'logging is not configured by it within '
            f'{_TRIAL_SECONDS} seconds') from error
    if tried.returncode:
        raise exception.ConfigurationError(
            option, path, 'logging cannot be configured by it: '
            + (tried.stderr.strip().splitlines() or ['no reason given'])[-1])


def _check(error_of):
    """Return a check of options that count without log_config_append.

    error_of: function of a ConfigOpts that returns (option, value, hint) if
    the option cannot be used, else None.
    """
    def check(conf):
        if not conf.log_config_append and (wrong := error_of(conf)):
            name, value, hint = wrong
            raise exception.ConfigurationError(f'[DEFAULT] {name}', value,
                                               hint)
    return check


def _file_error(conf):
    """Return (option, value, hint) if the log file cannot be written."""
    if not (conf.log_file or conf.log_dir):
        return None
    path = os.path.join(conf.log_dir or '', conf.log_file or '')
    folder = os.path.dirname(path) or '.'
    if not os.path.isdir(folder):
        hint = f'there is no directory {folder}; make it'
    elif conf.log_file and os.path.isdir(path):
        hint = 'is a directory; name a file in it'
    elif not is_writable(path if conf.log_file else folder):
        hint = 'may not be written by this user'
    else:
        return None
    return ('log_file', path, hint) if conf.log_file else (
        'log_dir', conf.log_dir, hint)


def _level_error(conf):
    known = py_logging.getLevelNamesMapping()
    for pair in conf.default_log_levels:
        level = pair.partition('=')[2]
        if level not in known and not level.lstrip('-').isdigit():
            return ('default_log_levels', pair, 'write LOGGER=LEVEL; '
                    + nearest.did_you_mean(level, known))
    return None


def _facility_error(conf):
    if conf.use_syslog or conf.use_journal:
        try:
            log._find_facility(conf.syslog_log_facility)
        except TypeError as error:
            return ('syslog_log_facility', conf.syslog_log_facility,
                    str(error))
    return None


def _format_error(conf):
    """Return (option, value, hint) if a line cannot be formatted."""
    if conf.use_json:
        return None
    formatter = formatters.ContextFormatter(
        datefmt=conf.log_date_format, config=conf)
    for name, request in (
            ('logging_default_format_string', None),
            ('logging_context_format_string',
             context.RequestContext(overwrite=False))):
        record = py_logging.makeLogRecord({
            'name': __name__, 'levelname': 'INFO', 'msg': 'a line',
            'levelno': py_logging.INFO, 'context': request})
        try:
            formatter.format(record)
        except (KeyError, ValueError, TypeError) as error:
            return name, conf[name], f'no line can be made of it: {error}'
    return None


CHECKS = (check_config_file, *map(_check, (
    _file_error, _level_error, _facility_error, _format_error)))


class _Logger(typing.NamedTuple):
    """A logger of a file of log_config_append.

    writes: whether one of its handlers writes anything.
    propagates: whether its lines also go to the handlers of its parents.
    """

    writes: bool
    propagates: bool


def takes_nova_names(conf):
    """Return whether the service's loggers have the names of Nova's: bool.

    They do if log_config_append, or default_log_levels without it, names
    loggers of Nova's and none of the service's own.  Under the program name
    nova-scheduler they do unless it names loggers of the service alone.
    """
    named = _loggers(conf) if conf.log_config_append else dict.fromkeys(
        pair.partition('=')[0] for pair in conf.default_log_levels)
    novas, ours = (bool(_below(top, named)) for top in (NOVAS, OURS))
    return not ours or novas if conf.project == NOVAS else novas and not ours


def warnings(conf):
    """Return a sentence if no line of the service is written: list."""
    loggers = _loggers(conf)
    top = NOVAS if takes_nova_names(conf) else OURS
    if (not loggers or any(
            loggers[name].writes for name in _below(top, loggers))
            or (loggers['root'].writes
                and (top not in loggers or loggers[top].propagates))):
        return []
    return [f'[DEFAULT] log_config_append = {conf.log_config_append}: the '
            'service writes no line, because its loggers have no handler that '
            f'writes; give its logger {top}, or root, such a handler']


def lacks_journal(conf):
    """Return whether use_journal lacks the Python module that it needs."""
    return bool(conf.use_journal and not conf.log_config_append
                and handlers.journal is None)


def _below(top, names):
    """Return the names that are the top logger's or below it: list."""
    return [name for name in names if f'{name}.'.startswith(f'{top}.')]


def _loggers(conf):
    """Return the loggers of log_config_append: name -> _Logger, with ``root``.

    Empty without a file, and for a file that cannot be used.
    """
    parser, loggers = configparser.ConfigParser(), {}    # as logging's
    try:
        with open(conf.log_config_append or '') as file:
            parser.read_file(file)
        for key in _words(parser['loggers']['keys']):
            section = parser[f'logger_{key}']
            name = 'root' if key == 'root' else section['qualname']
            loggers[name] = _Logger(
                any(not parser[f'handler_{handler}']['class'].endswith(
                    'NullHandler') for handler in _words(section['handlers'])),
                section.getint('propagate', 1) != 0)
    except (OSError, ValueError, KeyError, configparser.Error):
        return {}
    return loggers


def _words(text):
    return [word.strip() for word in text.split(',') if word.strip()]
