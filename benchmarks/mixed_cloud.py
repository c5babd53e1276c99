"""The other parts of a cloud: compute services, instances and Placement.

``Computes`` accept instances and write them to the cells' databases, a
``Ledger`` is a conductor's client of Placement, and an ``Auditor`` compares
Placement's allocations with the instances, once a second.
"""

import collections
import concurrent.futures
import contextlib
import dataclasses
import datetime
import queue
import random
import re
import sys
import threading
import time
import traceback

import requests
import sqlalchemy as sa

from benchmarks import mixed_bed
from tests.builders import clouds
from tests.interop import placement as placements

#: Microversion of a conductor's requests.
_VERSION = '1.36'
#: Time-out of Placement and pause between two attempts, in seconds.
_PATIENCE, _AGAIN = 30, 0.5
#: Only a difference that stays for this many seconds counts.
GRACE = 20
#: Results of an action on an instance.
TIMED_OUT, FAILED = 'timed out', 'failed'

_HELD = sa.text(
    'SELECT p.uuid, c.name, a.consumer_id, a.used FROM allocations a '
    'JOIN resource_providers p ON p.id = a.resource_provider_id '
    'JOIN resource_classes c ON c.id = a.resource_class_id')
_ROOM = sa.text(
    'SELECT p.uuid, c.name, (i.total - i.reserved) * i.allocation_ratio '
    'FROM inventories i '
    'JOIN resource_providers p ON p.id = i.resource_provider_id '
    'JOIN resource_classes c ON c.id = i.resource_class_id')


@dataclasses.dataclass(eq=False)
class Group:
    """A server group of anti-affinity; members: set of instance uuids."""

    uuid: str
    members: set = dataclasses.field(default_factory=set)


@dataclasses.dataclass(eq=False)
class Instance:
    """An instance; group: Group or None.  host: None before it has one."""

    uuid: str
    vcpus: int
    group: Group | None = None
    host: str | None = None


class World:
    """All live instances, and the history of all instances.

    live: uuid -> Instance.  busy: uuids of instances under an action.
    history: uuid -> set of TIMED_OUT and FAILED.
    broken: number of errors of the benchmark itself.
    """

    def __init__(self, groups):
        self.broken = 0
        self.live, self.busy, self.lock = {}, set(), threading.RLock()
        self.history = collections.defaultdict(set)
        self.groups = [Group(clouds.a_uuid()) for _ in range(groups)]

    def note_error(self):
        """Count and print the error that is being handled."""
        with self.lock:
            self.broken += 1
        traceback.print_exc()

    def vcpus(self):
        """Return the VCPUs of all instances together."""
        with self.lock:
            return sum(each.vcpus for each in self.live.values())

    def group(self, most):
        """Return a group of at most ``most`` members, or None."""
        with self.lock:
            fitting = [each for each in self.groups
                       if len(each.members) <= most]
            return random.choice(fitting) if fitting else None

    def group_hosts(self, group):
        """Return the members of a group and their hosts: two lists."""
        with self.lock:
            return sorted(group.members), sorted({
                self.live[uuid].host for uuid in group.members
                if uuid in self.live})

    def take_any(self):
        """Return an Instance and mark it busy; None if there is none."""
        with self.lock:
            idle = list(self.live.keys() - self.busy)
            if not idle:
                return None
            uuid = random.choice(idle)
            self.busy.add(uuid)
            return self.live[uuid]

    def take(self, uuid):
        """Mark a uuid busy, even of no live instance; False if it is busy."""
        with self.lock:
            if uuid in self.busy:
                return False
            self.busy.add(uuid)
            return True

    def release(self, *uuids):
        """Mark instances as no longer busy."""
        with self.lock:
            self.busy.difference_update(uuids)

    def note(self, what, *uuids):
        """Add a result to the history of instances."""
        with self.lock:
            for uuid in uuids:
                self.history[uuid].add(what)

    def forget(self, instance):
        """Remove an instance that has ended."""
        with self.lock:
            self.live.pop(instance.uuid, None)
            if instance.group:
                instance.group.members.discard(instance.uuid)


