"""Whether the service can start with a configuration, found by trial.

Nothing is connected to.
"""

import os

from nova_sched import conf as config
from nova_sched import exception
from nova_sched import rpc
from nova_sched.options import checking
from nova_sched.options import sections
from nova_sched.options import spelling
from nova_sched.plugins import drivers
from nova_sched.plugins import loading as plugins
from nova_sched.scheduler import driver

#: Exit status of a service that its configuration keeps from running.
EXIT_CONFIGURATION = 2

#: Options that must be right before anything is loaded: oslo.config ends the
#: process on a wrong value of a switch when the files are read for plug-ins,
#: and without a directory of plug-ins all that lies there seems to be wrong.
_BEFORE_LOADING = {'[nova_sched] plugin_path',
                   *(f'[DEFAULT] {name}' for name in sections.SWITCHES)}


def problems(conf):
    """Return what the service cannot run with: list of ConfigurationError.

    Reads every option, and loads the driver with its filters and weighers,
    and what speaks to the message broker.
    """
    return config.check(conf) or spelling.errors_as_written(_unloadable)(conf)


def all_problems(conf):
    """Return all that ``problems`` would return one after the other.

    A list of errors, and a set of the options that are wrong, by their names
    of today.  Of each of these the default counts from then on, so the
    ConfigOpts is for looking at afterwards, not for a service.
    """
    found, aside = [], set()
    for stage in (checking.errors, _unloadable):
        if aside & _BEFORE_LOADING:
            break
        while new := [error for error in stage(conf)
                      if error.option not in aside]:
            found += map(spelling.Spelling(conf).in_error, new)
            for error in new:
                aside.add(error.option)
                _set_aside(conf, error.option)
    return found, aside


def _set_aside(conf, option):
    """Have the default of an ``[section] name`` count."""
    section, _, name = option.removeprefix('[').partition('] ')
    opt = sections.known_opts().get((section, name))
    if opt is not None:
        conf.set_override(opt.dest, opt.default,
                          None if section == 'DEFAULT' else section)


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
