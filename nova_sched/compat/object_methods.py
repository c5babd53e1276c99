"""Class methods of objects by which plug-ins look up hosts and instances.

They read the hosts of the request that the thread decides (current_hosts) and
no database, except for fields of instances.  ``add`` puts them on the classes
in ``nova_sched.objects``.  All raise current_hosts.NoCurrentHosts outside of
a request.
"""

from nova_sched import objects
from nova_sched.compat import current_hosts
from nova_sched.compat import nova_exception

_COMPUTE = {'topic': 'compute', 'binary': 'nova-compute'}
#: Filters of InstanceList.get_by_filters.
_FILTERS = frozenset(('deleted', 'host', 'project_id', 'uuid'))


class _AggregateList:
    """Aggregates with at least one host of the cloud."""

    @classmethod
    def get_all(cls, context):
        """Return all aggregates."""
        hosts = current_hosts.get('AggregateList.get_all')
        return cls(objects=hosts.aggregates())

    @classmethod
    def get_by_host(cls, context, host, key=None):
        """Return the aggregates of a host, if given with a metadata key."""
        hosts = current_hosts.get('AggregateList.get_by_host')
        return cls(objects=_with_key(hosts.aggregates_of(host), key))

    @classmethod
    def get_by_metadata_key(cls, context, key, hosts=None):
        """Return the aggregates with a metadata key.

        hosts: names; the aggregates contain at least one of them.
        """
        current = current_hosts.get('AggregateList.get_by_metadata_key')
        return cls(objects=[
            aggregate for aggregate in _with_key(current.aggregates(), key)
            if hosts is None or not {*hosts}.isdisjoint(aggregate.hosts)])

    @classmethod
    def get_by_metadata(cls, context, key=None, value=None):
        """Return the aggregates with a metadata item of this key and value.
        """
        hosts = current_hosts.get('AggregateList.get_by_metadata')
        return cls(objects=[
            aggregate for aggregate in hosts.aggregates()
            if any(key in (None, name) and value in (None, text)
                   for name, text in aggregate.metadata.items())])


class _ComputeNode:
    @classmethod
    def get_by_host_and_nodename(cls, context, host, nodename):
        """Return the node of a host by name.  Raises ComputeHostNotFound."""
        nodes = _nodes('ComputeNode.get_by_host_and_nodename', 'host', [host])
        return _known([node for node in nodes
                       if node.hypervisor_hostname == nodename],
                      f'{host}/{nodename}')[0]

    @classmethod
    def get_by_nodename(cls, context, hypervisor_hostname):
        """Return the node of a name.  Raises ComputeHostNotFound."""
        return _known(_nodes('ComputeNode.get_by_nodename', 'nodename',
                             [hypervisor_hostname]), hypervisor_hostname)[0]


class _ComputeNodeList:
    @classmethod
    def get_all(cls, context):
        """Return all nodes."""
        return cls.holding(_nodes('ComputeNodeList.get_all'))

    @classmethod
    def get_all_by_host(cls, context, host, use_slave=False):
        """Return the nodes of a host.  Raises ComputeHostNotFound without."""
        return cls.holding(_known(_nodes(
            'ComputeNodeList.get_all_by_host', 'host', [host]), host))

    @classmethod
    def get_by_hypervisor(cls, context, hypervisor_match):
        """Return the nodes whose name contains a text."""
        return cls.holding(
            node for node in _nodes('ComputeNodeList.get_by_hypervisor')
            if hypervisor_match in node.hypervisor_hostname)

    @classmethod
    def get_all_by_uuids(cls, context, compute_uuids):
        """Return the nodes with these uuids."""
        return cls.holding(_nodes('ComputeNodeList.get_all_by_uuids',
                                  'uuid', compute_uuids))


class _Instance:
    @classmethod
    def get_by_uuid(cls, context, uuid, expected_attrs=None, use_slave=False):
        """Return an instance of a host.

        Raises InstanceNotFound, DatabaseUnavailable.
        """
        instances = current_hosts.get('Instance.get_by_uuid').instances
        on_host = instances.on_host(instances.located([uuid]).get(uuid))
        if uuid not in on_host:
            raise nova_exception.InstanceNotFound(instance_id=uuid)
        return on_host[uuid]


