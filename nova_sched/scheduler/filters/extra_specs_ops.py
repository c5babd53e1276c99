"""The operators of extra specs: whether a value meets a requirement.

A requirement is an operator and operands, such as ``>= 4``, ``<in> avx`` or
``s== x86_64``.  A requirement without a known operator must be equal to the
value.
"""

import operator

from nova_sched.objects import fields
from nova_sched.rules import phrases


def _numeric(compare):
    return lambda value, operand: compare(float(value), float(operand))


#: Operator -> function of value and operand; ``<all-in>`` has a list of
#: operands.  The name ``op_methods`` is Nova's.  As in Nova, ``=`` means "at
#: least".
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
    '<all-in>': lambda value, operands: all(
        operand in value for operand in operands),
}


def match(value, requirement):
    """Return whether ``value``, a text or None, meets ``requirement``, a text.

    Operands after the first are ignored, except for two operators: all
    operands of ``<all-in>`` must occur in the value, and every second word of
    ``<or>`` is an alternative.

    Raises ValueError if a numeric operator is applied to a value or operand
    that is not a number, and IndexError for ``<or>`` without an alternative.
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
    """Return whether a value meets the extra spec of this key.

    Raises InvalidInput, which names key and requirement, where ``match``
    raises.  Its text is for the caller, so the host's value is in a note.
    """
    try:
        return match(value, requirement)
    except IndexError:
        refusal = _refused(key, requirement, 'names no alternative')
    except ValueError:
        refusal = _refused(key, requirement,
                           'compares numbers, but it or the value of a host '
                           'is not a number')
    refusal.add_note(f'at {phrases.shortened(repr(value))}')
    raise refusal


def _refused(key, requirement, wrong):
    return fields.MalformedError(requirement, wrong, 'flavor', 'extra_specs',
                                 key).as_invalid_input()
