"""Differences to weights of Queens where ours are a newer Nova's.

Four things differ. Queens has no multipliers of aggregates (1), so that they
do not affect missing metrics (2); negative free resources count, and the
scale begins with the most negative (3); and soft groups may have negative
multipliers, which count as 0.0 in newer releases (4).

A waiver needs exact numbers: ``_then`` computes the answer of Queens, which
must be the recorded answer; from that ``_now`` computes our answer, with
multipliers from the rows of the cloud.
"""

import dataclasses

import numpy as np

from nova_sched import weights as base_weights
from tests.conformance import weighing
from tests.conformance.waivers import facts

#: Options that must not be negative in releases after Queens.
_NOT_NEGATIVE = {'soft_affinity_weight_multiplier',
                 'soft_anti_affinity_weight_multiplier',
                 'pci_weight_multiplier'}


@dataclasses.dataclass
class _Part:
    """One weigher's columns for the hosts of a case, all (n,)."""

    raw: np.ndarray
    normalized: np.ndarray
    multiplier: np.ndarray

    def answer(self, hosts):
        """The recorded form of an answer, with a multiplier for each host."""
        return {name: weighing.by_host(hosts, getattr(self, name))
                for name in ('raw', 'normalized', 'multiplier')}


def _then(case, rule, hosts, spec):
    """The answer of Queens; hosts: HostBlock without aggregates."""
    raw = np.asarray(rule.column(hosts, spec), dtype=np.float64)
    low = rule.minval
    if low is not None and len(raw):
        low = min(low, raw.min())
    option = case['config'].get('filter_scheduler', {}).get(
        rule.multiplier_name)
    multiplier = (rule.multipliers(hosts) if option is None
                  else rule.sign * option)
    return _Part(raw, base_weights.normalize(raw, low, rule.maxval),
                 np.broadcast_to(multiplier, raw.shape))


def _now(case, rule, then, hosts, spec, cloud):
    """Our expected answer, from the answer of Queens; None if impossible.

    hosts: HostBlock with aggregates.
    """
    key = rule.multiplier_name
    bound = 0.0 if key in _NOT_NEGATIVE else -np.inf
    multiplier = np.array([
        _of_aggregates(cloud, state.host, key, rule.sign, max(
            rule.sign * default, bound)) for state, default
        in zip(hosts.states(), then.multiplier.tolist(), strict=True)])
    raw = then.raw
    if type(rule).__name__ == 'MetricsWeigher':
        raw = np.asarray(rule.column(hosts, spec), dtype=np.float64)
        if not _is_for_missing(case, then, raw, multiplier):
            return None
    raw = rule.clamp(raw)
    return _Part(raw, base_weights.normalize(raw, rule.minval, rule.maxval),
                 multiplier)


def _is_for_missing(case, then, raw, multiplier):
    """Whether metrics differ only by a multiplier of 0.

    With a multiplier of 0 a missing metric is left out, otherwise it makes a
    host unavailable.
    """
    unavailable = case['config'].get('metrics', {}).get(
        'weight_of_unavailable', -10000.0)
    differ = raw != then.raw
    left_out = differ & (multiplier == 0) & (then.multiplier != 0)
    counted = differ & (multiplier != 0) & (then.multiplier == 0)
    return (((left_out | counted) == differ).all()
            and (then.raw[left_out] == unavailable).all()
            and (raw[counted] == unavailable).all())


def _of_aggregates(cloud, host, key, sign, default):
    found = {aggregate['metadata'][key] for aggregate in cloud['aggregates']
             if host in aggregate['hosts'] and key in aggregate['metadata']}
    try:
        return sign * min(map(float, found), default=default)
    except ValueError:
        return sign * default


def _parts(difference, names):
    """(list of (weigher, part of Queens, our expected part), HostBlock)."""
    case, stage = difference.case, difference.stage
    rules, hosts, spec = weighing.on_stage(case, stage, names)
    snapshot = hosts.snapshot
    bare = snapshot.as_table().with_columns(
        aggregates=[()] * snapshot.size).snapshot(
            snapshot.instances).block(hosts.rows)
    then = [_then(case, rule, bare, spec) for rule in rules]
    return [(rule, part, _now(case, rule, part, hosts, spec,
                              stage.cloud))
            for rule, part in zip(rules, then, strict=True)], hosts


def _one_weigher(difference):
    """Explain raw value, scaling and multiplier of one weigher."""
    expected, got = difference.expected, difference.got
    if (not difference.is_queens or difference.name == 'total'
            or facts.is_error(expected) or facts.is_error(got)):
        return None
    parts, hosts = _parts(difference, [difference.name])
    (_, then, now), = parts
    if now is None or not (
            facts.same(_each_host(expected, hosts), then.answer(hosts))
            and facts.same(_each_host(got, hosts), now.answer(hosts))):
        return None
    return _words(parts)


def _each_host(answer, hosts):
    """An answer with a multiplier for each host."""
    if isinstance(answer['multiplier'], dict):
        return answer
    return answer | {
        'multiplier': weighing.by_host(hosts, answer['multiplier'])}


def _total(difference):
    """Explain the sum over all weighers, and the order of hosts."""
    expected, got = difference.expected, difference.got
    if (not difference.is_queens or difference.name != 'total'
            or facts.is_error(expected) or facts.is_error(got)):
        return None
    parts, hosts = _parts(difference, difference.case['configured_weighers'])
    _, then, now = zip(*parts, strict=True)
    if (None not in now and facts.same(expected, _sum(hosts, then))
            and facts.same(got, _sum(hosts, now))):
        return _words(parts)
    return None


def _sum(hosts, parts):
    return weighing.summed(hosts, sum(
        part.multiplier * part.normalized for part in parts))


def _words(parts):
    """The differences in words; None if there are none."""
    texts = set()
    for rule, then, now in parts:
        if (then.raw != now.raw).any():
            texts.add('missing metrics count by the multiplier of the host'
                      if rule.minval is None else
                      'negative free resources count as none')
        if (then.multiplier != now.multiplier).any():
            texts.add('negative multipliers count as 0.0'
                      if rule.sign * then.multiplier.min() < 0
                      and rule.multiplier_name in _NOT_NEGATIVE else
                      'multipliers of aggregates')
    return f'newer answer: {" and ".join(sorted(texts))}' if texts else None


def _never_reported(difference):
    """A host that never reported its usage has no CPU ratio in Nova."""
    if not (facts.is_error(difference.expected, 'TypeError')
            and 'CPUWeigher' in difference.rules
            and not facts.is_error(difference.got)):
        return None
    _, hosts, _ = weighing.on_stage(difference.case, difference.stage, [])
    silent = {(node['host'], node['hypervisor_hostname'])
              for node in difference.living_nodes()
              if node['free_disk_gb'] is None}
    if any((state.host, state.nodename) in silent
           for state in hosts.states()):
        return f'{facts.RAISED}: a host that never reported its usage'
    return None


WEIGHERS = (_one_weigher, _total, _never_reported)
