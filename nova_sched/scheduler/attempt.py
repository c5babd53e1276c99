"""Choosing a host for each instance of one request.

``SchedulingAttempt.place`` works on a private HostSnapshot.  It may be called
again with a later snapshot, for the instances that have no host yet:

1. Check that the hosts which the request names exist, and complete its server
   group (``_begin``).
2. Keep the hosts that are Placement's candidates (``offered``).
3. For each instance (``_place_one``): rank the hosts that passed the filters
   for the previous instance (``Ranker.ranked``), select among the best
   (``HostSelector.select``), choose the first host that can be claimed
   (``Claims.choose``) and consume its resources.
4. If there are too few hosts, raise NoValidHost with the number of hosts that
   each rule rejected (``_refuse``).

``claim`` claims the hosts in Placement, and ``selections`` adds alternates.
"""

import dataclasses
import random

from oslo_log import log as logging
from oslo_utils import uuidutils

from nova_sched import exception
from nova_sched.hosts import budget
from nova_sched.hosts import decision
from nova_sched.hosts import instances
from nova_sched.hosts.allocation_candidates import PLACEMENT_NOT_USED
from nova_sched.inventory.in_flight import PlacedInstance
from nova_sched.objects import base
from nova_sched.rules import codes
from nova_sched.rules import limits as host_limits
from nova_sched.rules import narrowing
from nova_sched.rules import reasons
from nova_sched.scheduler import refusals
from nova_sched.scheduler import selections
from nova_sched.scheduler.ranking import Ranked

LOG = logging.getLogger(__name__)

#: Name of the step that leaves Placement's candidates.
OFFERED = codes.OFFERED


@dataclasses.dataclass(frozen=True)
class HostSelector:
    """The random choice among the best hosts.

    band: hosts are shuffled if they weigh at most this much less than the
        best host; None to shuffle no hosts.
    subset_size: number of best hosts from which one is drawn.
    """

    band: float | None
    subset_size: int

    @classmethod
    def of(cls, conf):
        """Return the selector that the options describe."""
        band = conf.nova_sched.spread_near_equal
        if (band is None
                and conf.filter_scheduler.shuffle_best_same_weighed_hosts):
            band = 0.0
        return cls(band, max(1, conf.filter_scheduler.host_subset_size))

    @property
    def draws(self):
        """Whether there is a random choice; else hosts keep their order."""
        return self.band is not None or self.subset_size > 1

    def select(self, weights, generator):
        """Return the order in which to try the hosts; None for unchanged.

        weights: float64 (n,), descending.
        generator: function that returns the random.Random to draw by.
        Returns positions in ``weights``, the drawn host first: list.
        """
        if not len(weights) or not self.draws:
            return None
        order = list(range(len(weights)))
        generator = generator()
        if self.band is not None:
            # A plug-in may sort hosts in another order.
            near = (weights >= weights[0] - self.band) & (
                weights <= weights[0])
            best = order[:int(near.sum())]
            generator.shuffle(best)
            order[:len(best)] = best
        chosen = generator.randrange(min(self.subset_size, len(order)))
        order.insert(0, order.pop(chosen))
        return order


