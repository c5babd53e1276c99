"""From the options of a command to a RequestSpec, as Nova's API makes one."""

import argparse
import logging

from nova_sched import exception
from nova_sched import objects
from nova_sched.cmd.manage import guests
from nova_sched.cmd.manage import json_files
from nova_sched.objects import arguments
from nova_sched.objects.fields import MalformedError
from nova_sched.objects.legacy import image as legacy_image
from nova_sched.options import nearest

LOG = logging.getLogger(__name__)

#: Properties of images that Nova has besides those that have a type here.
_PROPERTIES = (
    'hw_auto_disk_config', 'hw_boot_menu', 'hw_cpu_cores', 'hw_cpu_max_cores',
    'hw_cpu_max_sockets', 'hw_cpu_max_threads', 'hw_cpu_sockets',
    'hw_cpu_threads', 'hw_device_id', 'hw_disk_type', 'hw_input_bus',
    'hw_ipxe_boot', 'hw_locked_memory', 'hw_machine_type',
    'hw_pmu', 'hw_pointer_model', 'hw_qemu_guest_agent', 'hw_rescue_bus',
    'hw_rescue_device', 'hw_rng_model', 'hw_scsi_model',
    'hw_serial_port_count', 'hw_time_hpet', 'hw_video_ram',
    'hw_vif_multiqueue_enabled', 'hw_watchdog_action', 'img_bdm_v2',
    'img_bittorrent', 'img_block_device_mapping', 'img_cache_in_nova',
    'img_compression_level', 'img_config_drive', 'img_hide_hypervisor_id',
    'img_linked_clone', 'img_mappings', 'img_owner_id',
    'img_root_device_name', 'img_use_agent', 'img_version', 'os_admin_user',
    'os_command_line', 'os_distro', 'os_require_quiesce',
    'os_skip_agent_inject_files_at_boot', 'os_skip_agent_inject_ssh',
    'os_type', 'os_version')

#: Field of an object -> the class of what is in it; a list has a class each.
_NESTED = {
    'flavor': 'Flavor', 'numa_topology': 'InstanceNUMATopology',
    'cells': 'InstanceNUMACell', 'cpu_topology': 'VirtCPUTopology',
    'pci_requests': 'InstancePCIRequests', 'requests': 'InstancePCIRequest',
    'instance_group': 'InstanceGroup', 'requested_destination': 'Destination',
    'cell': 'CellMapping', 'limits': 'SchedulerLimits',
    'requested_resources': 'RequestGroup'}
_ENVELOPE, _DATA = 'nova_object.name', 'nova_object.data'


def add_request_arguments(parser):
    """Return the options that describe what is asked for."""
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
            ('extra-spec', 'extra spec of the flavor; NUMA cells are made of '
             'those that ask for them'),
            ('image-property', 'property of the image'),
            ('hint', 'scheduler hint')):
        parser.add_argument(f'--{name}', action='append', default=[],
                            metavar='KEY=VALUE', type=_pair,
                            help=f'A {what}; may be repeated.')
    for name in ('force-host', 'ignore-host'):
        parser.add_argument(f'--{name}', action='append', default=[],
                            metavar='HOST')
    _add_group(parser)
    parser.add_argument(
        '--pci', action='append', default=[], metavar='KEY=VALUE,...',
        type=_device, help='A PCI device by its properties, such as '
        'vendor_id=8086,product_id=1520; with count=N so many of them. May '
        'be repeated.')
    for name in ('host', 'node', 'cell'):
        parser.add_argument(
            f'--to-{name}', metavar='UUID' if name == 'cell' else 'NAME',
            help=f'The one {name} that the instances may go to.')
    parser.add_argument(
        '--spec', metavar='FILE',
        help='JSON of a RequestSpec instead of the options above: as it '
             'travels over RPC, its fields alone, or what "decision show -f '
             'json" writes. Fields that are not there are as without '
             'options. Also request_spec and filter_properties, as callers '
             'below RPC 4.3 send them.')


