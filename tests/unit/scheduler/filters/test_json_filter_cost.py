"""JsonFilter: the work and memory that a query may take."""

import json
import re
import tracemalloc

import pytest

from nova_sched import exception
from nova_sched import filters as base_filters
from nova_sched.objects import bounds
from nova_sched.scheduler.filters.json_filter import JsonFilter
from tests.builders.hosts import a_host
from tests.builders.hosts import hosts
from tests.builders.requests import a_request


def asking(query):
    """A request with a query, or its text."""
    text = query if isinstance(query, str) else json.dumps(query)
    return a_request(hints={'query': [text]})


def mask(query, block):
    return JsonFilter().mask(block, asking(query)).tolist()


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
        base_filters, 'limits_of',
        lambda snapshot, row: asked.append(row) or {})

    mask(query, block)

    assert asked == [0, 1, 2, 3, 4]


def test_equal_parts_are_evaluated_once():
    block = many(3, stats={'n': Counted('x')})
    query = ['in', '$stats.n', '$host', 'y', 'z']
    mask(query, block)
    once, Counted.compared = Counted.compared, 0

    mask(['and', *[['or', query]] * 300], block)

    assert Counted.compared == once


@pytest.mark.parametrize(('operator', 'expected'), [('in', True),
                                                    ('=', False)])
def test_many_constants_cost_no_comparison_each(operator, expected):
    block = many(3, stats={'n': Counted('x')})
    Counted.compared = 0

    found = mask([operator, '$stats.n', *range(12000), 'x'], block)

    assert found == [expected] * 3
    assert Counted.compared < 20


def test_the_smallest_of_many_texts_decides():
    """Only the smallest one is compared with each host."""
    block = many(20)
    query = ['<', '$host', *(f'z{number}' for number in range(9000))]

    assert mask(query, block) == [True] * 20
    assert mask([*query, 'h1'], block) == [True] + [False] * 19


@pytest.mark.parametrize('query', [
    ['or', *['$service'] * 9000], ['=', *['$service'] * 9000],
    ['in', '$host', *[1] * 30000], ['not', *['$host'] * 10000],
    ['and', *[['=', '$host', 'x']] * 4000]], ids=lambda query: query[0])
def test_memory_grows_with_the_distinct_parts(query):
    """Bytes besides the text and the parsed query."""
    block, text = many(300), json.dumps(query)
    mask('["=", "$service", "$host"]', block)
    tracemalloc.start()
    try:
        parsed = json.loads(text)
        before, _ = tracemalloc.get_traced_memory()
        mask(text, block)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert parsed == query
    assert peak < 3 * before + (2 << 20)


def test_a_query_may_be_as_long_as_novas_api_allows():
    text = '["and"' + ', 1' * 20000 + ']'

    assert mask(text.ljust(bounds.QUERY_TEXT), many(2)) == [True, True]
    with pytest.raises(exception.InvalidInput, match=re.escape(
            'hint query: 114689 characters, and at most 114688 are allowed')):
        mask(text.ljust(bounds.QUERY_TEXT + 1), many(2))


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
    mask(query, block)
    monkeypatch.setattr(bounds, 'QUERY_WORK', 1500)

    with pytest.raises(exception.InvalidInput, match=(
            r'hint query = .* takes more work than looking at 1500 values')):
        mask(query, block)


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
                           'is allowed for an instance; ask for less at a '
                           'time')
    assert '47' not in reason


def test_a_small_query_is_answered_on_any_number_of_hosts(monkeypatch):
    monkeypatch.setattr(bounds, 'QUERY_WORK', 0)

    assert mask(['=', '$stats.n', 1], many(47)) == [False] * 47


def test_reasons_parse_the_query_once(monkeypatch):
    read, loads = [], json.loads
    monkeypatch.setattr(json, 'loads', lambda text: (
        read.append(text), loads(text))[1])
    block = many(20)
    request = asking(['and', ['=', '$host', 'nobody'],
                      *range(1000, 2000)])
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
