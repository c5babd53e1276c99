"""Rankings that are kept for the next request that asks for the same.

What most rules say of a host rests on the columns of that host and on the
request alone.  So the second of two requests that are alike is ranked from
what the first one was: only hosts of which a column differs since are judged
and weighed anew, and where that is but what instances take, only by rules that
look at it.  Where one of them passes other filters than before, all are ranked
from the beginning.  The result is that of ``Ranker.ranked``, and so is
what stands on record.
"""

import collections
import dataclasses
import functools
import threading

import numpy as np

from nova_sched import filters
from nova_sched import weights
from nova_sched.hosts import columns
from nova_sched.hosts import labels
from nova_sched.objects import copies
from nova_sched.rules.picks import Reach

#: What instances take of a host.
_USAGE = frozenset(columns.CONSUMED)

#: How many rankings are kept.
MOST = 4
#: Of how many hosts columns may differ; to rank all is as quick then.
MOST_CHANGED = 16
#: Seconds after which all hosts are ranked from the beginning, for filters
#: that have a line about some of them now and then.
MOST_AGE = 60

#: What no built-in rule looks at in a request that ``is_plain``.
_UNREAD = frozenset(('id', 'instance_uuid', 'requested_networks',
                     'security_groups'))


def is_plain(spec_obj, offer):
    """Return whether no rule looks at other instances, or at what Placement
    offers, for a request.

    Nor is there a line about hosts that it names.
    offer: a value of hosts.allocation_candidates.
    """
    wanted, devices = spec_obj.requested_destination, spec_obj.pci_requests
    return not (
        spec_obj.scheduler_hints or spec_obj.instance_group is not None
        or spec_obj.force_hosts or spec_obj.force_nodes
        or (wanted is not None and wanted.host is not None)
        or (offer.asked and (spec_obj.numa_topology is not None
                             or (devices is not None and devices.requests))))


class KeptRankings:
    """The last rankings, by what was asked for."""

    def __init__(self):
        self._lock, self._kept = threading.Lock(), collections.OrderedDict()

    def of(self, request, spec_obj, rules):
        """Return the _Kept of a request that was alike; None if there is none.

        request: RequestSpec, which nobody changes.
        spec_obj: the one that rules are given.
        rules: (filters, weighers), as they run.
        """
        with self._lock:
            kept = self._kept.get(_key(request))
        return kept if kept is not None and kept.is_for(
            request, spec_obj, rules) else None

    def keep(self, kept):
        """Keep a _Kept.

        Those of other hosts go, and the one that was not asked for longest.
        """
        key = _key(kept.request)
        with self._lock:
            for old in [old for old, other in self._kept.items()
                        if other.hosts is not kept.hosts]:
                del self._kept[old]
            self._kept[key] = kept
            self._kept.move_to_end(key)
            if len(self._kept) > MOST:
                self._kept.popitem(last=False)


def _key(request):
    """Return what is nearly always another for requests that are not alike."""
    flavor, image = request.flavor, request.image
    return (flavor.flavorid, flavor.memory_mb, flavor.vcpus,
            image is not None and image.id, request.project_id,
            request.availability_zone)


def kept_of(request, spec_obj, rules, hosts, ran, weighed):
    """Return the _Kept of a ranking.

    request, spec_obj, rules: as of KeptRankings.of.
    hosts: HostBlock that the filters were given.
    ran: what each filter was given and left: list of (name, HostBlock,
        HostBlock).
    weighed: weights.Weighed, of at least two hosts.
    """
    weighed.is_kept = True
    snapshot = hosts.snapshot
    return _Kept(
        _without_caller(request), spec_obj.num_instances,
        spec_obj.config_options, rules, snapshot.table.hosts,
        snapshot.columns_read(), hosts.rows,
        _Steps([(name, before.rows, after.rows)
                for name, before, after in ran], snapshot.size), weighed,
        snapshot.moment)


def _without_caller(request):
    """Return a RequestSpec that shares all with another but who asks."""
    twin = request.__class__.__new__(request.__class__)
    twin.__dict__.update(request.__dict__, _context=None)
    return twin


