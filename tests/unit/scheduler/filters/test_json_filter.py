"""JsonFilter: verdicts and refusals, and the work and memory of a query."""

import json
import re

import pytest

from nova_sched import exception
from nova_sched.objects import bounds
from nova_sched.rules import limits
from nova_sched.scheduler.filters.json_filter import JsonFilter
from tests.builders.hosts import NEVER_REPORTED
from tests.builders.hosts import a_host
from tests.builders.hosts import hosts
from tests.builders.requests import a_request

HOST = a_host('h', free_ram_mb=2048, vcpus_used=2, hypervisor_type='QEMU',
              host_ip=None, cpu_info='{"vendor": "Intel"}',
              stats={'rack': 'r1', 'empty': None, 'nested': {'a': 1}})


def asking(query):
    """A request with a query, or its text."""
    text = query if isinstance(query, str) else json.dumps(query)
    return a_request(hints={'query': [text]})


def verdicts(query, block):
    return JsonFilter().mask(block, asking(query)).tolist()


def mask(query, *records):
    return verdicts(query, hosts(*records or (HOST,)))


CASES = [
    # Comparisons are with every other argument.
    (['<', 1024, '$free_ram_mb'], True),
    (['<=', '$free_ram_mb', 2048, 4096], True),
    (['<=', '$free_ram_mb', 4096, 1024], False),
    (['=', '$hypervisor_hostname', 'h'], True),
    (['<', 'a', '$host', 'z'], True),
    (['<', '$free_ram_mb', 2 ** 70], True),
    # The other arguments are the list.
    (['in', '$host', 'g', 'h'], True),
    # Values are equal whatever their types; NaN equals nothing.
    (['in', '$free_ram_mb', 'x', {}, None, 2048.0], True),
    (['in', True, 'x', 1.0], True), (['in', 1, '1', {}], False),
    (['=', '$vcpus_used', 2, 2.0], True), (['=', 1, True, 1.0], True),
    (['=', '$vcpus_used', 2, True], False),
    (['in', '$stats.nested', {'b': 1}, 1, {'a': 1}], True),
    (['in', '$stats.nested', {'b': 1}, {'a': 2}], False),
    (['=', '$stats.nested', {'a': 1}, {'a': True}], True),
    (['=', '$stats.nested', {'a': 1}, {'a': 2}], False),
    (['in', '$vcpus_used', float('nan'), 2], True),
    (['<', '$free_ram_mb', 10 ** 4000, 9000], True),
    ('["<", "$free_ram_mb", 1e309]', True),
    (['=', '$host', '\ud800'], False), (['in', '\ud800', 'x', '\ud800'], True),
    # All of many arguments are compared.
    (['<', '$free_ram_mb', *range(3000, 2048, -1)], True),
    (['<', '$free_ram_mb', *range(3000, 2047, -1)], False),
    (['>=', '$host', *'abcdefgh'], True), (['>=', '$host', *'hijk'], False),
    (['>', 9, '$vcpus_used', 8, '$vcpus_used', 7], True),
    (['>', 8, '$vcpus_used', 8, '$vcpus_used', 7], False),
    # At the top, "not" passes when any of its arguments is false ...
    (['not', True, False], True), (['not', True, True], False),
    (['not'], False), (['not', '$nothing'], False),
    # ... and further down it is true if it has any.
    (['not', ['not', False]], False),
    (['=', ['not', True], ['not', 1]], True),
    (['<', ['not', True], ['not', 0]], True),
    (['in', ['not', 1, '$nothing'], 1, ['not'], ['not', 2]], True),
    (['in', ['not', 1], ['not', 0], 'x'], False),
    (['=', ['not'], ['not', '$stats.missing'], ['not', None]], True),
    # False values are true as a query.
    ([], True), ({}, True), ('""', True), ('0', True), ('null', True),
    # Unknown variables, null and empty text are left out.
    (['=', '$nothing', 2, 2], True),
    (['=', '$host_ip', 2, 2], True),
    (['=', None, 2, '', 2], True),
    (['=', '$service_up', 2, 2], True),
    (['=', '$', 2, 2], True),
    # Names may lead into mappings.
    (['=', '$stats.nested.a', 1], True),
    (['=', '$stats.empty', 2, 2], True),
    (['=', '$stats.empty.x', 2, 2], True),
    (['=', '$stats.missing', 2, 2], True),
    (['=', '$stats.nested', {'a': 1}], True),
    (['=', '$service.topic', 'compute'], True),
    (['=', '$service.missing', 2, 2], True),
    (['=', '$service.disabled', None, 1], False),
    # Text is an operator and its arguments, a character each.
    ('"=aa"', True), ('"=ab"', False),
]


@pytest.mark.parametrize(('query', 'passes'), CASES)
def test_a_host_meets_the_query(query, passes):
    assert mask(query) == [passes]


@pytest.mark.parametrize(('query', 'passes'), [
    (['=', '$host_ip', '192.0.2.1'], False),
    (['in', '$host_ip', '192.0.2.1'], False),
    (['not', ['=', '$host_ip', '192.0.2.1']], True),
    (['and', '$host_ip'], True), (['=', '$host_ip', '$host_ip'], True)])
