"""A burst of requests on few hosts, as compute services see it.

    tools/with-services.sh python -m benchmarks.burst [--workers 1,4]

Without Placement, 190 requests for one instance each meet 160 slots, from 32
callers: three of four are members of anti-affinity groups of four.  A
simulated compute service takes an instance if it fits, and shows it in the
database 50 ms after the answer, as Nova's do.  Told for each number of
workers and daemons: how many first choices a compute service refused, and how
many members of groups run beside another one.
"""

import argparse
import collections
import contextlib
import os
import random
import sys
import tempfile
import threading
import time

import oslo_messaging as messaging
from oslo_utils import uuidutils
import sqlalchemy as sa

from benchmarks import bed as test_bed
from nova_sched import rpc
from nova_sched.db import engine as db_engine
from nova_sched.db import tables

HOSTS, SLOTS, REQUESTS, CALLERS = 40, 4, 190, 32
GROUPS, MEMBERS = 30, 4
#: MB that one instance takes, and seconds until it shows.
SIZE, SHOWS_AFTER = 1000, 0.05

_HEAD = ('daemons', 'workers each', 'placed', 'refused by the scheduler',
         'first choices refused', 'members beside another', 'seconds')


def main():
    parser = argparse.ArgumentParser(prog='burst', description=__doc__)
    parser.add_argument('--workers', default='1x1,1x2,1x4', help=(
        'daemons and workers of each, as 1x4, with commas between'))
    parser.add_argument('--runs', type=int, default=3)
    args = parser.parse_args()
    print('| ' + ' | '.join(_HEAD) + ' |\n' + '|---' * len(_HEAD) + '|',
          flush=True)
    for shape in args.workers.split(','):
        daemons, workers = map(int, shape.split('x'))
        for _ in range(args.runs):
            with tempfile.TemporaryDirectory() as directory:
                print('| ' + ' | '.join(map(str, (
                    daemons, workers, *_burst(directory, daemons, workers))))
                    + ' |', flush=True)


def _burst(directory, daemons, workers):
    """Return the figures of one burst, in the order of the head."""
    bed = BurstBed(os.environ['NOVA_SCHED_TEST_RABBIT_URL'],
                   os.environ['NOVA_SCHED_TEST_MYSQL_URL'], directory)
    bed.make_cloud(HOSTS)
    computes = Computes(bed.database_url)
    with bed.daemons(daemons, workers) as call:
        calls = iter(_calls())
        lock, refused = threading.Lock(), []

        def work():
            while True:
                with lock:
                    wanted = next(calls, None)
                if wanted is None:
                    return
                try:
                    [[chosen, *_]] = call(wanted)
                except messaging.RemoteError:
                    refused.append(wanted)
                    continue
                computes.build(wanted['instance_uuids'][0],
                               chosen['nova_object.data']['service_host'])
        threads = [threading.Thread(target=work) for _ in range(CALLERS)]
        began = time.monotonic()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        took = time.monotonic() - began
        computes.finish()
    beside = sum(
        len(members) - len({computes.where[uuid] for uuid in members})
        for members in _placed_members(computes))
    return (len(computes.where), len(refused), computes.refused, beside,
            f'{took:.1f}')


def _placed_members(computes):
    """Return the uuids of each group's instances that were sent to a host."""
    by_group = collections.defaultdict(list)
    for uuid in computes.where:
        if uuid in _group_of:
            by_group[_group_of[uuid]].append(uuid)
    return by_group.values()


_group_of = {}


def _calls():
    """Return the arguments of all calls, in any order: list of dicts."""
    groups = [[uuidutils.generate_uuid() for _ in range(MEMBERS)]
              for _ in range(GROUPS)]
    calls = [_call(uuid, members) for members in groups for uuid in members]
    calls += [_call(uuidutils.generate_uuid()) for _ in range(
        REQUESTS - len(calls))]
    random.shuffle(calls)
    return calls