@dataclasses.dataclass(frozen=True)
class _Kept:
    """A ranking, and all that it rests on.

    hosts: ``HostTable.hosts``.  columns: those that rules have read.
    given: rows that the filters were given.  steps: what these left of them.
    moment: when all were ranked, seconds since the epoch, or None.
    """

    request: object
    num_instances: int
    options: dict
    rules: tuple
    hosts: object
    columns: dict
    given: np.ndarray
    steps: object
    weighed: weights.Weighed
    moment: float | None

    def is_for(self, request, spec_obj, rules):
        """Return whether a request is alike in all that rules look at."""
        return (all(mine is theirs for mine, theirs
                    in zip(self.rules, rules, strict=True))
                and self.num_instances == spec_obj.num_instances
                and self.options == spec_obj.config_options
                and copies.are_equal(self.request, request, _UNREAD))

    def again(self, request, spec_obj, hosts):
        """Return the _Kept of a request that is alike: of the same hosts,
        weighed as they are now.

        request, spec_obj: as of ``of``.
        hosts: HostBlock that the filters are to be given.
        None if all are to be ranked.
        """
        changed, names = self._changed(hosts)
        if changed is None:
            return None
        weighed = self.weighed
        if len(changed):
            try:
                weighed = self._weighed(changed, names, hosts.snapshot,
                                        spec_obj)
            except Exception:
                # Where all are ranked it is raised once more, and logged.
                return None
        # At last, or there are lines in vain.
        if weighed is None or not self._says_the_same(hosts, spec_obj):
            return None
        # With those that rules read of a host for what it has become.
        return dataclasses.replace(
            self, request=_without_caller(request), weighed=weighed,
            columns=hosts.snapshot.columns_read())

    def _changed(self, hosts):
        """Return which of the hosts differ, int array of rows, and in which
        columns, a set.

        None in the place of the rows if they are others, or too many, or if
        all were ranked long ago.
        """
        snapshot, names = hosts.snapshot, set()
        age = (snapshot.moment or 0) - (self.moment or 0)
        if (abs(age) > MOST_AGE or snapshot.table.hosts is not self.hosts
                or not np.array_equal(hosts.rows, self.given)):
            return None, names
        differs = np.zeros(snapshot.size, dtype=np.bool_)
        for name, before in self.columns.items():
            after = snapshot.column(name)
            if after is before:
                continue
            # An aggregate may have another multiplier for its hosts.
            here = None if name == 'aggregates' else _differs(before, after)
            if here is None:
                return None, names
            # Which services are up is another column for each request.
            if here.any():
                names.add(name)
                differs |= here
        changed = self.given[differs[self.given]]
        return changed if len(changed) <= MOST_CHANGED else None, names

    def _says_the_same(self, hosts, spec_obj):
        """Return whether filters that warn reject the hosts of before.

        They warn once more.
        """
        for filter_, (_, before, after) in zip(self.rules[0], self.steps.rows,
                                               strict=True):
            if filter_.warns:
                block = hosts.snapshot.block(before)
                left = block.where(filter_.keep(block, spec_obj))
                if not np.array_equal(left.rows, after):
                    return False
        return True

    def _weighed(self, changed, names, snapshot, spec_obj):
        """Return the Weighed with what a few rows weigh now: None if one of
        them passes other filters than before.

        names: of the columns in which they differ.
        """
        is_usage = names <= _USAGE

        def is_asked(rule):
            return not is_usage or (
                rule.reach_of_picks(spec_obj) is not Reach.NO_HOST)

        filters_, weighers = self.rules
        hosts, stages = snapshot.block(changed), self.steps.stages
        for number, filter_ in enumerate(filters_):
            if not len(hosts):
                break
            passes = stages[hosts.rows] != number
            # Those that warn are asked about all hosts.
            if (is_asked(filter_) and not filter_.warns
                    and not np.array_equal(filter_.keep(hosts, spec_obj),
                                           passes)):
                return None
            hosts = hosts.where(passes)
        weighed = self.weighed.private()
        weighed.is_kept = True
        if len(hosts):
            with weights.unbounded():
                weighed.put(
                    weighed.places(hosts.rows),
                    {number: weigher.raw(hosts, spec_obj)
                     for number, weigher in enumerate(weighers)
                     if is_asked(weigher)}, weighers)
        return weighed

    def put_on_record(self, decision, index, snapshot, spec_obj):
        """Note each filter's step, and who leaves limits on a HostSnapshot."""
        for filter_, (name, before, after) in zip(
                self.rules[0], self.steps.rows, strict=True):
            filters.note_judge(snapshot, filter_, spec_obj)
            decision.step(index, name, before, after)


class _Steps:
    """What filters have left of the hosts.

    rows: of each filter (name, rows before, rows after), a list.
    size: number of rows in the table.
    """

    def __init__(self, rows, size):
        self.rows, self._size = rows, size

    @functools.cached_property
    def stages(self):
        """The number of the filter that rejected each row: int (size,).

        Of rows that passed it is the number of filters; of others anything.
        """
        stages = np.full(self._size, len(self.rows))
        for number, (_, before, after) in enumerate(self.rows):
            if len(after) < len(before):
                stages[before[~_members(after, self._size)[before]]] = number
        return stages


def _members(rows, size):
    """Return which of so many rows are among some: bool (size,)."""
    members = np.zeros(size, dtype=np.bool_)
    members[rows] = True
    return members


def _differs(before, after):
    """Return the rows in which a column differs: bool (n,).

    None if that cannot be told.
    """
    if isinstance(before, labels.Labels):
        if before.values is not after.values:
            return None
        before, after = before.codes, after.codes
    return before != after if isinstance(before, np.ndarray) else None
