"""One request on its way to hosts.

``Placing.run``, on a private snapshot of the hosts:

1. What the request names must be there (``_check_names``); its server group
   gets to know what other requests have placed of it (``_prepare_group``).
2. Per instance: filter and weigh what the previous instance's filters left
   (``Ranker.ranked``), choose among the best (``Choice.order``), take the
   first that can be claimed (``Claims.take``), and consume it on the snapshot
   (``_next_pick``).
3. Too few picks: NoValidHost with the reasons counted (``_refuse``).

It ends with the last instance, or when its turn is over: the rest is placed
when it is called again, on the hosts as they are then.  ``Placing.answer``
adds alternates for each pick, from its own cell (``_alternates``).

Whoever calls gives claims back, and has what was placed without one in flight.
"""

import dataclasses
import functools
import random

from oslo_log import log as logging
from oslo_utils import uuidutils

from nova_sched import exception
from nova_sched.hosts import decision
from nova_sched.hosts import instances
from nova_sched.hosts import offer as placement_offer
from nova_sched.inventory.in_flight import InFlight
from nova_sched.objects import copies
from nova_sched.rules import reasons
from nova_sched.scheduler import alternates
from nova_sched.scheduler import answer

LOG = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class Choice:
    """How one of the best hosts is drawn.

    shuffle: put those that weigh as much as the best in random order first.
    subset_size: one of so many of the first is taken.
    """

    shuffle: bool
    subset_size: int

    @classmethod
    def of(cls, conf):
        """As a configuration says."""
        return cls(conf.filter_scheduler.shuffle_best_same_weighed_hosts,
                   max(1, conf.filter_scheduler.host_subset_size))

    def order(self, weights, draw):
        """New order of positions in the weights, best first; None for theirs.

        weights: float64 (n,), descending.  draw: function that returns the
        random.Random to draw by.
        """
        if not len(weights) or (not self.shuffle and self.subset_size == 1):
            return None
        order = list(range(len(weights)))
        draw = draw()
        if self.shuffle:
            best = order[:int((weights == weights[0]).sum())]
            draw.shuffle(best)
            order[:len(best)] = best
        chosen = draw.randrange(min(self.subset_size, len(order)))
        order.insert(0, order.pop(chosen))
        return order


@dataclasses.dataclass(frozen=True)
class Wanted:
    """What a caller asks for.

    spec_obj: RequestSpec as it was given.
    instance_uuids: one an instance; None from callers that send none.
    count: how many instances.  most_alternates: for each of them.
    context: RequestContext of the call.
    options: content of the operator's JSON file of options.
    """

    spec_obj: object
    instance_uuids: list | None
    count: int
    most_alternates: int = 0
    context: object = None
    options: dict = dataclasses.field(default_factory=dict)
    #: Stands for the instance of a request that names none.
    nobody: object = dataclasses.field(default_factory=object)

    def own_spec(self):
        """The request as rules get it: a RequestSpec of one's own."""
        own = copies.clone(self.spec_obj)
        own.legacy_context = self.context
        # What a query may cost goes by it, whatever the caller says.
        own.num_instances = max(own.num_instances, self.count)
        own.config_options = self.options
        return own

    def keys(self):
        """What each instance's pick is known by: list.

        Callers of before Pike name the first instance only.
        """
        if self.instance_uuids is not None:
            return list(self.instance_uuids)
        first = self.spec_obj.instance_uuid
        if first is None:
            return [(self.nobody, index) for index in range(self.count)]
        return [first, *((first, index) for index in range(1, self.count))]

    @property
    def group(self):
        """What the request's server group is known by: text, or None.

        Callers of before Liberty send its hosts and policy only, and leave
        its name in the hints.
        """
        group = self.spec_obj.instance_group
        if group is None:
            return None
        hint = self.spec_obj.get_scheduler_hint('group')
        return group.uuid or (hint if isinstance(hint, str) else None)

    def related(self):
        """Keys of the instances and groups that the choice depends on: set."""
        group = self.spec_obj.instance_group
        members = group.members or () if group is not None else ()
        return {self.group, *self.keys(), *members,
                *instances.named(self.spec_obj)} - {None}


