"""As ``nova.availability_zones``: in which zone a host is.

Answered from the hosts of the request, without asking the database.
"""

from nova_sched.objects import aggregate
from nova_sched.plugins.nova.conf import CONF

_KEY = 'availability_zone'


def get_host_availability_zone(context, host, conductor_api=None):
    """The zone of the host of that name: text.

    Where no aggregate tells one, [DEFAULT] default_availability_zone.
    Raises at_hand.NothingAtHand.
    """
    for found in aggregate.AggregateList.get_by_host(context, host, _KEY):
        return found.availability_zone
    return CONF.default_availability_zone


def get_instance_availability_zone(context, instance):
    """The zone that an instance is in, by its host; else that it asks for.

    instance: an object, or a dict.
    Raises at_hand.NothingAtHand.
    """
    host = instance.get('host')
    return (get_host_availability_zone(context, host) if host
            else instance.get(_KEY))
