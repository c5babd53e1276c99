"""How a configuration behaves differently in a release of Nova."""

from nova_sched.options import releases
from nova_sched.preflight import known_differences
from nova_sched.preflight.rows import DIFFERS
from nova_sched.preflight.rows import Row
from nova_sched.preflight.rows import as_written
from nova_sched.rules import nova_classes

_FILTERS = '[filter_scheduler] enabled_filters'
#: Defaults that matter to some configurations only; one has its own fact.
_MATTERS = {
    ('filter_scheduler', 'enabled_filters'): lambda setup: setup.ranks,
    ('scheduler', 'query_placement_for_availability_zone'):
        lambda setup: False,
    ('notifications', 'notification_format'):
        lambda setup: bool(setup.conf.oslo_messaging_notifications.driver),
}


def rows(setup, release):
    """Return what differs in a release of Nova: list of Row.

    setup: setup.Setup.  release: options.releases.Release.
    """
    found = (*_options(setup, release), *_defaults(setup, release),
             *_filters(setup, release), *_weighers(setup, release),
             *_request_filters(setup, release), *_facts(setup, release))
    return as_written(setup.conf, found)


def _row(about, release, there, here, advice=''):
    return Row(about, DIFFERS, f'in {release}: {there}; here: {here}', advice)


def _options(setup, release):
    lost = releases.not_read(setup.given, release)
    if lost:
        yield _row(
            'options', release, f'does not read {", ".join(lost)}',
            'they count', 'Take out what is a leftover of older times; what '
            'is not is without effect on the way back')
    idle = releases.ignored_here(setup.given, release)
    if idle:
        yield _row('options', release, f'acts on {", ".join(idle)}',
                   'they do nothing')


def _defaults(setup, release):
    for section, name in releases.DEFAULTS:
        there = releases.default(release, section, name)
        matters = _MATTERS.get((section, name), lambda setup: True)
        if (there is None or (section, name) in setup.written
                or not matters(setup)):
            continue
        here = (setup.filters if name == 'enabled_filters'
                else setup.value(section, name))
        if here != there:
            yield _row(
                f'[{section}] {name}', release,
                f'unset means {_shown(there)}', _shown(here),
                'Set it to what is to count')


def _shown(value):
    return ', '.join(value) if isinstance(value, list) else str(value)


def _filters(setup, release):
    gone = [name for name in setup.filters
            if name in nova_classes.REMOVED_FILTERS
            and releases.find(nova_classes.REMOVED_FILTERS[name]) <= release]
    if gone:
        yield _row(_FILTERS, release, f'there is no {" and no ".join(gone)}, '
                   'and it does not start with them', 'they run',
                   'Leave them out on the way back')
    if (setup.ranks
            and ('filter_scheduler', 'enabled_filters') not in setup.written
            and not releases.default(release, 'filter_scheduler',
                                     'enabled_filters')):
        yield _row(_FILTERS, release, 'unset means a list that is not on '
                   'record here', ', '.join(setup.filters),
                   'Set it to what was running')


def _weighers(setup, release):
    since = {
        name: releases.first('filter_scheduler', weigher.multiplier_name)
        for name, weigher in setup.weigher_objects.items()
        if name in known_differences.WEIGHERS}
    late = [name for name in since
            if since[name] > release.number and setup.weighers[name]]
    if late:
        times = [f'{name} (x {setup.weighers[name]:.12g})' for name in late]
        yield _row('[filter_scheduler] weight_classes', release,
                   f'there is no {" and no ".join(times)}',
                   'they weigh, so another host may be the best',
                   _without(late, setup.weigher_objects, [
                       name for name in setup.weigher_objects
                       if since.get(name, 0) <= release.number]))


def _without(late, weighers, kept):
    """Return advice on how to weigh without some weighers: text.

    weighers: name -> object.  kept: names of those that go on.
    """
    zeros = ', '.join(f'{weighers[name].multiplier_name} = 0'
                      for name in late)
    classes = ','.join(nova_classes.WEIGHER_PATHS.get(
        name, f'{type(weighers[name]).__module__}.{name}') for name in kept)
    return (f'To weigh as it does, set in [filter_scheduler] {zeros}'
            + (f'; or weight_classes = {classes}' if kept else ''))


def _request_filters(setup, release):
    late = [name for name in setup.request_filters
            if known_differences.REQUEST_FILTERS[name][0] > release.number]
    if late:
        yield _row('request filters', release,
                   f'there is no {" and no ".join(late)}',
                   'they say what Placement is asked for')


def _facts(setup, release):
    for fact in known_differences.FACTS:
        if (fact.first <= release.number <= fact.last
                and fact.when(setup, release)):
            yield _row(fact.about, release, fact.there, fact.here,
                       fact.advice)
