"""The hosts of one request: a host for each of its instances.

``SchedulingAttempt.place`` works on a private HostSnapshot, and may be called
again on a later one for the instances that have no host yet:

1. Check that the hosts which the request names are there, and complete its
   server group (``_begin``).
2. Keep the hosts that Placement offers (``offered``).
3. Per instance (``_place_one``): rank what the filters of the previous
   instance left (``Ranker.ranked``), select among the best
   (``HostSelector.select``), choose the first host that may be claimed
   (``Claims.choose``) and consume it.
4. Too few hosts: NoValidHost with the reasons counted (``_refuse``).

``claim`` claims the hosts in Placement, and ``selections`` adds alternates.
"""

import dataclasses
import random

from oslo_log import log as logging
from oslo_utils import uuidutils

from nova_sched import exception
from nova_sched import filters
from nova_sched.hosts import budget
from nova_sched.hosts import decision
from nova_sched.hosts import instances
from nova_sched.hosts.allocation_candidates import PLACEMENT_NOT_USED
from nova_sched.inventory.in_flight import InFlight
from nova_sched.objects import base
from nova_sched.rules import codes
from nova_sched.rules import reasons
from nova_sched.rules import refusals
from nova_sched.rules.ranking import Ranked
from nova_sched.scheduler import selections

LOG = logging.getLogger(__name__)

#: What the step is called that leaves the hosts which Placement offers.
OFFERED = codes.OFFERED


