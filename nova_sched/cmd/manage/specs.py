"""A RequestSpec from the options of a command, as Nova's API makes it."""

import argparse
import logging

from nova_sched import exception
from nova_sched import objects
from nova_sched.cmd.manage import devices
from nova_sched.cmd.manage import flavors
from nova_sched.cmd.manage import guests
from nova_sched.cmd.manage import json_files
from nova_sched.cmd.manage import units
from nova_sched.objects import arguments
from nova_sched.objects import glance_image
from nova_sched.objects import image_meta
from nova_sched.objects.fields import MalformedError
from nova_sched.options import nearest
from nova_sched.rules import flavor_image
from nova_sched.scheduler import utils

LOG = logging.getLogger(__name__)

#: Name of a flavor without a name on the command line.
UNNAMED = 'cli'
#: Field of an object -> class of its value, or of each member of a list.
_NESTED = {
    'flavor': 'Flavor', 'numa_topology': 'InstanceNUMATopology',
    'cells': 'InstanceNUMACell', 'cpu_topology': 'VirtCPUTopology',
    'pci_requests': 'InstancePCIRequests', 'requests': 'InstancePCIRequest',
    'instance_group': 'InstanceGroup', 'requested_destination': 'Destination',
    'cell': 'CellMapping', 'limits': 'SchedulerLimits',
    'requested_resources': 'RequestGroup'}
_ENVELOPE, _DATA = 'nova_object.name', 'nova_object.data'


def add_request_arguments(parser):
    """Add the options that describe a request."""
    _add_sizes(parser)
    parser.add_argument('--count', type=int, default=1, metavar='N',
                        help='How many instances (default: 1).')
    parser.add_argument('--zone', metavar='NAME',
                        help='Availability zone.')
    parser.add_argument('--project', metavar='ID',
                        default='nova-sched-manage',
                        help='Project the instances belong to.')
    parser.add_argument('--image', metavar='UUID',
                        help='Image of the instances.')
    for name, what in (
            ('extra-spec', 'An extra spec of the flavor; NUMA cells and PCI '
             'devices follow from it'),
            ('image-property', 'A property of the image'),
            ('hint', 'A scheduler hint')):
        parser.add_argument(f'--{name}', action='append', default=[],
                            metavar='KEY=VALUE', type=pair,
                            help=f'{what}; may be repeated.')
    for name in ('force-host', 'ignore-host'):
        parser.add_argument(f'--{name}', action='append', default=[],
                            metavar='HOST')
    _add_group(parser)
    parser.add_argument(
        '--pci', action='append', default=[], metavar='KEY=VALUE,...',
        type=_device, help='A PCI device by its properties, such as '
        'vendor_id=8086,product_id=1520; count=N asks for N devices. May be '
        'repeated.')
    for name in ('host', 'node', 'cell'):
        parser.add_argument(
            f'--to-{name}', metavar='UUID' if name == 'cell' else 'NAME',
            help=f'The only {name} that the instances may go to.')
    parser.add_argument(
        '--spec', metavar='FILE',
        help='JSON of a RequestSpec instead of the options above: in the '
             'form of RPC, its fields only, or the output of "decision show '
             '-f json". Missing fields have the defaults of the options. '
             'Also request_spec and filter_properties, as callers below RPC '
             '4.3 send them.')


def _add_sizes(parser):
    parser.add_argument(
        '--flavor', metavar='NAME',
        help='Name or id of a flavor of the cloud, or any name with --vcpus, '
             '--ram and --disk. Other options replace values of the flavor.')
    parser.add_argument('--vcpus', type=int, metavar='N',
                        help='VCPUs (without a flavor: 1).')
    parser.add_argument('--ram', type=units.megabytes, metavar='MB',
                        help='RAM in MB, or with a unit, such as 32G '
                             '(without a flavor: 512).')
    parser.add_argument('--disk', type=units.gigabytes, metavar='GB',
                        help='Root disk in GB, or with a unit, such as 1T '
                             '(without a flavor: 1).')
    parser.add_argument('--ephemeral', type=units.gigabytes, metavar='GB')
    parser.add_argument('--swap', type=units.megabytes, metavar='MB')


def _add_group(parser):
    parser.add_argument(
        '--group-policy',
        choices=('affinity', 'anti-affinity', 'soft-affinity',
                 'soft-anti-affinity'),
        help='Policy of the server group of the instances.')
    parser.add_argument('--group-max', type=int, metavar='N',
                        help='How many of the group may be on one host.')
    parser.add_argument('--group-member', action='append', default=[],
                        metavar='UUID',
                        help='An instance of the group; may be repeated.')
    parser.add_argument('--group-host', action='append', default=[],
                        metavar='HOST', help='A host that instances of the '
                        'group are on, for the policy affinity; may be '
                        'repeated.')