def _add_sizes(parser):
    parser.add_argument('--flavor', metavar='NAME', default='cli',
                        help='Name of the flavor, whose sizes follow.')
    parser.add_argument('--vcpus', type=int, default=1, metavar='N')
    parser.add_argument('--ram', type=int, default=512, metavar='MB',
                        help='RAM in MB (default: 512).')
    parser.add_argument('--disk', type=int, default=1, metavar='GB',
                        help='Root disk in GB (default: 1).')
    parser.add_argument('--ephemeral', type=int, default=0, metavar='GB')
    parser.add_argument('--swap', type=int, default=0, metavar='MB')


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
                        'group are on; may be repeated.')


def _pair(text):
    key, equals, value = text.partition('=')
    if not equals:
        raise ValueError(text)
    return key, value


_pair.__name__ = 'KEY=VALUE'


def _device(text):
    spec = dict(map(_pair, text.split(',')))
    return int(spec.pop('count', 1)), spec


_device.__name__ = 'KEY=VALUE,...'


def default_arguments():
    """Return what the options are that are not given: argparse.Namespace."""
    parser = argparse.ArgumentParser()
    add_request_arguments(parser)
    return parser.parse_args([])


def flag(name):
    """Return how the command line spells an option."""
    return f'--{name.replace("_", "-")}'


def build_spec(args):
    """Return the request that the options describe: an envelope.

    Raises InvalidInput for options that make none.
    """
    if args.spec:
        return _from_file(args)
    try:
        return _from_options(args).obj_to_primitive()
    except MalformedError as exc:
        raise exc.as_invalid_input() from exc


def _from_file(args):
    others = [flag(name) for name, value
              in sorted(vars(default_arguments()).items())
              if name != 'spec' and getattr(args, name) != value]
    if others:
        raise exception.InvalidInput(
            reason=f'--spec {args.spec} is the whole request: leave out '
                   f'{", ".join(others)}, or write it into that file')
    return read_spec(args.spec)


def read_spec(path):
    """Return the request in the file of --spec: an envelope.

    Raises WrongFile for what is no JSON, and InvalidInput for what is no
    request.
    """
    found = json_files.read(path, '--spec ')
    try:
        if not isinstance(found, dict):
            raise ValueError('must be a JSON object')
        return _from_json(found)
    except MalformedError as exc:
        raise exc.under('--spec').as_invalid_input() from exc
    except (ValueError, RecursionError) as exc:
        raise exception.InvalidInput(reason=f'--spec {path}: {exc}') from exc


def _from_json(found):
    """Return the request in a JSON object of any of the forms: an envelope.

    Raises ValueError, MalformedError and InvalidInput.
    """
    for name in ('request', 'spec_obj'):
        # Of a decision that is kept, and of the call that it has.
        if isinstance(found.get(name), dict):
            found = found[name]
    if _ENVELOPE in found:
        return found
    if 'request_spec' in found:
        return arguments.from_legacy_dicts(
            found['request_spec'],
            found.get('filter_properties')).obj_to_primitive()
    known = objects.RequestSpec.fields
    for name in sorted(found.keys() - known.keys()):
        raise ValueError(f'{name} is no field of a RequestSpec; '
                         + nearest.did_you_mean(name, known))
    made = _from_options(default_arguments()).obj_to_primitive()
    made[_DATA] |= _fields(found)
    if found.get('numa_topology') is None:
        made[_DATA]['numa_topology'] = _numa(made)
    return made


def _numa(made):
    """Return the NUMA cells that flavor and image ask for: envelope."""
    found = guests.numa_topology(arguments.from_wire(made))
    return None if found is None else found.obj_to_primitive()


def _from_options(args):
    hints = {}
    for key, value in args.hint:
        hints.setdefault(key, []).append(value)
    spec_obj = objects.RequestSpec(
        flavor=objects.Flavor(
            id=1, name=args.flavor, flavorid=args.flavor, vcpus=args.vcpus,
            memory_mb=args.ram, root_gb=args.disk,
            ephemeral_gb=args.ephemeral, swap=args.swap,
            extra_specs=dict(args.extra_spec)),
        image=objects.ImageMeta(
            id=args.image, properties=_properties(args.image_property)),
        num_instances=args.count, project_id=args.project,
        availability_zone=args.zone, scheduler_hints=hints,
        force_hosts=args.force_host or None,
        ignore_hosts=args.ignore_host or None,
        instance_group=_group(args), pci_requests=_devices(args.pci),
        requested_destination=_destination(args))
    spec_obj.numa_topology = guests.numa_topology(spec_obj)
    return spec_obj


