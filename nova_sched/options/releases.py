"""The releases of Nova, and which options each of them had.

The eras of options are read off the option definitions of every release from
Kilo to 2026.2; what is the same in all of them is not listed.
"""

import dataclasses
import re
import typing

from nova_sched.conf import filter_scheduler
from nova_sched.options import files
from nova_sched.options import ignored_options
from nova_sched.options import sections

(KILO, LIBERTY, MITAKA, NEWTON, OCATA, PIKE, QUEENS, ROCKY, STEIN, TRAIN,
 USSURI, VICTORIA, WALLABY, XENA, YOGA, ZED, V27, V28, V29, V30, V31, V32,
 V33, V34) = range(11, 35)
FIRST, LAST = KILO, V34

_NAMES = ('kilo', 'liberty', 'mitaka', 'newton', 'ocata', 'pike', 'queens',
          'rocky', 'stein', 'train', 'ussuri', 'victoria', 'wallaby', 'xena',
          'yoga', 'zed', 'antelope', 'bobcat', 'caracal', 'dalmatian',
          'epoxy', 'flamingo', 'gazpacho')


@dataclasses.dataclass(frozen=True, order=True)
class Release:
    """A release of Nova; number: its first, 17 for 17.0.13 or Queens.

    Kilo, which has no such number, goes as 11.
    """

    number: int

    @property
    def date(self):
        """Year and half of the year: text such as 2018.1."""
        year, half = divmod(self.number - FIRST, 2)
        return f'{2015 + year}.{half + 1}'

    def __str__(self):
        if self.number == KILO:
            return '2015.1 (Kilo)'
        name = (_NAMES[self.number - FIRST].title() if self.number < V27
                else self.date)
        return f'{self.number}.0.0 ({name})'


def find(text):
    """Return the Release of a name, a number or a date, however it is written.

    queens, stable/queens, 17, 17.0.13, 2018.1 and 17.0.0 (Queens) are one.
    Raises ValueError for what is none from Kilo to 2026.2.
    """
    word = text.strip().lower().rpartition('/')[2]
    if word in _NAMES:
        return Release(FIRST + _NAMES.index(word))
    if found := re.match(r'(20\d\d)\.([12])(?![0-9])', word):
        year, half = map(int, found.groups())
        number = FIRST + 2 * (year - 2015) + half - 1
    else:
        found = re.match(r'(\d{2})(?![0-9])', word)
        number = int(found[1]) if found else 0
    if not FIRST <= number <= LAST:
        raise ValueError(
            f'{text} is no release of Nova from Kilo to {Release(LAST).date};'
            f' write a name, a number or a date: queens, 17 or 2018.1')
    return Release(number)


#: (section, option) -> the first and the last release that have it, or () if
#: none has; None for an option is the whole section.
ERAS = {
    ('nova_sched', None): (),
    ('placement', None): (NEWTON, LAST),
    ('trusted_computing', None): (KILO, PIKE),
    ('scheduler', 'driver'): (KILO, VICTORIA),
    ('scheduler', 'host_manager'): (KILO, QUEENS),
    ('scheduler', 'periodic_task_interval'): (KILO, VICTORIA),
    ('scheduler', 'discover_hosts_in_cells_interval'): (OCATA, LAST),
    ('scheduler', 'max_placement_results'): (QUEENS, LAST),
    ('scheduler', 'workers'): (ROCKY, LAST),
    ('scheduler', 'limit_tenants_to_placement_aggregate'): (ROCKY, LAST),
    ('scheduler', 'placement_aggregate_required_for_tenants'): (ROCKY, LAST),
    ('scheduler', 'query_placement_for_availability_zone'): (ROCKY, V27),
    ('scheduler', 'query_placement_for_image_type_support'): (TRAIN, LAST),
    ('scheduler', 'enable_isolated_aggregate_filtering'): (TRAIN, LAST),
    ('scheduler', 'image_metadata_prefilter'): (USSURI, LAST),
    ('scheduler', 'query_placement_for_routed_network_aggregates'): (
        WALLABY, LAST),
    ('DEFAULT', 'scheduler_topic'): (KILO, OCATA),
    ('DEFAULT', 'scheduler_manager'): (KILO, NEWTON),
    ('DEFAULT', 'scheduler_json_config_location'): (KILO, NEWTON),
    ('DEFAULT', 'manager_shutdown_timeout'): (V34, LAST),
    ('DEFAULT', 'long_rpc_timeout'): (ROCKY, LAST),
    ('DEFAULT', 'initial_cpu_allocation_ratio'): (STEIN, LAST),
    ('DEFAULT', 'initial_ram_allocation_ratio'): (STEIN, LAST),
    ('DEFAULT', 'initial_disk_allocation_ratio'): (STEIN, LAST),
    ('filter_scheduler', 'baremetal_enabled_filters'): (KILO, QUEENS),
    ('filter_scheduler', 'use_baremetal_filters'): (KILO, QUEENS),
    ('filter_scheduler', 'shuffle_best_same_weighed_hosts'): (QUEENS, LAST),
    ('filter_scheduler', 'image_properties_default_architecture'): (
        QUEENS, LAST),
    ('filter_scheduler', 'pci_in_placement'): (V27, LAST),
    ('filter_scheduler', 'disk_weight_multiplier'): (MITAKA, LAST),
    ('filter_scheduler', 'cpu_weight_multiplier'): (ROCKY, LAST),
    ('filter_scheduler', 'pci_weight_multiplier'): (PIKE, LAST),
    ('filter_scheduler', 'soft_affinity_weight_multiplier'): (MITAKA, LAST),
    ('filter_scheduler', 'soft_anti_affinity_weight_multiplier'): (
        MITAKA, LAST),
    ('filter_scheduler', 'build_failure_weight_multiplier'): (PIKE, LAST),
    ('filter_scheduler', 'cross_cell_move_weight_multiplier'): (
        USSURI, LAST),
    ('filter_scheduler', 'hypervisor_version_weight_multiplier'): (
        V28, LAST),
    ('filter_scheduler', 'num_instances_weight_multiplier'): (V28, LAST),
    ('filter_scheduler', 'image_props_weight_multiplier'): (V31, LAST),
    ('filter_scheduler', 'image_props_weight_setting'): (V31, LAST),
    ('notifications', 'notification_format'): (MITAKA, LAST),
    ('notifications', 'versioned_notifications_topics'): (PIKE, LAST),
    ('workarounds', 'disable_fallback_pcpu_query'): (TRAIN, LAST),
    ('workarounds', 'disable_compute_service_check_for_ffu'): (
        WALLABY, LAST),
    ('compute', 'packing_host_numa_cells_allocation_strategy'): (YOGA, LAST),
}