def pair(text):
    key, equals, value = text.partition('=')
    if not equals:
        raise ValueError(text)
    return key, value


pair.__name__ = 'KEY=VALUE'


def _device(text):
    spec = dict(map(pair, text.split(',')))
    return int(spec.pop('count', 1)), spec


_device.__name__ = 'KEY=VALUE,...'


def default_arguments():
    """Return the defaults of the options: argparse.Namespace."""
    parser = argparse.ArgumentParser()
    add_request_arguments(parser)
    return parser.parse_args([])


def flag(name):
    """Return the spelling of an option on the command line."""
    return f'--{name.replace("_", "-")}'


def build_spec(args, conf, cloud=None):
    """Return the request that the options describe: an envelope.

    conf: ConfigOpts with the databases and the aliases of PCI devices.
    cloud: path of a file that has the flavors; None for the databases.
    Raises InvalidInput for options that describe no request, and
    DatabaseUnavailable.
    """
    if args.spec:
        return _from_file(args, conf)
    try:
        return _from_options(
            args, conf, flavors.Flavors(conf, cloud)).obj_to_primitive()
    except MalformedError as exc:
        raise exc.as_invalid_input() from exc


def _from_file(args, conf):
    others = [flag(name) for name, value
              in sorted(vars(default_arguments()).items())
              if name != 'spec' and getattr(args, name) != value]
    if others:
        raise exception.InvalidInput(
            reason=f'--spec {args.spec} is the whole request: leave out '
                   f'{", ".join(others)}, or write it into that file')
    return read_spec(args.spec, conf)


def read_spec(path, conf):
    """Return the request in the file of --spec: an envelope.

    Raises WrongFile if it is not JSON, and InvalidInput if it is not a
    request.
    """
    content = json_files.read(path, '--spec ')
    try:
        if not isinstance(content, dict):
            raise ValueError('must be a JSON object')
        return _from_json(content, conf)
    except MalformedError as exc:
        raise exc.under('--spec').as_invalid_input() from exc
    except (ValueError, RecursionError) as exc:
        raise exception.InvalidInput(reason=f'--spec {path}: {exc}') from exc


def _from_json(content, conf):
    """Return the request in a JSON object of any of the forms: an envelope.

    Raises ValueError, MalformedError and InvalidInput.
    """
    for name in ('request', 'spec_obj'):
        # In the output of "decision show", and in the call there.
        if isinstance(content.get(name), dict):
            content = content[name]
    if _ENVELOPE in content:
        return content
    if 'request_spec' in content:
        return arguments.from_legacy_dicts(
            content['request_spec'],
            content.get('filter_properties')).obj_to_primitive()
    known = objects.RequestSpec.fields
    for name in sorted(content.keys() - known.keys()):
        raise ValueError(f'{name} is not a field of a RequestSpec; '
                         + nearest.did_you_mean(name, known))
    envelope = _from_options(default_arguments(), conf).obj_to_primitive()
    envelope[_DATA] |= _fields(content)
    spec_obj = arguments.from_wire(envelope)
    _complete(spec_obj, conf, keeps={
        name for name in ('numa_topology', 'pci_requests')
        if content.get(name) is not None})
    _check(spec_obj)
    return spec_obj.obj_to_primitive()


def _complete(spec_obj, conf, extra=(), keeps=()):
    """Derive NUMA cells, PCI devices and request groups, as Nova's API does.

    The devices of ports stay.
    extra: more PCI devices, see devices.pci_requests.
    keeps: names of fields that stay unchanged.
    Raises InvalidInput.
    """
    existing = spec_obj.pci_requests.requests if spec_obj.pci_requests else []
    if 'numa_topology' not in keeps:
        spec_obj.numa_topology = guests.numa_topology(spec_obj)
    if 'pci_requests' not in keeps:
        spec_obj.pci_requests = devices.pci_requests(spec_obj, conf, extra)
        spec_obj.pci_requests.requests += [
            request for request in existing if request.alias_name is None]
    prefixes = tuple(f'{request.request_id}-' for request in existing
                     if request.alias_name is not None)
    spec_obj.requested_resources = [
        *(group for group in spec_obj.requested_resources or ()
          if not (group.requester_id or '').startswith(prefixes)),
        *devices.request_groups(spec_obj.pci_requests, conf)]


def _check(spec_obj):
    """Warn of parts that are not translated, and refuse contradictions."""
    needs = flavor_image.FlavorImageRequirements(spec_obj)
    flavor_image.add_devices(utils.Group(), needs)
    for what, value, why in (
            ('extra spec accel:device_profile',
             needs.flavor('accel:device_profile'),
             'only Cyborg knows the request groups of a device profile'),
            ('image property img_block_device_mapping',
             needs.image.get('img_block_device_mapping'),
             'the kind of its root disk is unknown; set is_bfv in a --spec')):
        if value:
            LOG.warning('The %s is not translated: %s', what, why)


