"""All hosts, by what keeps an instance off them."""

import collections
import typing

from nova_sched.explain import words
from nova_sched.page import facts as facts_
from nova_sched.rules import phrases

#: Groups with a colour of their own, beside that of hosts that fit; what is
#: over them is one more.
MOST_GROUPS = 7
#: Characters about hosts in one page, and of the longest reason of one host.
MOST_TEXT, LONGEST = 1_500_000, 400
#: Hosts that have their names on the map, and steps to smaller cells.
_SIZES = ((80, 'named'), (800, 'large'), (3000, 'medium'))

PICKED, ALTERNATE = 'pick', 'alternate'


class Cell(typing.NamedTuple):
    """A host.

    reason: why not this one, '' for one that fits.
    mark: PICKED, ALTERNATE or ''.
    """

    name: str
    reason: str
    mark: str


class Group(typing.NamedTuple):
    """Hosts that the same rules reject, by the same codes.

    place: 0 for those that fit, else from 1: it has a colour and a pattern.
    label: what is said of them.  codes: of the rules, for programs: texts.
    hosts: how many.  cells: list of Cell, of those that the document names.
    """

    place: int
    label: str
    codes: list
    hosts: int
    cells: list


class HostMap(typing.NamedTuple):
    """groups: list of Group; the first one are hosts that fit, if any does.

    by_first: whether a host stands at the first rule that rejects it, and not
        at all that do.
    size: of the cells: 'named', 'large', 'medium' or 'small'.
    """

    groups: list
    by_first: bool
    size: str

    @property
    def hosts(self):
        """How many there are."""
        return sum(group.hosts for group in self.groups)


def host_map(facts):
    """Return the HostMap of a facts.Facts; None without a host."""
    known = facts.why.get('schedule_info')
    groups = (_by_all(facts, known) if known else _by_first(facts))
    if not groups:
        return None
    groups = _sorted(groups)
    count = sum(group.hosts for group in groups)
    size = next((name for most, name in _SIZES if count <= most), 'small')
    return HostMap(groups, not known, size)


def _by_all(facts, known):
    """Return {rules with their codes: Group} of the verdicts on all hosts.
    """
    marks = _marks(facts)
    longest = min(LONGEST, MOST_TEXT // len(known))
    found = collections.defaultdict(list)
    for name, host in sorted(
            ((facts_.name(host), host) for host in known),
            key=lambda pair: phrases.natural(pair[0])):
        found[tuple((each['rule'], each['code'])
                    for each in host['filters'])].append(Cell(
            name, _cut(host['reason'] or '', longest), marks.get(name, '')))
    return {rules: Group(0, together([rule for rule, _ in rules]),
                         [code for _, code in rules], len(cells), cells)
            for rules, cells in found.items()}


def _by_first(facts):
    """Return {rules: Group} of what rejected each host first."""
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
    """Return the groups in their order, the smallest ones as one: list."""
    fitting = [groups[()]] if () in groups else []
    others = sorted((group for rules, group in groups.items() if rules),
                    key=lambda group: -group.hosts)
    first, rest = others[:MOST_GROUPS], others[MOST_GROUPS:]
    if len(rest) > 1:
        rest = [Group(
            0, f'{len(rest)} other reasons', [],
            sum(group.hosts for group in rest),
            [cell for group in rest for cell in group.cells])]
    return fitting + [group._replace(place=place) for place, group
                      in enumerate(first + rest, 1)]


def together(rules):
    """As of explain.words, for hosts that no rule rejects as well."""
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


def _cut(text, longest):
    return text if len(text) <= longest else f'{text[:longest - 1]}…'
