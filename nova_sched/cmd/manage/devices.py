"""PCI devices of a request, as Nova's API derives them from flavor and image.

The rules are from Nova's guides "Attaching physical PCI devices to guests" and
"PCI devices in Placement".
"""

import json
import re

import os_resource_classes
import os_traits
from oslo_utils import strutils
from oslo_utils import uuidutils

from nova_sched import exception
from nova_sched import objects
from nova_sched.options import nearest
from nova_sched.rules.flavor_image import FlavorImageRequirements
from nova_sched.rules.flavor_image import invalid_extra_spec

KEY = 'pci_passthrough:alias'
_POLICY = 'hw:pci_numa_affinity_policy'
_POLICIES = ('required', 'legacy', 'preferred', 'socket')
_TYPES = ('type-PCI', 'type-PF', 'type-VF')
#: Keys of an alias that are properties of the device, besides its type.
_PROPERTIES = ('vendor_id', 'product_id', 'capability_type',
               'live_migratable', 'resource_class', 'traits')


def pci_requests(spec_obj, conf, extra=()):
    """Return the InstancePCIRequests of a request.

    spec_obj: RequestSpec with a flavor, and perhaps an image.
    extra: more devices than the flavor's: list of (number, {property: value}).
    conf: ConfigOpts with the aliases.
    Raises InvalidInput for requests that Nova's API refuses.
    """
    needs = FlavorImageRequirements(spec_obj)
    policy = needs.agreed(_POLICY, _POLICIES)
    extra = [(f'cli{number}', count, policy, [spec])
             for number, (count, spec) in enumerate(extra)]
    return objects.InstancePCIRequests(requests=[
        objects.InstancePCIRequest(
            alias_name=name, count=count, numa_policy=numa_policy, spec=specs,
            request_id=uuidutils.generate_uuid())
        for name, count, numa_policy, specs in (
            *_of_flavor(needs, conf, policy), *extra)])


def _of_flavor(needs, conf, policy):
    """Yield (alias, number, policy, list of specs) of a flavor."""
    text = needs.extra_specs.get(KEY)
    if text is None:
        return
    aliases = _aliases(conf)
    for part in text.split(','):
        match = re.fullmatch(r'\s*([^:]+?)\s*:\s*([0-9]+)\s*', part)
        if match is None:
            raise invalid_extra_spec('must be NAME:NUMBER,...', text, KEY)
        name, count = match.groups()
        if name not in aliases:
            hint = (f'has no {name}; {nearest.did_you_mean(name, aliases)}'
                    if aliases else 'is not set')
            raise invalid_extra_spec(
                f'[pci] alias {hint}. Give the file that nova-api reads by '
                '--config-file, or --set pci.alias=JSON', text, KEY)
        specs = [_spec(alias) for alias in aliases[name]]
        yield (name, int(count), policy or (
            aliases[name][0].get('numa_policy') or 'legacy'), specs)


def _spec(alias):
    """Return the device properties of an alias."""
    spec = {key: alias[key] for key in _PROPERTIES if key in alias}
    if 'device_type' in alias:
        spec['dev_type'] = alias['device_type']
    if 'live_migratable' in spec:
        spec['live_migratable'] = str(strutils.bool_from_string(
            spec['live_migratable'])).lower()
    return spec


def _aliases(conf):
    """Return the aliases of [pci] alias: name -> list of dicts."""
    aliases = {}
    in_placement = conf.filter_scheduler.pci_in_placement
    for text in conf.pci.alias:
        alias = _alias(text, in_placement)
        same = aliases.setdefault(alias['name'], [])
        for key in ('device_type', 'numa_policy'):
            if same and same[0].get(key) != alias.get(key):
                raise _wrong(text, f'must have the same {key} as other '
                             'aliases of that name')
        same.append(alias)
        if in_placement and len(same) > 1:
            raise _wrong(text, 'must be the only one of that name with '
                         '[filter_scheduler] pci_in_placement; give all its '
                         'devices one resource_class')
    return aliases


def _alias(text, in_placement):
    try:
        alias = json.loads(text)
    except ValueError as error:
        raise _wrong(text, f'must be JSON ({error})') from None
    if not (isinstance(alias, dict) and alias.get('name') and all(
            isinstance(value, str) for value in alias.values())):
        raise _wrong(text, 'must be an object of texts that has a name')
    known = ('name', 'device_type', 'numa_policy', *_PROPERTIES)
    for key in alias.keys() - set(known):
        raise _wrong(text, f'{key} is not a key of an alias; '
                     + nearest.did_you_mean(key, known))
    for key, choices in (('device_type', _TYPES), ('numa_policy', _POLICIES)):
        if alias.get(key, choices[0]) not in choices:
            raise _wrong(text, f'{key} must be one of {", ".join(choices)}')
    if not ({'vendor_id', 'product_id'} <= alias.keys()
            or (in_placement and 'resource_class' in alias)):
        raise _wrong(text, 'must have vendor_id and product_id')
    return alias


def _wrong(text, must):
    return exception.InvalidInput(reason=f'[pci] alias = {text}: {must}')


def request_groups(requests, conf):
    """Return the RequestGroups for devices in Placement: list.

    One for each device, with [filter_scheduler] pci_in_placement.
    requests: InstancePCIRequests, or None.
    """
    if requests is None or not conf.filter_scheduler.pci_in_placement:
        return []
    return [objects.RequestGroup(
        requester_id=f'{request.request_id}-{number}',
        resources={_resource_class(request.spec[0]): 1},
        required_traits={
            _normal(name, os_traits.get_traits())
            for name in request.spec[0].get('traits', '').split(',') if name})
        for request in requests.requests if _is_in_placement(request)
        for number in range(request.count)]


def _is_in_placement(request):
    """Return whether Placement has the devices of a request.

    Devices of ports are not in Placement.
    """
    spec = request.spec[0] if request.spec else {}
    return None not in (request.alias_name, request.request_id) and (
        'resource_class' in spec or {'vendor_id', 'product_id'} <= spec.keys())


def _resource_class(spec):
    if 'resource_class' in spec:
        return _normal(spec['resource_class'], os_resource_classes.STANDARDS)
    return f'CUSTOM_PCI_{spec["vendor_id"]}_{spec["product_id"]}'.upper()


def _normal(name, standard):
    """Return the name of the resource class or trait that an alias means."""
    name = re.sub('[^A-Z0-9]+', '_', name.upper())
    if name in standard or name.startswith('CUSTOM_'):
        return name
    return f'CUSTOM_{name}'
