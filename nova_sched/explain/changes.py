"""The smallest changes by which a refused request would be placed.

``smallest_changes`` does this for one request:

1. It tries the request as it is, on a copy of the hosts.  When an instance
   gets no host, every rule judges the remaining hosts (``matrix.judge``).
2. It proposes changes that the verdicts suggest, one kind after another
   (``_KINDS``).
3. It tries each change: all instances of the request are placed on a copy of
   the hosts, by the service's own code.  Only changes that place all instances
   are returned.

Placement is not queried again: the offer for the original request is used.  So
a change that needs other candidates is not found.
"""

import collections
import dataclasses
import itertools
import math
import time
import typing

import numpy as np

from nova_sched import objects
from nova_sched.dry_run import trial as trials
from nova_sched.explain import matrix as matrices
from nova_sched.explain import words
from nova_sched.hosts import budget as budgets
from nova_sched.objects import base
from nova_sched.rules import aggregates as aggregate_values
from nova_sched.rules import codes
from nova_sched.rules import figures

#: Seconds of work for finding changes, at least and at most.  Between them it
#: is TIMES the work of the request as it is, which grows with the hosts and
#: the instances.
LEAST, MOST, TIMES = 1, 30, 20

#: Most proposals of a kind that are tried until one works.
MOST_TRIES = 20

#: An amount that can be freed on a host.
#: column: of the host table.  sign: change of the column by a freed unit.
#: in_use: the amounts that guests use now, function of a HostBlock: numbers
#: (n,).  key: in a Change.  said: text of an amount, function of a number.
_Freeable = collections.namedtuple('_Freeable',
                                   'column sign in_use key said')

#: Amounts that can be freed, by the name of their figure.
_FREEABLE = {
    'RAM': _Freeable('free_ram_mb', 1, lambda hosts: (
        hosts.total_usable_ram_mb - hosts.free_ram_mb),
        'ram_mb', '{} MB of RAM'.format),
    'disk': _Freeable('free_disk_mb', 1, lambda hosts: (
        hosts.total_usable_disk_gb * 1024 - hosts.free_disk_mb),
        'disk_mb', lambda mb: f'{math.ceil(mb / 102.4) / 10:g} GB of disk'),
    'VCPUs': _Freeable('vcpus_used', -1, lambda hosts: hosts.vcpus_used,
                       'vcpus', lambda many: words.counted(many, 'VCPU')),
    'instances': _Freeable(
        'num_instances', -1, lambda hosts: hosts.num_instances,
        'instances', lambda many: words.counted(many, 'instance')),
    'I/O operations': _Freeable(
        'num_io_ops', -1, lambda hosts: hosts.num_io_ops,
        'io_operations', lambda many: words.counted(many, 'I/O operation'))}

#: Amounts of a flavor, by the name of their figure: the amount in a sentence.
_AMOUNTS = {'RAM': '{:,} MB of RAM'.format,
            'VCPUs': lambda many: words.counted(many, 'VCPU'),
            'disk': '{:,} GB of disk'.format}


@dataclasses.dataclass(frozen=True)
class Change:
    """A change by which all instances of a request are placed.

    kind: 'unpinned', 'fewer_instances', 'other_zone', 'filter_off',
        'host_enabled', 'freed', 'smaller_amounts' or 'smaller_flavor'.
    what: the changed things as plain JSON, with units in the names of amounts.
    sentence: the same in words.
    """

    kind: str
    what: dict
    sentence: str

    def to_dict(self):
        return {'kind': self.kind, 'change': dict(self.what),
                'sentence': self.sentence}

    def __str__(self):
        return self.sentence


class Changes(typing.NamedTuple):
    """found: list of Change.  complete: whether all promising changes were
        tried.
    """

    found: list
    complete: bool


def _proposal(kind, what, how, **applied):
    """Return a Change, and the arguments of ``_Search._works`` for it.

    how: beginning of its sentence.
    """
    return Change(kind, what, f'{how} the request is placed'), applied