@dataclasses.dataclass(frozen=True)
class HostSelector:
    """The draw among the best hosts.

    band: shuffle the hosts that weigh at most so much less than the best
        one; None to shuffle none.
    subset_size: draw from so many of the first hosts.
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
        """Whether there is a draw; else hosts are tried in their order."""
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
            # A plug-in may have them in another order.
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
    """A call of select_destinations, as the driver got it.

    spec_obj: RequestSpec; nobody changes it.
    instance_uuids: one an instance; None from callers that send none.
    count: number of instances.
    most_alternates: number of alternates for each of them, at most.
    context: RequestContext of the call.
    options: content of the operator's JSON file of options: dict.
    seed: of the random generator.
    """

    spec_obj: object
    instance_uuids: list | None
    count: int
    most_alternates: int = 0
    context: object = None
    options: dict = dataclasses.field(default_factory=dict)
    seed: int = 0
    #: Stands for the instance of a request that names none.
    anonymous: str = dataclasses.field(
        default_factory=uuidutils.generate_uuid)

    def own_spec(self):
        """Return a RequestSpec that an attempt may change."""
        own = base.clone(self.spec_obj)
        own._context = self.context
        # The cost limit of a JSON query depends on it, so the caller's own
        # figure is not enough.
        own.num_instances = max(own.num_instances, self.count)
        own.config_options = self.options
        return own

    def keys(self):
        """Return the key of each instance's placement in flight: list.

        Callers before Pike name the first instance only.
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

        Callers before Liberty send only its hosts and policy, and leave its
        name in the hints.
        """
        group = self.spec_obj.instance_group
        if group is None:
            return None
        hint = self.spec_obj.get_scheduler_hint('group')
        return group.uuid or (hint if isinstance(hint, str) else None)

    def named_instances(self):
        """Return the uuids of instances whose hosts matter: list.

        Those in hints, and of a server group the members and the request's
        own instances, which may run somewhere already.
        """
        group = self.spec_obj.instance_group
        members = () if group is None else (
            *(group.members or ()), *(self.instance_uuids or ()))
        return [*instances.named(self.spec_obj), *members]

    def related(self):
        """Return the keys of instances and groups it depends on: set."""
        group = self.spec_obj.instance_group
        members = group.members or () if group is not None else ()
        return {self.group, *self.keys(), *members,
                *instances.named(self.spec_obj)} - {None}


@dataclasses.dataclass(frozen=True)
class Placed(selections.Chosen):
    """A host that an instance is placed on; in_flight: InFlight."""

    in_flight: InFlight


class SchedulingAttempt:
    """Places the instances of one request on private hosts.

    request: SchedulingRequest.
    ranker: rules.ranking.Ranker.  selector: HostSelector.
    claims: scheduler.claims.Claims.
    record: Decision, filled here.
    zone: availability zone of hosts that are in none.
    """

    def __init__(self, request, ranker, selector, claims, record, zone=None):
        self.request, self.claims = request, claims
        self._spec_obj = self._own_spec()
        self._ranker, self._selector = ranker, selector
        self._record, self._zone = record, zone
        self._keys, self._ranked, self._reranker = request.keys(), None, None
        # By index of the instance: Placed, and the (host, node) pairs where
        # Placement has refused its claim; the indexes of the last view.
        self._placed, self._refused, self._latest = {}, {}, []
        self._selected, self._room = {}, None
        self._generator = random.Random(request.seed)
        #: HostSnapshot that it works on; None before it begins.
        self.hosts = None

    def _own_spec(self):
        """Return a RequestSpec that this attempt may change."""
        return self.request.own_spec()

    @property
    def placed(self):
        """What has a host, in order: list of InFlight."""
        return [self._placed[index].in_flight
                for index in sorted(self._placed)]

    @property
    def is_complete(self):
        """Whether each instance has a host, of one at least."""
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
        """Place the instances that have no host yet: list of InFlight.

        One alone where claims cannot be made together.
        hosts: HostSnapshot, which is changed.
        siblings: picks of other requests in its server group.
        is_over: function that returns whether to place no more for now.
        shows_picks: whether the hosts show earlier picks of this request.
        room: what a copy of Placement has free, as of Claims.choose.
        Raises NoValidHost, and whatever a rule raises.
        """
        if self.hosts is not None:
            self._spec_obj = self._own_spec()
        self.hosts, instances, self._latest = hosts, self._unplaced(), []
        self._room = room
        self._record.funnel.begin_view(instances)
        self._record.siblings.clear()
        self._begin()
        self._join(siblings)
        for each in self._picks():
            self._repeat(each, shows_picks)
        self._reranker = self._make_reranker() if len(instances) > 1 else None
        left = self._offered()
        for position, index in enumerate(instances):
            if not self._place_one(position, index, left):
                self._refuse()
            left = None
            if is_over() or not self.claims.together:
                break
        return [self._placed[index].in_flight for index in self._latest]

    def claim(self):
        """Claim the picks of the last view; return the refused ones: list of
        InFlight.

        Their instances have no host then.
        """
        latest = {index: self._placed[index] for index in self._latest}
        self._latest = []
        chosen = {self._keys[index]: (each.in_flight.place, each.claimed)
                  for index, each in latest.items()}
        if len(chosen) > 1:
            if self.claims.claim_all(chosen, self._spec_obj):
                self._log_selected(latest)
                return []
            self._drop(latest)
            return [each.in_flight for each in latest.values()]
        refused = set(self.claims.claim(chosen, self._spec_obj))
        found = {index: each.in_flight for index, each in latest.items()
                 if self._keys[index] in refused}
        for index, each in found.items():
            self._refused.setdefault(index, set()).add(each.place)
        self._log_selected(latest.keys() - found.keys())
        if found:
            self._drop([*found])
        return [*found.values()]

    def _log_selected(self, indexes):
        for index in sorted(self._selected.keys() & indexes):
            LOG.debug('Selected host: %(host)s',
                      {'host': self._selected[index]})

    def undo(self):
        """Drop the picks of the last view, if they are not assumed yet."""
        self._drop(self._latest)
        self._latest = []

    def _drop(self, indexes):
        for index in indexes:
            del self._placed[index]
        self._record.unpicked(indexes)

    def selections(self):
        """Return a host and alternates an instance: lists of Selection."""
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
        """Add assumed picks to the server group.

        Their number is not limited, unlike that of the caller's members.
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
        """Have a pick of an earlier view count on this one.

        is_shown: whether the hosts show its usage.
        """
        key, row = placed.in_flight.key, selections.row_of(self.hosts, placed)
        uuid = key if isinstance(key, str) else None
        if is_shown or row is None:
            join_group(self._spec_obj, uuid, self.hosts, placed.in_flight.host)
        else:
            self._consume(uuid, dataclasses.replace(placed.claimed, row=row),
                          placed.limits)

    def _offered(self):
        """Return the hosts that Placement offers: HostBlock."""
        hosts = self.hosts.block()
        left = offered(hosts, self.hosts.offer)
        if left is not hosts:
            self._record.funnel.step(0, OFFERED, hosts.rows, left.rows)
        return left

    def _place_one(self, position, index, left):
        """Place one instance; return whether a host takes it.

        position: among the instances of this view.  index: of the instance.
        left: HostBlock that the filters of the previous instance left; None
            if nothing but its pick has changed since.
        """
        uuids = self.request.instance_uuids
        uuid = uuids[index] if uuids else None
        if uuid is not None:
            self._spec_obj.instance_uuid = uuid
        self._ranked = ranked = self._choose(left, position, self._record)
        claimed = self.claims.choose(
            ranked, uuid, self._refused.get(index, ()), self._room)
        if claimed is None:
            if len(ranked):
                rows = ranked.hosts.rows
                self._record.funnel.step(position, codes.CLAIMED, rows,
                                         rows[:0])
            return False
        claimed.assign_providers(self._spec_obj)
        limits = filters.limits_of(self.hosts, claimed.row)
        in_flight = self._in_flight(index, claimed, limits)
        self._placed[index] = Placed(self.hosts, claimed, limits, in_flight)
        self._latest.append(index)
        self._note(index, claimed.row, in_flight)
        self._consume(uuid, claimed, limits)
        budget.check('consumption', index)
        return True

    def _consume(self, uuid, claimed, limits):
        """Take an instance out of the free resources of its host."""
        self.hosts.consume(claimed.row, self._spec_obj, self.hosts.moment,
                           claimed.mapping, limits)
        join_group(self._spec_obj, uuid, self.hosts,
                   self.hosts.cell('host', claimed.row))

    def _choose(self, left, position, record):
        """Return the ranked hosts with the drawn one first: Ranked.

        Arguments are those of ``_place_one``.
        """
        ranked = (self._ranked_again(position, record) if left is None
                  else None)
        if ranked is None:
            if left is None:
                left = self._ranked.hosts
            ranked = self._ranker.ranked(left, self._spec_obj, position,
                                         record)
        if not self._selector.draws:
            return ranked
        return Ranked(self.hosts, ranked.weighed, self._selector.select(
            ranked.weighed.weights, lambda: self._generator))

    def _ranked_again(self, position, record):
        """Return the hosts after the last pick: Ranked, or None."""
        if self._reranker is None:
            return None
        last = self._placed[self._latest[-1]].in_flight
        return self._reranker.ranked(self._ranked, last.host, position, record)

    def _make_reranker(self):
        # Where an instance of the request runs somewhere already, the rules
        # on server groups may judge that host for it alone.
        if self._spec_obj.instance_group is not None and (
                self.hosts.instances.running(self.request.instance_uuids or (),
                                             placed=False)):
            return None
        return self._ranker.reranker(self._spec_obj)

    def _in_flight(self, index, claimed, limits):
        """Return the InFlight of an instance on a ClaimedHost."""
        host, node = (self.hosts.cell(name, claimed.row)
                      for name in ('host', 'nodename'))
        return InFlight(
            self._keys[index], host, node, self._spec_obj.demand(),
            limits.get('numa_topology'), self.request.group,
            self.hosts.moment,
            claimed.amounts if self.claims.claiming else None)

    def _note(self, index, row, placed):
        """Put an instance's host on record."""
        weighed = self._ranked.weighed
        if LOG.isEnabledFor(logging.DEBUG):
            # As it is before it is consumed; Nova logs it once it is claimed.
            self._selected[index] = str(self.hosts.state(row))
        self._record.picked(
            decision.Pick(
                index, placed.key if isinstance(placed.key, str) else None,
                placed.host, placed.nodename, weighed.weight(row)),
            weighed.names, self._weights(index, row))

    def _weights(self, index, row):
        """Return the weights to record: decision.Weights, or None.

        index: of the instance.  row: of the picked host.
        """
        weighed, record = self._ranked.weighed, self._record
        most = record.weighing.hosts_to_keep(len(weighed.given), index)
        if not most:
            return None
        kept = (weighed.order if most > decision.BEST else weighed.head)[:most]
        # Of later instances the picked host's alone.
        parts = weighed.parts([
            *(() if record.weighing.kept and index else kept[:decision.BEST]),
            weighed.position(row)])
        return decision.Weights(weighed.given[kept], weighed.values[kept],
                                parts[-1], parts[:-1])

    def _refuse(self):
        """Raise NoValidHost because an instance got no host."""
        count, placed = self.request.count, len(self._placed)
        LOG.debug('There are %(hosts)d hosts available but '
                  '%(required_count)d instances requested to build.',
                  {'hosts': placed, 'required_count': count})
        found = reasons.counted(self._record, self._ranker.filters,
                                self.hosts, self._spec_obj)
        refusals.note(self._record, self._ranker.filters, self.hosts,
                      self._spec_obj)
        some = (f'{placed} of {count} instances could be placed; ' if placed
                else '')
        nova = exception.NoValidHost.nova
        self._raise(full=some + found.full,
                    counts=f'{nova} {some}{found.asked}',
                    # How many instances fit tells what is free.
                    filters=f'{nova} {found.named}'.rstrip())

    def _raise(self, nova=exception.NoValidHost.nova, full='', **texts):
        """Raise NoValidHost, with its reason on record.

        nova: Nova's words.  full: what the operator is told besides.
        texts: what a tenant may be told of it, as of NoValidHost.
        """
        lost = reasons.lost_cells(self._record)
        late = reasons.late_claims(self._record)
        texts = {name: text + late for name, text in texts.items()}
        lost += late
        self._record.reason = (full or nova).strip() + lost
        raise exception.NoValidHost(
            reason=(f'{nova} {full}' if full else nova) + lost, nova=nova,
            **texts)

    def _alternates(self):
        """Return the alternates of each pick, see ``selections.alternates``.

        An empty list if the caller wants none.
        """
        most = self.request.most_alternates
        if most < 1:
            return []
        ranked, picks = self._ranked, self._picks()
        if len(picks) > 1:
            # Ranked once more with all that was consumed, off the record.
            ranked = self._choose(ranked.hosts, len(picks) - 1,
                                  decision.Decision())
        found = selections.alternates(self.hosts, picks, ranked.rows(), most,
                                      self.claims.first_of)
        self._record.alternates = sum(map(len, found))
        return found


