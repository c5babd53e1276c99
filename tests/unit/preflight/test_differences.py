"""What of a configuration behaves otherwise than in a release of Nova."""

import pytest

from nova_sched.options import releases
from nova_sched.preflight import differences
from nova_sched.preflight.rows import DIFFERS
from nova_sched.rules import nova_classes
from nova_sched.scheduler import request_filter

PLACEMENT = '[placement]\nauth_type = none\n'
CHANCE = '[scheduler]\ndriver = chance_scheduler\n'
CACHING = '[scheduler]\ndriver = caching_scheduler\n'
IRONIC = '[scheduler]\nhost_manager = ironic_host_manager\n'
WORKERS = '[scheduler]\nworkers = 2\n'
TOPIC = '[DEFAULT]\nscheduler_topic = another\n'
API = '[api_database]\nconnection = sqlite://\n'


def chain(*names):
    return f'[filter_scheduler]\nenabled_filters = {",".join(names)}\n'


def ratio(**options):
    return '[DEFAULT]\n' + ''.join(
        f'{name} = {value}\n' for name, value in options.items())


#: Text that stands in the row -> (configuration, releases that it is told
#: of, one that it is not told of or None).
FACTS = {
    'callers, and so users, are told': ('', ['kilo', '34'], None),
    'of hosts with equal weight any may be taken': (
        '', ['kilo', '34'], None),
    'of which a lost one counts': ('', ['kilo', '34'], None),
    'in memory, from reports of the compute': ('', ['kilo', '34'], None),
    'forgotten at any newer report': ('', ['kilo', 'ocata'], 'pike'),
    'forgotten at the next refresh': (CACHING, ['pike', 'rocky'], 'stein'),
    'always scheduler': (TOPIC, ['pike', '34'], 'ocata'),
    'one process decides': (WORKERS, ['kilo', 'queens'], 'rocky'),
    'those that are claimed count where': (
        PLACEMENT, ['pike', '34'], 'mitaka'),
    'every request waits for them': (API, ['queens', '34'], 'pike'),
    'those of the scheduler count': ('', ['kilo'], 'liberty'),
    'written into the rows': ('', ['stein', '34'], 'rocky'),
    'its chance scheduler fails': (CHANCE, ['queens', 'rocky'], 'pike'),
    'there is only the filter scheduler': (CACHING, ['stein'], 'rocky'),
    'there is none for bare metal': (IRONIC, ['rocky'], 'queens'),
    'Placement: there is none': (PLACEMENT, ['kilo', 'mitaka'], 'queens'),
    'without it no request finds a host': ('', ['queens', '34'], 'mitaka'),
    ': 1.10;': (PLACEMENT, ['pike'], 'queens'),
    ': 1.17;': (PLACEMENT, ['queens'], 'rocky'),
    ': 1.25;': (PLACEMENT, ['rocky'], 'stein'),
    ': 1.29;': (PLACEMENT, ['stein'], 'train'),
    ': 1.32;': (PLACEMENT, ['train'], 'ussuri'),
    ': 1.35;': (PLACEMENT, ['ussuri', 'wallaby'], 'xena'),
    'numbered groups of resources': (PLACEMENT, ['queens'], 'rocky'),
    'the first [scheduler] max_placement_results': (
        PLACEMENT + '[nova_sched]\ncandidates = mirror\n', ['pike', '34'],
        'mitaka'),
    'the root disk of the flavor': (PLACEMENT, ['queens'], 'rocky'),
    'left to AvailabilityZoneFilter': (PLACEMENT, ['rocky'], 'xena'),
    'RamFilter, CoreFilter: a server may be bigger': (
        chain('RamFilter'), ['kilo'], 'mitaka'),
    'DiskFilter: a server may be bigger': (
        chain('DiskFilter'), ['mitaka'], 'newton'),
    'never looked at': (chain('RamFilter'), ['kilo'], 'mitaka'),
    'an extra spec without a scope': (
        chain('ComputeCapabilitiesFilter'), ['mitaka'], 'newton'),
    'hw:maxphysaddr_bits is ignored': (
        chain('ComputeCapabilitiesFilter'), ['2023.2'], '2024.1'),
    'has two or three numbers': (
        chain('ImagePropertiesFilter'), ['rocky'], 'stein'),
    'compares image properties of any name': (
        chain('AggregateImagePropertiesIsolation'), ['kilo'], 'mitaka'),
    'reads the key filter_tenant_id': (
        chain('AggregateMultiTenancyIsolation'), ['2024.1'], '2024.2'),
    'the whole value is the name': (
        chain('AggregateTypeAffinityFilter'), ['kilo'], 'mitaka'),
    'a host without instances passes': (
        chain('SameHostFilter'), ['kilo'], 'mitaka'),
    'upper and lower case': (
        chain('PciPassthroughFilter'), ['queens'], 'rocky'),
    'and the first candidate': (
        PLACEMENT + chain('PciPassthroughFilter'), ['zed'], '2023.1'),
    'counts memory pages for guests that ask': (
        chain('NUMATopologyFilter'), ['rocky'], 'stein'),
    'pinned and other guests share': (
        chain('NUMATopologyFilter'), ['stein'], 'train'),
    'has another order of the cells': (
        chain('NUMATopologyFilter'), ['xena'], 'yoga'),
    'runs for rebuilds': (
        chain('NUMATopologyFilter'), ['queens'], 'rocky'),
    'checks the certificate': (
        chain('TrustedFilter') + '[trusted_computing]\n'
        'attestation_insecure_ssl = true\n', ['mitaka'], 'queens'),
    'weighers remember the least': ('', ['ussuri'], 'victoria'),
    'are those of the options': ('', ['rocky'], 'stein'),
    'servers of the same request': ('', ['mitaka', 'queens'], 'rocky'),
}


