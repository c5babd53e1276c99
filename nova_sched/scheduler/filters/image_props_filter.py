"""ImagePropertiesFilter: hosts that can run the image.

1. ``_requirements`` returns the image's requirements: architecture, hypervisor
   type, VM mode, a range of hypervisor versions, a number of address bits.
2. Each distinct combination of values that hosts report is judged once
   (``_Requirements.met_by``).
"""

import dataclasses
import functools
import json

import numpy as np
from oslo_log import log as logging
from oslo_utils import versionutils

from nova_sched.objects import image_meta
from nova_sched.rules import phrases
from nova_sched.scheduler import filters

LOG = logging.getLogger(__name__)

#: Maximum number of characters of the version conditions in a text.
_SHOWN = 200

_COLUMNS = ('supported_instances', 'hypervisor_version', 'cpu_info')

#: Fields that normalize the parts of a host's triple, in order.
_KINDS = (image_meta.ARCHITECTURE, image_meta.HV_TYPE, image_meta.VM_MODE)


@dataclasses.dataclass(frozen=True)
class _Requirements:
    """The requirements of an image on its host.

    names: image property -> value, of the properties for architecture,
        hypervisor type and VM mode that the image has.
    versions: conditions on the hypervisor's version, '' for none.
    bits: minimum number of physical address bits, or 0.
    """

    names: dict
    versions: str
    bits: int

    def columns(self):
        """Return the columns that the verdict depends on."""
        return (_COLUMNS if self.bits else
                _COLUMNS[:2] if self.versions else _COLUMNS[:1])

    def met_by(self, supported, version=None, cpu_info=None):
        """Return whether a host with these values can run the image."""
        required = set(self.names.values())
        bits = _address_bits(cpu_info) if self.bits else None
        return (any(required <= triple for triple in _triples(supported))
                and self._takes_version(version)
                and (bits is None or bits >= self.bits))

    def _takes_version(self, version):
        # Like 0, a negative number means that no version is reported.
        if not self.versions or not version or version < 0:
            return True
        return self._conditions.satisfied_by(
            versionutils.convert_version_to_str(version))

    @functools.cached_property
    def _conditions(self):
        return versionutils.VersionPredicate(self.versions)

    def __str__(self):
        texts = [f'{name}={value}' for name, value in self.names.items()]
        if self.versions:
            versions = phrases.shortened(self.versions, _SHOWN)
            texts.append(f'img_hv_requested_version={versions}')
        if self.bits:
            texts.append(f'hw_maxphysaddr_bits={self.bits}')
        return ', '.join(texts)


class ImagePropertiesFilter(filters.ColumnFilter):
    """Hosts that support the image's architecture, hypervisor and VM mode.

    A host reports triples of the three.  One triple must contain all values
    that the image has, in any order.  An image without any of the three is not
    checked further; otherwise its conditions on hypervisor version and address
    bits count, too.  Hosts that do not report a version or bits meet these.
    An image without architecture has ``[filter_scheduler]
    image_properties_default_architecture``.
    """

    code = 'image'
    logs_rejected = True
    RUN_ON_REBUILD = True
    run_filter_once_per_request = True
    inputs = _COLUMNS

    def configure(self, conf):
        self.default_architecture = (
            conf.filter_scheduler.image_properties_default_architecture)

    def mask(self, hosts, spec_obj):
        required = _requirements(spec_obj, self.default_architecture)
        if not required.names:
            return np.ones(len(hosts), dtype=np.bool_)
        passes = hosts.evaluate_together(required.columns(), required.met_by)
        for state in filters.rejected(LOG, hosts, passes):
            _log(state, required)
        return passes

    def reason(self, hosts, spec_obj):
        required = _requirements(spec_obj, self.default_architecture)
        supported = phrases.distinct(
            hosts, 'supported_instances', lambda text: {
                '/'.join(map(str, triple)) for triple in _listed(text)})
        text = (f'image needs {required}, hosts support '
                f'{phrases.listed(supported)}')
        if required.versions:
            versions = phrases.distinct(
                hosts, 'hypervisor_version', lambda version: [
                    versionutils.convert_version_to_str(version)
                    if version and version > 0 else 'no version'])
            text += f' in {phrases.listed(versions)}'
        # Callers must not see the default architecture, which is an option.
        named = str(_requirements(spec_obj))
        return phrases.Reason(f'image needs {named}' if named else '',
                              text=text)


def _requirements(spec_obj, default_architecture=None):
    properties = spec_obj.image_properties
    names = {'hw_architecture': (properties.hw_architecture
                                 or default_architecture),
             'img_hv_type': properties.img_hv_type,
             'hw_vm_mode': properties.hw_vm_mode}
    return _Requirements(
        names={name: value for name, value in names.items() if value},
        versions=(properties.img_hv_requested_version or '').strip(),
        bits=properties.hw_maxphysaddr_bits or 0)


def _listed(supported):
    """Return the triples of a host: list of lists of text."""
    triples = json.loads(supported) if supported else []
    return [triple for triple in triples if isinstance(triple, list)]


def _triples(supported):
    """Return the triples of a host: list of sets of normalized texts."""
    return [{_normalized(kind, part) for kind, part in zip(
        _KINDS, triple, strict=False)}
            for triple in _listed(supported)]


def _normalized(kind, part):
    try:
        return kind.read(part)
    except ValueError:
        # A value that no image property can have.
        return str(part)


def _address_bits(cpu_info):
    """Return the physical address bits in a cpu_info text, or None."""
    try:
        return int(json.loads(cpu_info)['maxphysaddr']['bits'])
    except (LookupError, TypeError, ValueError, OverflowError,
            RecursionError):
        return None


def _log(state, required):
    if not state.supported_instances:
        LOG.debug('Instance contains properties %s, but no corresponding '
                  'supported_instances are advertised by the compute node',
                  required)
    else:
        LOG.debug('Instance contains properties %(wanted)s that are not '
                  'provided by the compute node supported_instances '
                  '%(supported)s or hypervisor version %(version)s do not '
                  'match', {'wanted': required,
                            'supported': state.supported_instances,
                            'version': state.hypervisor_version})
    LOG.debug('%s does not support requested instance_properties', state)