def smallest_changes(hosts, request, ranker, flavors=(), default_zone=None,
                     ask_others=False, budget=None):
    """Return changes by which a refused request would be placed: Changes.

    hosts: HostSnapshot; not changed.
    request: scheduler.attempt.SchedulingRequest.
    ranker: scheduler.ranking.Ranker.
    flavors: list of Flavor to choose a smaller one from, which is tried first.
    default_zone: availability zone of hosts without a zone.
    ask_others: whether filters that query other services run; if not, they
        pass all hosts.
    budget: hosts.budget.Budget; by default LEAST to MOST seconds of work.
        When it is spent, the changes found so far are returned.
    Finds one Change of a kind, except for zones and filters; none for a
    request that is placed as it is.
    """
    if not ask_others:
        ranker = trials.asking_nobody(ranker, request.spec_obj)
    search = _Search(hosts, request, ranker, flavors, default_zone)
    began, is_over = time.thread_time(), False
    try:
        with budgets.charged(budget or budgets.Budget(MOST)):
            is_refused = search.is_refused()
        seconds = TIMES * (time.thread_time() - began)
        if is_refused:
            with budgets.charged(budget or budgets.Budget(
                    min(max(seconds, LEAST), MOST))):
                search.run()
    except Exception as error:
        if not getattr(error, 'is_budget_spent', False):
            raise
        is_over = True
    return Changes(search.found, not (is_over or search.left_out))