def told(setup, release):
    """The rows for a release, each as one text."""
    return [f'{row.check}: {row.found}; {row.advice}' for row
            in differences.rows(setup, releases.find(release))]


def told_alone(setup, release, words):
    """The one row that has these words, with its subject before them."""
    found = [row.replace(f'in {releases.find(release)}: ', '')
             for row in told(setup, release)]
    return [row for row in found if words in row]


@pytest.mark.parametrize('words', FACTS)
def test_a_fact_is_told_of_the_releases_that_it_is_true_of(setup_of, words):
    text, of, not_of = FACTS[words]
    setup = setup_of(text)

    assert [len(told_alone(setup, release, words)) for release in of] == [
        1] * len(of)
    if not_of:
        assert told_alone(setup, not_of, words) == []


def test_every_fact_of_the_table_is_in_a_test():
    unmatched = [fact for fact in differences.known('fact') if not any(
        words in f'{fact.about}: {fact.there};' for words in FACTS)]

    assert unmatched == []


def test_the_conditions_of_the_table_are_those_that_there_are():
    assert {name for kind in ('fact', 'default')
            for difference in differences.known(kind)
            for name in difference.when} == set(differences._CONDITIONS)


@pytest.mark.parametrize('words, text', [
    ('of hosts with equal weight', '[filter_scheduler]\n'
     'shuffle_best_same_weighed_hosts = true\n'),
    ('in memory, from reports', '[filter_scheduler]\n'
     'track_instance_changes = false\n'),
    ('forgotten at any newer report', PLACEMENT),
    ('one process decides', '[scheduler]\nworkers = 1\n'),
    ('those that are claimed count where', ''),
    ('those that are claimed count where',
     PLACEMENT + chain('ComputeFilter')),
    ('without it no request', PLACEMENT),
    ('without it no request', CACHING),
    ('never looked at', chain('ComputeFilter')),
    ('a server may be bigger', chain('ComputeFilter')),
    ('weighers remember', '[filter_scheduler]\nweight_classes = '
     'nova.scheduler.weights.ram.RAMWeigher\n'),
    ('servers of the same request', '[filter_scheduler]\nweight_classes = '
     'nova.scheduler.weights.ram.RAMWeigher\n'),
    ('left to AvailabilityZoneFilter', PLACEMENT + '[scheduler]\n'
     'query_placement_for_availability_zone = true\n'),
])
def test_a_fact_is_not_told_where_it_does_not_matter(setup_of, words, text):
    setup = setup_of(text)

    assert not [row for release in ('kilo', 'mitaka', 'queens', 'rocky')
                for row in told_alone(setup, release, words)]