#: Sections that were not always there -> the first release that has them, and
#: the last that reads the names that their options had in [DEFAULT] before;
#: one option is read so until Queens.
_MOVED = {'scheduler': (OCATA, WALLABY), 'filter_scheduler': (OCATA, WALLABY),
          'oslo_messaging_notifications': (MITAKA, LAST),
          'notifications': (NEWTON, LAST)}
_READ_UNTIL = {('scheduler', 'periodic_task_interval'): QUEENS}

_MITAKAS = filter_scheduler.NO_PLACEMENT_FILTERS
_QUEENS = filter_scheduler.PLACEMENT_FILTERS

#: (section, option) -> (first, last release, their default), where it is
#: another one than here and on record.
DEFAULTS = {
    ('filter_scheduler', 'enabled_filters'): (
        (KILO, KILO, [name for name in _MITAKAS if name != 'DiskFilter']),
        (MITAKA, MITAKA, list(_MITAKAS)),
        (QUEENS, ROCKY, list(_QUEENS)),
        (V34, V34, [name for name in _QUEENS if name not in (
            'RetryFilter', 'AvailabilityZoneFilter')])),
    ('DEFAULT', 'initial_cpu_allocation_ratio'): ((V27, LAST, 4.0),),
    ('DEFAULT', 'initial_ram_allocation_ratio'): ((V27, LAST, 1.0),),
    ('DEFAULT', 'graceful_shutdown_timeout'): ((KILO, ROCKY, 60),),
    ('notifications', 'notification_format'): ((MITAKA, STEIN, 'both'),),
    ('scheduler', 'query_placement_for_availability_zone'): (
        (XENA, V27, True),),
}


def first(section, name):
    """Return the number of the release that an option came with."""
    return ERAS.get((section, name), (FIRST, LAST))[0]


def has(release, section, name):
    """Return whether a release has an option, under whatever name."""
    for era in (ERAS.get((section, None)), ERAS.get((section, name))):
        if era is not None and not (
                era and era[0] <= release.number <= era[1]):
            return False
    return True


def reads(release, option):
    """Return whether a release reads an option as it is Written."""
    section, dest = option.section, option.opt.dest
    if not has(release, section, dest):
        return False
    if section not in _MOVED:
        return True
    first, last = _MOVED[section]
    if option.place == section:
        return release.number >= first
    return release.number <= _READ_UNTIL.get((section, dest), last)


def default(release, section, name):
    """Return the default of an option in a release where it is another one.

    None where it is the one that it has here, or not on record.
    """
    return next((value for low, high, value in DEFAULTS.get(
        (section, name), ()) if low <= release.number <= high), None)


class Written(typing.NamedTuple):
    """An option that a file gives: it is in ``section``, whatever is written.

    place, name: how it is written, which may be an older name of it.
    """

    section: str
    opt: object
    place: str
    name: str

    def __str__(self):
        return f'[{self.place}] {self.name}'


def written(conf):
    """Return the options that the files give: list of Written."""
    raw = files.raw_sections(conf)
    return [Written(section, opt, place, name)
            for (section, _dest), opt in sections.known_opts().items()
            for place, name in dict.fromkeys(sections.places(section, opt))
            if raw.get(place, {}).get(name)]


def not_read(given, release):
    """Return those of a list of Written that a release does not read."""
    return sorted({str(option) for option in given
                   if not reads(release, option)})


def ignored_here(given, release):
    """Return those of a list of Written that only a release acts on."""
    ignored = set(ignored_options.options())
    return sorted({str(option) for option in given
                   if (option.section, option.opt.dest) in ignored
                   and reads(release, option)})


#: The version of services -> the first release that has it.
_SERVICES = {2: LIBERTY, 9: MITAKA, 15: NEWTON, 16: OCATA, 22: PIKE,
             30: QUEENS, 35: ROCKY, 37: STEIN, 40: TRAIN, 51: USSURI,
             53: VICTORIA, 56: WALLABY, 60: XENA, 61: YOGA, 64: ZED, 66: V27,
             67: V29, 68: V31, 70: V32, 72: V33, 74: V34}


def of_service(version):
    """Return the Release whose services have a version, or None."""
    number = _SERVICES.get(version)
    return number and Release(number)