def _from_options(args, conf, cloud=None):
    hints = {}
    for key, value in args.hint:
        hints.setdefault(key, []).append(value)
    spec_obj = objects.RequestSpec(
        flavor=objects.Flavor(**_flavor(vars(args), cloud)),
        image=objects.ImageMeta(
            id=args.image, properties=_properties(args.image_property)),
        num_instances=args.count, project_id=args.project,
        availability_zone=args.zone, scheduler_hints=hints,
        force_hosts=args.force_host or None,
        ignore_hosts=args.ignore_host or None,
        instance_group=_group(args),
        requested_destination=_destination(args))
    _complete(spec_obj, conf, args.pci)
    _check(spec_obj)
    return spec_obj


def _flavor(given, cloud):
    """Return the fields of the flavor that options describe: dict.

    given: dict of options of OF_FLAVOR; None for missing ones.
    cloud: flavors.Flavors to look a name up in.
    """
    sizes = {_SIZES[name]: given[name] for name in _SIZES
             if given.get(name) is not None}
    name = given.get('flavor')
    if name is None:
        flavor = _SMALL
    else:
        try:
            flavor = cloud.find(name)
        except exception.NovaSchedException:
            if _NEEDED - sizes.keys():
                raise
            flavor = _SMALL | {'name': name, 'flavorid': name}
    fields = _flavor_fields(flavor) | sizes
    fields['extra_specs'] |= dict(given.get('extra_spec') or ())
    return fields


def _flavor_fields(flavor):
    """Return the fields of an objects.Flavor of a stored flavor: dict."""
    return {name: flavor.get(name) or 0 for name in _SIZES.values()} | {
        'id': 1, 'name': flavor['name'], 'flavorid': flavor['flavorid'],
        'extra_specs': dict(flavor.get('extra_specs') or ())}


def of_flavor(flavor, conf, project=None, image_properties=()):
    """Return the RequestSpec of one instance of a flavor.

    flavor: dict, as of flavors.Flavors.
    Raises InvalidInput for a flavor that describes no request.
    """
    try:
        spec_obj = objects.RequestSpec(
            flavor=objects.Flavor(**_flavor_fields(flavor)),
            image=objects.ImageMeta(
                id=None, properties=_properties(image_properties)),
            num_instances=1, project_id=project)
        _complete(spec_obj, conf)
    except MalformedError as exc:
        raise exc.as_invalid_input() from exc
    return spec_obj


def _parts_of(text):
    """Return the parts between commas; three sizes, then KEY=VALUE: list.

    A comma within a value belongs to it.  Raises ValueError.
    """
    parts = text.split(',')
    if len(parts) < 3:
        raise ValueError(f'{len(parts)} of 3 sizes')
    sizes, specs = parts[:3], []
    for part in parts[3:]:
        if '=' in part or not specs:
            specs.append(part)
        else:
            specs[-1] += f',{part}'
    return sizes + specs


def flavor_of(text):
    """Return the flavor of a text NAME=RAM,VCPUS,DISK[,KEY=VALUE]: dict.

    RAM in MB and disk in GB, or with units.  None for a name alone.
    Raises InvalidInput.
    """
    name, equals, rest = text.partition('=')
    if not equals:
        return None
    try:
        ram, vcpus, disk, *specs = _parts_of(rest)
        return {'name': name, 'flavorid': name, 'vcpus': int(vcpus),
                'memory_mb': units.megabytes(ram),
                'root_gb': units.gigabytes(disk),
                'extra_specs': dict(map(pair, specs))}
    except (ValueError, argparse.ArgumentTypeError) as exc:
        raise exception.InvalidInput(
            reason=f'--flavor {text}: write the name of a flavor, or '
                   'NAME=RAM,VCPUS,DISK[,KEY=VALUE], such as '
                   f'web=4G,2,20G ({exc})') from exc


#: The flavor without --flavor; options replace its values.
_SMALL = {'name': UNNAMED, 'flavorid': UNNAMED, 'vcpus': 1, 'memory_mb': 512,
          'root_gb': 1}
#: Sizes that are enough for a flavor that the cloud does not have.
_NEEDED = {'vcpus', 'memory_mb', 'root_gb'}
#: Options of the flavor: name -> field of a Flavor.
_SIZES = {'vcpus': 'vcpus', 'ram': 'memory_mb', 'disk': 'root_gb',
          'ephemeral': 'ephemeral_gb', 'swap': 'swap'}
