"""Loggers of this service under the names that Nova's have.

Levels and handlers that a cloud has set for ``nova.scheduler.manager``, and
scripts that look for it, then go by the lines here.
"""

import logging
import pathlib

import nova_sched
from nova_sched.options.log_files import NOVAS
from nova_sched.options.log_files import OURS

#: What Nova does elsewhere than the service here: module or package here ->
#: logger of Nova's.  All others have their own name, below ``nova``.
ELSEWHERE = {
    'db.services': 'nova.servicegroup.drivers.db',
    'hardware.numa': 'nova.virt.hardware',
    'hardware.pci': 'nova.pci.stats',
    'hosts': 'nova.scheduler.host_manager',
    'inventory': 'nova.scheduler.host_manager',
    'placement': 'nova.scheduler.client.report',
    'rules.flavor_image': 'nova.scheduler.utils',
    'remote': 'nova.context',
    'rules.narrowing': 'nova.scheduler.host_manager',
    'rules.ranking': 'nova.scheduler.filter_scheduler',
    'scheduler.attempt': 'nova.scheduler.filter_scheduler',
    'scheduler.claims': 'nova.scheduler.filter_scheduler',
}


#: Loggers, without the package's name, that are not of a module.
OTHERS = ('observe.log_line',)


def nova_name(name):
    """Return Nova's name for a logger of this service.

    name: dotted, such as ``nova_sched.scheduler.manager``.
    """
    parts = name.split('.')[1:]
    for end in range(len(parts), 0, -1):
        found = ELSEWHERE.get('.'.join(parts[:end]))
        if found:
            return found
    return '.'.join((NOVAS, *parts))


def apply_logger_names(novas):
    """Give the loggers of this service Nova's names, or their own.

    Under Nova's they go by the levels and handlers of these and of what is
    above them, up to ``nova``, in place of those of ``nova_sched``.
    """
    for name in _loggers():
        logger = logging.getLogger(name)
        # Nothing else changes what a logger inherits; loggers above are made
        # first, for making one later would undo it.
        if novas:
            logger.name = nova_name(name)
            logger.parent = logging.getLogger(logger.name)
        else:
            logger.name = name
            logger.parent = logging.getLogger(name.rpartition('.')[0] or None)
    # What they have found out of levels is forgotten.
    logging.getLogger().setLevel(logging.getLogger().level)


def _loggers():
    """Return the names of all loggers, packages first: list."""
    top = pathlib.Path(nova_sched.__file__).parent
    return sorted([*('.'.join((OURS, *_parts(path.relative_to(top))))
                     for path in top.rglob('*.py')),
                   *(f'{OURS}.{name}' for name in OTHERS)])


def _parts(path):
    parts = path.with_suffix('').parts
    return parts[:-1] if parts[-1] == '__init__' else parts
