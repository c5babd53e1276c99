"""Compute services, for lookups of plug-ins."""

from nova_sched.compat import current_hosts
from nova_sched.compat import nova_exception
from nova_sched.objects import base
from nova_sched.objects import fields
from nova_sched.objects.fields import Field

_COMPUTE = {'topic': 'compute', 'binary': 'nova-compute'}


@base.Registry.register
class Service(base.NovaObject, base.DictCompat):
    """A row of services."""

    VERSION = '1.22'
    fields = {
        'id': Field(fields.INTEGER),
        'uuid': Field(fields.NAME, null=True, since='1.21'),
        'host': Field(fields.NAME, null=True),
        'binary': Field(fields.TEXT, null=True),
        'topic': Field(fields.TEXT, null=True),
        'report_count': Field(fields.INTEGER),
        'disabled': Field(fields.BOOLEAN, unset=False),
        'disabled_reason': Field(fields.TEXT, null=True),
        'forced_down': Field(fields.BOOLEAN, unset=False),
        'last_seen_up': Field(fields.DATETIME, null=True),
        'version': Field(fields.INTEGER),
        **fields.PERSISTENT,
    }

    @classmethod
    def get_by_compute_host(cls, context, host, use_slave=False):
        """Return the service of one of the current hosts.

        Raises ComputeHostNotFound, current_hosts.NoCurrentHosts.
        """
        for service in _of(current_hosts.get('Service.get_by_compute_host'),
                           'host', [host]):
            return service
        raise nova_exception.ComputeHostNotFound(host=host)


@base.Registry.register
class ServiceList(base.NovaObjectList):
    """Services; see Service.

    The class methods, which plug-ins call, return the compute services of the
    current hosts, one per host.
    They raise current_hosts.NoCurrentHosts, and NotAnswered for other kinds
    of services.
    """

    VERSION = '1.19'
    fields = fields.objects_of(Service)

    @classmethod
    def get_all(cls, context, disabled=None, set_zones=False):
        """Return all services.

        disabled: only disabled services if true, only enabled ones if false.
        """
        if set_zones:
            raise current_hosts.NotAnswered(
                'ServiceList.get_all sets no zones; nova.availability_zones.'
                'set_availability_zones(context, services) does')
        return cls.holding(
            service for service
            in _of(current_hosts.get('ServiceList.get_all'))
            if disabled in (None, service.disabled))

    @classmethod
    def get_by_topic(cls, context, topic):
        """Return the enabled services of a topic."""
        _check_kind('ServiceList.get_by_topic', 'topic', topic)
        return cls.get_all(context, disabled=False)

    @classmethod
    def get_by_binary(cls, context, binary, include_disabled=False):
        """Return the enabled services of a binary, or all."""
        _check_kind('ServiceList.get_by_binary', 'binary', binary)
        return cls.get_all(context, None if include_disabled else False)

    @classmethod
    def get_by_host(cls, context, host):
        """Return a list with the service of a host, or an empty list."""
        return cls.holding(_of(current_hosts.get('ServiceList.get_by_host'),
                               'host', [host]))


def _of(hosts, *named):
    """Return the services of hosts, one per host: list."""
    return list({state.host: state.service_object() for state
                 in hosts.states_of(*named)}.values())


def _check_kind(caller, name, value):
    if value != _COMPUTE[name]:
        raise current_hosts.NotAnswered(
            f'{caller} returns only compute services, of {name} '
            f"{_COMPUTE[name]!r} and not {value!r}: query Nova's API for "
            'other kinds')
