"""Measures the effect of hostile requests on other callers.

    tools/with-services.sh python -m benchmarks.hostile [driver]

Each request goes to a running service with 1,000 hosts and rules that read its
fields, first alone and then while another caller sends plain requests without
a pause.  A row has the worker's CPU seconds, the kind of answer, the slowest
plain call at the same time, and the worker's memory.  The first row is a plain
request.
"""

import contextlib
import json
import multiprocessing
import os
import sys
import tempfile
import time

import oslo_messaging as messaging
import psutil

from benchmarks import bed as test_bed
from benchmarks import tables
from nova_sched import conf as config
from nova_sched import rpc

_HOSTS = 1000
#: Duration of the plain calls without a hostile request, in seconds.
_QUIET = 5
#: Seconds that a call may take.
_PATIENCE = 120
_FILTERS = (
    'ComputeFilter', 'ComputeCapabilitiesFilter', 'ImagePropertiesFilter',
    'AggregateInstanceExtraSpecsFilter', 'PciPassthroughFilter',
    'NUMATopologyFilter', 'ServerGroupAntiAffinityFilter', 'JsonFilter')


class _Bed(test_bed.Bed):
    """The test bed with rules that are targets of hostile requests."""

    def _config_file(self, driver):
        path = super()._config_file(driver)
        path.write_text(f'{path.read_text()}[filter_scheduler]\n'
                        f'enabled_filters = {",".join(_FILTERS)}\n')
        return path


def _envelope(name, version, **data):
    return {'nova_object.name': name, 'nova_object.namespace': 'nova',
            'nova_object.version': version, 'nova_object.data': data}


def _changed(instances=1, **changes):
    """Return the arguments of a call with changed fields."""
    call = test_bed.request(instances)
    data = call['spec_obj']['nova_object.data']
    call['spec_obj']['nova_object.data'] = data | changes
    return call


def _flavor(**changes):
    flavor = test_bed.request(1)['spec_obj']['nova_object.data']['flavor']
    return _changed(flavor=flavor | {
        'nova_object.data': flavor['nova_object.data'] | changes})


def _query(query):
    return _changed(scheduler_hints={'query': [json.dumps(query)]})


def _dicts(instance=None, image=None):
    """Return the arguments of a call in the form of RPC 4.0."""
    return {'request_spec': {
        'num_instances': 1, 'image': {'properties': image or {}},
        'instance_properties': instance or {},
        'instance_type': {'memory_mb': 512, 'vcpus': 1, 'root_gb': 1,
                          'ephemeral_gb': 0}}, 'filter_properties': {}}


def _names(count):
    return [f'{number:036d}' for number in range(count)]


def _group(members, instances=1):
    return _changed(instances, instance_group=_envelope(
        'InstanceGroup', '1.11', uuid='group', policy='anti-affinity',
        members=_names(members), policies=['anti-affinity'], _rules={}))


def _devices(requests, conditions=2):
    request = _envelope('InstancePCIRequest', '1.4', count=0, alias_name='a',
                        spec=[dict.fromkeys(_names(conditions))])
    return _changed(pci_requests=_envelope(
        'InstancePCIRequests', '1.1', requests=[request] * requests))


_CELL = {'id': 0, 'cpus': '0-65535', 'mem': {'total': 1}}
#: Name of a request -> function that returns the arguments of its call.
_REQUESTS = {
    'plain': lambda: _changed(),
    '300 looks at $limits': lambda: _query(
        ['or', *[['=', '$limits', 1]] * 300]),
    '3,000 looks at $limits': lambda: _query(
        ['or', *[['=', '$limits', 1]] * 3000]),
    '10,000 times $service': lambda: _query(['=', *['$service'] * 10000]),
    '$host in 30,000': lambda: _query(['in', '$host', *[1] * 30000]),
    'CPU range 8,000 times': lambda: _dicts(
        image={'hw_numa_cpus.0': '0-8191,' * 8000}),
    'CPU range 2,000 times': lambda: _dicts(
        image={'hw_numa_cpus.0': '0-8191,' * 2000}),
    '500 cells of all CPUs': lambda: _dicts({
        'numa_topology': {'cells': [_CELL] * 500}}),
    '64 cells of 8,192 CPUs': lambda: _dicts({
        'numa_topology': {'cells': [_CELL | {'cpus': '0-8191'}] * 64}}),
    '10,000 PCI requests': lambda: _devices(10000),
    '64 PCI requests': lambda: _devices(64),
    '1,000 PCI conditions': lambda: _devices(10, 99),
    '100,000 members x 100': lambda: _group(100000, 100),
    '10,000 members x 100': lambda: _group(10000, 100),
    '10,000 instances': lambda: _changed(10000),
    '1,000 instances': lambda: _changed(1000),
    '100,000 hints': lambda: _changed(
        scheduler_hints=dict.fromkeys(map(str, range(100000)), 1)),
    '1,000 hints': lambda: _changed(
        scheduler_hints=dict.fromkeys(map(str, range(1000)), 1)),
    '10,000 extra specs': lambda: _flavor(
        extra_specs=dict.fromkeys(_names(10000), '1')),
    '500 extra specs': lambda: _flavor(
        extra_specs=dict.fromkeys(_names(500), '1')),
    'half a character': lambda: _changed(project_id='\ud800'),
}


