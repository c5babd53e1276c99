"""How far the values of options go, and where options are read."""

from oslo_config import cfg
import pytest

from nova_sched import conf
from nova_sched.conf import messaging
from nova_sched.options import sections
from tests.unit.options import documented

#: What only this service has: its defaults.
OURS = {
    'pick_lifetime': 300, 'picks_key': None,
    'spread_near_equal': None,
    'cell_timeout': 60, 'decisions_kept': 604800, 'decisions_max_mb': 512,
    'candidates': 'mirror', 'metrics_uri': [],
    'no_valid_host_text': 'filters', 'max_instances_per_request': 1000,
    'request_time_budget': 10, 'plugin_path': [],
    'shadow_report': None}

#: Options that are refused below a number.
REFUSED = [
    ('DEFAULT', 'periodic_fuzzy_delay', 0),
    ('scheduler', 'discover_hosts_in_cells_interval', -1),
    ('neutron', 'http_retries', 0), ('neutron', 'extension_sync_interval', 0),
    ('nova_sched', 'pick_lifetime', 0), ('nova_sched', 'cell_timeout', 1),
    ('nova_sched', 'spread_near_equal', 0),
    ('nova_sched', 'decisions_kept', 60),
    ('nova_sched', 'decisions_max_mb', 0),
    ('nova_sched', 'max_instances_per_request', 1),
    ('nova_sched', 'request_time_budget', 0),
    ('healthcheck', 'ttl', 0), ('healthcheck', 'cache_control', -1)]

#: Options of which a smaller number counts as the smallest.
MOVED = [
    ('DEFAULT', 'cell_worker_thread_pool_size', 1),
    ('DEFAULT', 'cpu_allocation_ratio', 0.0),
    ('DEFAULT', 'ram_allocation_ratio', 0.0),
    ('DEFAULT', 'disk_allocation_ratio', 0.0),
    ('DEFAULT', 'initial_cpu_allocation_ratio', 0.0),
    ('DEFAULT', 'initial_ram_allocation_ratio', 0.0),
    ('DEFAULT', 'initial_disk_allocation_ratio', 0.0),
    ('filter_scheduler', 'max_io_ops_per_host', 0),
    ('filter_scheduler', 'max_instances_per_host', 1),
    ('filter_scheduler', 'host_subset_size', 1),
    ('filter_scheduler', 'pci_weight_multiplier', 0.0),
    ('filter_scheduler', 'soft_affinity_weight_multiplier', 0.0),
    ('filter_scheduler', 'soft_anti_affinity_weight_multiplier', 0.0),
    ('scheduler', 'max_attempts', 1),
    ('scheduler', 'max_placement_results', 1), ('scheduler', 'workers', 0)]

#: Options that may be below nought.
FREE = [('filter_scheduler', name) for name in (
    'ram_weight_multiplier', 'disk_weight_multiplier',
    'cpu_weight_multiplier', 'io_ops_weight_multiplier',
    'build_failure_weight_multiplier', 'cross_cell_move_weight_multiplier',
    'hypervisor_version_weight_multiplier', 'num_instances_weight_multiplier',
    'image_props_weight_multiplier')] + [
        ('metrics', 'weight_multiplier'), ('metrics', 'weight_of_unavailable'),
        ('scheduler', 'periodic_task_interval')]


#: Options that are one of several words.
WORDS = {
    ('nova_sched', 'no_valid_host_text'): ['nova', 'filters', 'counts',
                                           'full'],
    ('notifications', 'notification_format'): [
        'unversioned', 'versioned', 'both'],
    ('notifications', 'default_level'): [
        'DEBUG', 'INFO', 'WARN', 'ERROR', 'CRITICAL'],
    ('DEFAULT', 'servicegroup_driver'): ['db', 'mc'],
    ('DEFAULT', 'concurrency_backend'): ['auto', 'threading', 'eventlet']}


def text(values):
    """A file with these values of options: {(section, name): value}."""
    return ''.join(f'[{section}]\n{name} = {value}\n'
                   for (section, name), value in values.items())


def test_an_empty_file_gives_what_only_this_service_has_its_defaults(parsed):
    found = parsed().nova_sched

    assert {name: found[name] for name in OURS} == OURS
    assert {name for section, name in sections.known_opts()
            if section == 'nova_sched'} == set(OURS)


def test_the_smallest_numbers_are_taken_and_smaller_ones_refused(parsed):
    right = parsed(text({(section, name): least
                         for section, name, least in REFUSED}))
    assert conf.check(right) == []
    assert all(sections.value(right, section, name) == least
               for section, name, least in REFUSED)

    errors = {error.option: str(error) for error in conf.check(parsed(text({
        (section, name): least - 1 for section, name, least in REFUSED})))}

    assert set(errors) == {f'[{section}] {name}'
                           for section, name, _least in REFUSED}
    for section, name, least in REFUSED:
        said = errors[f'[{section}] {name}']
        assert f'{least} or more' in said or f' from {least} to ' in said


def test_the_biggest_number_is_taken_and_a_bigger_one_refused(parsed):
    name = 'nova_sched', 'max_instances_per_request'
    assert conf.check(parsed(text({name: 10000}))) == []

    [error] = conf.check(parsed(text({name: 10001})))

    assert 'from 1 to 10000' in str(error)


@pytest.mark.parametrize(('above', 'counts'), [(-1, 0), (0, 0), (1, 1)])
def test_a_number_that_is_too_small_counts_as_the_smallest_with_a_warning(
        parsed, above, counts):
    """Where older releases took it, so that it does not stop the start."""
    config = parsed(text({(section, name): least + above
                          for section, name, least in MOVED}))
    warnings = ' '.join(conf.warnings(config))

    assert conf.check(config) == []
    for section, name, least in MOVED:
        found = sections.value(config, section, name)
        assert (name, found) == (name, least + counts)
        assert type(found) is type(least)
        assert (f'[{section}] {name} = {least + above} is below its minimum: '
                f'{least} is used' in warnings) == (above < 0)


def test_a_number_may_be_negative_where_that_turns_things_round(parsed):
    config = parsed(text(dict.fromkeys(FREE, -3)))

    assert {sections.value(config, *name) for name in FREE} == {-3}


@pytest.mark.parametrize(('option', 'words'), WORDS.items(),
                         ids=lambda value: value[1])
def test_a_word_is_one_of_several(option, words):
    known = sections.known_opts()[option].type

    assert [known(word) for word in words] == words
    assert list(known.choices) == words
    with pytest.raises(ValueError, match='other'):
        known('other')


def test_what_was_never_in_default_is_not_read_there(parsed):
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


@pytest.mark.parametrize('option', [
    ('DEFAULT', 'rpc_backend'),
    *(('oslo_messaging_rabbit', opt.dest) for opt in messaging.OPTS)],
    ids='.'.join)
def test_what_the_url_of_the_broker_says_is_on_its_way_out(option):
    known = sections.known_opts()[option]

    assert known.deprecated_for_removal
    assert 'transport_url' in known.deprecated_reason


@pytest.mark.parametrize('name', ['rabbit_host', 'rabbit_port',
                                  'rabbit_userid', 'rabbit_virtual_host'])
def test_what_is_no_secret_is_not_hidden(name):
    """It is what one looks for in the log."""
    assert not sections.known_opts()['oslo_messaging_rabbit', name].secret


def test_a_command_may_have_options_of_its_own():
    config = conf.new_conf(['--extra', 'x'], [], [cfg.StrOpt('extra')])

    assert config.extra == 'x'
