"""The requirements of a request's flavor and image on its host.

1. ``FlavorImageRequirements`` reads extra specs and image properties, and
   checks whether they agree.
2. ``add_devices`` adds the traits and resource classes for the guest's virtual
   hardware.
3. ``pins`` returns the resources and traits for dedicated CPUs.

For keys and values see Nova's flavor extra specs and image properties (User
guide, "CPU topologies").  Traits are from os-traits.
"""

import collections
import typing

import os_resource_classes as classes
import os_traits
from oslo_log import log as logging
from oslo_utils import strutils

from nova_sched import objects
from nova_sched.objects.fields import MalformedError
from nova_sched.objects.numa import parse_cpus

LOG = logging.getLogger(__name__)

_MODEL = 'hw:mem_encryption_model'
_MODELS = {'amd-sev': os_traits.HW_CPU_X86_AMD_SEV,
           'amd-sev-es': os_traits.HW_CPU_X86_AMD_SEV_ES,
           'amd-sev-snp': os_traits.HW_CPU_X86_AMD_SEV_SNP,
           'intel-tdx': os_traits.HW_CPU_X86_INTEL_TDX}
_STATELESS_MODELS = ('amd-sev-snp', 'intel-tdx')
_TPM_VERSIONS = {'1.2': os_traits.COMPUTE_SECURITY_TPM_1_2,
                 '2.0': os_traits.COMPUTE_SECURITY_TPM_2_0}
_TPM_MODELS = {'tpm-tis': os_traits.COMPUTE_SECURITY_TPM_TIS,
               'tpm-crb': os_traits.COMPUTE_SECURITY_TPM_CRB}

#: Extra spec -> trait that each of its values requires, and text for the log.
_TRAITS = {
    'hw:pci_numa_affinity_policy': (
        {'required': None, 'legacy': None, 'preferred': None,
         'socket': os_traits.COMPUTE_SOCKET_PCI_NUMA_AFFINITY},
        "Requiring 'socket' PCI NUMA affinity support via trait %s."),
    'os:secure_boot': (
        {'required': os_traits.COMPUTE_SECURITY_UEFI_SECURE_BOOT,
         'disabled': None, 'optional': None},
        'Requiring secure boot support via trait %s.'),
    'hw:maxphysaddr_mode': (
        {'passthrough': os_traits.COMPUTE_ADDRESS_SPACE_PASSTHROUGH,
         'emulate': os_traits.COMPUTE_ADDRESS_SPACE_EMULATED},
        'Requiring maxphysaddr support via trait %s.')}

_THREADS = 'hw:cpu_thread_policy'
_MASK = 'hw:cpu_dedicated_mask'
_REALTIME = 'hw:cpu_realtime_mask'
_EMULATOR = 'hw:emulator_threads_policy'

#: Policy of the flavor -> policies of the image that contradict it.
_CPU_POLICIES = {'dedicated': (), 'mixed': ('dedicated',),
                 'shared': ('dedicated', 'mixed')}
_THREAD_POLICIES = {'prefer': (), 'isolate': ('prefer', 'require'),
                    'require': ('prefer', 'isolate')}


def get_set(obj, name, default=None):
    """Return a field of an object, or the default if it is unset or None."""
    value = getattr(obj, name) if obj.obj_attr_is_set(name) else None
    return default if value is None else value


class FlavorImageRequirements:
    """The extra specs of a flavor and the properties of an image.

    extra_specs: dict of text.  image: ImageMetaProps.
    """

    def __init__(self, spec_obj):
        self.vcpus = spec_obj.flavor.vcpus
        self.extra_specs = get_set(spec_obj.flavor, 'extra_specs', {})
        image = spec_obj.image
        self.image = (image and get_set(image, 'properties')
                      ) or objects.ImageMetaProps()

    def flavor(self, key, choices=None):
        """Return the value of an extra spec; None if it is missing or empty.

        Raises InvalidInput if it is not among the choices.
        """
        value = self.extra_specs.get(key) or None
        if value is not None and choices and value not in choices:
            raise invalid_extra_spec(
                f'must be one of {", ".join(choices)}', value, key)
        return value

    def flag(self, key):
        """Return an extra spec as a bool; None if it is missing.

        As in Nova, every text that does not mean true is false.
        """
        value = self.flavor(key)
        return value and strutils.bool_from_string(value)

    def agreed(self, key, choices=None, is_flag=False):
        """Return the value of an extra spec or of the same image property.

        None if both are missing.
        key: of the extra spec; the property's name has _ instead of the colon.
        is_flag: whether both are bool.
        Raises InvalidInput if they differ, or if the extra spec is not among
        the choices.
        """
        flavor = self.flag(key) if is_flag else self.flavor(key, choices)
        image = self.image.get(key.replace(':', '_'))
        if flavor is not None and image is not None and flavor != image:
            raise self.differs(key)
        return image if flavor is None else flavor

    def differs(self, key):
        """Return the InvalidInput for a flavor and an image that differ."""
        name = key.replace(':', '_')
        return invalid_extra_spec(
            f"must not differ from the image's {name} = "
            f'{self.image.get(name)!r}; change one of them',
            self.extra_specs[key], key)