def complete_group(spec_obj, hosts):
    """Give a server group lists of members and hosts of its own.

    The hosts of its members are looked up for callers that send none.
    spec_obj: RequestSpec, whose group is changed.  hosts: HostSnapshot.
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
    """Add an instance to its server group, for the next ones to see.

    instance_uuid: None from callers that send none; the instance joins its
        group under a uuid made up for this request.
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


def _add(names, others):
    """Append the names of ``others`` that a list does not have."""
    known = {*names}
    names += [name for name in dict.fromkeys(others) if name not in known]


def offered(hosts, offer):
    """Return the hosts of a HostBlock that Placement offers, if asked."""
    if offer is PLACEMENT_NOT_USED:
        return hosts
    return hosts.where(hosts.named('uuid', offer.providers))


def _unknown_host(hosts, spec_obj):
    """Return why a host or node that a request names is unknown, or None.

    Of several forced ones any may be right.
    """
    wanted, every = spec_obj.requested_destination, hosts.block()
    if wanted is not None and wanted.host is not None:
        names, nodes = [wanted.host], [wanted.node]
        known_host = every.named('host', names).any()
    else:
        names = spec_obj.force_hosts or [None]
        nodes = spec_obj.force_nodes or [None]
        # Only forced hosts are compared without regard to case.
        folded = {name.lower() for name in spec_obj.force_hosts or ()}
        known_host = not folded or every.judge(
            'host', lambda name: name.lower() in folded).any()
    known_node = not any(nodes) or every.named('nodename', nodes).any()
    if known_host and known_node:
        return None
    return f'No such host - host: {names[0]} node: {nodes[0]} '
