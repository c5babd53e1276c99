"""Weights of a case's hosts, in the recorded form."""

import itertools
import math

import numpy as np

from nova_sched import weights as base_weights
from nova_sched.objects import arguments
from nova_sched.plugins import loading as plugins
from nova_sched.rules import nova_classes

#: Weigher -> its path in Nova.
PATHS = {
    name: f'nova.scheduler.weights.{module}.{name}'
    for module, names in nova_classes.WEIGHER_MODULES.items()
    for name in names}


def weigher(case, name, stage, expected):
    """The answer of one weigher: raw, normalized, multiplier."""
    (rule,), hosts, spec = on_stage(case, stage, [name])
    raw = rule.raw(hosts, spec)
    multipliers = by_host(hosts, rule.multipliers(hosts))
    if not isinstance(expected.get('multiplier'), dict) and len(
            set(multipliers.values())) <= 1:
        multipliers = next(iter(multipliers.values()), None)
    return {'raw': by_host(hosts, raw), 'multiplier': multipliers,
            'normalized': by_host(hosts, base_weights.normalize(
                raw, rule.minval, rule.maxval))}


def total(case, name, stage, expected):
    """The sums of all configured weighers, and the order of hosts."""
    rules, hosts, spec = on_stage(case, stage, case['configured_weighers'])
    weighed = base_weights.weigh(rules, hosts, spec)
    return summed(hosts.snapshot.block(weighed.rows), weighed.weights)


def on_stage(case, stage, names):
    """(the weighers of these names, the case's HostBlock, its request)."""
    conf = stage.conf(case, weight_classes=[
        PATHS.get(name, name) for name in names])
    spec = arguments.from_wire(case['request_spec'])
    hosts = _in_cell(stage.hosts(case, conf).block(), spec)
    if 'hosts' in case:
        rows = {(state.host, state.nodename): row for row, state
                in zip(hosts.rows.tolist(), hosts.states(), strict=True)}
        hosts = hosts.snapshot.block(np.array(
            [rows[host, node] for host, node in case['hosts']
             if (host, node) in rows], dtype=int))
    return plugins.load_weighers(conf), hosts, spec


def _in_cell(hosts, spec):
    """The hosts in a request's required cell, which alone Nova reads."""
    wanted = spec.requested_destination
    if (wanted is None or wanted.cell is None
            or wanted.allow_cross_cell_move):
        return hosts
    return hosts.where(hosts.named('cell_uuid', [wanted.cell.uuid]))


def by_host(hosts, values):
    """{'host|node': value} from a number or an array (n,)."""
    return {f'{state.host}|{state.nodename}': float(value)
            for state, value in zip(
                hosts.states(), np.broadcast_to(values, len(hosts)),
                strict=True)}


def summed(hosts, weights):
    """Weights (n,) and the order of hosts, best first, in recorded form.

    Hosts with equal weights, to a relative 1e-9, are one sorted group.
    """
    ranking = sorted(zip(weights.tolist(), hosts.states(), strict=True),
                     key=lambda pair: -pair[0])
    groups = []
    for (before, _), (weight, state) in itertools.pairwise(
            [(np.inf, None), *ranking]):
        if not math.isclose(weight, before, rel_tol=1e-9, abs_tol=1e-9):
            groups.append([])
        groups[-1].append([state.host, state.nodename])
    return {'total': by_host(hosts, weights),
            'order': [sorted(group) for group in groups]}