#: Options of the flavor: name -> field of a Flavor.
_SIZES = {'vcpus': 'vcpus', 'ram': 'memory_mb', 'disk': 'root_gb',
          'ephemeral': 'ephemeral_gb', 'swap': 'swap'}
#: Options that an instance's stored request may have besides.
ANYWHERE = ('ignore_host', 'to_host', 'to_node')
#: Options of the flavor that an instance is resized to.
OF_FLAVOR = ('flavor', *_SIZES, 'extra_spec', 'pci')


def edit_stored(spec, given):
    """Change a stored request by options.

    spec: envelope of a RequestSpec, which is changed.
    given: dict of options of OF_FLAVOR and ANYWHERE.  Of the flavor, what is
        not given stays; extra specs take the place of all that there were.
    Raises InvalidInput for options that make no request.
    """
    data = spec[_DATA]
    if given.get('ignore_host'):
        data['ignore_hosts'] = given['ignore_host']
    if given.keys() & {'to_host', 'to_node'}:
        data['requested_destination'] = objects.Destination(**{
            name: given[f'to_{name}'] for name in ('host', 'node')
            if given.get(f'to_{name}')}).obj_to_primitive()
    if not given.keys() & set(OF_FLAVOR):
        return
    flavor = data['flavor'][_DATA]
    flavor |= {_SIZES[name]: value for name, value in given.items()
               if name in _SIZES}
    if 'flavor' in given:
        flavor['name'] = flavor['flavorid'] = given['flavor']
    if 'extra_spec' in given:
        flavor['extra_specs'] = dict(given['extra_spec'])
    if 'pci' in given:
        data['pci_requests'] = _devices(given['pci']).obj_to_primitive()
    try:
        data['numa_topology'] = _numa(spec)
    except MalformedError as exc:
        raise exc.as_invalid_input() from exc


def _properties(pairs):
    """Return the ImageMetaProps of names of today, or of before.

    Images may have any property, so one that Nova drops is worth a warning.
    """
    known = (*objects.ImageMetaProps.fields, *_PROPERTIES,
             *legacy_image.OLD_NAMES, 'vmware_adaptertype')
    kept = {}
    for name, value in pairs:
        if name in known or name.startswith(
                ('trait:', 'hw_numa_cpus.', 'hw_numa_mem.')):
            kept[name] = value
        else:
            near = nearest.nearest(name, known)
            LOG.warning(
                '--image-property %s: Nova knows no such property, and '
                'drops it%s', name, f'; did you mean {near}?' if near else '')
    try:
        return objects.ImageMetaProps.from_dict(
            legacy_image.current_names(kept))
    except MalformedError as exc:
        raise exc.under('--image-property').as_invalid_input() from exc


def _group(args):
    if args.group_policy is None:
        if args.group_max or args.group_member or args.group_host:
            raise exception.InvalidInput(
                reason='a server group needs --group-policy')
        return None
    return objects.InstanceGroup(
        policy=args.group_policy, members=args.group_member,
        hosts=args.group_host or None,
        _rules={} if args.group_max is None else {
            'max_server_per_host': str(args.group_max)})


def _devices(wanted):
    return objects.InstancePCIRequests(requests=[
        objects.InstancePCIRequest(count=count, spec=[spec],
                                   alias_name=f'cli{number}')
        for number, (count, spec) in enumerate(wanted)])


def _destination(args):
    named = {'host': args.to_host, 'node': args.to_node,
             'cell': args.to_cell and objects.CellMapping(uuid=args.to_cell)}
    named = {name: value for name, value in named.items() if value}
    return objects.Destination(**named) if named else None


def _fields(data):
    """Return the fields of an object with the envelopes that they lack."""
    return {name: _field(name, value) for name, value in data.items()}


def _field(name, value):
    if isinstance(value, dict) and _ENVELOPE in value:
        return value
    if name == 'image' and value:
        if not isinstance(value, dict):
            raise MalformedError(value, 'must be an object', name)
        return legacy_image.image_from_dict(value).obj_to_primitive()
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
