"""How a configuration behaves differently in a release of Nova."""

import pytest

from nova_sched.options import releases
from nova_sched.preflight import differences
from nova_sched.rules import nova_classes
from nova_sched.scheduler import filters
from nova_sched.scheduler import request_filter
from tests.builders import case_tables

PLACEMENT = '[placement]\nauth_type = none\n'
CHANCE = '[scheduler]\ndriver = chance_scheduler\n'


def chain(*names):
    return f'[filter_scheduler]\nenabled_filters = {",".join(names)}\n'


FACTS = case_tables.rows('preflight-differences', 'facts')


def rows_with(setup, release, words):
    """The rows for a release with these words: list of texts."""
    release = releases.find(release)
    texts = [f'{row.check}: {row.found}; {row.advice}'.replace(
        f'in {release}: ', '') for row in differences.rows(setup, release)]
    return [text for text in texts if words in text]


@pytest.mark.parametrize('fact', FACTS, ids=lambda fact: fact['words'])
def test_a_fact_is_reported_if_release_and_configuration_match(setup_of, fact):
    words, first, last = fact['words'], fact['first'], fact['last']
    reporting = [release for release in map(releases.Release, range(11, 35))
                 if rows_with(setup_of(fact['text']), str(release.number)
                              if release.number > 11 else 'kilo', words)]

    assert reporting == [releases.Release(number) for number in range(
        releases.find(first).number, releases.find(last).number + 1)]
    if 'other' in fact:
        assert not rows_with(setup_of(fact['other']), first, words)


def test_zones_that_are_set_in_a_file_concern_later_releases(setup_of):
    setup = setup_of(PLACEMENT + '[scheduler]\n'
                     'query_placement_for_availability_zone = false\n')

    assert rows_with(setup, 'zed', 'judged by AvailabilityZoneFilter alone')
    assert not rows_with(setup, '2023.2', 'AvailabilityZoneFilter alone')


def test_the_table_names_existing_conditions_filters_and_releases():
    rows = [row for kind in ('fact', 'default')
            for row in differences.known(kind)]
    known = {*nova_classes.REMOVED_FILTERS,
             *(cls.__name__ for cls in filters.all_filters())}

    assert {name for row in rows for name in row.when} == set(
        differences._CONDITIONS)
    assert {name for row in rows for name in row.filters} <= known
    assert all(row.span for row in rows)
    assert all(row.there and row.here for row in differences.known('fact'))


def test_without_filters_and_weighers_no_row_is_about_them(setup_of):
    assert not rows_with(setup_of(CHANCE), 'queens', 'Filter')
    assert not rows_with(setup_of(CHANCE), 'queens', 'Weigher')


@pytest.mark.parametrize('release, there', [
    ('kilo', 'RetryFilter, AvailabilityZoneFilter, RamFilter, ComputeFilter'),
    ('queens', 'RetryFilter, AvailabilityZoneFilter, ComputeFilter'),
    ('ussuri', 'an unknown list'),
    ('34', 'ComputeFilter, ComputeCapabilitiesFilter')])
def test_another_default_list_of_filters_is_reported(setup_of, release, there):
    row, = rows_with(setup_of(), release, 'enabled_filters: unset means')

    assert f'unset means {there}' in row
    assert 'here: RetryFilter, AvailabilityZoneFilter, RamFilter, ' in row


def test_the_same_list_of_filters_is_not_reported(setup_of):
    assert not rows_with(setup_of(), 'mitaka', 'enabled_filters')
    assert not rows_with(setup_of(PLACEMENT), 'queens', 'enabled_filters')
    assert not rows_with(setup_of(chain('ComputeFilter')), '34',
                         'enabled_filters')


def test_filters_that_a_release_has_removed_are_named(setup_of):
    setup = setup_of(chain('RamFilter', 'ComputeFilter', 'RetryFilter'))

    row, = rows_with(setup, 'victoria', 'does not start with them')
    assert 'there is no RamFilter and no RetryFilter,' in row
    assert not rows_with(setup, 'ussuri', 'does not start with them')


