"""The image an instance boots from, and its properties."""

from oslo_utils import strutils
from oslo_utils import versionutils

from nova_sched.objects import base
from nova_sched.objects import bounds
from nova_sched.objects import fields
from nova_sched.objects.fields import Field
from nova_sched.objects.fields import MalformedError

_ARCHITECTURES = (
    'aarch64 alpha armv6 armv7l armv7b cris i686 ia64 lm32 loongarch64 m68k '
    'microblaze microblazeel mips mipsel mips64 mips64el openrisc parisc '
    'parisc64 ppc ppcle ppc64 ppc64le ppcemb riscv64 s390 s390x sh sh4 sparc '
    'sparc64 unicore32 x86_64 xtensa xtensaeb')
_SHORT_X86 = dict.fromkeys(
    ('i386', 'i486', 'i586', 'x86_32', 'x86_32p'), 'i686')
_HYPERVISORS = (
    'baremetal bhyve docker fake hyperv ironic kqemu kvm lxc lxd openvz '
    'parallels phyp powervm qemu test uml vbox virtuozzo vmware vz xen '
    'zvm')

ARCHITECTURE = fields.one_of(
    _ARCHITECTURES.split(), {'amd64': 'x86_64', **_SHORT_X86}, lower=True)
HV_TYPE = fields.one_of(_HYPERVISORS.split(), {'xapi': 'xen'}, lower=True)
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
    return _MODELS.get(name, name)


_FLAG = fields.Kind(_read_flag, plain=bool)
_MODEL = fields.Kind(_read_model)
_MODELS = {
    'virtuale1000': 'e1000', 'virtuale1000e': 'e1000e',
    'virtualpcnet32': 'pcnet', 'virtualsriovethernetcard': 'sriov',
    'virtualvmxnet': 'vmxnet', 'virtualvmxnet3': 'vmxnet3',
    'lsilogicsas': 'lsisas1068', 'paravirtual': 'vmpvscsi'}
_FLAGS = (
    'hw_boot_menu hw_ipxe_boot hw_locked_memory hw_mem_encryption '
    'hw_ephemeral_encryption hw_firmware_stateless hw_pmu '
    'hw_qemu_guest_agent hw_time_hpet hw_vif_multiqueue_enabled '
    'hw_virtio_packed_ring img_bdm_v2 img_bittorrent img_cache_in_nova '
    'img_hide_hypervisor_id img_linked_clone img_use_agent '
    'os_require_quiesce os_skip_agent_inject_files_at_boot '
    'os_skip_agent_inject_ssh')
_NUMBERS = (
    'hw_cpu_cores hw_cpu_max_cores hw_cpu_max_sockets hw_cpu_max_threads '
    'hw_cpu_sockets hw_cpu_threads hw_device_id hw_redirected_usb_ports '
    'hw_serial_port_count hw_video_ram img_compression_level img_version')


def check_properties(properties):
    """Raise MalformedError for too many properties or too long texts.

    properties: dict of name -> value of any kind.
    """
    fields.check_most(properties, bounds.IMAGE_PROPERTIES)
    for name, value in properties.items():
        if len(str(name)) > bounds.IMAGE_PROPERTY_NAME:
            raise MalformedError(
                properties, f'has a name of {len(name)} characters, and must '
                f'have names of at most {bounds.IMAGE_PROPERTY_NAME}')
        if isinstance(value, str):
            fields.check_length(value, bounds.IMAGE_PROPERTY_TEXT, name)


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
        'hw_cpu_policy': Field(
            fields.one_of(('shared', 'dedicated', 'mixed'))),
        'hw_cpu_thread_policy': Field(
            fields.one_of(('prefer', 'isolate', 'require'))),
        'hw_cpu_realtime_mask': Field(fields.TEXT),
        'hw_mem_page_size': Field(fields.TEXT),
        'hw_numa_nodes': Field(fields.SIZE),
        'hw_numa_cpus': Field(fields.list_of(
            fields.set_of(fields.SIZE, bounds.CPU_NUMBER + 1),
            bounds.NUMA_CELLS)),
        'hw_numa_mem': Field(
            fields.list_of(fields.SIZE, bounds.NUMA_CELLS)),
        'hw_pci_numa_affinity_policy': Field(
            fields.one_of(('required', 'legacy', 'preferred', 'socket'))),
        'os_secure_boot': Field(
            fields.one_of(('required', 'disabled', 'optional'))),
        'hw_tpm_version': Field(fields.one_of(('1.2', '2.0'))),
        'hw_tpm_model': Field(fields.one_of(('tpm-tis', 'tpm-crb'))),
        'hw_mem_encryption_model': Field(fields.TEXT),
        'hw_maxphysaddr_mode': Field(
            fields.one_of(('passthrough', 'emulate'))),
        'hw_maxphysaddr_bits': Field(fields.SIZE),
        'hw_firmware_type': Field(fields.one_of(('bios', 'uefi'))),
        'hw_ephemeral_encryption_format': Field(fields.TEXT),
        'hw_sound_model': Field(fields.TEXT),
        'hw_cdrom_bus': Field(fields.TEXT),
        'hw_disk_bus': Field(fields.TEXT),
        'hw_video_model': Field(fields.TEXT),
        'hw_vif_model': Field(_MODEL),
        'hw_scsi_model': Field(_MODEL),
        'hw_emulation_architecture': Field(ARCHITECTURE),
        'hw_viommu_model': Field(fields.TEXT),
        'os_type': Field(fields.one_of(('linux', 'windows'), lower=True)),
        'traits_required': Field(fields.list_of(fields.NAME)),
        **{name: Field(_FLAG) for name in _FLAGS.split()},
        **{name: Field(fields.INTEGER) for name in _NUMBERS.split()},
    }

    @classmethod
    def from_data(cls, data, version):
        check_properties(data)
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
