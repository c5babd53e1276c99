"""The flavor: the amounts of resources of one instance."""

from nova_sched.objects import base
from nova_sched.objects import bounds
from nova_sched.objects import fields
from nova_sched.objects.fields import Field


def _short_text(value):
    text = fields.TEXT.read(value)
    fields.check_length(text, bounds.EXTRA_SPEC_TEXT)
    return text


_SHORT = fields.Kind(_short_text)


@base.Registry.register
class Flavor(base.NovaObject, base.DictCompat):
    """Sizes (memory_mb and swap in MiB, disks in GiB) and extra specs."""

    VERSION = '1.2'
    fields = {
        'id': Field(fields.SIZE),
        'name': Field(fields.TEXT, null=True),
        'memory_mb': Field(fields.SIZE),
        'vcpus': Field(fields.SIZE),
        'root_gb': Field(fields.SIZE),
        'ephemeral_gb': Field(fields.SIZE),
        'flavorid': Field(fields.TEXT),
        'swap': Field(fields.SIZE, unset=0),
        'rxtx_factor': Field(fields.FLOAT, null=True, unset=1.0),
        'vcpu_weight': Field(fields.SIZE, null=True),
        'disabled': Field(fields.BOOLEAN, unset=False),
        'is_public': Field(fields.BOOLEAN, unset=True),
        'extra_specs': Field(
            fields.dict_of(_SHORT, keys=_SHORT, most=bounds.EXTRA_SPECS),
            unset=dict),
        'projects': Field(fields.list_of(fields.TEXT), unset=list),
        'description': Field(fields.TEXT, null=True, since='1.2'),
        **fields.PERSISTENT,
    }