@pytest.mark.parametrize('release, weighers', [
    ('kilo', ['CPUWeigher', 'DiskWeigher', 'PCIWeigher',
              'ServerGroupSoftAffinityWeigher',
              'ServerGroupSoftAntiAffinityWeigher', 'BuildFailureWeigher',
              'CrossCellWeigher', 'HypervisorVersionWeigher']),
    ('queens', ['CPUWeigher', 'CrossCellWeigher', 'HypervisorVersionWeigher']),
    ('2023.1', ['HypervisorVersionWeigher']),
    ('34', [])])
def test_weighers_that_a_release_lacks_are_named(setup_of, release, weighers):
    row = ' '.join(rows_with(setup_of(), release, 'weight_classes'))

    assert [name for name in sorted(nova_classes.WEIGHER_PATHS)
            if f'{name} (' in row] == sorted(weighers)


@pytest.mark.parametrize('release', ['kilo', 'mitaka', 'queens', 'rocky'])
def test_the_advice_turns_the_newer_weighers_off(setup_of, release):
    row, = rows_with(setup_of(), release, 'weight_classes')
    zeros = row.partition('set in [filter_scheduler] ')[2].split(', ')

    text = '\n'.join(['[filter_scheduler]', *zeros])
    assert not rows_with(setup_of(text), release, 'they weigh')


def test_options_have_their_names_as_written(setup_of):
    row, = rows_with(setup_of(
        '[DEFAULT]\nscheduler_weight_classes = '
        'nova.scheduler.weights.all_weighers\n'), 'queens', 'they weigh')

    assert row.startswith('[DEFAULT] scheduler_weight_classes: ')


def test_a_weigher_is_named_with_its_multiplier_unless_that_is_0(setup_of):
    setup = setup_of('[filter_scheduler]\n'
                     'hypervisor_version_weight_multiplier = 0\n'
                     'num_instances_weight_multiplier = -2.5\n')

    row, = rows_with(setup, 'queens', 'weight_classes')
    assert 'NumInstancesWeigher (x -2.5)' in row
    assert 'HypervisorVersionWeigher (' not in row


def test_request_filters_are_those_of_the_service_in_their_order():
    assert list(differences.request_filters()) == [
        function.__name__ for function in request_filter.FILTERS]


def test_request_filters_that_a_release_lacks_are_named(setup_of):
    setup = setup_of(PLACEMENT + '[scheduler]\n'
                     'image_metadata_prefilter = true\n')

    row, = rows_with(setup, 'train', 'request filters')
    assert 'transform_image_metadata' in row
    assert 'compute_status_filter' not in row
    assert 'require_image_type_support' not in row    # which is off
    assert 'owner_nova_filter' in rows_with(setup, '2026.1', 'request f')[0]
    assert not rows_with(setup, '34', 'request filters')
    assert not rows_with(setup_of(), 'train', 'request filters')


def test_other_defaults_of_unset_options_are_reported(setup_of):
    rows = ' '.join(rows_with(setup_of(), '2023.1', 'unset means'))

    assert 'initial_cpu_allocation_ratio: unset means 4.0; here: 16.0' in rows
    assert 'unset means 1.0; here: 1.5' in rows
    assert not rows_with(setup_of(
        '[DEFAULT]\ninitial_cpu_allocation_ratio = 16\n'
        'initial_ram_allocation_ratio = 1.5\n' + chain('ComputeFilter')),
        '2023.1', 'unset means')
    notifying = '[oslo_messaging_notifications]\ndriver = messagingv2\n'
    assert rows_with(setup_of(notifying), 'stein', 'notification_format')
    assert not rows_with(setup_of(notifying), 'train', 'notification_format')
    assert not rows_with(setup_of(), 'stein', 'notification_format')


def test_options_with_an_effect_on_one_side_only_are_reported(setup_of):
    setup = setup_of('[nova_sched]\ncell_timeout = 5\n'
                     '[upgrade_levels]\nbaseapi = 1.1\n')

    row, = rows_with(setup, 'queens', 'does not read')
    assert '[nova_sched] cell_timeout' in row
    row, = rows_with(setup, 'queens', 'acts on')
    assert '[upgrade_levels] baseapi' in row
