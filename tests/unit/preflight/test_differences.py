"""How a configuration behaves differently in a release of Nova."""

import pytest

from nova_sched.options import releases
from nova_sched.preflight import differences
from nova_sched.preflight.rows import DIFFERS
from nova_sched.rules import nova_classes
from nova_sched.scheduler import filters
from nova_sched.scheduler import request_filter

PLACEMENT = '[placement]\nauth_type = none\n'
CHANCE = '[scheduler]\ndriver = chance_scheduler\n'
CACHING = '[scheduler]\ndriver = caching_scheduler\n'
IRONIC = '[scheduler]\nhost_manager = ironic_host_manager\n'
API = '[api_database]\nconnection = sqlite://\n'


def chain(*names):
    return f'[filter_scheduler]\nenabled_filters = {",".join(names)}\n'


#: Text of a fact -> a configuration that it concerns, one that it does not
#: concern or None, its first and last release.
FACTS = {
    'the text for callers': ('', None, 'kilo', '34'),
    'any of the hosts with equal weight': (
        '', '[filter_scheduler]\nshuffle_best_same_weighed_hosts = true\n',
        'kilo', '34'),
    'in memory, from reports of the compute': (
        '', '[filter_scheduler]\ntrack_instance_changes = false\n', 'kilo',
        '34'),
    'dropped at any newer report': ('', PLACEMENT, 'kilo', 'ocata'),
    'dropped at the next refresh': (CACHING, '', 'pike', 'rocky'),
    'always scheduler': (
        '[DEFAULT]\nscheduler_topic = another\n', '', 'pike', '34'),
    'one process decides': (
        '[scheduler]\nworkers = 2\n', '[scheduler]\nworkers = 1\n', 'kilo',
        'queens'),
    'members with a claim count': (
        PLACEMENT, PLACEMENT + chain('ComputeFilter'), 'pike', '34'),
    'every request waits for them': (API, '', 'queens', '34'),
    'its chance scheduler fails': (CHANCE, CACHING, 'queens', 'rocky'),
    'there is no host manager for bare metal': (IRONIC, '', 'rocky', '34'),
    'without it no request finds a host': ('', PLACEMENT, 'queens', '34'),
    ': 1.35;': (PLACEMENT, '', 'ussuri', 'wallaby'),
    'the first [scheduler] max_placement_results': (
        PLACEMENT, PLACEMENT + '[nova_sched]\ncandidates = list\n', 'pike',
        '34'),
    'judged by AvailabilityZoneFilter alone': (
        PLACEMENT, PLACEMENT + '[scheduler]\n'
        'query_placement_for_availability_zone = true\n', 'rocky', 'wallaby'),
    'a server may be larger': (
        chain('RamFilter'), chain('ComputeFilter'), 'kilo', 'kilo'),
    'never considered': (
        chain('RamFilter'), chain('ComputeFilter'), 'kilo', 'kilo'),
    'checks the certificate': (
        chain('TrustedFilter') + '[trusted_computing]\n'
        'attestation_insecure_ssl = true\n', chain('TrustedFilter'),
        'mitaka', 'mitaka'),
    'weighers keep the lowest': (
        '', '[filter_scheduler]\nweight_classes = '
        'nova.scheduler.weights.ram.RAMWeigher\n', 'kilo', 'ussuri'),
    'servers of the same request': (
        '', '[filter_scheduler]\nweight_classes = '
        'nova.scheduler.weights.ram.RAMWeigher\n', 'mitaka', 'queens')}


def rows_with(setup, release, words):
    """The rows for a release with these words: list of texts."""
    release = releases.find(release)
    texts = [f'{row.check}: {row.found}; {row.advice}'.replace(
        f'in {release}: ', '') for row in differences.rows(setup, release)]
    return [text for text in texts if words in text]


@pytest.mark.parametrize('words', FACTS)
def test_a_fact_is_reported_if_release_and_configuration_match(
        setup_of, words):
    text, other, first, last = FACTS[words]
    reporting = [release for release in map(releases.Release, range(11, 35))
                 if rows_with(setup_of(text), str(release.number)
                              if release.number > 11 else 'kilo', words)]

    assert reporting == [releases.Release(number) for number in range(
        releases.find(first).number, releases.find(last).number + 1)]
    if other is not None:
        assert not rows_with(setup_of(other), first, words)


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
def test_another_default_list_of_filters_is_reported(
        setup_of, release, there):
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
    ('queens', ['CPUWeigher', 'CrossCellWeigher',
                'HypervisorVersionWeigher']),
    ('2023.1', ['HypervisorVersionWeigher']),
    ('34', [])])
def test_weighers_that_a_release_lacks_are_named(
        setup_of, release, weighers):
    row = ' '.join(rows_with(setup_of(), release, 'weight_classes'))

    assert [name for name in sorted(nova_classes.WEIGHER_PATHS)
            if f'{name} (' in row] == sorted(weighers)


@pytest.mark.parametrize('release', ['kilo', 'mitaka', 'queens', 'rocky'])
def test_either_advice_removes_the_newer_weighers(setup_of, release):
    row, = rows_with(setup_of(), release, 'weight_classes')
    zeros, _, classes = row.partition('set in [filter_scheduler] ')[
        2].partition('; or ')

    for lines in (zeros.split(', '), [classes]):
        text = '\n'.join(['[filter_scheduler]', *lines])
        assert not rows_with(setup_of(text), release, 'they weigh')


def test_the_advice_names_weighers_by_novas_class_paths(setup_of):
    row, = rows_with(setup_of(), 'queens', 'weight_classes')

    assert row.endswith('; or weight_classes = ' + ','.join(
        f'nova.scheduler.weights.{path}' for path in (
            'ram.RAMWeigher', 'disk.DiskWeigher', 'metrics.MetricsWeigher',
            'io_ops.IoOpsWeigher', 'pci.PCIWeigher',
            'affinity.ServerGroupSoftAffinityWeigher',
            'affinity.ServerGroupSoftAntiAffinityWeigher',
            'compute.BuildFailureWeigher')))


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


def test_every_row_is_a_difference(setup_of):
    assert {row.outcome for row in differences.rows(
        setup_of(), releases.find('queens'))} == {DIFFERS}
