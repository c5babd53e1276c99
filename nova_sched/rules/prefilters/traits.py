"""Request filters that require traits of the host, by names of os-traits."""

import os_traits
from oslo_log import log as logging

from nova_sched import exception
from nova_sched.rules.prefilters import edits
from nova_sched.rules.resources.flavor_image import FlavorImageRequirements
from nova_sched.rules.resources.flavor_image import get_set
from nova_sched.rules.resources.flavor_image import invalid_image_property

LOG = logging.getLogger(__name__)

_ADDED = '%s request filter added required trait %s'
_SKIPPED = '%s skipped'

#: Image property -> prefix of the trait that its value completes. The traits
#: of hw_viommu_model are not in os-traits; Nova has the same prefix.
_PREFIXES = {
    'hw_cdrom_bus': 'COMPUTE_STORAGE_BUS_',
    'hw_disk_bus': 'COMPUTE_STORAGE_BUS_',
    'hw_video_model': 'COMPUTE_GRAPHICS_MODEL_',
    'hw_vif_model': 'COMPUTE_NET_VIF_MODEL_',
    'hw_architecture': 'HW_ARCH_',
    'hw_emulation_architecture': 'COMPUTE_ARCH_',
    'hw_viommu_model': 'COMPUTE_VIOMMU_',
}
_SOUND_MODELS = ('sb16', 'es1370', 'pcspk', 'ac97', 'ich6', 'ich9', 'usb',
                 'virtio')
_ENCRYPTION_FORMATS = ('plain', 'luks', 'luksv2')
_TPM_VERSIONS = ('1.2', '2.0')
_TPM_SECRETS = {
    'user': os_traits.COMPUTE_SECURITY_TPM_SECRET_SECURITY_USER,
    'host': os_traits.COMPUTE_SECURITY_TPM_SECRET_SECURITY_HOST,
    'deployment': os_traits.COMPUTE_SECURITY_TPM_SECRET_SECURITY_DEPLOYMENT}

#: The service version of nova-compute from which on all its providers have
#: the trait OWNER_NOVA.
OWNER_NOVA_SINCE = 73


def require_image_type_support(spec_obj, _facts, options):
    """Require a host that boots images of the disk format."""
    if (not options.query_placement_for_image_type_support
            or spec_obj.is_bfv):
        return False
    disk_format = spec_obj.image and spec_obj.image.disk_format
    trait = disk_format and _known(
        f'COMPUTE_IMAGE_TYPE_{disk_format.upper()}')
    if trait:
        edits.require(spec_obj, trait)
        LOG.debug(_ADDED, 'require_image_type_support', trait)
    return True


def compute_status_filter(spec_obj, _facts, _options):
    """Exclude hosts whose compute service is disabled."""
    edits.forbid(spec_obj, os_traits.COMPUTE_STATUS_DISABLED)
    LOG.debug('compute_status_filter request filter added forbidden trait %s',
              os_traits.COMPUTE_STATUS_DISABLED)
    return True


def transform_image_metadata(spec_obj, _facts, options):
    """Require the traits of the image's properties: all of them or none."""
    if not options.image_metadata_prefilter:
        return False
    image = FlavorImageRequirements(spec_obj).image
    traits = [
        _known(prefix + str(image.get(name)).upper().replace('-', '_'))
        for name, prefix in _PREFIXES.items() if image.get(name)]
    if all(traits):
        for trait in traits:
            edits.require(spec_obj, trait)
            LOG.debug(_ADDED, 'transform_image_metadata', trait)
    return True


def accelerators_filter(spec_obj, _facts, _options):
    """Require accelerators for a flavor with a device profile."""
    if FlavorImageRequirements(spec_obj).flavor('accel:device_profile'):
        edits.require(spec_obj, os_traits.COMPUTE_ACCELERATORS)
        LOG.debug(_ADDED, 'accelerators_filter',
                  os_traits.COMPUTE_ACCELERATORS)
    return True


def packed_virtqueue_filter(spec_obj, _facts, _options):
    """Require packed virtio rings.

    Raises InvalidInput if flavor and image contradict each other.
    """
    if FlavorImageRequirements(spec_obj).agreed_flag(
            'hw:virtio_packed_ring', 'hw_virtio_packed_ring'):
        edits.require(spec_obj, os_traits.COMPUTE_NET_VIRTIO_PACKED)
        LOG.debug(_ADDED, 'virtqueue_filter',
                  os_traits.COMPUTE_NET_VIRTIO_PACKED)
    return True


