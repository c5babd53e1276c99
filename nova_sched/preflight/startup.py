"""Whether the service can start with a configuration, found by trial.

Nothing is connected to.
"""

import os

from nova_sched import conf as config
from nova_sched import exception
from nova_sched import rpc
from nova_sched.options import spelling
from nova_sched.plugins import drivers
from nova_sched.plugins import loading as plugins
from nova_sched.scheduler import driver

#: Exit status of a service that its configuration keeps from running.
EXIT_CONFIGURATION = 2


def problems(conf):
    """Return what the service cannot run with: list of ConfigurationError.

    Reads every option, and loads the driver with its filters and weighers,
    and what speaks to the message broker.
    """
    return config.check(conf) or _unloadable(conf)


@spelling.errors_as_written
def _unloadable(conf):
    """Return what does not load, and what can reach no broker: errors."""
    try:
        driver.load_driver(conf)
        # After it: this may change a default of options that plug-ins read.
        rpc.get_transport(conf).cleanup()
    except exception.ConfigurationError as error:
        # A driver stops at the first filter or weigher that is wrong.
        if error.option in plugins.OPTIONS:
            return plugins.problems(conf) or [error]
        return [error]
    return []


def worker_count(conf):
    """Return how many worker processes to run: int.

    ``[scheduler] workers``; unset or 0 means one per usable CPU for the
    filter scheduler and what derives from it, and one for drivers whose state
    is per process.  Raises ConfigurationError for a driver that there is not.
    """
    if conf.scheduler.workers:
        return conf.scheduler.workers
    if drivers.driver_class(config.driver_name(conf)).ONE_PROCESS:
        return 1
    return len(os.sched_getaffinity(0))
