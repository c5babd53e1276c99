"""All hosts, grouped by the rules that reject them."""

import collections
import typing

from nova_sched.explain import words
from nova_sched.page import facts as facts_
from nova_sched.rules import phrases

#: Groups with a colour of their own, besides hosts that fit; smaller groups
#: share one more colour.
MOST_GROUPS = 7
#: Most characters about hosts in one page, and most of the reason of one host.
MOST_TEXT, LONGEST = 1_500_000, 400
#: Most hosts for each size of the map's cells; only the first size has names.
_SIZES = ((80, 'named'), (800, 'large'), (3000, 'medium'))

PICKED, ALTERNATE = 'pick', 'alternate'


class Cell(typing.NamedTuple):
    """A host.

    reason: why it does not fit, '' if it fits.
    mark: PICKED, ALTERNATE or ''.
    """

    name: str
    reason: str
    mark: str


class Group(typing.NamedTuple):
    """Hosts that the same rules reject, with the same codes.

    place: 0 for hosts that fit, else from 1: it selects a colour and a
        pattern.
    label: words for the rules.  codes: of the rules: texts.
    hosts: number of hosts.  cells: list of Cell, of the named hosts.
    """

    place: int
    label: str
    codes: list
    hosts: int
    cells: list


class HostMap(typing.NamedTuple):
    """groups: list of Group; hosts that fit are the first group, if there are
        any.

    by_first: whether hosts are grouped by the first rule that rejects them
        only, and not by all that do.
    size: of the cells: 'named', 'large', 'medium' or 'small'.
    """

    groups: list
    by_first: bool
    size: str

    @property
    def hosts(self):
        """Number of hosts."""
        return sum(group.hosts for group in self.groups)


def host_map(facts):
    """Return the HostMap of a facts.Facts; None without a host."""
    infos = facts.why.get('schedule_info')
    groups = (_by_all(facts, infos) if infos else _by_first(facts))
    if not groups:
        return None
    groups = _sorted(groups)
    count = sum(group.hosts for group in groups)
    size = next((name for most, name in _SIZES if count <= most), 'small')
    return HostMap(groups, not infos, size)


def _by_all(facts, infos):
    """Return {rules with their codes: Group} from the verdicts on all hosts.
    """
    marks = _marks(facts)
    longest = min(LONGEST, MOST_TEXT // len(infos))
    by_rules = collections.defaultdict(list)
    for name, host in sorted(
            ((facts_.name(host), host) for host in infos),
            key=lambda pair: phrases.natural(pair[0])):
        by_rules[tuple((verdict['rule'], verdict['code'])
                       for verdict in host['filters'])].append(Cell(
            name, phrases.shortened(host['reason'] or '', longest),
            marks.get(name, '')))
    return {rules: Group(0, together([rule for rule, _ in rules]),
                         [code for _, code in rules], len(cells), cells)
            for rules, cells in by_rules.items()}


def _by_first(facts):
    """Return {rules: Group} from the first rule that rejected each host."""
    marks, codes = _marks(facts), _codes(facts)
    rejected = [((rule,), hosts, names)
                for rule, hosts, names in facts.rejected]
    passed = [((), *facts.passed)] if facts.passed else []
    return {rules: Group(
        0, rules[0] if rules else together(rules),
        [code for rule in rules for code in codes.get(rule, ())], hosts,
        [Cell(name, ', '.join(rules), marks.get(name, ''))
         for name in sorted(names, key=phrases.natural)])
        for rules, hosts, names in (*passed, *rejected) if hosts}


def _sorted(groups):
    """Return the groups in order, the smallest ones combined: list."""
    fitting = [groups[()]] if () in groups else []
    rejected = sorted((group for rules, group in groups.items() if rules),
                      key=lambda group: -group.hosts)
    first, rest = rejected[:MOST_GROUPS], rejected[MOST_GROUPS:]
    if len(rest) > 1:
        rest = [Group(
            0, f'{len(rest)} other reasons', [],
            sum(group.hosts for group in rest),
            [cell for group in rest for cell in group.cells])]
    return fitting + [group._replace(place=place) for place, group
                      in enumerate(first + rest, 1)]


def together(rules):
    """Return words for the hosts that exactly these rules reject, or none."""
    return words.together(rules) if rules else 'fits'


def _marks(facts):
    """Return {name of a host: mark}."""
    return {name: ALTERNATE for pick in facts.picks
            for name in pick['alternates']} | {
        pick['host']: PICKED for pick in facts.picks}


def _codes(facts):
    """Return {rule: its codes}."""
    rules = (facts.matrix or {}).get('rules') or ()
    return {rule['name']: [*rule['codes']] for rule in rules}
