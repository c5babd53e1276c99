"""Values that are derived from several options, or from none."""

import re

import pytest

from nova_sched import conf
from nova_sched.conf import filter_scheduler
from nova_sched.options import settings
from tests.builders.case_tables import case_table


class TestEnabledFilters:
    def test_without_placement_they_are_mitakas(self, parsed):
        assert conf.enabled_filters(parsed()) == [
            'RetryFilter', 'AvailabilityZoneFilter', 'RamFilter',
            'DiskFilter', 'ComputeFilter', 'ComputeCapabilitiesFilter',
            'ImagePropertiesFilter', 'ServerGroupAntiAffinityFilter',
            'ServerGroupAffinityFilter']

    @pytest.mark.parametrize('line', [
        'auth_type = password', 'auth_plugin = password',
        'auth_section = keystone_authtoken',
        'auth_url = http://192.0.2.1:5000',
        'endpoint_override = http://192.0.2.1:8778'])
    def test_with_placement_they_are_queens(self, parsed, line):
        filters = conf.enabled_filters(parsed(f'[placement]\n{line}\n'))

        assert list(filter_scheduler.PLACEMENT_FILTERS) == filters
        assert 'RamFilter' not in filters

    @pytest.mark.parametrize('driver', [
        'caching_scheduler', 'chance_scheduler',
        'nova.scheduler.caching_scheduler.CachingScheduler'])
    def test_with_a_driver_that_does_not_use_placement_they_are_mitakas(
            self, parsed, driver):
        filters = conf.enabled_filters(parsed(
            '[placement]\nauth_type = password\n'
            f'[scheduler]\ndriver = {driver}\n'))

        assert list(filter_scheduler.NO_PLACEMENT_FILTERS) == filters

    def test_an_override_configures_placement(self, parsed):
        config = parsed()
        config.set_override('auth_type', 'password', group='placement')

        assert conf.placement_configured(config)

    def test_a_region_alone_does_not_configure_placement(self, parsed):
        config = parsed('[placement]\nregion_name = RegionOne\n')

        assert not conf.placement_configured(config)

    def test_an_empty_list_runs_no_filter(self, parsed):
        config = parsed('[filter_scheduler]\nenabled_filters =\n')

        assert conf.enabled_filters(config) == []


class TestDriverName:
    @case_table('options-values', 'driver_name')
    def test_class_paths_of_nova_become_names(self, parsed, written, name):
        config = parsed(f'[DEFAULT]\nscheduler_driver = {written}\n')

        assert name == conf.driver_name(config)

    def test_host_manager_paths_become_names(self, parsed):
        config = parsed('[DEFAULT]\nscheduler_host_manager = nova.scheduler.'
                        'ironic_host_manager.IronicHostManager\n')

        assert conf.host_manager_name(config) == 'ironic_host_manager'


class TestTransportUrl:
    @case_table('options-values', 'transport_url')
    def test_transport_url_comes_before_older_options_and_the_default(
            self, parsed, text, url):
        assert url == conf.transport_url(parsed(text))


class TestMasked:
    @case_table('options-values', 'masked')
    def test_only_the_password_of_each_host_is_hidden(self, url, shown):
        assert shown == conf.masked(url)

    @pytest.mark.parametrize('password', [
        'p:w', ':', 'p@w', '@', '@@:', 'p/w', '//', 'p,w', ',', 'p:w,x',
        'p@w,x', 'p?w', 'p#w', 'p\nw', '[p]:w', 'p@h:1/v', 'p,w:x', '1,w'])
    @pytest.mark.parametrize('before', ['rabbit://u:', 'rabbit://a:b@h1,u:'])
    def test_an_unencoded_password_is_hidden_in_whole(self, before, password):
        """The error about such a URL shows it."""
        shown = conf.masked(f'{before}{password}@h:5672/v')

        assert shown == f'{before}***@h:5672/v'.replace(':b@', ':***@')

    @pytest.mark.parametrize('url', [
        'rabbit:/u:p//w@h', 'u:p@w@h', 'nonsense:p@w', 'rabbit:u:p@h'])
    def test_a_malformed_url_has_its_password_hidden(self, url):
        assert re.fullmatch(r'[a-z:/]+:\*\*\*@[hw]', conf.masked(url))

    @pytest.mark.parametrize('url', [
        'fake://', 'rabbit://', 'rabbit://h:5672/', 'rabbit://u@h/',
        'rabbit://u@[::1]:5672/', 'rabbit://[::1]:5672,[::2]:5672/v',
        'rabbit://h1:1,h2:2/v?x=a:b', 'kombu+memory:////', 'nonsense', ''])
    def test_a_url_without_a_password_is_unchanged(self, url):
        assert url == conf.masked(url)


class TestDatabaseUrl:
    @case_table('options-values', 'database_url')
    def test_is_the_configured_url_with_a_driver_or_the_embedded_file(
            self, parsed, text, url):
        assert url == conf.database_url(parsed(text))


class TestServiceDownTime:
    @pytest.mark.parametrize(('down', 'report', 'used'), [
        (60, 10, 60), (10, 10, 25), (5, 10, 25), (11, 10, 11), (60, 61, 152)])
    def test_is_kept_above_the_report_interval(self, parsed, down, report,
                                               used):
        config = parsed(f'[DEFAULT]\nservice_down_time = {down}\n'
                        f'report_interval = {report}\n')

        assert used == conf.service_down_time(config)
        warnings = [warning for warning in conf.warnings(config)
                    if f'[DEFAULT] service_down_time = {down} is' in warning]
        assert len(warnings) == (used != down)
        assert all(f'{used} seconds are used' in text for text in warnings)


class TestFallbackRatios:
    @case_table('options-values', 'fallback_ratios')
    def test_a_ratio_of_0_or_unset_is_the_initial_ratio(
            self, parsed, text, ratios):
        assert ratios == [*conf.fallback_ratios(parsed(f'[DEFAULT]\n{text}'))]


class TestParseWeights:
    @pytest.mark.parametrize(('items', 'good', 'bad'), [
        (['a=1', 'b = -0.5 '], (('a', 1.0), ('b ', -0.5)), ()),
        (['a=1', 'a=2'], (('a', 1.0), ('a', 2.0)), ()),
        (['a', '=1', 'a=b', 'a=1=2', ''], (), ('a', '=1', 'a=b', 'a=1=2', '')),
        ([], (), ())])
    def test_pairs_are_split_at_the_first_equals_sign(self, items, good, bad):
        assert (good, bad) == settings.parse_weights(items)
