"""The options of the log: whether it can be written, and whose names it has.

oslo.log reports one error at a time when it opens the log, and not which
option is wrong. The checks here open and make no file. A file of
log_config_append is the operator's, and often written for Nova.
"""

import configparser
import logging as py_logging
import os
import subprocess
import sys
import typing

from oslo_log import formatters
from oslo_log import handlers

from nova_sched import context
from nova_sched import exception
from nova_sched import version
from nova_sched.options import files
from nova_sched.options import nearest

#: The top of the service's loggers, under their own names and under Nova's.
OURS, NOVAS = version.PACKAGE, 'nova'

#: As in syslog(3); oslo.log takes them with and without LOG_.
FACILITIES = frozenset((
    'KERN', 'USER', 'MAIL', 'DAEMON', 'AUTH', 'SYSLOG', 'LPR', 'NEWS', 'UUCP',
    'CRON', 'AUTHPRIV', 'FTP', *(f'LOCAL{number}' for number in range(8))))

#: Reads a file of log_config_append in a process of its own, where it opens
#: /dev/null in place of the files that it names.
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
    """Check that logging can be set up by the file of log_config_append."""
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


def check_file(conf):
    """Check that what log_file and log_dir come to can be written."""
    if conf.log_config_append or not (conf.log_file or conf.log_dir):
        return
    if conf.log_file:
        name, path = 'log_file', os.path.join(conf.log_dir or '',
                                              conf.log_file)
        folder = os.path.dirname(path) or '.'
    else:
        name, path, folder = 'log_dir', conf.log_dir, conf.log_dir
    if not os.path.isdir(folder):
        hint = f'there is no directory {folder}; make it'
    elif conf.log_file and os.path.isdir(path):
        hint = 'is a directory; name a file in it'
    elif not is_writable(path):
        hint = 'may not be written by this user'
    else:
        return
    raise exception.ConfigurationError(f'[DEFAULT] {name}', path, hint)


def check_levels(conf):
    """Check that each of default_log_levels names a logger and a level."""
    known = py_logging.getLevelNamesMapping()
    for pair in conf.default_log_levels if not conf.log_config_append else ():
        level = pair.partition('=')[2]
        if level not in known and not level.lstrip('-').isdigit():
            raise exception.ConfigurationError(
                '[DEFAULT] default_log_levels', pair, 'write LOGGER=LEVEL; '
                + nearest.did_you_mean(level, known))


def check_facility(conf):
    """Check that the facility is one of syslog's, where it is used."""
    if conf.log_config_append or not (conf.use_syslog or conf.use_journal):
        return
    facility = conf.syslog_log_facility.upper().removeprefix('LOG_')
    if facility not in FACILITIES:
        raise exception.ConfigurationError(
            '[DEFAULT] syslog_log_facility', conf.syslog_log_facility,
            'is none of syslog; '
            + nearest.did_you_mean(facility, FACILITIES))


def check_formats(conf):
    """Check that a line can be made of each format; else logging drops it."""
    if conf.log_config_append or conf.use_json:
        return
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
            raise exception.ConfigurationError(
                f'[DEFAULT] {name}', conf[name],
                f'no line can be made of it: {error}') from error


CHECKS = (check_config_file, check_file, check_levels, check_facility,
          check_formats)


class _Logger(typing.NamedTuple):
    """A logger of a file of log_config_append.

    writes: whether a handler of its own writes anything.
    propagates: whether the handlers of what is above it get its lines.
    """

    writes: bool
    propagates: bool


def takes_nova_names(conf):
    """Return whether the service's loggers bear the names of Nova's.

    Because an option says so, or because a file names loggers of Nova's and
    none of the service's own.  Called by Nova's name it takes them unless a
    file names loggers of its own alone.
    """
    if conf.nova_sched.nova_logger_names:
        return True
    named = _loggers(conf)
    novas, ours = (bool(_below(top, named)) for top in (NOVAS, OURS))
    if conf.project == NOVAS:
        return novas or not ours
    return novas and not ours


def warnings(conf):
    """Return a sentence if no line of the service is written: list."""
    loggers = _loggers(conf)
    top = NOVAS if takes_nova_names(conf) else OURS
    if (not loggers or any(each.writes for each in _below(top, loggers))
            or (loggers['root'].writes
                and (top not in loggers or loggers[top].propagates))):
        return []
    return [f'[DEFAULT] log_config_append = {conf.log_config_append}: the '
            'service writes no line, because its loggers lead to no handler '
            f'of this file; give its logger {top}, or root, one that writes']


def lacks_journal(conf):
    """Return whether use_journal lacks the Python module that it needs."""
    return bool(conf.use_journal and not conf.log_config_append
                and handlers.journal is None)


def _below(top, loggers):
    """Return the loggers of a dict that are the top one, or below it: list."""
    return [logger for name, logger in loggers.items()
            if f'{name}.'.startswith(f'{top}.')]


def _loggers(conf):
    """Return the loggers of log_config_append: name -> _Logger, with ``root``.

    None of a file that cannot be used, and without one.
    """
    parser, found = configparser.ConfigParser(), {}    # as logging's
    try:
        with open(conf.log_config_append or '') as file:
            parser.read_file(file)
        for key in _words(parser['loggers']['keys']):
            section = parser[f'logger_{key}']
            found['root' if key == 'root' else section['qualname']] = _Logger(
                any(not parser[f'handler_{handler}']['class'].endswith(
                    'NullHandler') for handler in _words(section['handlers'])),
                section.getint('propagate', 1) != 0)
    except (OSError, ValueError, KeyError, configparser.Error):
        return {}
    return found


def _words(text):
    return [word.strip() for word in text.split(',') if word.strip()]
