"""As ``nova.openstack.common.log``: oslo_log.log, with ``LOG.audit``."""

import functools
import logging

from oslo_log import log

#: Between INFO and WARNING, as until Juno.
AUDIT = logging.INFO + 1
logging.addLevelName(AUDIT, 'AUDIT')


class Logger(log.KeywordArgumentAdapter):
    """A logger of oslo_log that has ``audit``, with the arguments of ``info``.
    """

    def __init__(self, logger, extra):
        super().__init__(logger, extra)
        # Without a frame here, so that a line names its caller.
        self.audit = functools.partial(self.log, AUDIT)


def getLogger(name='unknown', version='unknown'):  # noqa: N802 - as in Nova
    """Return the Logger of a name."""
    return Logger(logging.getLogger(name), {'project': name,
                                            'version': version})


def __getattr__(name):
    if hasattr(log, name):
        return getattr(log, name)
    raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
