"""Sentences about hosts and rules, and their plain JSON."""

import math

#: Most hosts that a sentence names.
EXAMPLES = 3


def hosts(count, total):
    """Return '12 of 20 hosts'."""
    return f'{count} of {total} host{"" if total == 1 else "s"}'


def joined(texts):
    """Return 'a', 'a and b' or 'a, b and c'."""
    *first, final = texts
    return f'{", ".join(first)} and {final}' if first else final


def together(rules):
    """Return the words for hosts that exactly these rules reject."""
    return f'only {rules[0]}' if len(rules) == 1 else joined(rules)


def examples(names, count, separator=', '):
    """Return 'a, b, c and 9 more'.

    names: the first names.  count: of all names.
    """
    more = count - len(names)
    return separator.join(names) + (f' and {more} more' if more > 0 else '')


def counted(count, noun):
    """Return '1 host' or '1,200 hosts'."""
    return f'{count:,} {noun}{"" if count == 1 else "s"}'


def weight(value, sign=''):
    """Return a weight with two decimals, or with one digit if it is small.

    sign: '+' to have that before numbers above 0.
    """
    small = value and abs(value) < 0.005
    return format(value, f'{sign}.1g' if small else f'{sign}.2f')


def number(value):
    """Return a number; None if JSON has no such number."""
    return value if math.isfinite(value) else None


def host(names):
    """Return the name of a host by (host, node); the node only if it differs.
    """
    name, node = names
    return name if name == node else f'{name} (node {node})'