def _worker(launcher):
    """Return the only worker of a service: psutil.Process."""
    [worker] = [child for child in psutil.Process(launcher).children()
                if not child.cmdline()[0].endswith('messenger')]
    return worker


def _cpu_seconds(process):
    times = process.cpu_times()
    return times.user + times.system


class _Plain:
    """Plain calls during a block; ``slowest`` in seconds.

    They run in a separate process, so that no other caller delays them.
    """

    _processes = multiprocessing.get_context('spawn')

    def __init__(self, transport_url):
        self._pipe, theirs = self._processes.Pipe()
        self._process = self._processes.Process(
            target=_ask_until_told, args=(transport_url, theirs), daemon=True)
        self._process.start()
        self.slowest = None

    def __enter__(self):
        self._pipe.send('begin')
        self._pipe.recv()
        return self

    def __exit__(self, *exc_info):
        self._pipe.send('end')
        self.slowest = self._pipe.recv()


def _ask_until_told(transport_url, pipe):
    conf = config.new_conf([], [])
    conf.set_override('transport_url', transport_url)
    conf.set_override('rpc_response_timeout', _PATIENCE)
    client = messaging.get_rpc_client(
        rpc.get_transport(conf),
        messaging.Target(topic=rpc.TOPIC, version='4.5'))
    client.call({}, 'select_destinations', **test_bed.request(1))
    while pipe.recv() == 'begin':
        slowest, calls = 0.0, 0
        while not pipe.poll():
            begin = time.monotonic()
            client.call({}, 'select_destinations', **test_bed.request(1))
            slowest = max(slowest, time.monotonic() - begin)
            calls += 1
            if calls == 1:
                pipe.send('begun')
        pipe.recv()
        pipe.send(slowest)


def _answer(ask, call):
    """Return the outcome of a call as a word."""
    try:
        ask(call)
    except messaging.MessagingTimeout:
        return 'nothing'
    except Exception as exc:  # any exception is an answer
        return getattr(exc, 'exc_type', type(exc).__name__)
    return 'hosts'


def _measure(worker, ask, plain, name, make):
    call = make()
    before = _cpu_seconds(worker)
    answer = _answer(ask, call)
    used = _cpu_seconds(worker) - before
    with plain:
        if name == 'plain':
            time.sleep(_QUIET)
        # A repeated call has one turn of any length.
        _answer(ask, make())
    tables.row(name, f'{len(json.dumps(call)) / 1024:.0f}', f'{used:.2f}',
               answer, f'{plain.slowest:.2f}', worker.memory_info().rss >> 20)


@contextlib.contextmanager
def _service(bed, driver):
    """Run the service; yield its worker, and a function that calls it."""
    client = messaging.get_rpc_client(
        bed.transport, messaging.Target(topic=rpc.TOPIC, version='4.5'))
    with bed.service(driver) as call:
        call(1)
        yield _worker(bed.launcher), lambda args: client.prepare(
            version='4.0' if 'request_spec' in args else '4.5').call(
                {}, 'select_destinations', **args)


def main():
    """Print a row for each request."""
    driver = (sys.argv[1:] or ['filter_scheduler'])[0]
    with tempfile.TemporaryDirectory() as directory:
        bed = _Bed(os.environ['NOVA_SCHED_TEST_RABBIT_URL'],
                   os.environ['NOVA_SCHED_TEST_MYSQL_URL'], directory)
        bed.make_cloud(_HOSTS)
        tables.head('request', 'KiB', 'CPU s', 'answer',
                    'slowest plain call s', 'RSS MB')
        with _service(bed, driver) as (worker, ask):
            plain = _Plain(bed.transport_url)
            for name, make in _REQUESTS.items():
                _measure(worker, ask, plain, name, make)


if __name__ == '__main__':
    main()
