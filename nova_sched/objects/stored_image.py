"""Image properties in the system metadata of instances.

Nova copies the properties of the image from Glance to the instance. Each is a
text, under the name of any release.
"""

import contextlib

from nova_sched.objects import fields
from nova_sched.objects import glance_image
from nova_sched.objects import image_meta
from nova_sched.objects.fields import MalformedError

#: Property -> additional stored names; * matches any rest.
_ALSO = {
    'hw_disk_bus': ['vmware_adaptertype'],
    'hw_scsi_model': ['vmware_adaptertype'],
    'hw_numa_cpus': ['hw_numa_cpus.*'],
    'hw_numa_mem': ['hw_numa_mem.*'],
    'traits_required': ['trait:*'],
}
_KINDS = {bool: fields.BOOLEAN, int: fields.INTEGER, float: fields.FLOAT}


def names(properties):
    """Return the stored names of properties: sorted tuple.

    A final * in a name matches any rest.
    """
    return tuple(sorted({
        *properties, *(other for name in properties
                       for other in _ALSO.get(name, ())),
        *(old for old, new in glance_image.OLD_NAMES.items()
          if new in properties)}))


def typed(texts, like):
    """Return the values of stored properties: {name: value}.

    texts: {stored name: text}.
    like: {name: value} of the properties to read; a property without a known
        type gets the type of this value.
    Invalid values are left out.
    """
    try:
        current = glance_image.current_names(texts)
    except MalformedError:
        current = glance_image.current_names(
            {name: text for name, text in texts.items() if '.' not in name})
    values = {}
    for name, value in current.items():
        if name in like:
            with contextlib.suppress(MalformedError):
                values[name] = _read(name, value, like[name])
    return values


def _read(name, value, like):
    if name in image_meta.ImageMetaProps.fields:
        return image_meta.ImageMetaProps.from_dict({name: value}).flat()[name]
    kind = _KINDS.get(type(like))
    return value if kind is None else kind.read(value)
