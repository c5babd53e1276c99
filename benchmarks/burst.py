"""A burst of requests on few hosts, as compute services see it.

    tools/with-services.sh python -m benchmarks.burst [--workers 1x1,1x4]

Without Placement, 190 requests for one instance each meet 160 slots, from 32
callers: three of four are members of anti-affinity groups of four.  A
simulated compute service takes an instance if it fits, and shows it in the
database 50 ms after the answer, as Nova's do.  One of six members is migrated
live 0.3 seconds after that, if there is room.  Told for each number of
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
#: One of so many members is migrated.
MOVES = 6
#: Requests that each daemon refuses before the burst, a service that has run
#: for a while being as good as never cold.
WARM_UP = 20
#: MB that one instance takes, and seconds until it shows, and from then until
#: it is migrated: a request that has read the hosts before it showed may wait
#: that long to be decided.
SIZE, SHOWS_AFTER, MOVES_AFTER = 1000, 0.05, 0.3

_HEAD = ('daemons', 'workers each', 'placed', 'refused by the scheduler',
         'first choices refused', 'moved', 'members beside another', 'seconds')


def main():
    parser = argparse.ArgumentParser(prog='burst', description=__doc__)
    parser.add_argument('--workers', default='1x1,1x2,1x4', help=(
        'daemons and workers of each, as 1x4, with commas between'))
    parser.add_argument('--runs', type=int, default=3)
    parser.add_argument('--spread', default='', help=(
        '[nova_sched] spread_near_equal'))
    args = parser.parse_args()
    print('| ' + ' | '.join(_HEAD) + ' |\n' + '|---' * len(_HEAD) + '|',
          flush=True)
    for shape in args.workers.split(','):
        daemons, workers = map(int, shape.split('x'))
        for _ in range(args.runs):
            with tempfile.TemporaryDirectory() as directory:
                print('| ' + ' | '.join(map(str, (
                    daemons, workers, *_burst(
                        directory, daemons, workers, args.spread))))
                    + ' |', flush=True)


def _burst(directory, daemons, workers, spread):
    """Return the figures of one burst, in the order of the head."""
    _group_of.clear()
    bed = BurstBed(os.environ['NOVA_SCHED_TEST_RABBIT_URL'],
                   os.environ['NOVA_SCHED_TEST_MYSQL_URL'], directory)
    bed.make_cloud(HOSTS)
    computes = Computes(bed.database_url)
    with bed.daemons(daemons, workers, spread) as call:
        callers = Callers(call, computes)
        began = time.monotonic()
        callers.run()
        took = time.monotonic() - began
        computes.finish()
    beside = sum(
        len(members) - len({computes.where[uuid] for uuid in members})
        for members in _placed_members(computes))
    return (len(computes.where), len(callers.refused), computes.refused,
            callers.moved, beside, f'{took:.1f}')


class Callers:
    """Those who have instances built, and some of them moved.

    call: function that makes a call of its arguments.
    computes: Computes.
    refused: uuids of those that the scheduler refused.
    moved: how many were moved.
    """

    def __init__(self, call, computes):
        self._call, self._computes = call, computes
        self._calls, self._lock = iter(_calls()), threading.Lock()
        self._to_move = set(list(_group_of)[::MOVES])
        self.refused, self.moved = [], 0

    def run(self):
        """Make all calls."""
        threads = [threading.Thread(target=self._work)
                   for _ in range(CALLERS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _next(self):
        with self._lock:
            return next(self._calls, None)

    def _work(self):
        while wanted := self._next():
            [uuid], host = wanted['instance_uuids'], self._chosen(wanted)
            if host is None:
                self.refused.append(uuid)
            elif self._computes.build(uuid, host) and uuid in self._to_move:
                self._move(uuid, wanted, host)

    def _move(self, uuid, wanted, host):
        """Migrate an instance a while after it shows, if there is room."""
        while uuid not in self._computes.shown:
            time.sleep(SHOWS_AFTER)
        time.sleep(MOVES_AFTER)
        target = self._chosen(_move(wanted, host))
        if target is not None:
            self._computes.move(uuid, host, target)
            self.moved += 1

    def _chosen(self, wanted):
        """Return the host that the scheduler chooses; None for a refusal."""
        try:
            [[chosen, *_]] = self._call(wanted)
        except messaging.RemoteError:
            return None
        return chosen['nova_object.data']['service_host']


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


def _call(uuid, members=None, size=SIZE):
    call = test_bed.request(1) | {'instance_uuids': [uuid]}
    data = call['spec_obj']['nova_object.data']
    flavor = data['flavor']['nova_object.data'] | {'memory_mb': size}
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


def _move(wanted, host):
    """Return the arguments of a call that moves an instance from a host."""
    envelope = wanted['spec_obj']
    data = envelope['nova_object.data'] | {'ignore_hosts': [host]}
    return wanted | {'spec_obj': envelope | {'nova_object.data': data}}


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
    def daemons(self, count, workers, spread):
        """Run daemons; yield a function that makes a call of its arguments.

        spread: text of the option spread_near_equal, or an empty one.
        """
        target = messaging.Target(topic=rpc.TOPIC, version='4.5')
        client = messaging.get_rpc_client(self.transport, target)
        with contextlib.ExitStack() as running:
            for number in range(count):
                file = self._config_file('filter_scheduler')
                text = file.read_text().replace(
                    'workers = 1', f'workers = {workers}').replace(
                        'host = benchmark', f'host = benchmark{number}')
                text += '\n[nova_sched]\npicks_key = of the benchmark\n'
                if spread:
                    text += f'spread_near_equal = {spread}\n'
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
            # Until all workers serve, and daemons know of each other.
            time.sleep(3)
            for number in range(count * WARM_UP):
                with contextlib.suppress(messaging.RemoteError):
                    client.prepare(server=f'benchmark{number % count}').call(
                        {}, 'select_destinations', **_call(
                            uuidutils.generate_uuid(), size=SIZE * 2 * SLOTS))
            yield lambda wanted: client.call(
                {}, 'select_destinations', **wanted)


class Computes:
    """Compute services that take what fits, and show it a little later.

    where: uuid -> host that it was sent to.
    shown: uuids of those that the database has on their host, or had.
    """

    def __init__(self, url):
        self._database = db_engine.Database(url)
        self._lock, self._due = threading.Lock(), collections.deque()
        self._full = threading.Event()
        self._taken = collections.Counter()
        self.where, self.shown, self.refused = {}, set(), 0
        self._thread = threading.Thread(target=self._show_all)
        self._thread.start()

    def build(self, uuid, host):
        """Take an instance on a host; return False if it does not fit."""
        return self.move(uuid, None, host)

    def move(self, uuid, source, host):
        """Take one from another host, or None, otherwise as ``build``."""
        with self._lock:
            self.where[uuid] = host
            if self._taken[host] >= SLOTS:
                self.refused += 1
                return False
            self._taken[host] += 1
            self._due.append((time.monotonic() + SHOWS_AFTER, uuid, source,
                              host))
            return True

    def _show_all(self):
        """Show what is due, a few milliseconds late."""
        while self._due or not self._full.is_set():
            while self._due and self._due[0][0] <= time.monotonic():
                self._show(*self._due.popleft()[1:])
            time.sleep(0.005)

    def _show(self, uuid, source, host):
        instances = tables.instances
        with self._lock:
            self._taken[source] -= 1
        with self._database.writing() as connection:
            if source is None:
                connection.execute(instances.insert().values(
                    uuid=uuid, host=host, node=host, deleted=0))
            else:
                connection.execute(instances.update().where(
                    instances.c.uuid == uuid).values(host=host, node=host))
                connection.execute(_used(source, -1))
            connection.execute(_used(host, 1))
        self.shown.add(uuid)

    def finish(self):
        """Wait until all that was taken shows."""
        self._full.set()
        self._thread.join()


def _used(host, change):
    """Return the statement by which a host reports more or less instances."""
    nodes = tables.compute_nodes
    return nodes.update().where(nodes.c.host == host).values(
        free_ram_mb=nodes.c.free_ram_mb - change * SIZE,
        memory_mb_used=nodes.c.memory_mb_used + change * SIZE,
        running_vms=sa.func.coalesce(nodes.c.running_vms, 0) + change,
        updated_at=sa.func.utc_timestamp())


if __name__ == '__main__':
    sys.exit(main())
