"""Wrong values give one clear message each."""

import pytest

from nova_sched import conf
from nova_sched import exception

FILTERS = {'RamFilter', 'DiskFilter', 'ComputeFilter', 'RetryFilter'}
DRIVERS = {'filter_scheduler', 'caching_scheduler', 'chance_scheduler'}


def only(errors):
    """The text of the one error there must be."""
    error, = errors
    return str(error)


class TestMalformedValues:
    @pytest.mark.parametrize(('text', 'message'), [
        ('[scheduler]\nmax_attempts = many\n',
         "[scheduler] max_attempts = 'many': must be a whole number, "
         '1 or more'),
        ('[DEFAULT]\nscheduler_max_attempts = many\n',
         "[DEFAULT] scheduler_max_attempts = 'many': must be a whole number, "
         '1 or more (the option is now [scheduler] max_attempts)'),
        ('[filter_scheduler]\nram_weight_multiplier = 1,5\n',
         "[filter_scheduler] ram_weight_multiplier = '1,5': must be a "
         'number'),
        ('[filter_scheduler]\ntrack_instance_changes = perhaps\n',
         "[filter_scheduler] track_instance_changes = 'perhaps': must be "
         'true or false'),
        ('[DEFAULT]\nperiodic_fuzzy_delay = -1\n',
         "[DEFAULT] periodic_fuzzy_delay = '-1': must be a whole number, "
         '0 or more'),
        ('[oslo_messaging_rabbit]\nrabbit_port = 70000\n',
         "[oslo_messaging_rabbit] rabbit_port = '70000': must be a whole "
         'number from 0 to 65535'),
        ('[notifications]\nnotification_format = verioned\n',
         "[notifications] notification_format = 'verioned': must be one of "
         'unversioned, versioned, both; did you mean versioned?'),
    ])
    def test_names_option_value_and_what_is_expected(self, parsed, text,
                                                     message):
        """The option is named as the operator wrote it."""
        assert message == only(conf.check(parsed(text)))

    def test_all_mistakes_are_reported_at_once(self, parsed):
        """One run shows everything there is to mend."""
        errors = conf.check(parsed(
            '[scheduler]\nmax_attempts = x\nworkers = y\n'
            '[filter_scheduler]\nenabled_filters = RanFilter\n'),
            filters=FILTERS)

        assert {'[scheduler] max_attempts', '[scheduler] workers',
                '[filter_scheduler] enabled_filters'} == {
            error.option for error in errors}

    def test_value_from_the_environment_is_reported(self, parsed,
                                                    monkeypatch):
        """OS_SECTION__NAME is read by oslo.config too."""
        monkeypatch.setenv('OS_SCHEDULER__MAX_ATTEMPTS', 'many')

        assert '[scheduler] max_attempts' in only(conf.check(parsed()))

    def test_secret_is_not_shown(self, parsed):
        """A database URL that is none may hold a password."""
        config = parsed('[database]\nconnection = hunter2\n')

        assert 'hunter2' not in only(conf.check(config))


class TestUnknownNames:
    def test_filter_with_the_nearest_right_name(self, parsed):
        """Each wrong name is an error of its own."""
        config = parsed('[filter_scheduler]\n'
                        'enabled_filters = RamFliter,diskfilter\n')

        errors = conf.check(config, filters=FILTERS)
        assert [str(error) for error in errors] == [
            "[filter_scheduler] enabled_filters = 'RamFliter': unknown "
            'filter; did you mean RamFilter?',
            "[filter_scheduler] enabled_filters = 'diskfilter': unknown "
            'filter; did you mean DiskFilter?',
        ]

    def test_filter_that_nova_has_and_this_release_lacks(self, parsed):
        """It is no misspelling of another filter."""
        config = parsed('[filter_scheduler]\nenabled_filters = JsonFilter\n')

        assert 'not available in this release' in only(
            conf.check(config, filters=FILTERS))

    def test_filter_that_is_like_nothing_lists_all(self, parsed):
        """Without a near name the operator sees what there is."""
        config = parsed('[filter_scheduler]\nenabled_filters = Zzz\n')

        assert only(conf.check(config, filters=FILTERS)).endswith(
            'choose from ComputeFilter, DiskFilter, RamFilter, RetryFilter')

    def test_path_in_enabled_filters_is_explained(self, parsed):
        """Paths belong in available_filters."""
        config = parsed('[filter_scheduler]\nenabled_filters = a.b.MyFilter\n')

        assert 'write MyFilter here' in only(
            conf.check(config, filters=FILTERS))

    def test_weigher_with_the_nearest_right_name(self, parsed):
        """Weighers are paths; their class name is compared."""
        config = parsed('[filter_scheduler]\nweight_classes = '
                        'nova.scheduler.weights.ram.RamWeighter\n')

        assert 'did you mean RAMWeigher?' in only(
            conf.check(config, weighers={'RAMWeigher', 'CPUWeigher'}))

    def test_weigher_of_a_third_party_is_left_to_loading(self, parsed):
        """A foreign path is not compared with our names."""
        config = parsed('[filter_scheduler]\nweight_classes = '
                        'nova.scheduler.weights.all_weighers,example.Mine\n')

        assert conf.check(config, weighers={'RAMWeigher'}) == []

    @pytest.mark.parametrize(('driver', 'hint'), [
        ('filter_sheduler', 'did you mean filter_scheduler?'),
        ('nova.scheduler.simple.SimpleScheduler', 'unknown'),
        ('fake_scheduler', 'unknown')])
    def test_driver(self, parsed, driver, hint):
        """An unknown driver stops the start."""
        config = parsed(f'[scheduler]\ndriver = {driver}\n')

        message = only(conf.check(config, drivers=DRIVERS))
        assert f'[scheduler] driver = {driver!r}' in message
        assert hint in message

    def test_driver_of_a_third_party_is_left_to_loading(self, parsed):
        """A dotted path of somebody else's is not a wrong name."""
        config = parsed('[scheduler]\ndriver = example.driver.Mine\n')

        assert conf.check(config, drivers=DRIVERS) == []

    @pytest.mark.parametrize('value', [
        'ironic_host_manager',
        'nova.scheduler.ironic_host_manager.IronicHostManager'])
    def test_bare_metal_host_manager_is_not_available(self, parsed, value):
        """Known, but not served: the message says so."""
        config = parsed(f'[scheduler]\nhost_manager = {value}\n')

        assert 'not available in this release' in only(conf.check(config))

    def test_heartbeats_in_memcached_are_not_available(self, parsed):
        """All hosts would look down."""
        config = parsed('[DEFAULT]\nservicegroup_driver = mc\n')

        assert 'not available in this release' in only(conf.check(config))

    def test_names_may_come_from_a_function_that_fails(self, parsed):
        """Loading errors are reported with the others."""
        def load():
            raise exception.ConfigurationError('[a] b', 'c', 'd')

        assert only(conf.check(parsed(), filters=load)) == "[a] b = 'c': d"