def test_zones_that_are_switched_off_by_hand_are_told_of_later_releases(
        setup_of):
    setup = setup_of(PLACEMENT + '[scheduler]\n'
                     'query_placement_for_availability_zone = false\n')

    assert told_alone(setup, 'zed', 'left to AvailabilityZoneFilter')
    assert not told_alone(setup, '2023.2', 'left to AvailabilityZoneFilter')


def test_nothing_of_filters_and_weighers_is_told_where_none_runs(setup_of):
    found = told(setup_of(CHANCE), 'queens')

    assert not [row for row in found if 'Filter' in row or 'Weigher' in row]


@pytest.mark.parametrize('release, there', [
    ('kilo', 'RetryFilter, AvailabilityZoneFilter, RamFilter, ComputeFilter'),
    ('queens', 'RetryFilter, AvailabilityZoneFilter, ComputeFilter'),
    ('34', 'ComputeFilter, ComputeCapabilitiesFilter')])
def test_another_default_list_of_filters_is_told(setup_of, release, there):
    row, = told_alone(setup_of(), release, 'enabled_filters: unset means')

    assert f'unset means {there}' in row
    assert 'here: RetryFilter, AvailabilityZoneFilter, RamFilter, ' in row


def test_the_same_default_list_is_not(setup_of):
    assert not told_alone(setup_of(), 'mitaka', 'enabled_filters')
    assert not told_alone(setup_of(PLACEMENT), 'queens', 'enabled_filters')
    assert not told_alone(setup_of(chain('ComputeFilter')), '34',
                          'enabled_filters')


def test_a_default_list_that_is_not_on_record_is_not_guessed(setup_of):
    row, = told_alone(setup_of(), 'ussuri', 'unset means')

    assert 'an unknown list' in row


def test_filters_that_a_release_does_not_have_are_named(setup_of):
    setup = setup_of(chain('RamFilter', 'ComputeFilter', 'RetryFilter'))

    row, = told_alone(setup, 'victoria', 'does not start with them')
    assert 'there is no RamFilter and no RetryFilter,' in row
    assert not told_alone(setup, 'ussuri', 'does not start with them')


@pytest.mark.parametrize('release, weighers', [
    ('kilo', ['CPUWeigher', 'DiskWeigher', 'PCIWeigher',
              'ServerGroupSoftAffinityWeigher',
              'ServerGroupSoftAntiAffinityWeigher', 'BuildFailureWeigher',
              'CrossCellWeigher', 'HypervisorVersionWeigher']),
    ('mitaka', ['CPUWeigher', 'PCIWeigher', 'BuildFailureWeigher',
                'CrossCellWeigher', 'HypervisorVersionWeigher']),
    ('queens', ['CPUWeigher', 'CrossCellWeigher',
                'HypervisorVersionWeigher']),
    ('rocky', ['CrossCellWeigher', 'HypervisorVersionWeigher']),
    ('2023.1', ['HypervisorVersionWeigher']),
    ('34', [])])
def test_weighers_that_came_after_a_release_are_named(setup_of, release,
                                                      weighers):
    row = ' '.join(told_alone(setup_of(), release, 'weight_classes'))

    assert [name for name in sorted(nova_classes.WEIGHER_PATHS)
            if f'{name} (' in row] == sorted(weighers)


@pytest.mark.parametrize('release', ['kilo', 'mitaka', 'queens', 'rocky'])
def test_either_advice_leaves_out_the_weighers_that_came_later(
        setup_of, release):
    row, = told_alone(setup_of(), release, 'weight_classes')
    zeros, _, classes = row.partition('set in [filter_scheduler] ')[
        2].partition('; or ')

    for lines in (zeros.split(', '), [classes]):
        text = '\n'.join(['[filter_scheduler]', *lines])
        assert not told_alone(setup_of(text), release, 'they weigh')


