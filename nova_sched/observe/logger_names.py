"""Loggers of this service under the names of Nova's loggers.

Levels and handlers that a cloud configures for ``nova.scheduler.manager``,
and scripts that search for it, then apply to this service's lines.
"""

import logging
import pathlib

import nova_sched
from nova_sched import toml_files
from nova_sched.options.log_files import NOVAS
from nova_sched.options.log_files import OURS

#: Module or package of this service -> logger of the Nova module that does the
#: same.  Other loggers keep their own name, below ``nova``.
ELSEWHERE = toml_files.read('logger_names.toml', __package__)

#: Loggers that no module is named after, without the package's name.
OTHERS = ('observe.log_line',)


def nova_name(name):
    """Return Nova's name for a logger of this service.

    name: dotted, such as ``nova_sched.scheduler.manager``.
    """
    parts = name.split('.')[1:]
    for end in range(len(parts), 0, -1):
        elsewhere = ELSEWHERE.get('.'.join(parts[:end]))
        if elsewhere:
            return elsewhere
    return '.'.join((NOVAS, *parts))


def apply_logger_names(novas):
    """Give the loggers of this service Nova's names, or their own.

    novas: whether they get Nova's names.  They then use the levels and
        handlers of Nova's loggers, up to ``nova``, instead of the ones of
        ``nova_sched``.
    """
    for name in _loggers():
        logger = logging.getLogger(name)
        # A logger inherits only through its parent.  Parents come first:
        # creating one later resets the parents of the loggers below it.
        if novas:
            logger.name = nova_name(name)
            logger.parent = logging.getLogger(logger.name)
        else:
            logger.name = name
            logger.parent = logging.getLogger(name.rpartition('.')[0] or None)
    # Setting a level clears the cached levels of all loggers.
    logging.getLogger().setLevel(logging.getLogger().level)


def _loggers():
    """Return the names of all loggers, packages first: list."""
    top = pathlib.Path(nova_sched.__file__).parent
    modules = ('.'.join((OURS, *path.relative_to(top).with_suffix('').parts))
               for path in top.rglob('*.py'))
    return sorted([*(name.removesuffix('.__init__') for name in modules),
                   *(f'{OURS}.{name}' for name in OTHERS)])