class TestUnknownOptions:
    def test_near_misses_of_ours_are_listed(self, parsed):
        """A misspelt option would be ignored silently otherwise."""
        config = parsed(
            '[filter_scheduler]\nenabled_filter = RamFilter\n'
            '[scheduler]\nmax_attemps = 3\n'
            '[DEFAULT]\nscheduler_default_filter = RamFilter\n')

        assert conf.unknown_options(config) == [
            ('filter_scheduler', 'enabled_filter', 'enabled_filters'),
            ('scheduler', 'max_attemps', 'max_attempts'),
            ('DEFAULT', 'scheduler_default_filter',
             'scheduler_default_filters'),
        ]

    def test_everything_else_is_left_alone(self, parsed):
        """The file may be the real nova.conf."""
        config = parsed('[DEFAULT]\nmy_ip = 192.0.2.1\n'
                        '[libvirt]\ndriver_name = kvm\n'
                        '[filter_scheduler]\nsomething_of_a_plugin = 1\n')

        assert conf.unknown_options(config) == []
        assert conf.check(config) == []


class TestWarnings:
    def test_nothing_odd_in_the_defaults(self, parsed):
        """Defaults give no warning."""
        assert conf.warnings(parsed()) == []

    @pytest.mark.parametrize(('text', 'part'), [
        ('[metrics]\nweight_setting = a=1,b\n', 'b'),
        ('[DEFAULT]\nservice_down_time = 5\n', '25 seconds are used'),
        ('[DEFAULT]\nconcurrency_backend = eventlet\n', 'native threads')])
    def test_what_does_not_stop_the_start(self, parsed, text, part):
        """Odd values are no errors."""
        config = parsed(text)

        assert conf.check(config) == []
        assert part in conf.warnings(config)[0]


class TestNewConf:
    def test_missing_file_is_named(self, tmp_path):
        """A file given on the command line must exist."""
        path = str(tmp_path / 'none.conf')

        with pytest.raises(exception.ConfigurationError, match=r'none\.conf'):
            conf.new_conf(['--config-file', path])

    def test_file_that_is_none_is_named(self, tmp_path):
        """A line outside a section stops the start."""
        path = tmp_path / 'bad.conf'
        path.write_text('max_attempts = 3\n')

        with pytest.raises(exception.ConfigurationError, match=r'bad\.conf'):
            conf.new_conf([], [str(path)])

    def test_malformed_command_line_option_in_a_file(self, tmp_path, capsys):
        """Options that the command line has are read while parsing."""
        path = tmp_path / 'nova.conf'
        path.write_text('[DEFAULT]\ndebug = perhaps\n')

        with pytest.raises(SystemExit):
            conf.new_conf([], [str(path)])
        assert 'debug' in capsys.readouterr().err

    def test_command_line_names_the_files(self, tmp_path):
        """Later files count over earlier ones."""
        first, second = tmp_path / 'a.conf', tmp_path / 'b.conf'
        first.write_text('[scheduler]\nworkers = 1\nmax_attempts = 5\n')
        second.write_text('[scheduler]\nworkers = 2\n')

        config = conf.new_conf(['--config-file', str(first),
                                '--config-file', str(second), '--debug'])

        assert (config.scheduler.workers,
                          config.scheduler.max_attempts) == (2, 5)
        assert config.debug is True

    def test_directory_of_files_is_read(self, tmp_path):
        """--config-dir adds its files; they are looked at for signs too."""
        (tmp_path / 'p.conf').write_text('[placement]\nauth_url = http://k\n')

        config = conf.new_conf(['--config-dir', str(tmp_path)], [])

        assert conf.placement_configured(config)