def test_an_address_is_not_compared_as_text(query, passes):
    assert mask(query, a_host(host_ip='192.0.2.1')) == [passes]


@pytest.mark.parametrize(('query', 'words'), [
    ('not json', 'must be JSON: Expecting value'), ('[', 'must be JSON'),
    ('1' * 5000, 'must be JSON: Exceeds the limit'),
    (['bogus', 1, 2], "an unknown operator, 'bogus'"),
    (['\ud800', 1, 2], 'an unknown operator'),
    ([None], 'operator, None'), ([1, 2], 'operator, 1'),
    ([[], 1], 'unknown operator'), ([{}, 1], 'unknown operator'),
    (['and', ['bogus']], "'bogus'"), (['or', True, ['bogus']], "'bogus'"),
    ('"text"', "'t'"), ({'a': 1}, 'must be a list'),
    ('1', 'must be a list'), ('true', 'must be a list'),
    (['<', '$free_ram_mb', '1'], 'order: a number < a text'),
    (['<', '$host', 1], 'a text < a number'),
    (['<', 1, 0, 'x'], 'a number < a text'),
    (['=', '$free_ram_mb.x', 1], "reads 'x' of a value that is not a mapping"),
    (['=', '$stats.rack.x', 1], "reads 'x'"),
])
def test_an_invalid_query_is_refused(query, words):
    with pytest.raises(exception.InvalidInput) as failure:
        mask(query)

    assert 'hint query = ' in str(failure.value)
    assert words in str(failure.value)
    assert 'r1' not in str(failure.value)


def test_a_query_invalid_on_one_host_is_refused():
    """As if hosts were judged one by one."""
    query = ['or', ['=', '$host', 'a'], ['<', '$stats.n', 3]]

    with pytest.raises(exception.InvalidInput):
        mask(query, a_host('a', stats={'n': 1}), a_host('b', stats={'n': 'x'}))


def test_without_hosts_no_query_is_refused():
    assert verdicts(['bogus'], hosts()) == []


@pytest.mark.parametrize('hints', [
    None, {}, {'query': []}, {'query': ''}, {'other': ['[']}])
def test_all_pass_without_a_query(hints):
    assert JsonFilter().mask(hosts(HOST), a_request(hints=hints)) == [True]


def test_two_queries_are_refused():
    request = a_request(hints={'query': ['["and"]', '["and"]']})

    with pytest.raises(exception.InvalidInput, match='one query'):
        JsonFilter().mask(hosts(HOST), request)


@pytest.mark.parametrize('text', [
    '[' * 10000, '["and", ' * 10000 + '1' + ']' * 10000,
    '["and", ' * 101 + '1' + ']' * 101,
    '["=", 1, ' + '{"a": ' * 500 + '1' + '}' * 500 + ']'],
    ids=['open', 'deep', 'just too deep', 'deep objects'])
def test_a_query_that_is_too_deep_is_refused(text):
    with pytest.raises(exception.InvalidInput,
                       match=r'at most 100 levels|Expecting'):
        mask(text)


def test_a_query_may_be_a_hundred_levels_deep():
    assert mask('["and", ' * 100 + '1' + ']' * 100) == [True]


def test_a_host_that_never_reported_has_zeros_and_nulls():
    host = a_host(**NEVER_REPORTED)

    assert mask(['=', '$free_ram_mb', 0], host) == [True]
    assert mask(['=', '$stats.rack', 2, 2], host) == [True]
    assert mask(['=', '$hypervisor_type', 2, 2], host) == [True]


def test_each_host_is_judged_by_its_own_values():
    """Also where some have a variable and others have not."""
    records = [a_host('a', free_ram_mb=1, stats={}),
               a_host('b', free_ram_mb=2, stats={'n': 2}),
               a_host('c', free_ram_mb=3, stats={'n': 2})]

    assert mask(['=', '$stats.n', '$free_ram_mb', 2], *records) == [
        False, True, False]
    assert mask(['in', '$free_ram_mb', '$stats.n', 3], *records) == [
        False, True, True]


def many(count, **values):
    return hosts(*(a_host(f'h{number}', free_ram_mb=number, **values)
                   for number in range(count)))


class Counted(str):
    """A text that counts how often it is compared."""

    compared = 0

    def __eq__(self, other):
        Counted.compared += 1
        return str(self) == other

    __hash__ = str.__hash__


@pytest.mark.parametrize('query', [
    ['or', *(['=', '$limits', number] for number in range(300))],
    ['=', *['$limits.vcpu'] * 300], ['not', *['$limits'] * 300],
    ['and', *(['in', number, '$limits.vcpu', '$limits.disk_gb']
              for number in range(300))]])
def test_a_variable_is_looked_up_once(query, monkeypatch):
    block, asked = many(5), []
    monkeypatch.setattr(
        limits, 'of_row', lambda snapshot, row: asked.append(row) or {})

    verdicts(query, block)

    assert asked == [0, 1, 2, 3, 4]