class Computes:
    """The compute services, which accept or refuse instances like Nova's.

    They refuse an instance that does not fit, and a second member of a group.
    refused: list of (reason, instance uuid, host).
    """

    def __init__(self, bed, world):
        self._lock, self.refused = threading.Lock(), []
        self._used, self._count = collections.Counter(), collections.Counter()
        self._members = collections.Counter()
        self._cells = {
            name: _Cell(bed.engine(server.url), self.usage, world.note_error)
            for name, server in bed.cells.items()}

    def usage(self, host):
        """Return the number of used VCPUs and of instances."""
        with self._lock:
            return self._used[host], self._count[host]

    def take(self, instance, host, vcpus):
        """Put an instance on a host; return whether the host accepts it."""
        group = host, instance.group
        with self._lock:
            reason = None
            if self._used[host] + vcpus > mixed_bed.SLOTS:
                reason = 'does not fit'
            elif instance.group and self._members[group]:
                reason = 'beside another member'
            if reason:
                self.refused.append((reason, instance.uuid, host))
                return False
            self._count_in(host, instance, vcpus, 1)
        return True

    def leave(self, instance, host, vcpus):
        """Remove an instance from a host."""
        with self._lock:
            self._count_in(host, instance, vcpus, -1)

    def _count_in(self, host, instance, vcpus, sign):
        self._used[host] += sign * vcpus
        self._count[host] += sign
        self._members[host, instance.group] += sign

    def show(self, instance, *hosts, gone=False):
        """Write an instance and hosts to the database of their cell."""
        self._cells[hosts[0].partition('-')[0]].jobs.put(
            (dataclasses.replace(instance), hosts, gone))

    def settle(self):
        """Wait until everything is written."""
        for cell in self._cells.values():
            cell.jobs.join()


class _Cell:
    """Writes to the database of a cell, as soon as that answers."""

    def __init__(self, engine, usage, note_error):
        self._engine, self._usage, self.jobs = engine, usage, queue.Queue()
        self._note_error = note_error
        self._instances, self._nodes = (
            sa.Table(name, sa.MetaData(), autoload_with=engine,
                     resolve_fks=False)
            for name in ('instances', 'compute_nodes'))
        threading.Thread(target=self._work, daemon=True).start()

    def _work(self):
        while True:
            job = self.jobs.get()
            while not self._done(*job):
                time.sleep(_AGAIN)
            self.jobs.task_done()

    def _done(self, instance, hosts, gone):
        try:
            with self._engine.begin() as connection:
                self._write(connection, instance, gone)
                for host in hosts:
                    self._report(connection, host)
        except sa.exc.OperationalError:
            return False
        except Exception:
            self._note_error()
        return True

    def _write(self, connection, instance, gone):
        c, now = self._instances.c, _now()
        fields = {'host': instance.host, 'node': instance.host,
                  'vcpus': instance.vcpus, 'updated_at': now,
                  'memory_mb': instance.vcpus * mixed_bed.MEMORY}
        if gone:
            fields |= {'deleted': c.id, 'deleted_at': now,
                       'vm_state': 'deleted'}
        found = connection.execute(self._instances.update().where(
            c.uuid == instance.uuid).values(fields))
        if not found.rowcount and not gone:
            connection.execute(self._instances.insert().values(
                clouds.an_instance(uuid=instance.uuid, root_gb=1,
                                   project_id='project', user_id='user',
                                   created_at=now) | fields))

    def _report(self, connection, host):
        vcpus, count = self._usage(host)
        c, slots = self._nodes.c, mixed_bed.SLOTS
        memory = vcpus * mixed_bed.MEMORY
        connection.execute(self._nodes.update().where(c.host == host).values(
            vcpus_used=vcpus, memory_mb_used=memory,
            free_ram_mb=c.memory_mb - memory, local_gb_used=count,
            free_disk_gb=2 * slots - count,
            disk_available_least=2 * slots - count, running_vms=count,
            updated_at=_now()))


def _now():
    return datetime.datetime.now(datetime.UTC).replace(tzinfo=None)


def resources(vcpus):
    """Return the resources of an instance in Placement."""
    return {'VCPU': vcpus, 'MEMORY_MB': vcpus * mixed_bed.MEMORY,
            'DISK_GB': 1}


class Ledger:
    """A conductor's client of Placement, which retries until an answer.

    url: of Placement.  version: microversion.
    """

    def __init__(self, url, version=_VERSION):
        self._url, self._version = url, version
        self._own = threading.local()

    def _ask(self, method, path, body=None):
        if not hasattr(self._own, 'session'):
            self._own.session = requests.Session()
            self._own.session.headers = {
                'X-Auth-Token': placements.TOKEN,
                'OpenStack-API-Version': f'placement {self._version}'}
        while True:
            with contextlib.suppress(requests.RequestException):
                answer = self._own.session.request(
                    method, self._url + path, json=body, timeout=_PATIENCE)
                if answer.status_code < 500:
                    return answer
            time.sleep(_AGAIN)

    def _held(self, consumer):
        return self._ask('GET', f'/allocations/{consumer}').json()

    def delete(self, consumer):
        """Delete the allocations of a consumer."""
        while self._ask('DELETE', f'/allocations/{consumer}'
                        ).status_code == 409:
            pass

    def move(self, source, target):
        """Move the allocations of one consumer to another one.

        Returns whether the source had any.
        """
        expected = None
        while True:
            held, there = self._held(source), self._held(target)
            if not held['allocations']:
                return bool(there['allocations'])
            owner = {name: held[name] for name in ('project_id', 'user_id')}
            answer = self._ask('POST', '/allocations', {
                source: {'allocations': {}, **owner, 'consumer_generation':
                         held['consumer_generation']},
                target: {'allocations': {
                    provider: {'resources': found['resources']}
                    for provider, found in held['allocations'].items()},
                    **owner, 'consumer_generation':
                    there.get('consumer_generation', expected)}})
            if answer.ok:
                return True
            assert answer.status_code == 409, answer.text
            expected = _expected(answer)

    def put(self, consumer, provider, vcpus):
        """Make a consumer hold VCPUs of one provider only."""
        expected = None
        while True:
            answer = self._ask('PUT', f'/allocations/{consumer}', {
                'allocations': {provider: {'resources': resources(vcpus)}},
                'project_id': 'project', 'user_id': 'user',
                'consumer_generation': self._held(consumer).get(
                    'consumer_generation', expected)})
            if answer.ok:
                return
            expected = _expected(answer)
            time.sleep(_AGAIN)