@dataclasses.dataclass(frozen=True)
class SchedulingRequest:
    """The arguments of a call of the driver's select_destinations.

    spec_obj: RequestSpec, which is not changed.
    instance_uuids: list, one an instance; None from old callers.
    count: number of instances.
    most_alternates: maximum number of alternates of each instance.
    context: RequestContext of the call.
    options: content of the operator's JSON file of options: dict.
    seed: seed of the random generator.
    """

    spec_obj: object
    instance_uuids: list | None
    count: int
    most_alternates: int = 0
    context: object = None
    options: dict = dataclasses.field(default_factory=dict)
    seed: int = 0
    #: Replaces the instance uuid of a request that has none.
    anonymous: str = dataclasses.field(
        default_factory=uuidutils.generate_uuid)

    def keys(self):
        """Return the key of each instance's ledger entry: list.

        Callers before Pike send the first instance's uuid only.
        """
        if self.instance_uuids is not None:
            return list(self.instance_uuids)
        first = self.spec_obj.instance_uuid
        if first is None:
            return [(self.anonymous, index) for index in range(self.count)]
        return [first, *((first, index) for index in range(1, self.count))]

    @property
    def group(self):
        """The key of the request's server group: text, or None.

        Callers before Liberty send only its hosts and policy, and its name in
        the hints.
        """
        group = self.spec_obj.instance_group
        if group is None:
            return None
        hint = self.spec_obj.get_scheduler_hint('group')
        return group.uuid or (hint if isinstance(hint, str) else None)

    def named_instances(self):
        """Return the uuids of instances that the decision depends on: list.

        These are the instances in hints and, with a server group, its members
        and the request's own instances, which may run already.
        """
        group = self.spec_obj.instance_group
        members = () if group is None else (
            *(group.members or ()), *(self.instance_uuids or ()))
        return [*instances.named(self.spec_obj), *members]

    def related(self):
        """Return the keys that the decision depends on: set.

        These are the keys of its instances, of its group, of the group's
        members, and of the instances in hints.
        """
        return {self.group, *self.keys(), *self.named_instances()} - {None}


@dataclasses.dataclass(frozen=True)
class Placed(selections.Chosen):
    """The host that an instance is placed on, and its PlacedInstance."""

    in_flight: PlacedInstance


