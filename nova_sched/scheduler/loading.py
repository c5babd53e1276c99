"""Loading the driver that ``[scheduler] driver`` names."""

from oslo_log import log as logging

from nova_sched import conf as config
from nova_sched import nova_compat
from nova_sched.plugins import classes
from nova_sched.scheduler import driver
from nova_sched.scheduler import host_manager

LOG = logging.getLogger(__name__)

_DRIVER = classes.Kind(
    '[scheduler] driver', 'nova_sched.scheduler.driver', 'driver',
    driver.Scheduler, ', with a select_destinations method',
    'nova.scheduler.driver')


def load_driver(conf):
    """Return the configured driver, constructed.

    Raises ConfigurationError for a name that cannot be loaded, and for a
    driver that cannot be set up.
    """
    name = config.driver_name(conf)
    LOG.debug('Loading scheduler driver %s', name)
    classes.provide_names(conf)
    cls = driver_class(name, host_manager.host_manager_class(conf))
    return classes.set_up(lambda: _DRIVER.checked(cls(conf)), _DRIVER.option,
                          name)


def driver_class(name, hosts_class=host_manager.HostManager):
    """Return the driver class of an entry point name or a class path.

    A third party's class comes wrapped in the adapters that it needs.
    hosts_class: class of the host manager that the driver gets.
    Raises ConfigurationError when there is none, or when it is no driver.
    """
    return nova_compat.loaded().driver_class(
        _DRIVER.load(name), _DRIVER.option,
        has_foreign_hosts=not classes.is_built_in(hosts_class))