def ephemeral_encryption_filter(spec_obj, _facts, _options):
    """Require encryption of local disks, and its format.

    Raises InvalidInput if flavor and image contradict each other.
    """
    requirements = FlavorImageRequirements(spec_obj)
    if not requirements.agreed_flag('hw:ephemeral_encryption',
                                    'hw_ephemeral_encryption'):
        LOG.debug(_SKIPPED, 'ephemeral_encryption_filter')
        return False
    traits = [os_traits.COMPUTE_EPHEMERAL_ENCRYPTION]
    name = 'hw_ephemeral_encryption_format'
    format_ = requirements.agreed('hw:ephemeral_encryption_format', name,
                                  _ENCRYPTION_FORMATS)
    if format_ is not None:
        if format_ not in _ENCRYPTION_FORMATS:
            raise invalid_image_property(
                f'must be one of {", ".join(_ENCRYPTION_FORMATS)}', format_,
                name)
        traits.append(
            f'{os_traits.COMPUTE_EPHEMERAL_ENCRYPTION}_{format_.upper()}')
    for trait in traits:
        edits.require(spec_obj, trait)
        LOG.debug('ephemeral_encryption_filter added trait %s', trait)
    return True


def virtio_sound_filter(spec_obj, _facts, _options):
    """Require virtio sound.

    Raises InvalidInput if flavor and image contradict each other.
    """
    requirements = FlavorImageRequirements(spec_obj)
    if requirements.agreed('hw:sound_model', 'hw_sound_model',
                           _SOUND_MODELS) != 'virtio':
        LOG.debug(_SKIPPED, 'virtio_sound_filter')
        return False
    edits.require(spec_obj, os_traits.COMPUTE_SOUND_MODEL_VIRTIO)
    LOG.debug('virtio_sound_filter added trait %s',
              os_traits.COMPUTE_SOUND_MODEL_VIRTIO)
    return True


def tpm_secret_security_filter(spec_obj, _facts, _options):
    """Require support for the security of a TPM's secrets.

    Raises RequestFilterFailed for an unknown kind of security, and
    InvalidInput if flavor and image contradict each other.
    """
    requirements = FlavorImageRequirements(spec_obj)
    if requirements.agreed('hw:tpm_version', 'hw_tpm_version',
                     _TPM_VERSIONS) is None:
        LOG.debug(_SKIPPED, 'tpm_secret_security_filter')
        return False
    security = requirements.flavor('hw:tpm_secret_security') or 'user'
    if security not in _TPM_SECRETS:
        reason = f"TPM secret security '{security}' is not supported."
        LOG.warning('%s', reason)
        raise exception.RequestFilterFailed(reason)
    edits.require(spec_obj, _TPM_SECRETS[security])
    return True


def owner_nova_filter(spec_obj, facts, _options):
    """Require Nova's own providers once all compute services mark theirs."""
    oldest = facts.oldest_compute() or 0
    if oldest < OWNER_NOVA_SINCE:
        LOG.warning('OWNER_NOVA trait not added to scheduling request: not '
                    'all nova-compute services are upgraded '
                    '(min_version=%d, need %d).', oldest, OWNER_NOVA_SINCE)
        return False
    trait = os_traits.OWNER_NOVA
    edits.require(spec_obj, trait)
    LOG.debug('Added required trait %s to root provider in request spec',
              trait)
    groups = _of_flavor_devices(spec_obj)
    for group in groups:
        group.required_traits.add(trait)
    if groups:
        LOG.debug('Added required trait %s to PCI request groups in request '
                  'spec', trait)
    return True


def _known(trait):
    """Return a computed trait's name; log an error and return None if unknown.
    """
    if hasattr(os_traits, trait):
        return trait
    LOG.error('Computed trait name %r is not valid; is os-traits up to date?',
              trait)
    return None


def _of_flavor_devices(spec_obj):
    """Return the request groups that come from the flavor's PCI requests."""
    pci = spec_obj.pci_requests
    prefixes = tuple(
        f'{request.request_id}-' for request in (pci.requests if pci else ())
        if request.alias_name is not None and request.request_id)
    return [group for group in get_set(spec_obj, 'requested_resources', ())
            if (group.requester_id or '').startswith(prefixes)]
