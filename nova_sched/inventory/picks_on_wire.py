"""The JSON form of picks in messages between daemons.

A pick that Placement counts is published as claimed, for its server group, its
NUMA cells and its PCI devices.  Instances of one request share a demand, which
is written once.
"""

import functools
import math

from nova_sched.inventory.in_flight import News
from nova_sched.inventory.in_flight import PlacedInstance
from nova_sched.objects import arguments
from nova_sched.objects import numa

#: Maximum number of characters of a host, node or group name.
LONGEST = 255


def written(news):
    """Return a list of News as a dict of JSON."""
    demands, numbers = [], {}

    def number(demand):
        # The instances' objects differ, but share their values.
        values = tuple((name, id(value)) for name, value
                       in vars(demand).items() if name.startswith('_obj_'))
        if values not in numbers:
            numbers[values] = len(demands)
            demands.append(demand.obj_to_primitive())
        return numbers[values]

    written = [{
        'placed': [[
            placed.key, placed.host, placed.nodename, number(placed.demand),
            placed.numa_limits and placed.numa_limits.obj_to_primitive(),
            placed.group, placed.at, placed.claiming]
            for placed in item.assumed],
        'taken_back': [list(forgotten) for forgotten in item.forgotten],
    } for item in news]
    return {'news': written, 'demands': demands}


def moments(message):
    """Yield the time of each pick in a dict of JSON, in seconds."""
    for item in message['news']:
        for placed in item['placed']:
            yield placed[6]


def read(message):
    """Return the list of News in a dict of JSON.

    Raises ValueError, TypeError, KeyError, IndexError, or an exception of
    ``objects.arguments.from_wire`` for input that ``written`` does not make.
    """
    demand = functools.cache(lambda number: arguments.from_wire(
        message['demands'][number]).demand())
    return [_news(demand, item) for item in message['news']]


def _news(demand, item):
    assumed = [_placed(demand, *placed) for placed in item['placed']]
    return News(
        assumed,
        [(placed.key, placed.place, placed.at) for placed in assumed
         if placed.claiming],
        [(_key(key), (_text(host), _text(nodename)), _moment(at))
         for key, (host, nodename), at in item['taken_back']],
        from_peer=True)


def _placed(demand, key, host, nodename, number, numa_limits, group, at,
            claiming):
    return PlacedInstance(
        _key(key), _text(host), _text(nodename), demand(number),
        numa.limits_from_any(numa_limits),
        None if group is None else _text(group), _moment(at),
        {} if claiming is True else None)


def _key(value):
    """Return the key of an instance: a text, or a text and a number."""
    if isinstance(value, str):
        return _text(value)
    text, number = value
    return _text(text), int(number)


def _moment(value):
    if not math.isfinite(value):
        raise ValueError(f'{value!r} is not a time')
    return float(value)


def _text(value):
    if not isinstance(value, str):
        raise TypeError(f'{value!r:.80} is not a text')
    if len(value) > LONGEST:
        raise ValueError(f'{value!r:.80} has more than {LONGEST} characters')
    return value