def _call(uuid, members=None):
    call = test_bed.request(1) | {'instance_uuids': [uuid]}
    data = call['spec_obj']['nova_object.data']
    flavor = data['flavor']['nova_object.data'] | {'memory_mb': SIZE}
    data |= {'instance_uuid': uuid,
             'flavor': data['flavor'] | {'nova_object.data': flavor}}
    if members:
        group = members[0]
        _group_of[uuid] = group
        data['instance_group'] = {
            'nova_object.name': 'InstanceGroup',
            'nova_object.namespace': 'nova', 'nova_object.version': '1.11',
            'nova_object.data': {
                'uuid': group, 'name': 'g', 'policy': 'anti-affinity',
                '_rules': {}, 'members': members, 'hosts': []}}
    return call


class BurstBed(test_bed.Bed):
    """A Bed with hosts of few slots and daemons of several workers."""

    def make_cloud(self, hosts):
        super().make_cloud(hosts)
        nodes = tables.compute_nodes
        with db_engine.Database(self.database_url).writing() as connection:
            connection.execute(tables.instances.delete())
            connection.execute(tables.services.update().values(
                disabled=False, forced_down=False,
                last_seen_up=sa.func.utc_timestamp()))
            connection.execute(nodes.update().values(
                memory_mb=SIZE * SLOTS, memory_mb_used=0,
                free_ram_mb=SIZE * SLOTS, ram_allocation_ratio=1.0))

    @contextlib.contextmanager
    def daemons(self, count, workers):
        """Run daemons; yield a function that makes a call of its arguments."""
        target = messaging.Target(topic=rpc.TOPIC, version='4.5')
        client = messaging.get_rpc_client(self.transport, target)
        with contextlib.ExitStack() as running:
            for number in range(count):
                file = self._config_file('filter_scheduler')
                text = file.read_text().replace(
                    'workers = 1', f'workers = {workers}').replace(
                        'host = benchmark', f'host = benchmark{number}')
                own = self.directory / f'burst{number}.conf'
                own.write_text(text)
                running.enter_context(self._module(
                    f'burst{number}', 'nova_sched.cmd.scheduler',
                    '--config-file', str(own)))
                ping = client.prepare(
                    namespace='baseapi', version='1.0', timeout=2,
                    server=f'benchmark{number}')
                test_bed.until(lambda ping=ping: ping.call(
                    {}, 'ping', arg=None))
            # Until all workers serve.
            time.sleep(3)
            yield lambda wanted: client.call(
                {}, 'select_destinations', **wanted)


class Computes:
    """Compute services that take what fits, and show it a little later.

    where: uuid -> host that it was sent to.
    """

    def __init__(self, url):
        self._database = db_engine.Database(url)
        self._lock, self._threads = threading.Lock(), []
        self._free = collections.Counter()
        self.where, self.refused = {}, 0

    def build(self, uuid, host):
        """Take an instance on a host, or refuse it."""
        with self._lock:
            self.where[uuid] = host
            if self._free[host] >= SLOTS:
                self.refused += 1
                return
            self._free[host] += 1
            thread = threading.Timer(SHOWS_AFTER, self._show, (uuid, host))
            self._threads.append(thread)
        thread.start()

    def _show(self, uuid, host):
        nodes = tables.compute_nodes
        with self._database.writing() as connection:
            connection.execute(tables.instances.insert().values(
                uuid=uuid, host=host, node=host, deleted=0))
            connection.execute(nodes.update().where(
                nodes.c.host == host).values(
                    free_ram_mb=nodes.c.free_ram_mb - SIZE,
                    memory_mb_used=nodes.c.memory_mb_used + SIZE,
                    running_vms=sa.func.coalesce(nodes.c.running_vms, 0) + 1,
                    updated_at=sa.func.utc_timestamp()))

    def finish(self):
        """Wait until all that was taken shows."""
        for thread in self._threads:
            thread.join()


if __name__ == '__main__':
    sys.exit(main())
