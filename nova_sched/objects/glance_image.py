"""Images as dicts in the form of Glance, from callers of the dict form.

Numbers may be texts, properties may have any name, and many current names of
properties have an older one.
"""

import re

from nova_sched import toml_files
from nova_sched.objects import bounds
from nova_sched.objects import fields
from nova_sched.objects import image_meta
from nova_sched.objects import numa

#: Old name of a property -> its current name.
OLD_NAMES = toml_files.read('image_properties.toml', __package__)[
    'old_names']
_NUMBERED = re.compile(r'(hw_numa_cpus|hw_numa_mem)\.([0-9]{1,4})')


def image_from_dict(image):
    """Return the ImageMeta of a dict or envelope; None for any other value.

    Raises MalformedError with the current name of the property.
    """
    if not isinstance(image, dict):
        return None
    if 'nova_object.name' in image:
        return image_meta.ImageMeta.from_envelope(image)
    properties = image.get('properties')
    if isinstance(properties, dict) and (
            'nova_object.name' not in properties):
        with fields.at('properties'):
            fields.check_most(properties, bounds.IMAGE_PROPERTIES)
            properties = image_meta.ImageMetaProps.from_dict(
                current_names(properties))
    return image_meta.ImageMeta.from_data(
        {**image, 'properties': properties}, image_meta.ImageMeta.VERSION)


def current_names(properties):
    """Return a dict of properties by their current names.

    Numbered properties become lists, required traits a list, too.
    Raises MalformedError for a malformed item of a list.
    """
    renamed, numbered, traits, current = {}, {}, [], {}
    for name, value in properties.items():
        match = isinstance(name, str) and _NUMBERED.fullmatch(name)
        if name in OLD_NAMES:
            renamed[OLD_NAMES[name]] = value
        elif name == 'vmware_adaptertype':
            renamed |= _adapter(value)
        elif match:
            numbered.setdefault(match[1], {})[int(match[2])] = (name, value)
        elif isinstance(name, str) and name.startswith('trait:'):
            if value == 'required':
                traits.append(name.removeprefix('trait:'))
        else:
            current[name] = value
    if traits:
        renamed['traits_required'] = sorted(traits)
    return renamed | _lists(numbered) | current


def _adapter(value):
    if value == 'ide':
        return {'hw_disk_bus': 'ide'}
    return {'hw_disk_bus': 'scsi', 'hw_scsi_model': value}


def _lists(numbered):
    """Return hw_numa_cpus.0, .1, ... as lists, up to the first gap."""
    lists = {}
    for target, by_number in numbered.items():
        values = []
        while len(values) in by_number and len(values) <= bounds.NUMA_CELLS:
            # An item more than allowed is kept: the reader refuses the list.
            name, value = by_number[len(values)]
            with fields.at(name):
                values.append(numa.parse_cpus(value)
                              if target == 'hw_numa_cpus'
                              else fields.SIZE.read(value))
        lists[target] = values
    return lists