class SchedulingAttempt:
    """Places the instances of one request on a private HostSnapshot.

    request: SchedulingRequest.
    ranker: scheduler.ranking.Ranker.  selector: HostSelector.
    claims: scheduler.claims.Claims.
    record: Decision to fill.
    zone: availability zone of hosts without a zone in their aggregates.
    """

    def __init__(self, request, ranker, selector, claims, record, zone=None):
        self.request, self.claims = request, claims
        self._spec_obj = self._own_spec()
        self._ranker, self._selector = ranker, selector
        self._record, self._zone = record, zone
        self._keys, self._ranked, self._reranker = request.keys(), None, None
        # Index of an instance -> its Placed, and the (host, node) pairs where
        # Placement has refused its claim.
        self._placed, self._refused = {}, {}
        # Indexes of the instances that the last call of ``place`` placed.
        self._latest = []
        self._selected, self._room = {}, None
        self._generator = random.Random(request.seed)
        #: The HostSnapshot; None before the first call of ``place``.
        self.hosts = None

    def _own_spec(self):
        """Return a copy of the RequestSpec that this attempt may change."""
        own = base.clone(self.request.spec_obj)
        own._context = self.request.context
        # The cost limit of a JSON query depends on the number of instances,
        # which the caller's value may understate.
        own.num_instances = max(own.num_instances, self.request.count)
        own.config_options = self.request.options
        return own

    @property
    def placed(self):
        """The picks in the order of instances: list of PlacedInstance."""
        return [pick.in_flight for pick in self._picks()]

    @property
    def is_complete(self):
        """Whether there are instances, and all have a host."""
        return 0 < len(self._keys) == len(self._placed)

    @property
    def unplaced(self):
        """The keys of the instances that have no host yet: list."""
        return [self._keys[index] for index in self._unplaced()]

    def _unplaced(self):
        return [index for index in range(len(self._keys))
                if index not in self._placed]

    def place(self, hosts, siblings=(), is_over=lambda: False,
              shows_picks=True, room=None):
        """Place instances that have no host yet; return their picks.

        It places one instance only, if claims cannot be sent together.
        hosts: HostSnapshot to consume from.
        siblings: picks of other requests in the same server group.
        is_over: function that returns whether the slice has ended.
        shows_picks: whether the hosts show earlier picks of this request.
        room: free amounts in the mirror, see Claims.choose.
        Returns a list of PlacedInstance.
        Raises NoValidHost, and exceptions of rules.
        """
        if self.hosts is not None:
            self._spec_obj = self._own_spec()
        self.hosts, instances, self._latest = hosts, self._unplaced(), []
        self._room = room
        self._record.funnel.begin_view(instances)
        self._record.siblings.clear()
        self._begin()
        self._join(siblings)
        for pick in self._picks():
            self._repeat(pick, shows_picks)
        self._reranker = self._make_reranker() if len(instances) > 1 else None
        candidates = self._offered()
        for position, index in enumerate(instances):
            if not self._place_one(position, index, candidates):
                self._refuse()
            candidates = None
            if is_over() or not self.claims.together:
                break
        return [self._placed[index].in_flight for index in self._latest]

    def claim(self):
        """Claim the latest picks; return the refused picks.

        The instances of refused picks have no host afterwards.
        Returns a list of PlacedInstance.
        """
        latest = {index: self._placed[index] for index in self._latest}
        self._latest = []
        refused = [] if self.claims.claim(
            {self._keys[index]: (pick.in_flight.place, pick.claimed)
             for index, pick in latest.items()}, self._spec_obj) else [*latest]
        if len(refused) == 1:
            [(index, pick)] = latest.items()
            self._refused.setdefault(index, set()).add(pick.in_flight.place)
        for index in sorted(self._selected.keys() & latest.keys() - refused):
            LOG.debug('Selected host: %(host)s',
                      {'host': self._selected[index]})
        if refused:
            self._drop(refused)
        return [latest[index].in_flight for index in refused]

    def undo(self):
        """Drop the latest picks, if they are not assumed yet."""
        self._drop(self._latest)
        self._latest = []

    def _drop(self, indexes):
        for index in indexes:
            del self._placed[index]
        self._record.unpicked(indexes)

    def selections(self):
        """Return host and alternates of each instance: lists of Selection."""
        return selections.of(self._picks(), self._alternates(), self._zone,
                             self.claims.version)

    def _picks(self):
        """Return the picks in the order of instances: list of Placed."""
        return [self._placed[index] for index in sorted(self._placed)]

    def _begin(self):
        if not self.request.count:
            self._record.refuse('no_instances', codes.CONTRADICTION)
            self._raise(full='The list of instance uuids is empty')
        unknown = _unknown_host(self.hosts, self._spec_obj)
        if unknown:
            self._record.refuse('unknown_host', codes.CONTRADICTION)
            self._raise(nova=unknown)
        complete_group(self._spec_obj, self.hosts)

    def _join(self, siblings):
        """Add other requests' assumed picks to the server group.

        Unlike the caller's members, they are not limited in number.
        """
        if not siblings:
            return
        self._record.siblings += [
            (placed.key, placed.host) for placed in siblings
            if isinstance(placed.key, str)]
        group = self._spec_obj.instance_group
        _add(group.hosts, [placed.host for placed in siblings])
        _add(group.members, [placed.key for placed in siblings
                             if isinstance(placed.key, str)])

    def _repeat(self, placed, is_shown):
        """Count a pick on an earlier snapshot on this one.

        is_shown: whether the snapshot includes its usage.
        """
        key, row = placed.in_flight.key, selections.row_of(self.hosts, placed)
        uuid = key if isinstance(key, str) else None
        if is_shown or row is None:
            join_group(self._spec_obj, uuid, self.hosts, placed.in_flight.host)
        else:
            self._consume(uuid, dataclasses.replace(placed.claimed, row=row),
                          placed.limits)

    def _offered(self):
        """Return the hosts that are Placement's candidates: HostBlock."""
        hosts = self.hosts.block()
        candidates = offered(hosts, self.hosts.offer)
        if candidates is not hosts:
            self._record.funnel.step(0, OFFERED, hosts.rows, candidates.rows)
        return candidates

    def _place_one(self, position, index, candidates):
        """Place one instance; return whether a host was found.

        position: number of the instance on this snapshot.
        index: number of the instance in the request.
        candidates: HostBlock for the first instance on this snapshot, None
            for later instances.
        """
        uuids = self.request.instance_uuids
        uuid = uuids[index] if uuids else None
        if uuid is not None:
            self._spec_obj.instance_uuid = uuid
        self._ranked = ranked = self._choose(candidates, position,
                                             self._record)
        claimed = self.claims.choose(
            ranked, uuid, self._refused.get(index, ()), self._room)
        if claimed is None:
            if len(ranked):
                rows = ranked.hosts.rows
                self._record.funnel.step(position, codes.CLAIMED, rows,
                                         rows[:0])
            return False
        claimed.assign_providers(self._spec_obj)
        limits = host_limits.of_row(self.hosts, claimed.row)
        in_flight = self._in_flight(index, claimed, limits)
        self._placed[index] = Placed(self.hosts, claimed, limits, in_flight)
        self._latest.append(index)
        self._note(index, claimed.row, in_flight)
        self._consume(uuid, claimed, limits)
        budget.check('consumption', index)
        return True

    def _consume(self, uuid, claimed, limits):
        """Consume the resources of an instance on its host."""
        self.hosts.consume(claimed.row, self._spec_obj, self.hosts.moment,
                           claimed.mapping, limits)
        join_group(self._spec_obj, uuid, self.hosts,
                   self.hosts.value('host', claimed.row))

    def _choose(self, candidates, position, record):
        """Return the ranked hosts with the drawn one first: Ranked.

        Arguments are those of ``_place_one``.
        """
        ranked = None
        if candidates is None and self._reranker is not None:
            last = self._placed[self._latest[-1]].in_flight
            ranked = self._reranker.ranked(self._ranked, last.host, position,
                                           record)
        if ranked is None:
            ranked = self._ranker.ranked(
                self._ranked.hosts if candidates is None else candidates,
                self._spec_obj, position, record)
        if not self._selector.draws:
            return ranked
        return Ranked(self.hosts, ranked.weighed, self._selector.select(
            ranked.weighed.weights, lambda: self._generator))

    def _make_reranker(self):
        # If an instance of the request runs already, rules on server groups
        # may judge its host differently for that instance.
        if self._spec_obj.instance_group is not None and (
                self.hosts.instances.running(self.request.instance_uuids or (),
                                             placed=False)):
            return None
        return self._ranker.reranker(self._spec_obj)

    def _in_flight(self, index, claimed, limits):
        """Return the PlacedInstance of an instance on a ClaimedHost."""
        return PlacedInstance(
            self._keys[index], *self.hosts.names(claimed.row),
            self._spec_obj.demand(), limits.get('numa_topology'),
            self.request.group, self.hosts.moment,
            claimed.amounts if self.claims.claiming else None)

    def _note(self, index, row, placed):
        """Record an instance's pick."""
        weighed = self._ranked.weighed
        if LOG.isEnabledFor(logging.DEBUG):
            # Nova logs it after the claim, as it was before consumption.
            self._selected[index] = str(self.hosts.state(row))
        self._record.picked(
            decision.Pick(
                index, placed.key if isinstance(placed.key, str) else None,
                placed.host, placed.nodename, weighed.weight(row)),
            weighed.names, self._weights(index, row))

    def _weights(self, index, row):
        """Return the weights to record: decision.Weights, or None.

        index: number of the instance.  row: row of the picked host.
        """
        weighed, record = self._ranked.weighed, self._record
        most = record.weighing.hosts_to_keep(len(weighed.table_rows), index)
        if not most:
            return None
        best = (weighed.order if most > decision.BEST else weighed.head)[:most]
        # For later instances, the parts of the picked host only.
        parts = weighed.parts([
            *(() if record.weighing.kept and index else best[:decision.BEST]),
            weighed.position(row)])
        return decision.Weights(weighed.table_rows[best], weighed.values[best],
                                parts[-1], parts[:-1])

    def _refuse(self):
        """Raise NoValidHost for an instance without a host."""
        count, placed = self.request.count, len(self._placed)
        LOG.debug('There are %(hosts)d hosts available but '
                  '%(required_count)d instances requested to build.',
                  {'hosts': placed, 'required_count': count})
        counted = reasons.counted(self._record, self._ranker.filters,
                                  self.hosts, self._spec_obj)
        refusals.note(self._record, self._ranker.filters, self.hosts,
                      self._spec_obj)
        partly = (f'{placed} of {count} instances could be placed; '
                  if placed else '')
        nova = exception.NoValidHost.nova
        self._raise(full=partly + counted.full,
                    counts=f'{nova} {partly}{counted.amounts}',
                    # Without ``partly``, which would reveal free capacity.
                    filters=f'{nova} {counted.named}'.rstrip())

    def _raise(self, nova=exception.NoValidHost.nova, full='', **texts):
        """Record the reason, and raise NoValidHost.

        nova: Nova's text.  full: additional text for operators.
        texts: texts for tenants, see exception.NoValidHost.
        """
        late = reasons.late_claims(self._record)
        lost = reasons.lost_cells(self._record) + late
        texts = {name: text + late for name, text in texts.items()}
        self._record.reason = (full or nova).strip() + lost
        raise exception.NoValidHost(
            reason=(f'{nova} {full}' if full else nova) + lost, nova=nova,
            **texts)

    def _alternates(self):
        """Return the alternates of each pick, see ``selections.alternates``.

        An empty list if the caller requested none.
        """
        most = self.request.most_alternates
        if most < 1:
            return []
        ranked, picks = self._ranked, self._picks()
        if len(picks) > 1:
            # Rank again after the last pick; this record is not kept.
            ranked = self._choose(ranked.hosts, len(picks) - 1,
                                  decision.Decision())
        alternates = selections.alternates(
            self.hosts, picks, ranked.rows(), most, self.claims.first_of)
        self._record.alternates = sum(map(len, alternates))
        return alternates