def test_equal_parts_are_evaluated_once():
    block = many(3, stats={'n': Counted('x')})
    query = ['in', '$stats.n', '$host', 'y', 'z']
    verdicts(query, block)
    once, Counted.compared = Counted.compared, 0

    verdicts(['and', *[['or', query]] * 300], block)

    assert Counted.compared == once


@pytest.mark.parametrize(('operator', 'expected'), [('in', True),
                                                    ('=', False)])
def test_many_constants_cost_no_comparison_each(operator, expected):
    block = many(3, stats={'n': Counted('x')})
    Counted.compared = 0

    found = verdicts([operator, '$stats.n', *range(12000), 'x'], block)

    assert found == [expected] * 3
    assert Counted.compared < 20


def test_the_smallest_of_many_texts_decides():
    """Only the smallest one is compared with each host."""
    block = many(20)
    query = ['<', '$host', *(f'z{number}' for number in range(9000))]

    assert verdicts(query, block) == [True] * 20
    assert verdicts([*query, 'h1'], block) == [True] + [False] * 19


def test_a_query_may_be_as_long_as_novas_api_allows():
    text = '["and"' + ', 1' * 20000 + ']'

    assert verdicts(text.ljust(bounds.QUERY_TEXT), many(2)) == [True, True]
    with pytest.raises(exception.InvalidInput, match=re.escape(
            'hint query: 114689 characters, and at most 114688 are allowed')):
        verdicts(text.ljust(bounds.QUERY_TEXT + 1), many(2))


def shapes():
    """Queries without common work in their parts."""
    def of(head, part, count=40):
        return [*head, *map(part, range(count))]

    return {
        'orders': of(['or'], lambda i: ['<', '$host', f'x{i}']),
        'equals': of(['or'], lambda i: ['=', '$host', f'x{i}']),
        'numbers': of(['or'], lambda i: ['=', '$free_ram_mb', i], 200),
        'objects': of(['in', '$stats'], lambda i: {'a': i}),
        'objects alike': of(['=', '$stats'], lambda i: {'a': i}),
        'variables': of(['='], lambda i: f'$stats.x{i}'),
        'pairs': [*of(['='], lambda i: ['<', '$free_ram_mb', i]), '$host'],
        'lists': of(['and'], lambda i: [
            '=', ['not', '$host'], ['not', ['=', '$free_ram_mb', i]]]),
        'a long list': ['=', of(['not'], lambda i: '$host', 1000),
                        of(['not'], lambda i: '$uuid', 1000)],
        'parts': of(['and'], lambda i: ['=', 1, i], 4000),
    }


@pytest.mark.parametrize('shape', shapes())
def test_a_query_that_takes_too_much_work_is_refused(shape, monkeypatch):
    block, query = many(50), shapes()[shape]
    verdicts(query, block)
    monkeypatch.setattr(bounds, 'QUERY_WORK', 1500)

    with pytest.raises(exception.InvalidInput, match=(
            r'hint query = .* takes more work than looking at 1500 values')):
        verdicts(query, block)


@pytest.mark.parametrize('instances, allowed', [
    (1, '9000 values'), (3, '3000 values'), (100, '20 values of each host')])
def test_the_work_is_shared_by_the_instances_of_a_request(
        instances, allowed, monkeypatch):
    """The refusal does not reveal the number of hosts."""
    monkeypatch.setattr(bounds, 'QUERY_WORK', 9000)
    request = asking(['and', *(['=', f'$stats.x{number}', 1]
                               for number in range(100))])
    request.num_instances = instances

    with pytest.raises(exception.InvalidInput) as caught:
        JsonFilter().mask(many(47), request)

    reason = caught.value.kwargs['reason']
    assert reason.endswith(f'takes more work than looking at {allowed}, which '
                           'is allowed for an instance; request less at a '
                           'time')
    assert '47' not in reason


def test_a_small_query_is_answered_on_any_number_of_hosts(monkeypatch):
    monkeypatch.setattr(bounds, 'QUERY_WORK', 0)

    assert verdicts(['=', '$stats.n', 1], many(47)) == [False] * 47


def test_reasons_parse_the_query_once(monkeypatch):
    read, loads = [], json.loads
    monkeypatch.setattr(json, 'loads', lambda text: (
        read.append(text), loads(text))[1])
    block = many(20)
    request = asking(['and', ['=', '$host', 'nobody'], *range(1000, 2000)])
    read.clear()

    JsonFilter().mask(block, request)
    for state in block.states():
        assert JsonFilter().why_not(state, request)

    assert len([text for text in read if 'nobody' in text]) == 1


def test_reasons_show_some_of_many_variables():
    request = asking(['=', 1, *(f'$stats.n{number}' for number
                                in range(100, 1100))])
    block = many(2, stats={'n100': '7'})

    words = JsonFilter().reason(block, request)

    assert 'stats.n100 7' in words
    assert words.endswith(', and 980 variables more')
    assert len(words) < 1000
