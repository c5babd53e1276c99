"""Instances, as in messages of compute services and lookups of plug-ins."""

from nova_sched.compat import current_hosts
from nova_sched.compat import nova_exception
from nova_sched.objects import base
from nova_sched.objects import fields
from nova_sched.objects import flavor
from nova_sched.objects import numa
from nova_sched.objects import pci
from nova_sched.objects.fields import Field

_TEXTS = fields.dict_of(fields.TEXT, null=True)
#: Supported filters of ``get_by_filters``.
_FILTERS = frozenset(('deleted', 'host', 'project_id', 'uuid'))

_LAZY_TEXT = Field(fields.TEXT, null=True, lazy=True)
_LAZY_TIME = Field(fields.DATETIME, null=True, lazy=True)
_LAZY_FLAVOR = Field(fields.nested(flavor.Flavor), null=True, lazy=True)


@base.Registry.register
class Instance(base.NovaObject, base.DictCompat):
    """The fields of an instance that matter for scheduling.

    memory_mb in MiB, disks in GiB.  Kilo sends version 1.x, later releases
    2.x.
    Lazy fields of an instance on a host are read from the database at their
    first use, which may raise DatabaseUnavailable.
    """

    VERSION = '2.8'
    MAJORS = (1, 2)
    SHARED = base.NovaObject.SHARED | {'_kept'}
    fields = {
        'id': Field(fields.INTEGER),
        'uuid': Field(fields.NAME),
        'host': Field(fields.NAME, null=True),
        'node': Field(fields.NAME, null=True),
        'project_id': Field(fields.TEXT, null=True),
        'user_id': Field(fields.TEXT, null=True),
        'vm_state': Field(fields.TEXT, null=True),
        'task_state': Field(fields.TEXT, null=True),
        'memory_mb': Field(fields.INTEGER, null=True),
        'vcpus': Field(fields.INTEGER, null=True),
        'root_gb': Field(fields.INTEGER, null=True),
        'ephemeral_gb': Field(fields.INTEGER, null=True),
        'instance_type_id': Field(fields.INTEGER, null=True),
        'flavor': _LAZY_FLAVOR,
        'old_flavor': _LAZY_FLAVOR,
        'new_flavor': _LAZY_FLAVOR,
        'image_ref': Field(fields.TEXT, null=True),
        'system_metadata': Field(_TEXTS, null=True, unset=dict, lazy=True),
        'metadata': Field(_TEXTS, null=True, unset=dict, lazy=True),
        'numa_topology': Field(fields.nested(numa.InstanceNUMATopology),
                               null=True, lazy=True),
        'pci_requests': Field(fields.nested(pci.InstancePCIRequests),
                              null=True, lazy=True),
        'power_state': Field(fields.INTEGER, null=True, lazy=True),
        'os_type': _LAZY_TEXT,
        'availability_zone': _LAZY_TEXT,
        'display_name': _LAZY_TEXT,
        'hostname': _LAZY_TEXT,
        'created_at': _LAZY_TIME,
        'launched_at': _LAZY_TIME,
        'updated_at': _LAZY_TIME,
    }

    @classmethod
    def on_host(cls, row, kept=None):
        """Return an instance with these fields, which are not checked.

        row: dict.  kept: object with ``of(uuid, name)``, which returns the
            value of a lazy field, or None.
        """
        obj = cls.known(row)
        obj.__dict__['_kept'] = kept
        return obj

    @classmethod
    def get_by_uuid(cls, context, uuid, expected_attrs=None, use_slave=False):
        """Return the instance of a uuid on the current hosts.

        Raises InstanceNotFound, DatabaseUnavailable,
        current_hosts.NoCurrentHosts.
        """
        instances = current_hosts.get('Instance.get_by_uuid').instances
        on_host = instances.on_host(instances.located([uuid]).get(uuid))
        if uuid not in on_host:
            raise nova_exception.InstanceNotFound(instance_id=uuid)
        return on_host[uuid]

    def obj_load_attr(self, attrname):
        """Read an unset lazy field of an instance on a host."""
        kept = self.__dict__.get('_kept')
        if kept is None:
            return
        value = kept.of(self.uuid, attrname)
        if value is None and callable(self.fields[attrname].unset):
            value = self.fields[attrname].unset()
        self.__dict__[f'_obj_{attrname}'] = value

    def get_flavor(self, namespace=None):
        """Return the Flavor, or None.

        namespace: ``old`` or ``new`` for the flavors of a resize.
        """
        return getattr(self, f'{namespace}_flavor' if namespace else 'flavor')