def complete_group(spec_obj, hosts):
    """Copy the lists of members and hosts of a server group, to change them.

    The hosts of the members are looked up if the caller sends no hosts.
    spec_obj: RequestSpec to change.  hosts: HostSnapshot.
    """
    group = spec_obj.instance_group
    if group is None:
        return
    if group.hosts is None:
        located = hosts.instances.running(group.members or ())
        group.hosts = sorted(set(located.values()))
    group.members = list(group.members or ())
    group.hosts = list(group.hosts)


def join_group(spec_obj, instance_uuid, hosts, host):
    """Add a placed instance to its server group.

    instance_uuid: None from old callers; a uuid is generated then.
    hosts: HostSnapshot.  host: name of the host it is placed on.
    """
    group = spec_obj.instance_group
    if group is None:
        return
    if instance_uuid is None:
        instance_uuid = uuidutils.generate_uuid()
        group.members.append(instance_uuid)
    group.hosts.append(host)
    hosts.instances.place(instance_uuid, host, spec_obj.flavor)


def _add(names, more):
    """Append the names of ``more`` that a list does not have."""
    known = {*names}
    names += [name for name in dict.fromkeys(more) if name not in known]


def offered(hosts, offer):
    """Return the hosts of a HostBlock that are candidates of Placement.

    offer: value of hosts.allocation_candidates; all hosts are candidates if
        Placement is not used.
    """
    if offer is PLACEMENT_NOT_USED:
        return hosts
    return hosts.where(hosts.named('uuid', offer.providers))


def _unknown_host(hosts, spec_obj):
    """Return the text for a host or node that is named but unknown, or None.

    One known name suffices where several hosts or nodes are forced.
    """
    destination, every = spec_obj.requested_destination, hosts.block()
    if destination is not None and destination.host is not None:
        names, nodes = [destination.host], [destination.node]
        known_host = every.named('host', names).any()
    else:
        names = spec_obj.force_hosts or [None]
        nodes = spec_obj.force_nodes or [None]
        known_host = (not spec_obj.force_hosts
                      or narrowing.named(every, names).any())
    known_node = not any(nodes) or every.named('nodename', nodes).any()
    if known_host and known_node:
        return None
    return f'No such host - host: {names[0]} node: {nodes[0]} '