def invalid_extra_spec(must, value, key):
    """Return the InvalidInput for the value of an extra spec."""
    return MalformedError(
        value, must, 'flavor', 'extra_specs', key).as_invalid_input()


def invalid_image_property(must, value, name):
    """Return the InvalidInput for the value of an image property."""
    return MalformedError(
        value, must, 'image', 'properties', name).as_invalid_input()


def add_devices(group, requirements):
    """Add the requirements for virtual hardware to the unnumbered Group.

    requirements: FlavorImageRequirements.
    Raises InvalidInput if they contradict each other.
    """
    _encryption(group, requirements)
    _persistent_memory(group, requirements)
    _tpm(group, requirements)
    for key, (traits, text) in _TRAITS.items():
        trait = traits.get(requirements.agreed(key, traits))
        if trait:
            _require(group, trait, text)
    image = requirements.image
    if image.get('hw_firmware_stateless') and (
            image.get('hw_firmware_type') == 'uefi'):
        _require(group, os_traits.COMPUTE_SECURITY_STATELESS_FIRMWARE,
                 'Requiring stateless firmware support via trait %s.')


def _encryption(group, requirements):
    if not requirements.agreed('hw:mem_encryption', is_flag=True):
        return
    model = requirements.agreed(_MODEL, _MODELS) or 'amd-sev'
    if model not in _MODELS:
        raise invalid_image_property(
            f'must be one of {", ".join(_MODELS)}', model,
            'hw_mem_encryption_model')
    _check_encryption(requirements.image, model)
    group.resources[classes.MEM_ENCRYPTION_CONTEXT] = 1
    group.required.add(_MODELS[model])
    LOG.debug('Added %s=1 to requested resources',
              classes.MEM_ENCRYPTION_CONTEXT)
    LOG.debug('Requiring memory encryption model %s via trait %s',
              model, _MODELS[model])


def _check_encryption(image, model):
    """Raise InvalidInput if the image cannot boot with encrypted memory."""
    machine = image.get('hw_machine_type')
    for name, fits, must in (
            ('hw_firmware_type', image.get('hw_firmware_type') == 'uefi',
             'uefi'),
            ('hw_machine_type', machine is None or 'q35' in str(machine),
             'of type q35'),
            ('hw_firmware_stateless', model not in _STATELESS_MODELS
             or image.get('hw_firmware_stateless'), 'true'),
            ('hw_video_model', model != 'intel-tdx'
             or image.get('hw_video_model') == 'none', 'none')):
        if not fits:
            raise invalid_image_property(
                f'must be {must}, because the memory is to be encrypted by '
                f'{model}', image.get(name), name)


def _persistent_memory(group, requirements):
    labels = filter(None, (requirements.flavor('hw:pmem') or '').split(','))
    for label, count in collections.Counter(labels).items():
        name = classes.normalize_name(f'PMEM_NAMESPACE_{label.strip()}')
        group.resources[name] = count
        LOG.debug('Added resource %s=%d to requested resources', name, count)


def _tpm(group, requirements):
    version = requirements.agreed('hw:tpm_version', _TPM_VERSIONS)
    if version is None:
        return
    model = requirements.agreed('hw:tpm_model', _TPM_MODELS) or 'tpm-tis'
    if (version, model) == ('1.2', 'tpm-crb'):
        raise invalid_extra_spec(
            'must be 2.0, because the model is tpm-crb', version,
            'hw:tpm_version')
    traits = _TPM_VERSIONS[version], _TPM_MODELS[model]
    group.required.update(traits)
    LOG.debug('Requiring emulated TPM support via trait %s and %s.', *traits)


def _require(group, trait, text):
    LOG.debug(text, trait)
    group.required.add(trait)


class Pins(typing.NamedTuple):
    """The parts of a query for pinned CPUs.

    amounts: resource class -> amount that replaces others; empty if no CPU is
        pinned.
    required, forbidden: traits.
    """

    amounts: dict
    required: frozenset
    forbidden: frozenset


