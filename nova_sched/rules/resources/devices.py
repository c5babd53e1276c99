"""What a guest's virtual hardware asks of its host: traits, and some classes.

Keys, names and traits: Nova's flavor extra specs and image properties, and
os-traits.
"""

import collections

import os_resource_classes as classes
import os_traits
from oslo_log import log as logging

from nova_sched.rules.resources.flavor_image import invalid_extra_spec
from nova_sched.rules.resources.flavor_image import invalid_image_property

LOG = logging.getLogger(__name__)

_ENCRYPTION = 'hw:mem_encryption', 'hw_mem_encryption'
_MODEL = 'hw:mem_encryption_model', 'hw_mem_encryption_model'
_MODELS = {'amd-sev': os_traits.HW_CPU_X86_AMD_SEV,
           'amd-sev-es': os_traits.HW_CPU_X86_AMD_SEV_ES,
           'amd-sev-snp': os_traits.HW_CPU_X86_AMD_SEV_SNP,
           'intel-tdx': os_traits.HW_CPU_X86_INTEL_TDX}
_STATELESS_MODELS = ('amd-sev-snp', 'intel-tdx')
_TPM_VERSIONS = {'1.2': os_traits.COMPUTE_SECURITY_TPM_1_2,
                 '2.0': os_traits.COMPUTE_SECURITY_TPM_2_0}
_TPM_MODELS = {'tpm-tis': os_traits.COMPUTE_SECURITY_TPM_TIS,
               'tpm-crb': os_traits.COMPUTE_SECURITY_TPM_CRB}
_ADDRESSES = {'passthrough': os_traits.COMPUTE_ADDRESS_SPACE_PASSTHROUGH,
              'emulate': os_traits.COMPUTE_ADDRESS_SPACE_EMULATED}
_PCI_POLICIES = ('required', 'legacy', 'preferred', 'socket')
_SECURE_BOOT = ('required', 'disabled', 'optional')


def add(group, requirements):
    """Add to the unnumbered Group what flavor and image ask for.

    requirements: FlavorImageRequirements.
    Raises InvalidInput if they contradict each other.
    """
    for part in (_encryption, _persistent_memory, _tpm, _pci, _secure_boot,
                 _address_space, _stateless_firmware):
        part(group, requirements)


def _encryption(group, requirements):
    if not requirements.agreed_flag(*_ENCRYPTION):
        return
    model = requirements.agreed(*_MODEL, tuple(_MODELS)) or 'amd-sev'
    if model not in _MODELS:
        raise invalid_image_property(
            f'must be one of {", ".join(_MODELS)}', model, _MODEL[1])
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
    version = requirements.agreed(
        'hw:tpm_version', 'hw_tpm_version', tuple(_TPM_VERSIONS))
    if version is None:
        return
    model = requirements.agreed(
        'hw:tpm_model', 'hw_tpm_model', tuple(_TPM_MODELS)) or 'tpm-tis'
    if (version, model) == ('1.2', 'tpm-crb'):
        raise invalid_extra_spec(
            'must be 2.0, because the model is tpm-crb', version,
            'hw:tpm_version')
    traits = _TPM_VERSIONS[version], _TPM_MODELS[model]
    group.required.update(traits)
    LOG.debug('Requiring emulated TPM support via trait %s and %s.', *traits)


def _pci(group, requirements):
    if requirements.agreed('hw:pci_numa_affinity_policy',
                     'hw_pci_numa_affinity_policy',
                     _PCI_POLICIES) == 'socket':
        _require(group, os_traits.COMPUTE_SOCKET_PCI_NUMA_AFFINITY,
                 "Requiring 'socket' PCI NUMA affinity support via trait %s.")


def _secure_boot(group, requirements):
    if requirements.agreed('os:secure_boot', 'os_secure_boot',
                     _SECURE_BOOT) == 'required':
        _require(group, os_traits.COMPUTE_SECURITY_UEFI_SECURE_BOOT,
                 'Requiring secure boot support via trait %s.')


def _address_space(group, requirements):
    mode = requirements.agreed('hw:maxphysaddr_mode', 'hw_maxphysaddr_mode',
                         tuple(_ADDRESSES))
    if mode is not None:
        _require(group, _ADDRESSES[mode],
                 'Requiring maxphysaddr support via trait %s.')


def _stateless_firmware(group, requirements):
    image = requirements.image
    if image.get('hw_firmware_stateless') and (
            image.get('hw_firmware_type') == 'uefi'):
        _require(group, os_traits.COMPUTE_SECURITY_STATELESS_FIRMWARE,
                 'Requiring stateless firmware support via trait %s.')


def _require(group, trait, text):
    LOG.debug(text, trait)
    group.required.add(trait)