class _Search:
    """Proposes changes, and tries them; arguments as above.

    found: list of Change.
    left_out: whether proposals remain of a kind of which none has worked.
    """

    def __init__(self, hosts, request, ranker, flavors, default_zone):
        self.hosts, self.request, self.ranker = hosts, request, ranker
        self.flavors, self.default_zone = flavors, default_zone
        self.found, self.left_out = [], False

    def is_refused(self):
        """Try the request as it is, and return whether it is refused."""
        self._trial = trials.Trial(self.request, self.ranker, self.hosts)
        return self._trial.error is not None

    def run(self):
        """Try changes of the request."""
        trial = self._trial
        self.placed = trial.count
        #: Number of instances without a host.
        self.missing = self.request.count - trial.count
        with budgets.Step('changes'):
            self.matrix = matrices.judge(trial.hosts, trial.spec_obj,
                                         self.ranker, ask_others=True)
            #: Hosts that only one rule rejects.
            self.nearly = np.flatnonzero(self.matrix.counts == 1)
        for kind, most in _KINDS:
            self._try(kind(self), most)

    def _try(self, proposals, most):
        """Add the first ``most`` proposals that work."""
        remaining = most
        for tries in itertools.count():
            with budgets.Step('changes'):
                proposal = next(proposals, None) if remaining else None
            if proposal is None:
                return
            if tries == MOST_TRIES:
                self.left_out |= remaining == most
                return
            change, applied = proposal
            if self._works(**applied):
                self.found.append(change)
                remaining -= 1

    def _works(self, ranker=None, request=None, row=None, **columns):
        """Return whether the request is placed with other rules, as another
        request, or with other values on a host.

        row: row of the host.  columns: column -> value.
        """
        hosts = self.hosts.copy() if columns else self.hosts
        for name, value in columns.items():
            hosts.write(name, row, value)
        return trials.Trial(request or self.request, ranker or self.ranker,
                            hosts).error is None

    def _asking(self, **fields):
        """Return the request with other fields in its RequestSpec."""
        spec_obj = base.clone(self.request.spec_obj)
        for name, value in fields.items():
            setattr(spec_obj, name, value)
        return dataclasses.replace(self.request, spec_obj=spec_obj)

    def filters_off(self):
        """Propose to disable one filter that rejects hosts alone, or fails.

        Never a filter of amounts: hosts do not have more room without it.
        """
        alone = {count.name: count.alone for count in self.matrix.by_rule()}
        filters = {id(filter_): (type(filter_).__name__, filter_)
                   for filter_ in self.ranker.filters}.values()
        for name, filter_ in sorted(filters, key=lambda pair: (
                -alone.get(pair[0], 0))):
            if codes.of_rule(name, filter_) in codes.OF_AMOUNTS:
                continue
            if alone.get(name) or name in self.matrix.errors or (
                    self._acts_on_others(filter_)):
                yield _proposal(
                    'filter_off', {'filter': name}, f'without {name}',
                    ranker=trials.without(self.ranker, [filter_]))

    def _acts_on_others(self, filter_):
        """Return whether a filter's result may make a later filter reject
        hosts.
        """
        return (matrices.TOGETHER in self.matrix.rules
                and filter_ in self.matrix.judges)

    def smaller_flavors(self):
        """Propose smaller flavors, the largest first.

        Not for a guest with NUMA cells, which depend on its flavor.
        """
        spec_obj = self.request.spec_obj
        if spec_obj.numa_topology is not None:
            return
        now = _sizes(spec_obj.flavor)
        smaller = [flavor for flavor in self.flavors
                   if _sizes(flavor) != now and all(
                       size <= most for size, most
                       in zip(_sizes(flavor), now, strict=True))]
        for flavor in sorted(smaller, key=_sizes, reverse=True):
            memory_mb, disk_gb, vcpus, swap_mb = _sizes(flavor)
            yield _proposal('smaller_flavor', {
                'flavor': flavor.name, 'flavorid': flavor.flavorid,
                'memory_mb': memory_mb, 'vcpus': vcpus, 'disk_gb': disk_gb,
                'swap_mb': swap_mb},
                f'with the flavor {flavor.name} ({memory_mb} MB RAM, '
                f'{words.counted(vcpus, "VCPU")}, {disk_gb} GB disk)',
                request=self._asking(flavor=flavor))

    def enabled_hosts(self):
        """Propose to enable hosts that are disabled or down, most room first.
        """
        hosts = self.matrix.hosts.block(self.nearly)
        hosts = hosts.where(hosts.service_disabled | ~hosts.service_up)
        for row in self._roomiest(hosts.rows):
            disabled = self.matrix.hosts.value('service_disabled', row)
            state, verb = (('disabled', 'enabled') if disabled
                           else ('down', 'up'))
            yield _proposal(
                'host_enabled', {**self._named(row), 'service': state},
                f'with the {state} compute service on '
                f'{self.matrix.name(row)} {verb}',
                row=row, service_disabled=False, service_forced_down=False,
                service_up=True)

    def _roomiest(self, rows):
        """Return rows: first hosts with room for most of the instances, and of
        these the first in table order: list.
        """
        if not len(rows):
            return []
        room = np.full(len(rows), np.inf)
        for _, figure in self._figures(rows):
            if figure.need > 0:
                with np.errstate(invalid='ignore'):
                    room = np.fmin(room, np.floor(figure.have / figure.need))
        order = np.argsort(-np.fmin(room, self.missing), kind='stable')
        return rows[order].tolist()

    def _figures(self, rows):
        """Return the amounts that rules compare on some hosts: list of (rule's
        number, Figure).
        """
        hosts = self.matrix.hosts.copy().block(rows)
        return [(i, figure) for i, filter_ in enumerate(self.matrix.judges)
                if filter_ is not None for figure in filter_.figures(
                    hosts, self.matrix.spec_obj)
                if figure.kind != figures.EXACT]

    def freed(self):
        """Propose to free amounts on one host, the least first."""
        rows = np.flatnonzero(self.matrix.counts)
        amounts, extent = self._amounts(rows)
        for at in _ascending(extent):
            row = rows.item(at)
            amount = {name: math.ceil(column[at]) for name, column
                      in amounts.items() if column[at] > 0}
            if not amount:
                continue
            listed = words.joined([_FREEABLE[name].said(number)
                                 for name, number in amount.items()])
            yield _proposal(
                'freed', self._named(row) | {
                    _FREEABLE[name].key: number
                    for name, number in amount.items()},
                f'with {listed} less on {self.matrix.name(row)}',
                row=row, **{
                    _FREEABLE[name].column: self.hosts.value(
                        _FREEABLE[name].column, row)
                    + _FREEABLE[name].sign * number
                    for name, number in amount.items()})

    def _amounts(self, rows):
        """Return the amounts to free on each host for all missing instances.

        rows: int (n,).
        Returns name -> amounts, float64 (n,), and the total in units of one
        instance's needs: float64 (n,), inf where freeing does not help.
        """
        shortfalls, possible = self._kept_out_by(rows, lambda figure: (
            figure.kind != figures.TOTAL and figure.what in _FREEABLE))
        hosts, amounts = self.matrix.hosts.block(rows), {}
        extent = np.zeros(len(rows))
        for figure in shortfalls:
            lacking = np.maximum(
                self.missing * figure.need - figure.have, 0.0)
            amounts[figure.what] = np.maximum(
                amounts.get(figure.what, 0.0), lacking)
            extent += lacking / max(figure.need, 1)
        for what, column in amounts.items():
            possible &= np.ceil(column) <= np.maximum(
                _FREEABLE[what].in_use(hosts), 0)
        return amounts, np.where(possible, extent, np.inf)

    def _kept_out_by(self, rows, counts):
        """Return the figures that count, and the hosts that nothing else
        rejects: bool (n,).

        rows: int (n,).  counts: function of a Figure: whether it counts.
        """
        rejected = self.matrix.rejected[:, rows]
        explained = np.zeros_like(rejected)
        possible, counting = np.ones(len(rows), dtype=np.bool_), []
        for i, figure in self._figures(rows):
            if counts(figure):
                explained[i] |= ~figure.suffices
                counting.append(figure)
            else:
                possible &= figure.suffices
        return counting, possible & ~(rejected & ~explained).any(axis=0)

    def smaller_amounts(self):
        """Propose the most RAM, VCPUs and disk that fit on a host, first the
        hosts that lack least.

        Not for a guest with NUMA cells, which depend on its flavor.
        """
        if self.request.spec_obj.numa_topology is not None:
            return
        rows = np.flatnonzero(self.matrix.counts)
        shortfalls, possible = self._kept_out_by(
            rows, lambda figure: figure.what in _AMOUNTS)
        room, extent = {}, np.zeros(len(rows))
        for figure in shortfalls:
            room[figure.what] = np.fmin(room.get(figure.what, np.inf),
                                        figure.have)
            extent += np.maximum(figure.lacking, 0) / max(figure.need, 1)
        # Each instance needs a host of its own.
        for at in _ascending(np.where(
                possible & (extent > 0), extent, np.inf))[self.missing - 1:]:
            flavor = self._smaller({what: column.item(at)
                                    for what, column in room.items()})
            if flavor is not None:
                yield self._amounts_of(flavor)

    def _smaller(self, room):
        """Return the flavor reduced to the room of a host; None if that is too
        small for an instance.

        room: name -> amount, in MB or a number.
        """
        flavor = base.clone(self.request.spec_obj.flavor)
        disk_gb = (room.get('disk', math.inf) - flavor.swap) // 1024
        sizes = [(field, least, min(getattr(flavor, field), most))
                 for field, least, most in (
                     ('memory_mb', 1, room.get('RAM', math.inf)),
                     ('vcpus', 1, room.get('VCPUs', math.inf)),
                     ('root_gb', 0, disk_gb - flavor.ephemeral_gb))]
        if any(size < least for _, least, size in sizes):
            return None
        for field, _, size in sizes:
            setattr(flavor, field, int(size))
        return flavor

    def _amounts_of(self, flavor):
        memory_mb, disk_gb, vcpus, _ = _sizes(flavor)
        now = _sizes(self.request.spec_obj.flavor)
        reduced = [(key, what, size) for key, what, size, most in (
            ('memory_mb', 'RAM', memory_mb, now[0]),
            ('vcpus', 'VCPUs', vcpus, now[2]),
            ('disk_gb', 'disk', disk_gb, now[1])) if size < most]
        sizes = words.joined([_AMOUNTS[what](size)
                              for _, what, size in reduced])
        return _proposal(
            'smaller_amounts', {key: size for key, _, size in reduced},
            f'with {"up to " * (self.request.count == 1)}{sizes}',
            request=self._asking(flavor=flavor))

    def other_zones(self):
        """Propose other zones, first zones with most hosts that only one rule
        rejects.
        """
        requested_zone = self.request.spec_obj.availability_zone
        if not requested_zone:
            return
        counts = collections.Counter()
        for aggregates in self.matrix.hosts.block(self.nearly).objects(
                'aggregates'):
            zones = aggregate_values.split_values(
                aggregates, 'availability_zone') or {self.default_zone}
            counts.update(zones - {requested_zone, None, ''})
        for zone in sorted(counts, key=lambda zone: (-counts[zone], zone)):
            yield self._zone(zone, f'in availability zone {zone} instead of '
                                   f'{requested_zone}')

    def no_zone(self):
        """Propose no zone."""
        zone = self.request.spec_obj.availability_zone
        if zone:
            yield self._zone(None, f'without availability zone {zone}')

    def _zone(self, zone, where):
        return _proposal('other_zone', {'availability_zone': zone}, where,
                         request=self._asking(availability_zone=zone))

    def unpinned(self):
        """Propose not to pin the request to hosts and nodes."""
        spec_obj = self.request.spec_obj
        pins = {name: list(getattr(spec_obj, name))
                for name in ('force_hosts', 'force_nodes')
                if getattr(spec_obj, name)}
        fields = dict.fromkeys(pins)
        destination = spec_obj.requested_destination
        if destination is not None and destination.host is not None:
            pins['requested_destination'] = [destination.host, *filter(
                None, [destination.node])]
            fields['requested_destination'] = objects.Destination(**{
                name: getattr(destination, name) for name in destination.fields
                if name not in ('host', 'node')
                and destination.obj_attr_is_set(name)})
        if pins:
            names = words.joined([f'{name} {", ".join(hosts)}'
                                  for name, hosts in pins.items()])
            yield _proposal('unpinned', pins, f'without {names}',
                            request=self._asking(**fields))

    def fewer_instances(self):
        """Propose the number of instances that get a host."""
        count, uuids = self.placed, self.request.instance_uuids
        if count:
            yield _proposal(
                'fewer_instances',
                {'instances': count, 'wanted': self.request.count},
                f'with {count} instead of {self.request.count} instances',
                request=dataclasses.replace(
                    self._asking(num_instances=count), count=count,
                    instance_uuids=uuids and uuids[:count]))

    def _named(self, row):
        """Return a host's names, for a Change: dict."""
        return dict(zip(('host', 'node'), self.hosts.names(row), strict=True))


#: Kinds of proposals, and how many Changes of each are enough.  Kinds that
#: change the request, and kinds with few proposals, come first.
_KINDS = ((_Search.smaller_flavors, 1), (_Search.unpinned, 1),
          (_Search.fewer_instances, 1), (_Search.no_zone, 1),
          (_Search.other_zones, 1), (_Search.filters_off, MOST_TRIES),
          (_Search.enabled_hosts, 1), (_Search.freed, 1),
          (_Search.smaller_amounts, 1))


def _sizes(flavor):
    """Return RAM in MB, disk in GB, VCPUs and swap in MB of a Flavor."""
    return (flavor.memory_mb, flavor.root_gb + flavor.ephemeral_gb,
            flavor.vcpus, flavor.swap)


def _ascending(extent):
    """Return the places of the finite values, the least first: list."""
    order = np.argsort(extent, kind='stable')
    return order[np.isfinite(extent[order])].tolist()
