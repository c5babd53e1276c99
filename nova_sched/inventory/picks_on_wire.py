"""What daemons tell each other of their picks, as JSON.

A pick that Placement counts is published for its server group, its NUMA cells
and its PCI devices, as claimed already.  What many instances of a request take
of a host is written once.
"""

import functools
import math

from nova_sched.inventory.in_flight import InFlight
from nova_sched.inventory.in_flight import News
from nova_sched.objects import arguments
from nova_sched.objects import numa

#: Characters of the name of a host, node or group, at most.
LONGEST = 255


def written(news):
    """Return a list of News as a dict of JSON."""
    demands, numbers = [], {}

    def number(demand):
        # Each instance has its own object, of values that they share.
        taken = tuple((name, id(value)) for name, value
                      in vars(demand).items() if name.startswith('_obj_'))
        if taken not in numbers:
            numbers[taken] = len(demands)
            demands.append(demand.obj_to_primitive())
        return numbers[taken]

    written = [{
        'placed': [[
            placed.key, placed.host, placed.nodename, number(placed.demand),
            placed.numa_limits and placed.numa_limits.obj_to_primitive(),
            placed.group, placed.at, placed.claiming]
            for placed in each.assumed],
        'taken_back': [list(one) for one in each.forgotten],
    } for each in news]
    return {'news': written, 'demands': demands}


def moments(said):
    """Yield when each pick in a dict of JSON was placed, in seconds."""
    for each in said['news']:
        for placed in each['placed']:
            yield placed[6]


def read(said):
    """Return the list of News in a dict of JSON.

    Raises ValueError, TypeError, KeyError, IndexError, or what
    ``objects.arguments.from_wire`` does for what ``written`` has not written.
    """
    demand = functools.cache(
        lambda number: arguments.from_wire(said['demands'][number]).demand())
    return [_news(demand, each) for each in said['news']]


def _news(demand, said):
    assumed = [_placed(demand, *placed) for placed in said['placed']]
    return News(
        assumed,
        [(placed.key, placed.place, placed.at) for placed in assumed
         if placed.claiming],
        [(_key(key), (_text(host), _text(nodename)), _moment(at))
         for key, (host, nodename), at in said['taken_back']],
        heard=True)


def _placed(demand, key, host, nodename, number, numa_limits, group, at,
            claiming):
    return InFlight(
        _key(key), _text(host), _text(nodename), demand(number),
        numa.limits_from_any(numa_limits),
        None if group is None else _text(group), _moment(at),
        {} if claiming is True else None)


def _key(value):
    """Return the key of a placement: a text, or that and a number."""
    if isinstance(value, str):
        return _text(value)
    text, number = value
    return _text(text), int(number)


def _moment(value):
    if not math.isfinite(value):
        raise ValueError(f'{value!r} is no time')
    return float(value)


def _text(value):
    if not isinstance(value, str):
        raise TypeError(f'{value!r:.80} is no text')
    if len(value) > LONGEST:
        raise ValueError(f'{value!r:.80} has more than {LONGEST} characters')
    return value