class _InstanceList:
    """Instances of hosts, read once a request.

    The node of an instance that its host does not report yet is not known;
    the instance counts for each node of its host.
    The methods raise DatabaseUnavailable.
    """

    @classmethod
    def get_by_host(cls, context, host, expected_attrs=None, use_slave=False):
        """Return the instances of a host."""
        return cls.holding(_instances('InstanceList.get_by_host', host))

    @classmethod
    def get_by_host_and_node(cls, context, host, node, expected_attrs=None):
        """Return the instances of a node."""
        instances = _instances('InstanceList.get_by_host_and_node', host)
        return cls.holding(instance for instance in instances
                           if instance.node in (None, node))

    @classmethod
    def get_uuids_by_host(cls, context, host):
        """Return the uuids of the instances of a host: list."""
        return [instance.uuid for instance
                in _instances('InstanceList.get_uuids_by_host', host)]

    @classmethod
    def get_by_filters(cls, context, filters, sort_key='created_at',
                       sort_dir='desc', limit=None, marker=None,
                       expected_attrs=None, use_slave=False, sort_keys=None,
                       sort_dirs=None):
        """Return the instances that match all filters, ordered by a field.

        Instances without a value come last, or first in order ``desc``.
        filters: host, uuid and project_id, each a text or a list, and
            deleted, which must be false.
        Raises current_hosts.NotAnswered for other arguments.
        """
        _check_filters(filters, sort_key, marker=marker, sort_keys=sort_keys,
                       sort_dirs=sort_dirs)
        hosts = current_hosts.get('InstanceList.get_by_filters')
        accepted = {name: {value} if isinstance(value, str) else {*value}
                    for name, value in filters.items() if name != 'deleted'}
        names = accepted.get('host') or {
            state.host: None for state in hosts.states_of()}
        matching = [instance for host in sorted(names)
                    for instance in hosts.instances.on_host(host).values()
                    if all(getattr(instance, name) in values
                           for name, values in accepted.items())]
        if sort_key:
            matching.sort(key=lambda instance: _order(instance[sort_key]),
                          reverse=sort_dir == 'desc')
        return cls.holding(matching[:limit])


class _Service:
    @classmethod
    def get_by_compute_host(cls, context, host, use_slave=False):
        """Return the compute service of a host.  Raises ComputeHostNotFound.
        """
        return _known(_services('Service.get_by_compute_host',
                                'host', [host]), host)[0]


class _ServiceList:
    """Compute services, one a host.

    The methods raise current_hosts.NotAnswered for other kinds of services.
    """

    @classmethod
    def get_all(cls, context, disabled=None, set_zones=False):
        """Return all services, or only those that are disabled or enabled."""
        if set_zones:
            raise current_hosts.NotAnswered(
                'ServiceList.get_all returns no zones; nova.'
                'availability_zones.set_availability_zones(context, services) '
                'sets them')
        services = _services('ServiceList.get_all')
        return cls.holding(service for service in services
                           if disabled in (None, service.disabled))

    @classmethod
    def get_by_topic(cls, context, topic):
        """Return the enabled services."""
        _check_kind('ServiceList.get_by_topic', 'topic', topic)
        return cls.get_all(context, disabled=False)

    @classmethod
    def get_by_binary(cls, context, binary, include_disabled=False):
        """Return the enabled services, or all."""
        _check_kind('ServiceList.get_by_binary', 'binary', binary)
        return cls.get_all(context, None if include_disabled else False)

    @classmethod
    def get_by_host(cls, context, host):
        """Return the service of a host, or an empty list."""
        return cls.holding(_services('ServiceList.get_by_host',
                                     'host', [host]))


def _with_key(aggregates, key):
    return [aggregate for aggregate in aggregates
            if key is None or key in aggregate.metadata]


def _known(rows, host):
    """Return rows, or raise ComputeHostNotFound without any."""
    if not rows:
        raise nova_exception.ComputeHostNotFound(host=host)
    return rows


def _nodes(method, *named):
    """Return the nodes of the current hosts: list of ComputeNode."""
    hosts = current_hosts.get(method)
    return [state.node_object() for state in hosts.states_of(*named)]


def _services(method, *named):
    """Return the services of the current hosts, one a host: list."""
    hosts = current_hosts.get(method)
    return list({state.host: state.service_object() for state
                 in hosts.states_of(*named)}.values())


def _instances(method, host):
    """Return the instances of a host: list."""
    return [*current_hosts.get(method).instances.on_host(host).values()]


def _check_kind(method, name, value):
    if value != _COMPUTE[name]:
        raise current_hosts.NotAnswered(
            f'{method} returns compute services only, with {name} '
            f'{_COMPUTE[name]!r} and not {value!r}; only the Nova API knows '
            'the other services')


def _check_filters(filters, sort_key, **arguments):
    """Raise NotAnswered for an argument that get_by_filters cannot serve."""
    unknown = sorted(filters.keys() - _FILTERS) + [
        name for name, value in arguments.items() if value is not None]
    if sort_key and sort_key not in objects.Instance.fields:
        unknown.append(f'sort_key = {sort_key!r}')
    if not unknown and filters.get('deleted', True):
        unknown = ['deleted instances (add deleted: False to the filters)']
    if unknown:
        raise current_hosts.NotAnswered(
            f'InstanceList.get_by_filters has no {", ".join(unknown)}; it '
            f'filters by {", ".join(sorted(_FILTERS))}; filter the instances '
            'that it returns by the rest')


def _order(value):
    return value is None, value if value is not None else 0


def add():
    """Add the methods to the classes."""
    for source in (_AggregateList, _ComputeNode, _ComputeNodeList, _Instance,
                   _InstanceList, _Service, _ServiceList):
        cls = getattr(objects, source.__name__.removeprefix('_'))
        for name, method in vars(source).items():
            if isinstance(method, classmethod):
                setattr(cls, name, method)
