"""Minimum and maximum of options, and the sections in which they are read."""

import pytest

from nova_sched import conf
from nova_sched.options import sections
from tests.unit.options import documented

#: Minimum of options: a smaller value is an error.
REFUSED = {
    ('DEFAULT', 'periodic_fuzzy_delay'): 0,
    ('scheduler', 'discover_hosts_in_cells_interval'): -1,
    ('neutron', 'http_retries'): 0, ('neutron', 'extension_sync_interval'): 0,
    ('nova_sched', 'pick_lifetime'): 0, ('nova_sched', 'cell_timeout'): 1,
    ('nova_sched', 'spread_near_equal'): 0,
    ('nova_sched', 'decisions_kept'): 60,
    ('nova_sched', 'decisions_max_mb'): 0,
    ('nova_sched', 'max_instances_per_request'): 1,
    ('nova_sched', 'request_time_budget'): 0,
    ('healthcheck', 'ttl'): 0, ('healthcheck', 'cache_control'): -1}

#: Minimum of options: a smaller value counts as the minimum.
CLAMPED = {
    ('DEFAULT', 'cell_worker_thread_pool_size'): 1,
    **{('DEFAULT', f'{initial}{resource}_allocation_ratio'): 0.0
       for initial in ('', 'initial_') for resource in ('cpu', 'ram', 'disk')},
    ('filter_scheduler', 'max_io_ops_per_host'): 0,
    ('filter_scheduler', 'max_instances_per_host'): 1,
    ('filter_scheduler', 'host_subset_size'): 1,
    **{('filter_scheduler', f'{weigher}_weight_multiplier'): 0.0
       for weigher in ('pci', 'soft_affinity', 'soft_anti_affinity')},
    ('scheduler', 'max_attempts'): 1,
    ('scheduler', 'max_placement_results'): 1, ('scheduler', 'workers'): 0}


def text(values):
    """A file with these values of options: {(section, name): value}."""
    return ''.join(f'[{section}]\n{name} = {value}\n'
                   for (section, name), value in values.items())


def test_the_minimum_is_accepted_and_a_smaller_value_refused(parsed):
    accepted = parsed(text(REFUSED))
    assert conf.check(accepted) == []
    assert {option: sections.value(accepted, *option)
                       for option in REFUSED} == REFUSED

    errors = {error.option: str(error) for error in conf.check(parsed(text({
        option: least - 1 for option, least in REFUSED.items()})))}

    assert set(errors) == {f'[{section}] {name}' for section, name in REFUSED}
    for (section, name), least in REFUSED.items():
        error = errors[f'[{section}] {name}']
        assert f'{least} or more' in error or f' from {least} to ' in error


def test_the_maximum_is_accepted_and_a_larger_value_refused(parsed):
    option = 'nova_sched', 'max_instances_per_request'
    assert conf.check(parsed(text({option: 10000}))) == []

    [error] = conf.check(parsed(text({option: 10001})))

    assert 'from 1 to 10000' in str(error)


@pytest.mark.parametrize(('above', 'effective'), [(-1, 0), (0, 0), (1, 1)])
def test_a_value_below_the_minimum_counts_as_the_minimum_with_a_warning(
        parsed, above, effective):
    """Older releases of Nova accept such values."""
    config = parsed(text({
        option: least + above for option, least in CLAMPED.items()}))
    warnings = ' '.join(conf.warnings(config))

    assert conf.check(config) == []
    for (section, name), least in CLAMPED.items():
        value = sections.value(config, section, name)
        assert (name, value) == (name, least + effective)
        assert type(value) is type(least)
        assert (f'[{section}] {name} = {least + above} is below its minimum: '
                f'{least} is used' in warnings) == (above < 0)


def test_other_multipliers_may_be_negative(parsed):
    names = [name for section, name in sections.known_opts()
             if section == 'filter_scheduler' and name.endswith('_multiplier')
             and (section, name) not in CLAMPED]
    config = parsed(text({('filter_scheduler', name): -3 for name in names}))

    assert len(names) == 9
    assert {config.filter_scheduler[name] for name in names} == {-3}


def test_options_without_an_old_name_are_not_read_in_default(parsed):
    known = sections.known_opts()
    moved = {(section, name) for section, name, old_section, _old
             in documented.OLD_NAMES if old_section == 'DEFAULT'}
    names = [(section, name) for (section, name), default
             in documented.DEFAULTS.items()
             if section != 'DEFAULT' and (section, name) not in moved
             and ('DEFAULT', name) not in known
             and type(default) in (bool, int, float)]
    assert len(names) > 20
    unset = parsed()
    before = {name: sections.value(unset, *name) for name in names}

    config = parsed(text({('DEFAULT', name): 0 if before[section, name] else 1
                          for section, name in names}))

    assert {name: sections.value(config, *name) for name in names} == before
