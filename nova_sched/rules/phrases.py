"""Helpers for the short texts of filters' reasons."""

import collections
import re

#: Maximum number of values in a list; others are counted.
SHOWN = 5

#: A number within a text, without leading zeros.
_DIGITS = re.compile('0*([0-9]+)')

#: Maximum number of rules in a text for operators; others are counted.
GROUPS = 3

#: Appended to a DEBUG line, for scripts that search the text of Queens.
IN_QUEENS = (" (in Queens' words: fails instance_type extra_specs "
             'requirements)')


class Reason(str):
    """A filter's reason for rejecting hosts: a text for operators.

    request: the part about the request, which callers may see.  It must not
        have names of hosts or values of options.
    hosts: the part about the hosts.
    text: the whole text; by default both parts.
    """

    __slots__ = ('request',)

    def __new__(cls, request='', hosts='', text=None):
        if text is None:
            text = ', '.join(filter(None, (request, hosts)))
        reason = super().__new__(cls, text)
        reason.request = request
        return reason


def distinct(hosts, name, values):
    """Return the union of ``values(label)`` for a label column: set."""
    return set().union(*hosts.distinct(name, values))


def unmet(hosts, name, first_unmet):
    """Return the values of rejected hosts by the requirement they fail.

    first_unmet: function of a label of the column that returns (key,
        requirement, set of the label's values).
    Returns {(key, requirement): set of values}.
    """
    by_requirement = {}
    for key, requirement, values in hosts.distinct(name, first_unmet):
        by_requirement.setdefault((key, requirement), set()).update(values)
    return by_requirement


def natural(text):
    """Return a sort key that puts 'a9' before 'a10'."""
    return [(len(part), part) if i % 2 else part for i, part
            in enumerate(_DIGITS.split(text))], text


def listed(values):
    """Return sorted values as 'a, b, c', shortened to '... and 7 more'."""
    return some(sorted({shortened(str(value)) for value in values},
                       key=natural)) or 'nothing'


def groups(texts, others):
    """Return texts about groups of hosts, and one about other groups: list.

    others: number of hosts of each other group.  The last text is then like
        'and 4 more reasons for 23 hosts'.
    """
    if not others:
        return texts
    several = 's' if len(others) > 1 else ''
    hosts = sum(others)
    return [*texts, f'and {len(others)} more reason{several} for {hosts} '
                    f'host{"s" if hosts > 1 else ""}']


def some(texts, between=', '):
    """Return the first texts as 'a, b, c', and the number of others."""
    texts = list(texts)
    return between.join(texts[:SHOWN]) + (
        f' and {len(texts) - SHOWN} more' if len(texts) > SHOWN else '')


def tallied(texts):
    """Return the most frequent texts as '4 this, 3 that and 2 others'.

    A single distinct text is returned without number.  Empty texts and None do
    not count.
    """
    counts = collections.Counter(map(str, filter(None, texts)))
    if len(counts) < 2:
        return ''.join(shortened(text, 120) for text in counts)
    shown = counts.most_common(SHOWN)
    others = counts.total() - sum(count for _, count in shown)
    return ', '.join(f'{count} {shortened(text, 60)}' for text, count in shown
                     ) + (f' and {others} others' if others else '')


def shortened(text, length=40):
    """Return a text of at most ``length`` characters."""
    return text if len(text) <= length else f'{text[:length - 3]}...'