@base.Registry.register
class InstanceList(base.NovaObjectList):
    """Instances; see Instance.

    The class methods, which plug-ins call, return instances on the current
    hosts, which are read once per request. The node of an instance that its
    host does not report yet is unknown, and matches all nodes of the host.
    They raise DatabaseUnavailable, current_hosts.NoCurrentHosts.
    """

    VERSION = '2.6'
    MAJORS = (1, 2)
    fields = fields.objects_of(Instance)

    @classmethod
    def get_by_host(cls, context, host, expected_attrs=None, use_slave=False):
        """Return the instances on a host."""
        return cls.holding(_on(host, 'InstanceList.get_by_host'))

    @classmethod
    def get_by_host_and_node(cls, context, host, node, expected_attrs=None):
        """Return the instances on a node of a host."""
        return cls.holding(
            instance for instance
            in _on(host, 'InstanceList.get_by_host_and_node')
            if instance.node in (None, node))

    @classmethod
    def get_uuids_by_host(cls, context, host):
        """Return the uuids of the instances on a host: list."""
        return [instance.uuid for instance
                in _on(host, 'InstanceList.get_uuids_by_host')]

    @classmethod
    def get_by_filters(cls, context, filters, sort_key='created_at',
                       sort_dir='desc', limit=None, marker=None,
                       expected_attrs=None, use_slave=False, sort_keys=None,
                       sort_dirs=None):
        """Return the instances that match all filters.

        Instances without a value of ``sort_key`` come first.
        filters: host, uuid and project_id, each a text or a list, and
            deleted, which must be false.
        Raises current_hosts.NotAnswered for other filters.
        """
        _check(filters, sort_key, marker=marker, sort_keys=sort_keys,
               sort_dirs=sort_dirs)
        hosts = current_hosts.get('InstanceList.get_by_filters')
        criteria = {name: {value} if isinstance(value, str) else {*value}
                    for name, value in filters.items() if name != 'deleted'}
        names = criteria.get('host') or {
            state.host: None for state in hosts.states_of()}
        instances = [instance for host in sorted(names)
                     for instance in hosts.instances.on_host(host).values()
                     if all(getattr(instance, name) in values
                            for name, values in criteria.items())]
        if sort_key:
            instances.sort(key=lambda instance: _order(instance[sort_key]),
                           reverse=sort_dir == 'desc')
        return cls.holding(instances[:limit])


def _on(host, caller):
    """Return the instances on one of the current hosts: list."""
    return [*current_hosts.get(caller).instances.on_host(host).values()]


def _check(filters, sort_key, **arguments):
    """Raise NotAnswered for unsupported filters and arguments."""
    unknown = sorted(filters.keys() - _FILTERS) + [
        name for name, value in arguments.items() if value is not None]
    if sort_key and sort_key not in Instance.fields:
        unknown.append(f'sort_key = {sort_key!r}')
    if not unknown and filters.get('deleted', True):
        unknown = ['deleted instances (add deleted: False to the filters)']
    if unknown:
        raise current_hosts.NotAnswered(
            f'InstanceList.get_by_filters knows no {", ".join(unknown)}: it '
            f'goes by {", ".join(sorted(_FILTERS))}; go through the '
            'instances that it answers with for the rest')


def _order(value):
    return value is None, value if value is not None else 0
