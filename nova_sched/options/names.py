"""The driver, host manager and filters that the options name.

Kilo names drivers and host managers by class path, later releases by entry
point name; class paths of Nova's classes are converted into names here.
"""

from nova_sched.conf import filter_scheduler
from nova_sched.conf import placement

#: Class path below ``nova.scheduler.`` -> name.
DRIVERS = {
    'filter_scheduler.FilterScheduler': 'filter_scheduler',
    'caching_scheduler.CachingScheduler': 'caching_scheduler',
    'chance.ChanceScheduler': 'chance_scheduler',
}

#: Drivers that do not use Placement.
_WITHOUT_PLACEMENT = ('caching_scheduler', 'chance_scheduler')

#: The host manager for bare metal, which Nova removed in Rocky.
IRONIC_HOST_MANAGER = 'ironic_host_manager'

HOST_MANAGERS = {
    'host_manager.HostManager': 'host_manager',
    'ironic_host_manager.IronicHostManager': IRONIC_HOST_MANAGER,
}

_ROOTS = ('nova.scheduler.', 'nova_sched.scheduler.')


def _name(value, known):
    for root in _ROOTS:
        if value.startswith(root):
            return known.get(value.removeprefix(root), value)
    return value


def driver_name(conf):
    """Return the driver as an entry point name: text.

    Class paths of Nova's three drivers become their names; other values are
    returned as written, and looked up as a name or a class path.
    """
    return _name(conf.scheduler.driver, DRIVERS)


def host_manager_name(conf):
    """Return the host manager as an entry point name, like driver_name."""
    return _name(conf.scheduler.host_manager, HOST_MANAGERS)


def uses_baremetal_filters(conf):
    """Return whether baremetal_enabled_filters lists the filters to run."""
    return (conf.filter_scheduler.use_baremetal_filters
            and host_manager_name(conf) == IRONIC_HOST_MANAGER)


def asks_placement(conf):
    """Return whether [placement] is configured and the driver uses it."""
    return (placement.placement_configured(conf)
            and driver_name(conf) not in _WITHOUT_PLACEMENT)


def enabled_filters(conf):
    """Return the names of the filters that run, in order: list.

    As configured; unset, Queens' default list if Placement is used, else
    Mitaka's, which includes RamFilter and DiskFilter.
    """
    if uses_baremetal_filters(conf):
        return list(conf.filter_scheduler.baremetal_enabled_filters)
    configured = conf.filter_scheduler.enabled_filters
    if configured is not None:
        return list(configured)
    if asks_placement(conf):
        return list(filter_scheduler.PLACEMENT_FILTERS)
    return list(filter_scheduler.NO_PLACEMENT_FILTERS)
