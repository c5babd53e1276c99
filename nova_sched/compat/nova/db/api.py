"""As ``nova.db.api``: lookups in the hosts of the request.

They query no database; the arguments context, columns_to_join and use_slave
are ignored. Rows are objects that are also dicts; functions raise as the class
methods of objects do, such as current_hosts.NoCurrentHosts.
"""

import collections

from nova_sched import objects
from nova_sched.compat.nova import exception

#: Prefix of functions' names -> the class with their look-ups.
_LISTS = {'aggregate': objects.AggregateList,
          'compute_node': objects.ComputeNodeList,
          'instance': objects.InstanceList, 'service': objects.ServiceList}


def aggregate_get(context, aggregate_id):
    """Return the aggregate of that id.  Raises AggregateNotFound."""
    for aggregate in objects.AggregateList.get_all(context):
        if aggregate.id == aggregate_id:
            return aggregate
    raise exception.AggregateNotFound(aggregate_id=aggregate_id)


def aggregate_get_all(context):
    """Return all aggregates: list."""
    return list(objects.AggregateList.get_all(context))


def aggregate_get_by_host(context, host, key=None):
    """Return the aggregates of a host, those with a key of metadata: list."""
    return list(objects.AggregateList.get_by_host(context, host, key))


def aggregate_get_by_metadata_key(context, key):
    """Return the aggregates with a key of metadata: list."""
    return list(objects.AggregateList.get_by_metadata_key(context, key))


def aggregate_host_get_all(context, aggregate_id):
    """Return the names of an aggregate's hosts: list.  Raises
    AggregateNotFound.
    """
    return list(aggregate_get(context, aggregate_id).hosts)


def aggregate_metadata_get(context, aggregate_id):
    """Return an aggregate's metadata: dict of texts.  Raises
    AggregateNotFound.
    """
    return dict(aggregate_get(context, aggregate_id).metadata)


def aggregate_metadata_get_by_host(context, host, key=None):
    """Return the metadata of a host's aggregates, of one key if it is given.

    Returns {key: set of texts as they were written}, in which any other key
    reads as an empty set.
    """
    return _together(aggregate_get_by_host(context, host, key), key)


def aggregate_metadata_get_by_metadata_key(context, aggregate_id, key):
    """Return one key of an aggregate's metadata: {key: set of texts}.

    Raises AggregateNotFound.
    """
    return _together([aggregate_get(context, aggregate_id)], key)


def _together(aggregates, key):
    found = collections.defaultdict(set)
    for aggregate in aggregates:
        for name, value in aggregate.metadata.items():
            if key in (None, name):
                found[name].add(value)
    return found


def instance_get_all(context, columns_to_join=None):
    """Return the instances on all hosts: list of Instance."""
    return instance_get_all_by_filters(context, {'deleted': False})


def instance_get_all_by_filters(context, filters, *args, **kwargs):
    """As InstanceList.get_by_filters, with its arguments: list."""
    kwargs.pop('columns_to_join', None)
    return list(objects.InstanceList.get_by_filters(
        context, filters, *args, **kwargs))


def instance_get_all_by_host(context, host, columns_to_join=None,
                             use_slave=False):
    """Return the instances on a host: list."""
    return list(objects.InstanceList.get_by_host(context, host))


def instance_get_all_by_host_and_node(context, host, node,
                                      columns_to_join=None):
    """Return the instances on a node of a host: list."""
    return list(objects.InstanceList.get_by_host_and_node(context, host, node))


def instance_get_by_uuid(context, uuid, columns_to_join=None,
                         use_slave=False):
    """Return an instance on one of the hosts.  Raises InstanceNotFound."""
    return objects.Instance.get_by_uuid(context, uuid)


def compute_node_get_all(context, no_date_fields=False):
    """Return all compute nodes: list of ComputeNode."""
    return list(objects.ComputeNodeList.get_all(context))


def compute_node_get_all_by_host(context, host, use_slave=False):
    """Return the nodes of a host: list.  Raises ComputeHostNotFound."""
    return list(objects.ComputeNodeList.get_all_by_host(context, host))


def compute_node_get_by_host_and_nodename(context, host, nodename):
    """Return the node of both names.  Raises ComputeHostNotFound."""
    return objects.ComputeNode.get_by_host_and_nodename(
        context, host, nodename)


def compute_node_search_by_hypervisor(context, hypervisor_match):
    """Return the nodes with a text in their name: list."""
    return list(objects.ComputeNodeList.get_by_hypervisor(
        context, hypervisor_match))


def service_get(context, service_id, use_slave=False):
    """Return the compute service of that id.  Raises ServiceNotFound."""
    for service in objects.ServiceList.get_all(context):
        if service.id == service_id:
            return service
    raise exception.ServiceNotFound(service_id=service_id)


def service_get_all(context, disabled=None):
    """Return all compute services, or the disabled or enabled ones: list."""
    return list(objects.ServiceList.get_all(context, disabled))


def service_get_all_by_binary(context, binary):
    """Return the enabled services of ``nova-compute``: list."""
    return list(objects.ServiceList.get_by_binary(context, binary))


def service_get_all_by_host(context, host):
    """Return the services of a host, one at most: list."""
    return list(objects.ServiceList.get_by_host(context, host))


def service_get_all_by_topic(context, topic):
    """Return the enabled services of topic ``compute``: list."""
    return list(objects.ServiceList.get_by_topic(context, topic))


def service_get_by_compute_host(context, host, use_slave=False):
    """Return the service of a host.  Raises ComputeHostNotFound."""
    return objects.Service.get_by_compute_host(context, host)


def __getattr__(name):
    instead = next((
        f'; objects.{known.__name__} has the lookups'
        for table, known in _LISTS.items() if name.startswith(table)), '')
    raise AttributeError(
        f'nova.db.{name} is not offered, because plug-ins query no database '
        f'here{instead}; doc/source/plugins.rst says which names are')
