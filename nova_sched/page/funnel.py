"""How the number of hosts shrinks from rule to rule, for one instance."""

import itertools
import typing

from nova_sched.page import facts as facts_


class Stage(typing.NamedTuple):
    """A rule, or successive rules that rejected no host.

    names: of the rules.  before, after: numbers of hosts.
    """

    names: list
    before: int
    after: int

    @property
    def lost(self):
        """Number of hosts that it rejected."""
        return self.before - self.after


class Funnel(typing.NamedTuple):
    """The stages of one instance.

    instance: its number, from 0.  stages: list of Stage, in order.
    widest: number of hosts before the first stage.
    claims: list of (host, result of the claim), texts.
    host: the picked host; None without one.
    """

    instance: int
    stages: list
    widest: int
    claims: list
    host: str | None


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
        instance, stages, stages[0].before,
        [(facts_.name(claim), facts_.CLAIM_RESULTS[claim['taken']])
         for claim in facts.document.get('claims') or ()
         if claim['instance'] == uuid], pick.get('host'))


def alike(funnels):
    """Group successive funnels that differ only in numbers of hosts.

    funnels: list of Funnel, in order.
    Returns a list of the (first, last) Funnel of each group.
    """
    groups = [[*members] for _, members
              in itertools.groupby(funnels, _shape)]
    return [(members[0], members[-1]) for members in groups]


def _shape(funnel):
    """Return the properties that are equal among alike funnels."""
    return ([(stage.names, stage.lost > 0) for stage in funnel.stages],
            [result for _, result in funnel.claims], funnel.host is None)
