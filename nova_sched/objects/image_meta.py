"""The image an instance boots from, and its properties."""

from oslo_utils import strutils
from oslo_utils import versionutils

from nova_sched import toml_files
from nova_sched.objects import base
from nova_sched.objects import bounds
from nova_sched.objects import fields
from nova_sched.objects.fields import Field
from nova_sched.objects.fields import MalformedError

_TABLE = toml_files.read('image_properties.toml', __package__)
#: Nova's properties without a type here.
UNTYPED = _TABLE['untyped']
_SHORT_X86 = dict.fromkeys(
    ('i386', 'i486', 'i586', 'x86_32', 'x86_32p'), 'i686')

ARCHITECTURE = fields.one_of(
    _TABLE['architectures'], {'amd64': 'x86_64', **_SHORT_X86}, lower=True)
HV_TYPE = fields.one_of(_TABLE['hypervisors'], {'xapi': 'xen'}, lower=True)
VM_MODE = fields.one_of(
    ('hvm', 'xen', 'uml', 'exe'),
    {'pv': 'xen', 'hv': 'hvm', 'baremetal': 'hvm'}, lower=True)


def _read_predicate(value):
    text = fields.TEXT.read(value)
    conditions = text.count(',') + 1
    if conditions > bounds.VERSION_CONDITIONS:
        raise MalformedError(value, f'has {conditions} conditions, and must '
                             f'have at most {bounds.VERSION_CONDITIONS}')
    try:
        if text.strip():
            versionutils.VersionPredicate(text)
    except ValueError:
        raise MalformedError(value, 'must be version conditions such as '
                             '>=6.0,<6.2') from None
    return text


def _read_flag(value):
    """Return a boolean; text counts as false unless it means true."""
    if isinstance(value, (dict, list)):
        raise MalformedError(value, 'must be true or false')
    return strutils.bool_from_string(value)


def _read_model(value):
    """Return the name of a device model, also for VMware's name."""
    name = fields.TEXT.read(value).lower()
    return _TABLE['models'].get(name, name)


#: Types of values -> Kind.
_KINDS = {'texts': fields.TEXT, 'sizes': fields.SIZE,
          'integers': fields.INTEGER, 'models': fields.Kind(_read_model),
          'flags': fields.Kind(_read_flag, plain=bool)}


@base.Registry.register
class ImageMetaProps(base.NovaObject):
    """Properties of an image: typed if listed below, else unchanged.

    An unset property is None, as an attribute and in ``get``.
    """

    VERSION = '1.44'
    fields = {
        'hw_architecture': Field(ARCHITECTURE),
        'img_hv_type': Field(HV_TYPE),
        'hw_vm_mode': Field(VM_MODE),
        'img_hv_requested_version': Field(fields.Kind(_read_predicate)),
        'hw_numa_cpus': Field(fields.list_of(
            fields.set_of(fields.SIZE, bounds.CPU_NUMBER + 1),
            bounds.NUMA_CELLS)),
        'hw_numa_mem': Field(
            fields.list_of(fields.SIZE, bounds.NUMA_CELLS)),
        'hw_emulation_architecture': Field(ARCHITECTURE),
        'os_type': Field(fields.one_of(('linux', 'windows'), lower=True)),
        'traits_required': Field(fields.list_of(fields.NAME)),
        **{name: Field(fields.one_of(choices))
           for name, choices in _TABLE['choices'].items()},
        **{name: Field(_KINDS[kind])
           for kind, names in _TABLE['types'].items() for name in names},
    }

    @classmethod
    def from_data(cls, data, version):
        """See NovaObject; refuses too many properties and too long texts."""
        fields.check_most(data, bounds.IMAGE_PROPERTIES)
        for name, value in data.items():
            if len(str(name)) > bounds.IMAGE_PROPERTY_NAME:
                raise MalformedError(
                    data, f'has a name of {len(name)} characters, and must '
                    f'have names of at most {bounds.IMAGE_PROPERTY_NAME}')
            if isinstance(value, str):
                fields.check_length(value, bounds.IMAGE_PROPERTY_TEXT, name)
        return super().from_data(data, version)

    @classmethod
    def from_dict(cls, properties):
        """Return the properties of a dict with current names.

        Raises MalformedError, which names the property.
        """
        return cls.from_data(properties, cls.VERSION)

    def get(self, name, default=None):
        """Return the property of a name, or the default if it is unset."""
        if name in self.fields:
            return self.__dict__.get(f'_obj_{name}', default)
        return self._others().get(name, default)

    def flat(self):
        """Return all set properties: name -> value."""
        return super().flat() | self._others()

    def obj_attr_is_set(self, attrname):
        """Return whether the image has a property of any name."""
        return (f'_obj_{attrname}' in self.__dict__
                or attrname in self._others())

    def _others(self):
        return self.__dict__.get('_unknown') or {}

    def __getattr__(self, name):
        if name.startswith('_'):
            raise AttributeError(name)
        return self._others().get(name)


@base.Registry.register
class ImageMeta(base.NovaObject):
    """An image; all fields may be unset, as for volumes.

    min_ram in MiB, min_disk in GiB, size in bytes.
    """

    VERSION = '1.8'
    fields = {
        'id': Field(fields.NAME, null=True),
        'name': Field(fields.TEXT, null=True),
        'status': Field(fields.TEXT, null=True),
        'visibility': Field(fields.TEXT, null=True),
        'protected': Field(fields.BOOLEAN, null=True),
        'checksum': Field(fields.TEXT, null=True),
        'owner': Field(fields.TEXT, null=True),
        'size': Field(fields.BIG_SIZE, null=True),
        'virtual_size': Field(fields.BIG_SIZE, null=True),
        'container_format': Field(fields.TEXT, null=True),
        'disk_format': Field(fields.TEXT, null=True),
        'created_at': Field(fields.DATETIME, null=True),
        'updated_at': Field(fields.DATETIME, null=True),
        'tags': Field(fields.list_of(fields.TEXT), unset=list),
        'direct_url': Field(fields.TEXT, null=True),
        'min_ram': Field(fields.SIZE, null=True),
        'min_disk': Field(fields.SIZE, null=True),
        'properties': Field(fields.nested(ImageMetaProps),
                            unset=ImageMetaProps),
    }