class Placing:
    """Places the instances of one request.

    wanted: Wanted.
    ranker: rules.ranking.Ranker.  choice: Choice.  claims: scheduler.claims.
    record: Decision, filled here: its seed and clock are the request's.
    zone: name of the zone of hosts in none.
    """

    def __init__(self, wanted, ranker, choice, claims, record, zone=None):
        self._wanted, self._spec_obj = wanted, wanted.own_spec()
        self._ranker, self._choice = ranker, choice
        self._claims, self._record, self._zone = claims, record, zone
        self._hosts = self._ranked = None
        self._picked, self._picks = [], []
        #: What each instance's pick is known by: list.
        self.keys = wanted.keys()

    @property
    def left(self):
        """What the instances that have no host yet are known by: list."""
        return self.keys[len(self._picked):]

    def run(self, hosts, siblings=(), is_over=lambda: False):
        """Place instances, at least one: what was placed, list of InFlight.

        hosts: HostSnapshot, which is changed here; when called again, one
            with the rows of the first.
        siblings: the picks in flight of the request's server group.
        is_over: function that returns whether others are to go first.
        Raises NoValidHost, and whatever a rule raises.
        """
        begun, self._hosts, self._picks = self._hosts, hosts, []
        if begun is None:
            self._check_names()
            self._prepare_group()
        self._join(siblings)
        left = (self._offered() if begun is None
                else hosts.block(self._ranked.hosts.rows))
        for index, key in enumerate(self.left, len(self._picked)):
            left = self._next_pick(index, key, left)
            if left is None:
                self._refuse()
            if is_over():
                break
        return self._picks

    def answer(self):
        """A host and alternates for each instance: lists of Selection."""
        return answer.selections(
            self._hosts, self._picked, self._alternates(), self._zone,
            self._claims.version)

    def _check_names(self):
        if not self._wanted.count:
            self._raise(full='The list of instance uuids is empty')
        unknown = _unknown_host(self._hosts, self._spec_obj)
        if unknown:
            self._raise(nova=unknown)

    def _prepare_group(self):
        """Give the server group members and hosts that picks can join.

        A caller that has not said where the members run has them looked up.
        """
        group = self._spec_obj.instance_group
        if group is None:
            return
        if group.hosts is None:
            located = self._hosts.instances.running(group.members or ())
            group.hosts = sorted(set(located.values()))
        group.members = list(group.members or ())
        group.hosts = list(group.hosts)

    def _join(self, siblings):
        """Have in the server group what others have placed of it since.

        However many these are: callers' members alone are limited.
        """
        if not siblings:
            return
        group = self._spec_obj.instance_group
        _add(group.hosts, [pick.host for pick in siblings])
        _add(group.members, [pick.key for pick in siblings
                             if isinstance(pick.key, str)])

    def _offered(self):
        """The hosts of which Placement says that they could do: HostBlock."""
        hosts, offer = self._hosts.block(), self._record.offer
        left = offered(hosts, offer)
        if left is not hosts:
            self._record.step(0, 'allocation candidates', hosts.rows,
                              left.rows)
        return left

    def _next_pick(self, index, key, left):
        """Place one instance; the HostBlock left for the next, or None.

        left: what the filters of the instance before left.
        """
        uuids = self._wanted.instance_uuids
        uuid = uuids[index] if uuids else None
        if uuid is not None:
            self._spec_obj.instance_uuid = uuid
        self._spec_obj.forget_mapping()
        self._ranked = ranked = self._choose(left, index, self._record)
        taken = self._claims.take(ranked.hosts, uuid, self._spec_obj)
        if taken is None:
            rows = ranked.hosts.rows
            if len(rows):
                self._record.step(index, 'claims refused', rows, rows[:0])
            return None
        taken.tell(self._spec_obj)
        limits = self._hosts.limits(taken.row)
        self._picked.append((taken, limits))
        self._note(index, key, taken, limits)
        self._consume(uuid, taken, limits)
        self._record.budget.check('consumption', index)
        return ranked.hosts

    def _consume(self, uuid, taken, limits):
        """Take an instance out of what its host has free."""
        self._hosts.consume(taken.row, self._spec_obj, self._record.clock,
                            taken.mapping, limits)
        join_group(self._spec_obj, uuid, self._hosts,
                   self._hosts.cell('host', taken.row))

    @functools.cached_property
    def _draw(self):
        return random.Random(self._record.seed)

    def _choose(self, left, index, record):
        """Ranked hosts with the drawn one in front."""
        ranked = self._ranker.ranked(left, self._spec_obj, index, record)
        order = self._choice.order(ranked.weighed.weights,
                                   lambda: self._draw)
        if order is None:
            return ranked
        return dataclasses.replace(ranked, hosts=self._hosts.block(
            ranked.weighed.rows[order]))

    def _note(self, index, key, taken, limits):
        """Put an instance's host on record, and in flight."""
        state, weighed = self._hosts.state(taken.row), self._ranked.weighed
        host, node = state.host, state.nodename
        LOG.debug('Selected host: %(host)s', {'host': state})
        self._record.picked(decision.Pick(
            index, key if isinstance(key, str) else None, host, node,
            weighed.weight(taken.row)), weighed, taken.row)
        self._picks.append(InFlight(
            key, host, node, self._spec_obj.demand(),
            limits.get('numa_topology'), self._wanted.group,
            self._record.clock))

    def _refuse(self):
        """Raise NoValidHost because not every instance got a host."""
        count, placed = self._wanted.count, len(self._picked)
        LOG.debug('There are %(hosts)d hosts available but '
                  '%(required_count)d instances requested to build.',
                  {'hosts': placed, 'required_count': count})
        found = reasons.counted(self._record, self._ranker.filters,
                                self._hosts, self._spec_obj)
        some = (f'{placed} of {count} instances could be placed; ' if placed
                else '')
        nova = exception.NoValidHost.nova
        self._raise(full=some + found.full,
                    asked=f'{nova} {some}{found.asked}')

    def _raise(self, nova=exception.NoValidHost.nova, full='', asked=None):
        """Raise NoValidHost, with its reason on record.

        nova: Nova's words.  full: what there is to say besides.
        asked: what a tenant may know of all this; by default Nova's words.
        """
        lost = reasons.lost_cells(self._record)
        self._record.reason = (full or nova).strip() + lost
        raise exception.NoValidHost(
            reason=(f'{nova} {full}' if full else nova) + lost, nova=nova,
            filters=asked)

    def _alternates(self):
        """Hosts that could take an instance instead of its pick.

        As of ``alternates.of``; an empty list if none are wanted.
        """
        wanted = self._wanted.most_alternates
        if wanted < 1:
            return []
        ranked = self._ranked
        if len(self._picked) > 1:
            # Once more, with all that was consumed; not for the record.
            ranked = self._choose(ranked.hosts, len(self._picked) - 1,
                                  decision.Decision(
                                      budget=self._record.budget))
        found = alternates.of(
            self._hosts, [taken.row for taken, _ in self._picked],
            ranked.hosts.rows, wanted, self._claims.first_of)
        self._record.alternates = sum(map(len, found))
        return found


def join_group(spec_obj, instance_uuid, hosts, host):
    """Have an instance in its group, for its successors to see.

    instance_uuid: None from callers that send none; such an instance joins
        its group under a uuid made up for this request.
    hosts: HostSnapshot.  host: name of the one it is placed on.
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
    """Put those of the others at the end of a list that are not in it."""
    known = {*names}
    names += [name for name in dict.fromkeys(others) if name not in known]


def offered(hosts, offer):
    """Those of a HostBlock that Placement offers, if it was asked."""
    if offer is placement_offer.NOT_ASKED:
        return hosts
    return hosts.where(hosts.named('uuid', offer.providers))


def _unknown_host(hosts, spec_obj):
    """Why a host or node that the request names cannot be had, or None.

    Of several forced ones each may be the right one.
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
