"""Checks that the log can be written as its options say.

The options are oslo.log's, which tells what is wrong when it opens the log,
one thing at a time and not which option. Here nothing is opened or made.
Each function raises ConfigurationError.
"""

from concurrent import futures
import logging as py_logging
import os
import subprocess
import sys

from oslo_log import formatters

from nova_sched import context
from nova_sched import exception
from nova_sched.options import nearest

#: As in syslog(3); oslo.log takes them with and without LOG_.
FACILITIES = frozenset((
    'KERN', 'USER', 'MAIL', 'DAEMON', 'AUTH', 'SYSLOG', 'LPR', 'NEWS', 'UUCP',
    'CRON', 'AUTHPRIV', 'FTP', *(f'LOCAL{number}' for number in range(8))))

#: Reads a file of log_config_append in a process of its own, where it opens
#: /dev/null in place of the files that it names.
_TRIAL = """
import logging.config
import os
import sys
from nova_sched import conf
conf.new_conf([], [])
def opened(self):
    there = os.path.exists(self.baseFilename)
    place = self.baseFilename if there else os.path.dirname(self.baseFilename)
    if not os.access(place, os.W_OK):
        raise OSError(f'{self.baseFilename} cannot be written')
    return open(os.devnull, 'a')
logging.FileHandler._open = opened
try:
    logging.config.fileConfig(sys.argv[1], disable_existing_loggers=False)
except Exception as error:
    sys.exit(' '.join(f'{type(error).__name__}: {error}'.split()))
"""
_TRIAL_SECONDS = 60


def check_config_file(conf):
    """Check that logging can be set up by the file of log_config_append."""
    path = conf.log_config_append
    if not path:
        return
    option = '[DEFAULT] log_config_append'
    try:
        with open(path, 'rb'):
            pass
    except OSError as error:
        raise exception.ConfigurationError(
            option, path, f'cannot be read: {error.strerror}; name a file of '
            'the form of logging.config, or take the option out') from error
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
    option, path = '[DEFAULT] log_dir', conf.log_dir
    if conf.log_file:
        option = '[DEFAULT] log_file'
        path = os.path.join(conf.log_dir or '', conf.log_file)
    folder = os.path.dirname(path) or '.' if conf.log_file else path
    if not os.path.isdir(folder):
        hint = f'there is no directory {folder}; make it'
    elif conf.log_file and os.path.isdir(path):
        hint = 'is a directory; name a file in it'
    elif not os.access(path if os.path.exists(path) else folder, os.W_OK):
        hint = 'may not be written by this user'
    else:
        return
    raise exception.ConfigurationError(option, path, hint)


def check_levels(conf):
    """Check that each of default_log_levels names a logger and a level."""
    if conf.log_config_append:
        return
    known = py_logging.getLevelNamesMapping()
    for pair in conf.default_log_levels:
        level = pair.partition('=')[2]
        if level not in known and not level.lstrip('-').isdigit():
            raise exception.ConfigurationError(
                '[DEFAULT] default_log_levels', pair,
                'write LOGGER=LEVEL; '
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
    # oslo.log takes the context of the thread, so this one has its own.
    with futures.ThreadPoolExecutor(1) as apart:
        apart.submit(_make_lines, conf).result()


def _make_lines(conf):
    """Make a line without and one with a context, as oslo.log makes them."""
    formatter = formatters.ContextFormatter(
        datefmt=conf.log_date_format, config=conf)
    for name, make_context in (
            ('logging_default_format_string', lambda: None),
            ('logging_context_format_string', context.RequestContext)):
        make_context()
        try:
            formatter.format(py_logging.makeLogRecord(
                {'name': __name__, 'levelname': 'INFO',
                 'levelno': py_logging.INFO, 'msg': 'a line'}))
        except (KeyError, ValueError, TypeError) as error:
            raise exception.ConfigurationError(
                f'[DEFAULT] {name}', conf[name],
                f'no line can be made of it: {error}') from error


CHECKS = (check_config_file, check_file, check_levels, check_facility,
          check_formats)
