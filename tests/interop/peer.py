"""A real Nova as a subprocess; runs on the Python of Nova's environment.

    python peer.py <CONVERSATIONS >ANSWERS

It imports Nova once, and forks a process for each conversation.
CONVERSATIONS: a line of JSON each: {'config_file': path of Nova's
configuration, 'path': folders to import from, 'questions': list of [name of a
function of ``ANSWERED``, arguments, named arguments]}.  ANSWERS: a line of
JSON for each conversation: a list with one item for each question, {'answer':
...} or {'error': name of the exception's class, 'classes': full names of the
class and its bases, 'text': ..., 'reason': Nova's reason, or null}; null if
the process ended without answers.
"""

import importlib
import json
import os
import random
import sys
import traceback

from nova import config
from nova import context
from nova import objects
from nova.scheduler import filters
from nova.scheduler import host_manager
from nova.scheduler import rpcapi
from nova.scheduler import weights
from nova.scheduler.client import query

# Imported from the folder of this program.
import peer_flavors
import peer_shapes


def select_destinations(spec, uuids, **kwargs):
    """Call the scheduler over the message bus, as a conductor does."""
    found = query.SchedulerQueryClient().select_destinations(
        context.get_admin_context(), _request(spec), uuids, **kwargs)
    if not kwargs.get('return_objects'):
        return found
    return [[selection.to_dict() for selection in chosen] for chosen in found]


def cast(method, *args):
    """Cast to all schedulers, as Nova's services do."""
    getattr(rpcapi.SchedulerAPI(), method)(
        context.get_admin_context(),
        *(_object(arg) if isinstance(arg, dict) else arg for arg in args))


def decide(cloud, spec, filter_paths, weigher_paths):
    """Names of the hosts that pass plug-ins, best first.

    cloud: as of ../builders/clouds.py.  filter_paths, weigher_paths: dotted.
    """
    spec = _request(spec)
    hosts = list(filters.HostFilterHandler().get_filtered_objects(
        [_class(path)() for path in filter_paths], _host_states(cloud), spec))
    return [weighed.obj.host for weighed
            in weights.HostWeightHandler().get_weighed_objects(
                [_class(path)() for path in weigher_paths], hosts, spec)]


def narrow(cloud, spec, path, offered):
    """Run a filter; return the candidates left on each host that passes.

    offered: host -> list of allocation candidates.  path: of the filter.
    """
    states = list(_host_states(cloud))
    for state in states:
        state.allocation_candidates = offered[state.host]
    return {state.host: state.allocation_candidates for state
            in filters.HostFilterHandler().get_filtered_objects(
                [_class(path)()], states, _request(spec))}


def _host_states(cloud):
    aggregates = [objects.Aggregate(
        id=found['id'], uuid=found['uuid'], name=found['name'],
        hosts=found['hosts'], metadata=found['metadata'])
        for found in cloud['aggregates']]
    for row in cloud['compute_nodes']:
        state = host_manager.HostState(
            row['host'], row['hypervisor_hostname'], cloud['cells'][0]['uuid'])
        state.update(
            compute=_compute_node(row), service={}, inst_dict={},
            aggregates=[found for found in aggregates
                        if row['host'] in found.hosts])
        yield state


def _compute_node(row):
    node = objects.ComputeNode()
    for name in ('uuid', 'host', 'hypervisor_hostname',
                 'hypervisor_type', 'hypervisor_version', 'vcpus',
                 'vcpus_used', 'memory_mb', 'memory_mb_used', 'local_gb',
                 'local_gb_used', 'free_ram_mb', 'free_disk_gb',
                 'disk_available_least', 'cpu_allocation_ratio',
                 'ram_allocation_ratio', 'disk_allocation_ratio'):
        setattr(node, name, row[name])
    node.stats, node.supported_hv_specs = json.loads(row['stats']), []
    node.host_ip = node.cpu_info = node.metrics = None
    node.numa_topology = node.pci_device_pools = node.updated_at = None
    return node


def _request(primitive):
    return _object(primitive)


def _object(primitive):
    return objects.base.NovaObject.obj_from_primitive(
        primitive, context.get_admin_context())


def _class(path):
    module, _, name = path.rpartition('.')
    return getattr(importlib.import_module(module), name)


ANSWERED = {function.__name__: function
            for function in (select_destinations, cast, decide, narrow)
            } | peer_shapes.ANSWERED | peer_flavors.ANSWERED


def _answer(what, args, kwargs):
    try:
        return {'answer': ANSWERED[what](*args, **kwargs)}
    except Exception as exc:
        # oslo.messaging derives a class for an error of another process.
        name = type(exc).__name__.removesuffix('_Remote')
        return {'error': name, 'text': str(exc),
                'classes': [f'{cls.__module__}.{cls.__qualname__}'
                            for cls in type(exc).__mro__],
                'reason': (getattr(exc, 'kwargs', None) or {}).get('reason')}


def _converse(answers, config_file, path, questions):
    sys.path[1:1] = path
    # Random choices must differ between conversations.
    random.seed()
    config.parse_args(['peer', '--config-file', config_file],
                      configure_db=False)
    text = json.dumps([_answer(*question) for question in questions])
    answers.write(f'{text}\n')
    answers.flush()


def main():
    answers = os.fdopen(os.dup(sys.stdout.fileno()), 'w')
    # Nova's own output must not mix with answers.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    objects.register_all()
    for line in sys.stdin:
        pid = os.fork()
        if not pid:
            status = 1
            try:
                _converse(answers, **json.loads(line))
                status = 0
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stderr.flush()
                os._exit(status)
        if os.waitpid(pid, 0)[1]:
            answers.write('null\n')
            answers.flush()


if __name__ == '__main__':
    main()
