"""What a file of log_config_append does with the loggers of this service.

It is the operator's, and often written for Nova. Nothing is set up here.
"""

import configparser
import dataclasses

from oslo_log import handlers

from nova_sched import version

#: The top of the service's loggers, under their own names and under Nova's.
OURS, NOVAS = version.PACKAGE, 'nova'


@dataclasses.dataclass(frozen=True)
class _Logger:
    """A logger of the file.

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
    novas, ours = _below(NOVAS, named) != [], _below(OURS, named) != []
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
    """Return whether the journal is wanted and Python's module for it is not
    there.
    """
    return bool(conf.use_journal and not conf.log_config_append
                and handlers.journal is None)


def _below(top, loggers):
    """Return the loggers of a dict that are the top one, or below it: list."""
    return [logger for name, logger in loggers.items()
            if name == top or name.startswith(f'{top}.')]


def _loggers(conf):
    """Return the loggers of the file: name -> _Logger, with ``root``.

    None of a file that cannot be used, and without one.
    """
    parser = configparser.ConfigParser()    # as logging's
    try:
        with open(conf.log_config_append or '') as file:
            parser.read_file(file)
        return {
            'root' if key == 'root' else parser[f'logger_{key}']['qualname']:
            _logger(parser, parser[f'logger_{key}'])
            for key in _words(parser['loggers']['keys'])}
    except (OSError, ValueError, KeyError, configparser.Error):
        return {}


def _logger(parser, section):
    return _Logger(
        any(not parser[f'handler_{key}']['class'].endswith('NullHandler')
            for key in _words(section['handlers'])),
        section.getint('propagate', 1) != 0)


def _words(text):
    return [word.strip() for word in text.split(',') if word.strip()]
