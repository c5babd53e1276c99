"""A full nova.conf of each release works as in its release."""

import pytest

from nova_sched import conf

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
        conf.notification_transport_url:
            'rabbit://openstack:qu%2Feens@198.51.100.31:5672/',
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


@pytest.mark.parametrize('name', RESULTS)
def test_the_file_has_no_errors(era, name):
    """Except for TLS files that do not exist here."""
    assert [error.option for error in conf.check(era(name))] == (
        ['[oslo_messaging_rabbit] kombu_ssl_ca_certs'] if name == 'mitaka'
        else [])


@pytest.mark.parametrize('name', RESULTS)
def test_options_of_other_services_are_not_misspelt(era, name):
    assert conf.unknown_options(era(name)) == []


@pytest.mark.parametrize(('name', 'function'), [
    (name, function) for name in RESULTS for function in RESULTS[name]])
def test_options_have_the_results_of_their_release(
        era, name, function):
    assert function(era(name)) == RESULTS[name][function]
