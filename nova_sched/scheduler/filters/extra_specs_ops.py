"""The operators of extra specs: does a value meet a requirement?

``match(value, requirement)`` for an extra spec such as ``>= 4``,
``<in> avx`` or ``s== x86_64``; without a known operator in front of a blank,
the requirement is the very value.
"""

import operator

from nova_sched.objects import fields
from nova_sched.rules import phrases


def _numeric(compare):
    return lambda value, operand: compare(float(value), float(operand))


def _all_in(value, operands):
    return all(operand in value for operand in operands)


#: Operators: function of value and operand, under the name that plug-ins
#: know; ``<all-in>`` takes a list of them.  ``=`` means at least, for the
#: sake of capacities; it has always done so.
op_methods = {
    '=': _numeric(operator.ge),
    '==': _numeric(operator.eq),
    '!=': _numeric(operator.ne),
    '>=': _numeric(operator.ge),
    '<=': _numeric(operator.le),
    's==': operator.eq,
    's!=': operator.ne,
    's<': operator.lt,
    's<=': operator.le,
    's>': operator.gt,
    's>=': operator.ge,
    '<in>': operator.contains,
    '<all-in>': _all_in,
}


def match(value, requirement):
    """Return whether ``value``, a text or None, meets ``requirement``, a text.

    Operands after the first are ignored, except by ``<all-in>``, of which all
    must occur in the value, and ``<or>``, of which every second word is an
    alternative.

    Raises ValueError when a numeric operator meets no number, and IndexError
    for ``<or>`` without an alternative.
    """
    words = requirement.split()
    name, operands = (words[0], words[1:]) if words else ('', [])
    if name not in op_methods and name != '<or>':
        return value == requirement
    if value is None:
        return False
    if name == '<or>':
        if not operands:
            raise IndexError(f'no alternative in extra spec {requirement!r}')
        return value in operands[::2]
    if not operands:
        return False
    return op_methods[name](
        value, operands if name == '<all-in>' else operands[0])


def match_key(key, value, requirement):
    """As ``match``, for the extra spec of a flavor with this key.

    Raises InvalidInput, which names key and requirement, where ``match``
    raises; a note on it tells the value, which is a host's.
    """
    try:
        return match(value, requirement)
    except IndexError:
        refusal = _refused(key, requirement, 'names no alternative')
    except ValueError:
        refusal = _refused(key, requirement,
                           'compares numbers, and this or what a host has '
                           'is none')
    refusal.add_note(f'at {phrases.shortened(repr(value))}')
    raise refusal


def _refused(key, requirement, wrong):
    return fields.MalformedError(requirement, wrong, 'flavor', 'extra_specs',
                                 key).as_invalid_input()
