"""The cell of a host."""

from nova_sched.objects import base
from nova_sched.objects import fields
from nova_sched.objects.fields import Field


@base.Registry.register
class CellMapping(base.NovaObject):
    """A cell with its URLs, which contain passwords and are never shown."""

    VERSION = '1.1'
    HIDDEN = frozenset(('transport_url', 'database_connection'))
    fields = {
        'id': Field(fields.INTEGER),
        'uuid': Field(fields.NAME),
        'name': Field(fields.TEXT, null=True),
        'transport_url': Field(fields.SECRET),
        'database_connection': Field(fields.SECRET),
        'disabled': Field(fields.BOOLEAN, unset=False, since='1.1'),
        'created_at': Field(fields.DATETIME, null=True),
        'updated_at': Field(fields.DATETIME, null=True),
    }
