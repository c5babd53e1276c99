"""How the hosts became fewer, for one instance."""

import itertools
import typing

from nova_sched.page import facts as facts_


class Stage(typing.NamedTuple):
    """A rule, or several in turn that rejected nobody.

    names: of the rules.  before, after: numbers of hosts.
    """

    names: list
    before: int
    after: int

    @property
    def lost(self):
        """How many hosts it rejected."""
        return self.before - self.after


class Funnel(typing.NamedTuple):
    """What happened for one instance.

    instance: its number, from 0.  uuid: its own, or None.
    stages: list of Stage, in order.
    widest: hosts before the first one.
    claims: list of (host, what Placement said to its claim), texts.
    host: that it got; None if it got none.
    """

    instance: int
    uuid: str | None
    stages: list
    widest: int
    claims: list
    host: str | None


class Alike(typing.NamedTuple):
    """Instances in turn to which the same happened: the first and the last
    Funnel of them, which may be one.
    """

    first: Funnel
    last: Funnel


def funnels(facts):
    """Return a Funnel for each instance that filters ran for: list.

    facts: facts.Facts.
    """
    steps = {}
    for step in facts.document['filters']:
        steps.setdefault(step['instance'], []).append(step)
    return [_funnel(facts, *each) for each in steps.items()]


def _funnel(facts, instance, steps):
    stages = []
    for step in steps:
        stage = Stage([step['name']], step['before'], step['after'])
        if stages and not stage.lost and not stages[-1].lost:
            stages[-1].names.append(step['name'])
        else:
            stages.append(stage)
    pick = (facts.picks[instance] if instance < len(facts.picks) else {})
    uuids = facts.uuids
    uuid = pick.get('instance') or (
        uuids[instance] if instance < len(uuids) else None)
    return Funnel(
        instance, uuid, stages, stages[0].before,
        [(facts_.name(claim), facts_.CLAIM_RESULTS[claim['taken']])
         for claim in facts.document.get('claims') or ()
         if claim['instance'] == uuid], pick.get('host'))


def alike(funnels):
    """Return those in turn that differ in numbers of hosts alone as one: list
    of Alike.

    funnels: list of Funnel, in order.
    """
    found = []
    for _, several in itertools.groupby(funnels, _happened):
        first, *others = several
        found.append(Alike(first, others[-1] if others else first))
    return found


def _happened(funnel):
    """Return what is the same of those that are alike."""
    return ([(stage.names, stage.lost > 0) for stage in funnel.stages],
            [said for _, said in funnel.claims], funnel.host is None)