NO_PINS = Pins({}, frozenset(), frozenset())


def pins(requirements):
    """Return the Pins of a flavor and an image.

    requirements: FlavorImageRequirements.
    Raises InvalidInput if they contradict each other, or for an invalid mask
    of CPUs.
    """
    policy, threads = policies(requirements)
    traits = frozenset((os_traits.HW_CPU_HYPERTHREADING,))
    if threads in ('isolate', 'require'):
        LOG.debug('Adding %(trait)s=%(value)s trait', {
            'trait': os_traits.HW_CPU_HYPERTHREADING,
            'value': 'required' if threads == 'require' else 'forbidden'})
    return Pins(_amounts(requirements, policy),
                traits if threads == 'require' else frozenset(),
                traits if threads == 'isolate' else frozenset())


def policies(requirements):
    """Return the CPU policy and the thread policy: texts, None if unset.

    Raises InvalidInput where flavor and image contradict each other.
    """
    return (_prevailing(requirements, 'hw:cpu_policy', _CPU_POLICIES),
            _prevailing(requirements, _THREADS, _THREAD_POLICIES))


def _prevailing(requirements, key, contradicting):
    """Return the flavor's policy, or the image's if the flavor has none."""
    flavor = requirements.flavor(key, contradicting)
    image = requirements.image.get(key.replace(':', '_'))
    if flavor is None:
        return image
    if image in contradicting[flavor]:
        raise requirements.differs(key)
    return flavor


def _amounts(requirements, policy):
    vcpus = requirements.vcpus
    emulator = requirements.flavor(_EMULATOR, ('share', 'isolate'))
    if policy == 'dedicated':
        LOG.debug('Translating request for VCPU=%(count)d to '
                  'VCPU=0,PCPU=%(count)d', {'count': vcpus})
        amounts = {classes.PCPU: vcpus}
    elif policy == 'mixed':
        pinned = len(mixed_cpus(requirements))
        amounts = {classes.VCPU: vcpus - pinned, classes.PCPU: pinned}
    else:
        return {}
    if emulator == 'isolate':
        LOG.debug('Adding additional PCPU to account for emulator threads')
        amounts[classes.PCPU] += 1
    return amounts


def mixed_cpus(requirements):
    """Return the pinned CPUs of a guest with mixed policy: set or range.

    Raises InvalidInput for an invalid mask.
    """
    pinned = realtime_cpus(requirements) if requirements.flag(
        'hw:cpu_realtime') else set()
    text = requirements.flavor(_MASK)
    return pinned if text is None else dedicated_cpus(requirements, text)


def dedicated_cpus(requirements, text):
    """Return the CPUs in hw:cpu_dedicated_mask: set of int.

    Raises InvalidInput for an invalid mask.
    """
    pinned = _cpus(requirements, text, invalid_extra_spec, _MASK)
    if not 0 < len(pinned) < requirements.vcpus:
        raise invalid_extra_spec(
            f'must name some, but not all of the {requirements.vcpus} CPUs',
            text, _MASK)
    return pinned


def realtime_cpus(requirements):
    """Return the realtime CPUs, which are pinned: set of int, or range.

    They may be all CPUs only if the emulator has a thread policy.
    Raises InvalidInput for an invalid mask.
    """
    invalid, where = invalid_image_property, 'hw_cpu_realtime_mask'
    text = requirements.image.get(where)
    if not text:
        invalid, where = invalid_extra_spec, _REALTIME
        text = requirements.flavor(where)
    cpus = (range(requirements.vcpus) if text is None
            else _cpus(requirements, text, invalid, where))
    if not cpus or (len(cpus) == requirements.vcpus
                    and not requirements.flavor(_EMULATOR)):
        raise invalid(
            f'must name some, but not all of the {requirements.vcpus} CPUs; '
            f'all are right with {_EMULATOR}', text, where)
    return cpus


def _cpus(requirements, text, invalid, where):
    """Return the CPUs of a mask such as '0-1', or '^2' for all but one: set.
    """
    everything = f'0-{requirements.vcpus - 1}'
    try:
        cpus = parse_cpus(f'{everything},{text}' if text.strip().startswith(
            '^') else text)
    except MalformedError as error:
        raise invalid(error.must, text, where) from None
    if cpus and max(cpus) >= requirements.vcpus:
        raise invalid(f'must name CPUs of {everything} alone', text, where)
    return cpus
