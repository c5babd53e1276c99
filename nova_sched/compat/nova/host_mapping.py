"""The mapping of a host to its cell, for lookups by plug-ins."""

from nova_sched import exception
from nova_sched.compat import current_hosts
from nova_sched.objects import base
from nova_sched.objects import cell_mapping
from nova_sched.objects import fields
from nova_sched.objects.fields import Field


@base.Registry.register
class HostMapping(base.NovaObject):
    """A host's name and cell."""

    VERSION = '1.0'
    fields = {
        'id': Field(fields.INTEGER),
        'host': Field(fields.NAME),
        'cell_mapping': Field(fields.nested(cell_mapping.CellMapping)),
        'created_at': Field(fields.DATETIME, null=True),
        'updated_at': Field(fields.DATETIME, null=True),
    }

    @classmethod
    def get_by_host(cls, context, host):
        """Return the mapping of a host of the current request.

        Its cell has only a uuid.
        Raises HostMappingNotFound, current_hosts.NoCurrentHosts.
        """
        uuid = current_hosts.get('HostMapping.get_by_host').cell_of(host)
        if uuid is None:
            raise exception.HostMappingNotFound(name=host)
        return cls(host=host,
                   cell_mapping=cell_mapping.CellMapping(uuid=uuid))
