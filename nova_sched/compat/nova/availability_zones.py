"""As ``nova.availability_zones``: the zones of hosts.

Read from the hosts of the request, without a query to the database.
"""

from nova_sched.compat.nova.conf import CONF
from nova_sched.objects import aggregate
from nova_sched.objects import service

_KEY = 'availability_zone'


def get_host_availability_zone(context, host, conductor_api=None):
    """Return the zone of the host of that name: text.

    Without a zone in its aggregates, [DEFAULT] default_availability_zone.
    Raises current_hosts.NoCurrentHosts.
    """
    for found in aggregate.AggregateList.get_by_host(context, host, _KEY):
        return found.availability_zone
    return CONF.default_availability_zone


def get_instance_availability_zone(context, instance):
    """Return the zone of an instance: its host's, or the requested one: text.

    instance: an object, or a dict.
    Raises current_hosts.NoCurrentHosts.
    """
    host = instance.get('host')
    return (get_host_availability_zone(context, host) if host
            else instance.get(_KEY))


def get_availability_zones(context, *args, get_only_available=False,
                           with_hosts=False, hostapi=None, services=None):
    """Return the zones with an enabled host, and the other zones: two lists.

    args: get_only_available and with_hosts, after a host API since Rocky.
    get_only_available: whether to return only the first list.
    with_hosts: whether to return pairs of the zone and a set of its hosts,
        enabled or not, instead of the zone's name.
    Raises current_hosts.NoCurrentHosts.
    """
    flags = args if isinstance(next(iter(args), None), bool) else args[1:]
    only, hosts = (*flags, *(get_only_available, with_hosts)[len(flags):])[:2]
    up, down = (
        _by_zone(context, service.ServiceList.get_all(context, disabled))
        for disabled in (False, True))
    found = [_shown(up, hosts), _shown(
        {zone: down[zone] for zone in down.keys() - up.keys()}, hosts)]
    return found[0] if only else tuple(found)


def _by_zone(context, services):
    found = {}
    for row in set_availability_zones(context, services):
        found.setdefault(row[_KEY], set()).add(row['host'])
    return found


def _shown(zones, with_hosts):
    return sorted(zones.items()) if with_hosts else sorted(zones)


def set_availability_zones(context, services):
    """Return services as dicts with their zone: list.

    services: Service, or dicts.  The zone of other than compute services is
    [DEFAULT] internal_service_availability_zone.
    Raises current_hosts.NoCurrentHosts.
    """
    return [{**row, _KEY: (
        get_host_availability_zone(context, row['host'])
        if row.get('topic') == 'compute'
        else CONF.internal_service_availability_zone)} for row in (
        dict(one.items()) for one in services)]


def update_host_availability_zone_cache(context, host,
                                        availability_zone=None):
    """Do nothing: there is no such cache."""


def reset_cache():
    """Do nothing: there is no such cache."""
