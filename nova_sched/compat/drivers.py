"""The driver that ``[scheduler] driver`` names, whoever wrote it.

To the service each driver is a ``scheduler.driver.Scheduler``: classes of
somebody else's get adapters in front (``driver_signatures``, ``row_api``).
"""

from oslo_log import log as logging

from nova_sched import conf as config
from nova_sched.compat import driver_signatures
from nova_sched.compat import nova_methods
from nova_sched.compat import nova_names
from nova_sched.compat.row_api import driver as row_api
from nova_sched.plugins import classes
from nova_sched.scheduler import driver
from nova_sched.scheduler import filter_scheduler
from nova_sched.scheduler import host_manager

LOG = logging.getLogger(__name__)

_DRIVER = classes.Kind(
    '[scheduler] driver', 'nova_sched.scheduler.driver', 'driver',
    driver.Scheduler, ', with a select_destinations method',
    'nova.scheduler.driver')


def load(conf):
    """Return the configured driver, constructed; see driver.load_driver."""
    name = config.driver_name(conf)
    LOG.debug('Loading scheduler driver %s', name)
    nova_names.provide(conf)
    cls = driver_class(name)
    if not nova_methods.is_ours(host_manager.host_manager_class(conf)):
        cls = _with_row_api(cls)
    return classes.set_up(lambda: _DRIVER.checked(cls(conf)), _DRIVER.option,
                          name)


def driver_class(name):
    """Return the driver class of an entry point name or a class path.

    A class of somebody else's has adapters in front.
    Raises ConfigurationError when there is none, or when it is no driver.
    """
    return adapted(_DRIVER.load(name))


def adapted(cls):
    """Return a driver class with the adapters in front that it needs.

    Raises ConfigurationError for a driver that takes arguments of no known
    form.
    """
    if not nova_methods.is_ours(cls):
        cls = _with_row_api(cls)
    return driver_signatures.adapt(cls, _DRIVER.option)


def _with_row_api(cls):
    """Return a driver class that asks the overrides of Nova's methods."""
    if not issubclass(cls, filter_scheduler.FilterScheduler) or issubclass(
            cls, row_api.RowApi):
        return cls
    return driver_signatures.behind(row_api.RowApi, cls)