#: Options that may change the stored request of an instance.
ANYWHERE = ('ignore_host', 'to_host', 'to_node')
#: Options for the new flavor of a resize.
OF_FLAVOR = ('flavor', *_SIZES, 'extra_spec', 'pci')
#: Field of a request -> options of a flavor that it depends on.
_OF_FIELDS = {'numa_topology': {'flavor', 'vcpus', 'ram', 'extra_spec'},
              'pci_requests': {'flavor', 'extra_spec', 'pci'}}


def edit_stored(spec, given, conf):
    """Change a stored request by options.

    spec: envelope of a RequestSpec, which is changed.
    given: dict of options of OF_FLAVOR and ANYWHERE.  Without a flavor by
        name, the stored flavor keeps its other values; extra specs replace all
        stored ones.  Nova stores no request groups: the groups of devices are
        made again.
    Raises InvalidInput for options that make no request, and
    DatabaseUnavailable.
    """
    data = spec[_DATA]
    if given.get('ignore_host'):
        data['ignore_hosts'] = given['ignore_host']
    if given.keys() & {'to_host', 'to_node'}:
        data['requested_destination'] = objects.Destination(**{
            name: given[f'to_{name}'] for name in ('host', 'node')
            if given.get(f'to_{name}')}).obj_to_primitive()
    if not (given.keys() & set(OF_FLAVOR)
            or conf.filter_scheduler.pci_in_placement):
        return
    flavor = data['flavor'][_DATA]
    if 'flavor' in given:
        flavor |= _flavor(given, flavors.Flavors(conf))
    else:
        flavor |= {_SIZES[name]: value for name, value in given.items()
                   if name in _SIZES}
        if 'extra_spec' in given:
            flavor['extra_specs'] = dict(given['extra_spec'])
    try:
        spec_obj = arguments.from_wire(spec)
        _complete(spec_obj, conf, given.get('pci', ()), keeps={
            field for field, options in _OF_FIELDS.items()
            if not given.keys() & options})
    except MalformedError as exc:
        raise exc.as_invalid_input() from exc
    completed = spec_obj.obj_to_primitive()[_DATA]
    for name in (*_OF_FIELDS, 'requested_resources'):
        data[name] = completed.get(name)


def _properties(pairs):
    """Return the ImageMetaProps of present or former names.

    Nova drops unknown properties, which is worth a warning.
    """
    known = (*objects.ImageMetaProps.fields, *image_meta.UNTYPED,
             *glance_image.OLD_NAMES, 'vmware_adaptertype')
    known_values = {}
    for name, value in pairs:
        if name in known or name.startswith(
                ('trait:', 'hw_numa_cpus.', 'hw_numa_mem.')):
            known_values[name] = value
        else:
            nearest_name = nearest.nearest(name, known)
            LOG.warning(
                '--image-property %s: Nova does not know this property and '
                'drops it%s', name,
                f'; did you mean {nearest_name}?' if nearest_name else '')
    try:
        return objects.ImageMetaProps.from_dict(
            glance_image.current_names(known_values))
    except MalformedError as exc:
        raise exc.under('--image-property').as_invalid_input() from exc


def _group(args):
    if args.group_policy is None:
        if args.group_max or args.group_member or args.group_host:
            raise exception.InvalidInput(
                reason='a server group needs --group-policy')
        return None
    if args.group_host and args.group_policy != 'affinity':
        LOG.warning(
            '--group-host: the policy %s counts members, not hosts; name the '
            'instances on that host by --group-member', args.group_policy)
    return objects.InstanceGroup(
        policy=args.group_policy, members=args.group_member,
        hosts=args.group_host or None,
        _rules={} if args.group_max is None else {
            'max_server_per_host': str(args.group_max)})


def _destination(args):
    parts = {'host': args.to_host, 'node': args.to_node,
             'cell': args.to_cell and objects.CellMapping(uuid=args.to_cell)}
    parts = {name: value for name, value in parts.items() if value}
    return objects.Destination(**parts) if parts else None


def _fields(data):
    """Return the fields of an object, with missing envelopes added."""
    return {name: _field(name, value) for name, value in data.items()}


def _field(name, value):
    if isinstance(value, dict) and _ENVELOPE in value:
        return value
    if name == 'image' and value:
        if not isinstance(value, dict):
            raise MalformedError(value, 'must be an object', name)
        return glance_image.image_from_dict(value).obj_to_primitive()
    if name == 'retry' and value:
        return objects.SchedulerRetries.from_dict(value).obj_to_primitive()
    cls = getattr(objects, _NESTED.get(name, ''), None)
    if cls is None or value is None:
        return value
    if isinstance(value, list):
        return [_field(name, item) for item in value]
    return {_ENVELOPE: cls.__name__, 'nova_object.namespace': 'nova',
            'nova_object.version': cls.VERSION,
            _DATA: _fields(value)}
