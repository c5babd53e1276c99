"""How a configuration behaves differently in a release of Nova.

The table is known_differences.toml.
"""

import dataclasses
import functools

from nova_sched import toml_files
from nova_sched.options import known_options
from nova_sched.options import names
from nova_sched.options import releases
from nova_sched.options import sections
from nova_sched.preflight.rows import DIFFERS
from nova_sched.preflight.rows import Row
from nova_sched.preflight.rows import as_written
from nova_sched.rules import nova_classes

_FILTERS = '[filter_scheduler] enabled_filters'

_ZONES = 'scheduler', 'query_placement_for_availability_zone'

#: Condition of the table -> function of a Setup that tests it.
_CONDITIONS = {
    'another topic': lambda setup: setup.conf.scheduler_topic != 'scheduler',
    'api database': lambda setup: setup.conf.api_database.connection,
    'bare metal': lambda setup: (
        names.host_manager_name(setup.conf) == names.IRONIC_HOST_MANAGER),
    'equal hosts': lambda setup: setup.weighers and not (
        setup.conf.filter_scheduler.shuffle_best_same_weighed_hosts),
    'filters run': lambda setup: setup.ranks,
    'insecure attestation': lambda setup: (
        setup.conf.trusted_computing.attestation_insecure_ssl),
    'instances are tracked': lambda setup: sections.value(
        setup.conf, 'filter_scheduler', 'track_instance_changes'),
    'mirror': lambda setup: setup.conf.nova_sched.candidates == 'mirror',
    'no ComputeFilter': lambda setup: 'ComputeFilter' not in setup.filters,
    'no placement': lambda setup: setup.ranks and not setup.placement,
    'notifications': lambda setup: (
        setup.conf.oslo_messaging_notifications.driver),
    'placement': lambda setup: setup.placement,
    'several weighers': lambda setup: len(setup.weighers) > 1,
    'several workers': lambda setup: setup.workers > 1,
    'soft affinity': lambda setup: (
        setup.weighers.get('ServerGroupSoftAffinityWeigher')
        or setup.weighers.get('ServerGroupSoftAntiAffinityWeigher')),
    'weighers': lambda setup: setup.weighers,
    'zones are not asked': lambda setup: not sections.value(
        setup.conf, *_ZONES),
    'zones are configured': lambda setup: _ZONES in setup.written,
}


@dataclasses.dataclass(frozen=True)
class Difference:
    """A row of the table: a fact, or the default of an option."""

    about: str
    there: str = ''
    here: str = ''
    advice: str = ''
    value: object = None
    releases: str = '..'
    when: list = ()
    drivers: list = ()
    filters: list = ()

    @functools.cached_property
    def span(self):
        """The numbers of the releases: range."""
        return releases.span(self.releases)

    def matters(self, setup, release):
        """Return whether to report it for a Setup and a Release."""
        return (release.number in self.span
                and all(_CONDITIONS[name](setup) for name in self.when)
                and (not self.drivers or setup.driver in self.drivers)
                and (not self.filters
                     or any(name in setup.filters for name in self.filters)))


def _table(name):
    return toml_files.read('known_differences.toml', __package__)[name]


@functools.cache
def known(kind):
    """Return the differences of a kind, ``fact`` or ``default``: list."""
    return [Difference(**row) for row in _table(kind)]


def request_filters():
    """Return Nova's request filters, in order, and their switches.

    A dict name -> name of an option of [scheduler], None without any.
    """
    return {name: _table('switches').get(name)
            for name in _table('request_filters')}


def rows(setup, release):
    """Return the differences of a release of Nova: list of Row.

    setup: startup.Setup.  release: options.releases.Release.
    """
    differences = (*_options(setup, release), *_defaults(setup, release),
                   *_filters(setup, release), *_weighers(setup, release),
                   *_request_filters(setup, release), *_facts(setup, release))
    return as_written(setup.conf, differences)


def _row(about, release, there, here, advice=''):
    return Row(about, DIFFERS, f'in {release}: {there}; here: {here}', advice)


def _options(setup, release):
    lost = releases.not_read(setup.given, release)
    if lost:
        yield _row(
            'options', release, f'does not read {", ".join(lost)}',
            'they have an effect', 'Remove leftovers of older releases; '
            'others have no effect on the way back')
    idle = releases.ignored_here(setup.given, release)
    if idle:
        yield _row('options', release, f'acts on {", ".join(idle)}',
                   'they have no effect')


def _defaults(setup, release):
    for default in known('default'):
        place = known_options.place(default.about)
        if place in setup.written or not default.matters(setup, release):
            continue
        here = (setup.filters if default.about == _FILTERS
                else sections.value(setup.conf, *place))
        if here != default.value:
            yield _row(default.about, release,
                       f'unset means {_shown(default.value)}', _shown(here),
                       'Set it to the intended value')


def _shown(value):
    return ', '.join(value) if isinstance(value, list) else str(value)


def _filters(setup, release):
    gone = [name for name in setup.filters
            if name in nova_classes.REMOVED_FILTERS
            and releases.find(nova_classes.REMOVED_FILTERS[name]) <= release]
    if gone:
        yield _row(_FILTERS, release, f'there is no {" and no ".join(gone)}, '
                   'and it does not start with them', 'they run',
                   'Remove them on the way back')
    if (setup.ranks and known_options.place(_FILTERS) not in setup.written
            and not any(default.about == _FILTERS
                        and release.number in default.span
                        for default in known('default'))):
        yield _row(_FILTERS, release, 'unset means an unknown list',
                   ', '.join(setup.filters), 'Set it to the previous filters')


def _weighers(setup, release):
    since = {
        name: releases.first('filter_scheduler', weigher.multiplier_name)
        for name, weigher in setup.weigher_objects.items()
        if name in nova_classes.WEIGHER_PATHS}
    late = [name for name in since
            if since[name] > release.number and setup.weighers[name]]
    if late:
        times = [f'{name} (x {setup.weighers[name]:.12g})' for name in late]
        zeros = ', '.join(f'{setup.weigher_objects[name].multiplier_name} = 0'
                          for name in late)
        yield _row('[filter_scheduler] weight_classes', release,
                   f'there is no {" and no ".join(times)}',
                   'they weigh, so another host may be the best',
                   f'To weigh as it does, set in [filter_scheduler] {zeros}')


def _request_filters(setup, release):
    late = [name for name in setup.request_filters if releases.find(
        _table('request_filters')[name]) > release]
    if late:
        yield _row('request filters', release,
                   f'there is no {" and no ".join(late)}',
                   'they add to the query for Placement')


def _facts(setup, release):
    return [_row(fact.about, release, fact.there, fact.here, fact.advice)
            for fact in known('fact') if fact.matters(setup, release)]
