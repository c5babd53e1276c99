"""Where a request wants to go."""

from nova_sched.objects import base
from nova_sched.objects import bounds
from nova_sched.objects import cell_mapping
from nova_sched.objects import fields
from nova_sched.objects.fields import Field


@base.Registry.register
class Destination(base.NovaObject):
    """A host, node, cell or aggregates that the request is bound to.

    "Has a host" means that the field is set.  Each entry of ``aggregates``
    is a comma-joined list of aggregate uuids of which one must fit; all
    entries must be met.
    """

    VERSION = '1.4'
    fields = {
        'host': Field(fields.NAME),
        'node': Field(fields.NAME, null=True),
        'cell': Field(fields.nested(cell_mapping.CellMapping), null=True,
                      since='1.1'),
        'aggregates': Field(
            fields.list_of(fields.NAME, bounds.GROUP_NAMES), null=True,
            since='1.2'),
        'allow_cross_cell_move': Field(fields.BOOLEAN, unset=False,
                                       since='1.3'),
        'forbidden_aggregates': Field(
            fields.set_of(fields.NAME, bounds.GROUP_NAMES), null=True,
            since='1.4'),
    }
