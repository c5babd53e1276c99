"""Queries of users on any hosts: columns compared with single hosts."""

import json
import operator

from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from nova_sched import exception
from nova_sched.scheduler.filters.json_filter import JsonFilter
from tests.builders.requests import a_request
from tests.properties.clouds import blocks

_MANY = settings(max_examples=100, deadline=None)

_VALUES = st.sampled_from([
    '$free_ram_mb', '$vcpus_used', '$host', '$hypervisor_type', '$stats.rack',
    '$hypervisor_version', '$cpu_allocation_ratio', '$nothing', '$stats',
    '$free_ram_mb.x', 'host1', 'QEMU', '', 0, 1, 512, -1.5, 2 ** 60, True,
    float('nan'), 'r1',
    False, None, [], {}, {'rack': 'r1'}])
_QUERIES = st.recursive(
    _VALUES, lambda inner: st.builds(
        lambda name, args: [name, *args],
        st.sampled_from(['=', '<', '>', '<=', '>=', 'in', 'and', 'or', 'not',
                         'bogus']),
        st.lists(inner, max_size=3)), max_leaves=8).filter(
            lambda query: isinstance(query, list))

_COMPARE = {'=': operator.eq, '<': operator.lt, '>': operator.gt,
            '<=': operator.le, '>=': operator.ge}


def plain(query, host):
    """A plain implementation of queries, for one HostState."""
    if not query:
        return True
    name = query[0]
    if name not in {*_COMPARE, 'in', 'and', 'or', 'not'}:
        raise KeyError(name)
    args = [plain(arg, host) if isinstance(arg, list) else looked_up(arg, host)
            for arg in query[1:]]
    args = [arg for arg in args if arg is not None]
    if name in ('and', 'or'):
        return (all if name == 'and' else any)(args)
    if name == 'not':
        return [not arg for arg in args]
    if len(args) < 2:
        return False
    if name == 'in':
        return args[0] in args[1:]
    verdicts = [_COMPARE[name](args[0], arg) for arg in args[1:]]
    return all(verdicts)


def looked_up(arg, host):
    if not isinstance(arg, str) or not arg.startswith('$'):
        return None if arg == '' else arg
    name, *path = arg[1:].split('.')
    # A host that never reported has no statistics; plug-ins see a dict.
    found = (host.block().objects(name)[0] if name == 'stats'
             else getattr(host, name, None))
    for key in path:
        found = None if found is None else found.get(key)
    return found


def outcome(judge):
    """The result of a function, or the class of its error."""
    try:
        return judge()
    except (AttributeError, KeyError, TypeError,
            exception.InvalidInput) as exc:
        return type(exc)


def one_by_one(query, block):
    verdicts = [plain(query, state) for state in block.states()]
    return [any(verdict) if isinstance(verdict, list) else verdict
            for verdict in verdicts]


@given(block=blocks(min_size=1), query=_QUERIES)
@_MANY
def test_columns_equal_answers_for_single_hosts(block, query):
    """If hosts raise different errors, any of them may be raised."""
    spec = a_request(hints={'query': [json.dumps(query)]})

    expected = outcome(lambda: one_by_one(query, block))
    got = outcome(lambda: JsonFilter().mask(block, spec).tolist())

    if isinstance(expected, type):
        assert got is exception.InvalidInput
    else:
        assert got == expected


@given(block=blocks(min_size=1), query=_QUERIES)
@_MANY
def test_rejected_hosts_get_a_reason(block, query):
    spec = a_request(hints={'query': [json.dumps(query)]})

    verdict = outcome(lambda: JsonFilter().mask(block, spec))

    if not isinstance(verdict, type) and not verdict.all():
        assert JsonFilter().reason(block.where(~verdict), spec).isprintable()