def _expected(refusal):
    """Return the generation that Placement expects of a consumer, or None.

    Only refusals have it for a consumer without allocations.  A Placement that
    is killed while it creates a consumer leaves such a consumer.
    """
    found = re.search(r'expected (\d+) but got None', refusal.text)
    return int(found[1]) if found else None


@dataclasses.dataclass(frozen=True)
class Oddity:
    """Expected and actual allocations of a consumer: provider -> VCPUs."""

    consumer: str
    expected: dict
    held: dict
    history: frozenset
    at: float


class Auditor:
    """Compares Placement with the instances once a second, in a thread.

    A difference that stays for GRACE seconds, while Placement runs, is
    recorded and corrected.

    over: set of (provider, resource class, amount, room).  samples: number of
    comparisons.  oddities: list of Oddity.  paused: whether Placement fails.
    """

    def __init__(self, bed, world, ledger):
        self._engine = bed.engine(bed.placement.database_url)
        self._hosts, self._world, self._ledger = bed.hosts, world, ledger
        with self._engine.connect() as connection:
            self._room = {(provider, name): float(room) for provider, name,
                          room in connection.execute(_ROOM)}
        self.over, self.samples, self.oddities = set(), 0, []
        self.paused, self._since = False, {}
        self._healers = concurrent.futures.ThreadPoolExecutor(2)
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def stop(self):
        """End the thread after its current comparison."""
        self._end.set()
        self._thread.join()
        self._healers.shutdown()

    def _work(self):
        while not self._end.wait(1):
            try:
                self._compare()
            except Exception:
                self._world.note_error()

    def held(self):
        """Return all allocations: consumer -> provider -> VCPUs.

        Also adds resources over capacity to ``over``.
        """
        with self._engine.connect() as connection:
            rows = connection.execute(_HELD).all()
        used, held = collections.Counter(), collections.defaultdict(dict)
        for provider, name, consumer, amount in rows:
            used[provider, name] += int(amount)
            if name == 'VCPU':
                held[consumer][provider] = int(amount)
        self.samples += 1
        for key, amount in used.items():
            if amount > self._room.get(key, 0):
                self.over.add((*key, amount, self._room.get(key, 0)))
        return held

    def wrong(self):
        """Return the differences: consumer -> (expected, held).

        Busy consumers are left out.
        """
        with self._world.lock:
            busy = set(self._world.busy)
        held = self.held()
        with self._world.lock:
            expected = {each.uuid: {self._hosts[each.host]: each.vcpus}
                        for each in self._world.live.values()}
            busy |= self._world.busy
        return {consumer: (expected.get(consumer, {}), held.get(consumer, {}))
                for consumer in expected.keys() | held.keys()
                if consumer not in busy and expected.get(
                    consumer, {}) != held.get(consumer, {})}

    def _compare(self):
        now, wrong = time.monotonic(), self.wrong()
        if self.paused:
            self._since = {}
            return
        self._since = {
            consumer: self._since[consumer] if (
                consumer in self._since
                and self._since[consumer][1] == states) else (now, states)
            for consumer, states in wrong.items()}
        for consumer, (since, states) in list(self._since.items()):
            if now - since > GRACE and self._world.take(consumer):
                del self._since[consumer]
                self._note(consumer, *states)
                self._healers.submit(self._heal, consumer)

    def _note(self, consumer, expected, held):
        oddity = Oddity(consumer, expected, held, frozenset(
            self._world.history[consumer]), time.monotonic())
        self.oddities.append(oddity)
        print(oddity, file=sys.stderr, flush=True)

    def _heal(self, consumer):
        try:
            with self._world.lock:
                instance = self._world.live.get(consumer)
            if instance:
                self._ledger.put(consumer, self._hosts[instance.host],
                                 instance.vcpus)
            else:
                self._ledger.delete(consumer)
        except Exception:
            self._world.note_error()
        finally:
            self._world.release(consumer)