def test_what_weighed_as_in_queens_is_named_by_its_classes(setup_of):
    row, = told_alone(setup_of(), 'queens', 'weight_classes')

    assert row.endswith('; or weight_classes = ' + ','.join(
        f'nova.scheduler.weights.{path}' for path in (
            'ram.RAMWeigher', 'disk.DiskWeigher', 'metrics.MetricsWeigher',
            'io_ops.IoOpsWeigher', 'pci.PCIWeigher',
            'affinity.ServerGroupSoftAffinityWeigher',
            'affinity.ServerGroupSoftAntiAffinityWeigher',
            'compute.BuildFailureWeigher')))


def test_where_kilos_name_is_used_the_advice_has_it(setup_of):
    row, = told_alone(setup_of(
        '[DEFAULT]\nscheduler_weight_classes = '
        'nova.scheduler.weights.all_weighers\n'), 'queens', 'they weigh')

    assert row.startswith('[DEFAULT] scheduler_weight_classes: ')


def test_a_weigher_that_is_switched_off_is_not_named(setup_of):
    setup = setup_of('[filter_scheduler]\n'
                     'hypervisor_version_weight_multiplier = 0\n')

    assert not told_alone(setup, '2023.1', 'weight_classes')


def test_a_weigher_that_is_switched_on_is_named_with_its_multiplier(
        setup_of):
    setup = setup_of('[filter_scheduler]\nnum_instances_weight_multiplier = '
                     '-2.5\n')

    row, = told_alone(setup, 'queens', 'weight_classes')
    assert 'NumInstancesWeigher (x -2.5)' in row


def test_request_filters_are_those_of_the_service_in_their_order():
    assert list(differences.request_filters()) == [
        found.__name__ for found in request_filter.FILTERS]


def test_request_filters_that_came_after_a_release_are_named(setup_of):
    setup = setup_of(PLACEMENT + '[scheduler]\n'
                     'image_metadata_prefilter = true\n')

    row, = told_alone(setup, 'train', 'request filters')
    assert 'transform_image_metadata' in row
    assert 'compute_status_filter' not in row
    assert 'require_image_type_support' not in row    # which is off
    assert 'owner_nova_filter' in told_alone(setup, '2026.1', 'request f')[0]
    assert not told_alone(setup, '34', 'request filters')
    assert not told_alone(setup_of(), 'train', 'request filters')


def test_ratios_of_hosts_that_report_none_are_told(setup_of):
    found = ' '.join(told(setup_of(), '2023.1'))

    assert ('initial_cpu_allocation_ratio: in 27.0.0 (2023.1): unset means '
            '4.0; here: 16.0') in found
    assert 'unset means 1.0; here: 1.5' in found
    assert 'unset means' not in ' '.join(told(setup_of(ratio(
        initial_cpu_allocation_ratio=16, initial_ram_allocation_ratio=1.5)
        + chain('ComputeFilter')), '2023.1'))


def test_the_form_of_notifications_is_told_where_they_are_on(setup_of):
    setup = setup_of('[oslo_messaging_notifications]\n'
                     'driver = messagingv2\n')

    assert told_alone(setup, 'stein', 'notification_format')
    assert not told_alone(setup, 'train', 'notification_format')
    assert not told_alone(setup_of(), 'stein', 'notification_format')


def test_options_that_count_on_one_side_only_are_told(setup_of):
    setup = setup_of('[nova_sched]\ncell_timeout = 5\n'
                     '[upgrade_levels]\nbaseapi = 1.1\n')

    row, = told_alone(setup, 'queens', 'does not read')
    assert '[nova_sched] cell_timeout' in row
    row, = told_alone(setup, 'queens', 'acts on')
    assert '[upgrade_levels] baseapi' in row


def test_every_row_is_a_difference(setup_of):
    assert {row.outcome for row in differences.rows(
        setup_of(), releases.find('queens'))} == {DIFFERS}
