"""A full nova.conf of each release works as in its release."""

import pytest

from nova_sched import conf
from nova_sched.options import settings

SERVER_GROUP = ['ServerGroupAntiAffinityFilter', 'ServerGroupAffinityFilter']
#: Release -> results of its file: function of conf -> result.
RESULTS = {
    'kilo': {
        conf.driver_name: 'filter_scheduler',
        conf.enabled_filters: [
            'RetryFilter', 'AvailabilityZoneFilter', 'RamFilter',
            'CoreFilter', 'DiskFilter', 'ComputeFilter',
            'ComputeCapabilitiesFilter', 'ImagePropertiesFilter',
            *SERVER_GROUP],
        conf.transport_url:
            'rabbit://nova:k%2Flo%40s%3Acret%231@10.20.0.21:5672,'
            'nova:k%2Flo%40s%3Acret%231@10.20.0.22:5672,'
            'nova:k%2Flo%40s%3Acret%231@10.20.0.23:5673//nova',
        conf.database_url: 'mysql+pymysql://nova:kilo-db-pass@10.20.0.10/nova'
                           '?charset=utf8',
        conf.api_database_url: None,
        conf.fallback_ratios: (8.0, 1.0, 1.0),
        conf.placement_configured: False},
    'mitaka': {
        conf.driver_name: 'filter_scheduler',
        conf.enabled_filters: [
            'RetryFilter', 'AvailabilityZoneFilter', 'RamFilter',
            'DiskFilter', 'ComputeFilter', 'ComputeCapabilitiesFilter',
            'ImagePropertiesFilter', *SERVER_GROUP, 'CoreFilter'],
        conf.transport_url: 'rabbit://openstack:RABBIT_PASS@192.0.2.20:5671//',
        conf.database_url:
            'mysql+pymysql://nova:mitaka-db-pass@192.0.2.10/nova',
        conf.api_database_url:
            'mysql+pymysql://nova:mitaka-api-pass@192.0.2.10/nova_api',
        conf.fallback_ratios: (16.0, 1.2, 1.0),
        conf.placement_configured: False},
    'queens': {
        conf.driver_name: 'caching_scheduler',
        conf.enabled_filters: [
            'RetryFilter', 'AvailabilityZoneFilter', 'ComputeFilter',
            'ComputeCapabilitiesFilter', 'ImagePropertiesFilter',
            *SERVER_GROUP, 'AllHostsFilter'],
        conf.transport_url:
            'rabbit://openstack:qu%2Feens@198.51.100.21:5672,'
            'openstack:qu%2Feens@198.51.100.22:5672/nova',
        conf.database_url:
            'mysql+pymysql://nova:queens-db-pass@198.51.100.10/nova_cell0',
        conf.api_database_url:
            'mysql+pymysql://nova:queens-api-pass@198.51.100.10/nova_api',
        conf.fallback_ratios: (4.0, 1.0, 1.0),
        conf.placement_configured: True},
    '2026.2': {
        conf.driver_name: 'filter_scheduler',
        conf.enabled_filters: [
            'ComputeFilter', 'ComputeCapabilitiesFilter',
            'ImagePropertiesFilter', *SERVER_GROUP],
        conf.transport_url: 'rabbit://nova:hibiscus@203.0.113.21:5671,'
                            'nova:hibiscus@203.0.113.22:5671,'
                            'nova:hibiscus@203.0.113.23:5671/nova',
        conf.database_url: 'mysql+pymysql://nova:hibiscus-db@203.0.113.10/'
                           'nova_cell0?charset=utf8mb4',
        conf.api_database_url: 'mysql+pymysql://nova_api:hibiscus-api'
                               '@203.0.113.10/nova_api?charset=utf8mb4',
        conf.fallback_ratios: (4.0, 1.0, 1.0),
        conf.placement_configured: True}}


class TestEveryEra:
    @pytest.mark.parametrize('name', RESULTS)
    def test_the_file_has_no_errors(self, era, name):
        """Except for TLS files that do not exist here."""
        assert [error.option for error in conf.check(era(name))] == (
            ['[oslo_messaging_rabbit] kombu_ssl_ca_certs'] if name == 'mitaka'
            else [])

    @pytest.mark.parametrize('name', RESULTS)
    def test_options_of_other_services_are_not_misspelt(self, era, name):
        assert conf.unknown_options(era(name)) == []

    @pytest.mark.parametrize(('name', 'function'), [
        (name, function) for name in RESULTS for function in RESULTS[name]])
    def test_options_have_the_results_of_their_release(
            self, era, name, function):
        assert function(era(name)) == RESULTS[name][function]


class TestKilo:
    def test_filters_and_weighers_are_given_by_class_path(self, era):
        options = era('kilo').filter_scheduler

        assert options.available_filters == [
            'nova.scheduler.filters.all_filters',
            'nova.scheduler.filters.core_filter.CoreFilter']
        assert options.weight_classes == [
            'nova.scheduler.weights.ram.RAMWeigher',
            'nova.scheduler.weights.io_ops.IoOpsWeigher']

    def test_numbers_in_default_reach_their_options(self, era):
        config = era('kilo')

        assert config.filter_scheduler.ram_weight_multiplier == 5.0
        assert config.filter_scheduler.max_io_ops_per_host == 10
        assert config.scheduler.max_attempts == 4
        assert config.scheduler.periodic_task_interval == 45
        assert config.database.connection_recycle_time == 1800
        assert config.executor_thread_pool_size == 48
        assert conf.service_down_time(config) == 120

    def test_values_that_later_releases_refuse_are_warnings(self, era):
        config = era('kilo')

        assert config.filter_scheduler.host_subset_size == 1
        broken, subset, *_ = conf.warnings(config)
        assert '[DEFAULT] scheduler_host_subset_size = 0' in subset
        assert broken.startswith('Ignoring the invalid elements of the '
                                 'option metrics.weight_setting: ')
        assert 'broken' in broken


class TestMitaka:
    def test_negative_soft_multiplier_counts_as_zero(self, era):
        options = era('mitaka').filter_scheduler

        assert options.soft_anti_affinity_weight_multiplier == 0.0
        assert options.soft_affinity_weight_multiplier == 2.0

    def test_tls_to_the_broker_is_kept(self, era):
        rabbit = era('mitaka').oslo_messaging_rabbit

        assert rabbit.ssl is True
        assert rabbit.ssl_ca_file == '/etc/ssl/certs/rabbit-ca.pem'

    def test_notifications_keep_driver_and_format(self, era):
        config = era('mitaka')

        assert config.oslo_messaging_notifications.driver == ['messaging']
        assert config.notifications.notification_format == 'both'


class TestQueens:
    def test_notifications_have_another_broker(self, era):
        assert (conf.notification_transport_url(era('queens')) ==
                'rabbit://openstack:qu%2Feens@198.51.100.31:5672/')

    def test_placement_options_have_their_queens_names(self, era):
        placement = era('queens').placement

        assert placement.region_name == 'RegionOne'
        assert placement.valid_interfaces == ['internal']


class TestCurrent:
    def test_new_options_are_read(self, era):
        config = era('2026.2')

        assert config.scheduler.workers == 4
        assert config.scheduler.image_metadata_prefilter is True
        assert config.compute.packing_host_numa_cells_allocation_strategy
        assert config.notifications.versioned_notifications_topics == [
            'versioned_notifications', 'billing']

    def test_weights_of_image_properties_are_read(self, era):
        setting = era('2026.2').filter_scheduler.image_props_weight_setting

        assert settings.parse_weights(setting) == (
            (('os_distro', 2.0), ('os_type', 1.0)), ())
