"""The few words of a filter's ``reason``, and what rejected hosts offer."""

import collections
import re

#: Values named before the rest is only counted.
SHOWN = 5

#: A number within a text, less the zeros before it.
_DIGITS = re.compile('0*([0-9]+)')

#: Groups of rejected hosts that operators are told of in a sentence.
GROUPS = 3

#: What follows a line at DEBUG that scripts search in another release's words.
IN_QUEENS = (" (in Queens' words: fails instance_type extra_specs "
             'requirements)')


class Reason(str):
    """Why a filter rejects hosts, in words for operators.

    request: what it looks at in the request alone, for the caller, who owns a
        server and no host: without names of hosts and values of options.
    hosts: what these hosts have instead.
    text: in place of both.
    """

    __slots__ = ('request',)

    def __new__(cls, request='', hosts='', text=None):
        if text is None:
            text = ', '.join(filter(None, (request, hosts)))
        reason = super().__new__(cls, text)
        reason.request = request
        return reason


def distinct(hosts, name, values):
    """Return what ``values`` yields for the distinct labels of a column."""
    found = set()

    def collect(label):
        found.update(values(label))
        return True

    hosts.judge(name, collect)
    return found


def unmet(hosts, name, first_unmet):
    """Collect what hosts have of whatever each is rejected for.

    first_unmet: (what, wanted, set of what there is) of a rejected label.
    Returns {(what, wanted): set of what there is on any of the hosts}.
    """
    found = {}

    def collect(label):
        what, wanted, offered = first_unmet(label)
        found.setdefault((what, wanted), set()).update(offered)
        return True

    hosts.judge(name, collect)
    return found


def natural(text):
    """Return a key to sort texts by as people do: 'a9' before 'a10'."""
    return [(len(part), part) if i % 2 else part for i, part
            in enumerate(_DIGITS.split(text))], text


def listed(values):
    """Return sorted values as 'a, b, c', shortened: '... and 7 more'."""
    return some(sorted({shortened(str(value)) for value in values},
                       key=natural)) or 'nothing'


def groups(texts, others):
    """Return the texts of the first groups of hosts, and that there are more:
    list of texts, the last one as 'and 4 more reasons for 23 hosts'.

    others: how many hosts each further group has.
    """
    if not others:
        return texts
    several = 's' if len(others) > 1 else ''
    hosts = sum(others)
    return [*texts, f'and {len(others)} more reason{several} for {hosts} '
                    f'host{"s" if hosts > 1 else ""}']


def some(texts, between=', '):
    """Return the first texts as 'a, b, c', and count the rest."""
    texts = list(texts)
    return between.join(texts[:SHOWN]) + (
        f' and {len(texts) - SHOWN} more' if len(texts) > SHOWN else '')


def tallied(texts):
    """Return the most frequent texts as '4 this, 3 that and 2 others'.

    The text alone if there is only one; empty ones and None do not count.
    """
    counts = collections.Counter(map(str, filter(None, texts)))
    if len(counts) < 2:
        return ''.join(shortened(text, 120) for text in counts)
    shown = counts.most_common(SHOWN)
    others = counts.total() - sum(count for _, count in shown)
    return ', '.join(f'{count} {shortened(text, 60)}' for text, count in shown
                     ) + (f' and {others} others' if others else '')


def shortened(text, length=40):
    """Return the text, cut to ``length`` characters."""
    return text if len(text) <= length else f'{text[:length - 3]}...'
