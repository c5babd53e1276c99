"""As ``nova.compute.api``: lookups of hosts and instances.

They read the hosts of the request, as Nova's objects do.  Methods that change
instances belong to Nova's API, and are refused.
"""

from nova_sched import objects
from nova_sched.compat import current_hosts
from nova_sched.compat import nova_exception


class NotOffered(current_hosts.NotAnswered, AttributeError):
    """A method that changes the cloud, or that only Nova's API needs."""


class LookupsOnly:
    """Takes any arguments; refuses a missing method by name."""

    MODULE = 'nova.compute.api'
    INSTEAD = "call Nova's API"

    def __init__(self, *args, **kwargs):
        pass

    def __getattr__(self, name):
        if name.startswith('_'):
            raise AttributeError(name)
        raise NotOffered(
            f'{self.MODULE}.{type(self).__name__}.{name} is not '
            f'offered in a scheduler: {self.INSTEAD}')


class API(LookupsOnly):
    """Instances.  Raises InstanceNotFound, current_hosts.NoCurrentHosts."""

    def get(self, context, instance_id, expected_attrs=None,
            cell_down_support=False, want_objects=True):
        """Return the Instance of a uuid."""
        return objects.Instance.get_by_uuid(context, instance_id)

    def get_all(self, context, search_opts=None, limit=None, marker=None,
                expected_attrs=None, sort_keys=None, sort_dirs=None):
        """Return the instances that match all options: InstanceList."""
        return objects.InstanceList.get_by_filters(
            context, {**(search_opts or {}), 'deleted': False}, limit=limit,
            marker=marker, sort_keys=sort_keys, sort_dirs=sort_dirs)

    def get_instance_metadata(self, context, instance):
        """Return an instance's metadata: dict of texts.

        instance: Instance, or a dict with its uuid.
        """
        try:
            if not isinstance(instance, objects.Instance):
                instance = self.get(context, instance['uuid'])
        except nova_exception.InstanceNotFound:
            return {}
        return dict(instance.metadata or {})


class HostAPI(LookupsOnly):
    """Hosts.  Raises ComputeHostNotFound, current_hosts.NoCurrentHosts."""

    def service_get_all(self, context, filters=None, set_zones=False,
                        all_cells=False, cell_down_support=False):
        """Return the compute services with these values: ServiceList."""
        found = objects.ServiceList.get_all(context, set_zones=set_zones)
        return type(found).holding(
            service for service in found
            if all(service[name] == value
                   for name, value in (filters or {}).items()))

    def service_get_by_compute_host(self, context, host_name):
        """Return the Service of a host."""
        return objects.Service.get_by_compute_host(context, host_name)

    def instance_get_all_by_host(self, context, host_name):
        """Return the instances on a host: InstanceList."""
        return objects.InstanceList.get_by_host(context, host_name)

    def compute_node_get_all(self, context, mapped=None):
        """Return all compute nodes: ComputeNodeList."""
        return objects.ComputeNodeList.get_all(context)
