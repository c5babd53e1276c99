"""Image properties as instances keep them: each a text, under any era's name.

Nova copies the properties of its image to an instance, as they are in Glance.
"""

from nova_sched.objects import fields
from nova_sched.objects import glance_image
from nova_sched.objects import image_meta
from nova_sched.objects.fields import MalformedError

#: Property -> further names to look under; * stands for any end of a name.
_ALSO = {
    'hw_disk_bus': ['vmware_adaptertype'],
    'hw_scsi_model': ['vmware_adaptertype'],
    'hw_numa_cpus': ['hw_numa_cpus.*'],
    'hw_numa_mem': ['hw_numa_mem.*'],
    'traits_required': ['trait:*'],
}
_KINDS = {bool: fields.BOOLEAN, int: fields.INTEGER, float: fields.FLOAT}


def names(wanted):
    """Return the names under which properties may be stored: sorted tuple.

    A name that ends in * stands for all that begin with the rest of it.
    """
    found = {*wanted}
    for name in wanted:
        found.update(_ALSO.get(name, ()))
    found.update(old for old, new in glance_image.OLD_NAMES.items()
                 if new in wanted)
    return tuple(sorted(found))


def typed(texts, like):
    """Return stored properties as the values they stand for: {name: value}.

    texts: {stored name: text}.
    like: {name: value} of the properties to read; a property that has no
        type of its own is read as one of the type of this value.
    What cannot be read is left out.
    """
    try:
        current = glance_image.current_names(texts)
    except MalformedError:
        current = glance_image.current_names(
            {name: text for name, text in texts.items() if '.' not in name})
    found = {}
    for name, value in current.items():
        if name in like:
            try:
                found[name] = _read(name, value, like[name])
            except MalformedError:
                continue
    return found


def _read(name, value, like):
    if name in image_meta.ImageMetaProps.fields:
        made = image_meta.ImageMetaProps.from_dict({name: value})
        return made.flat()[name]
    kind = _KINDS.get(type(like))
    return value if kind is None else kind.read(value)
