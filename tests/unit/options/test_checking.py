"""Wrong values give one clear message each."""

import pytest

from nova_sched import conf
from nova_sched import exception

ONE_WORKER = '[scheduler]\nworkers = 1\n'


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
        ('[DEFAULT]\ndebug = perhaps\n',
         "[DEFAULT] debug = 'perhaps': must be true or false"),
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
            '[DEFAULT]\nservicegroup_driver = mc\n'))

        assert {'[scheduler] max_attempts', '[scheduler] workers',
                '[DEFAULT] servicegroup_driver'} == {
            error.option for error in errors}

    def test_value_from_the_environment_is_reported(self, parsed,
                                                    monkeypatch):
        """OS_SECTION__NAME is read by oslo.config too."""
        monkeypatch.setenv('OS_SCHEDULER__MAX_ATTEMPTS', 'many')

        assert '[scheduler] max_attempts' in only(conf.check(parsed()))

    @pytest.mark.parametrize('path', ['relative', '/no/such/directory'])
    def test_a_plug_in_path_that_leads_nowhere_is_reported(self, parsed, path):
        assert only(conf.check(parsed(
            f'[nova_sched]\nplugin_path = {path}\n'))) == (
            f"[nova_sched] plugin_path = '{path}': no such directory; "
            'write the absolute path of a directory with plug-ins')

    def test_secret_is_not_shown(self, parsed):
        """A database URL that is none may hold a password."""
        config = parsed('[database]\nconnection = hunter2\n')

        assert 'hunter2' not in only(conf.check(config))

    def test_a_broker_of_notifications_that_is_none_is_reported(self, parsed):
        """Under the option that names it, without its password."""
        text = only(conf.check(parsed(
            '[oslo_messaging_notifications]\n'
            'transport_url = rabit://u:hunter2@h/\n')))

        assert text.startswith('[oslo_messaging_notifications] transport_url')
        assert 'hunter2' not in text


class TestWhatThisReleaseLacks:
    def test_is_heartbeats_in_memcached(self, parsed):
        """All hosts would look down."""
        config = parsed('[DEFAULT]\nservicegroup_driver = mc\n')

        assert 'not available in this release' in only(conf.check(config))


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

    @pytest.mark.parametrize(('section', 'name', 'meant'), [
        ('filter_scheduler', 'scheduler_default_filters',
         '[filter_scheduler] enabled_filters'),
        ('scheduler', 'scheduler_weight_classes',
         '[filter_scheduler] weight_classes'),
        ('scheduler', 'scheduler_driver', '[scheduler] driver'),
        ('scheduler', 'filter_scheduler', '[scheduler] driver'),
        ('filter_scheduler', 'max_attempts', '[scheduler] max_attempts')])
    def test_names_of_another_section_or_release_are_known(
            self, parsed, section, name, meant):
        config = parsed(f'[{section}]\n{name} = x\n')

        assert conf.unknown_options(config) == [(section, name, meant)]

    def test_everything_else_is_left_alone(self, parsed):
        """The file may be the real nova.conf."""
        config = parsed('[DEFAULT]\nmy_ip = 192.0.2.1\n'
                        '[libvirt]\ndriver_name = kvm\n'
                        '[filter_scheduler]\nsomething_of_a_plugin = 1\n')

        assert conf.unknown_options(config) == []
        assert conf.check(config) == []


class TestWarnings:
    def test_nothing_odd_in_the_defaults(self, parsed):
        """Defaults give no warning, but for workers."""
        assert conf.warnings(parsed(ONE_WORKER)) == []

    @pytest.mark.parametrize(('text', 'part'), [
        ('[metrics]\nweight_setting = a=1,b\n', 'b'),
        ('[metrics]\nweight_setting = a = 1\n', 'ends in a blank'),
        ('[DEFAULT]\nservice_down_time = 5\n', '25 seconds are used'),
        ('[DEFAULT]\nconcurrency_backend = eventlet\n', 'native threads'),
        ('[oslo_messaging_notifications]\ndriver = mesagingv2\n',
         'did you mean messagingv2?'),
        ('[scheduler]\nhost_manager = ironic_host_manager\n',
         'removed it in 18.0.0 (Rocky)')])
    def test_what_does_not_stop_the_start(self, parsed, text, part):
        """Odd values are no errors."""
        config = parsed(text)

        assert conf.check(config) == []
        assert part in conf.warnings(config)[0]

    def test_options_that_do_nothing_are_named_in_one_line(self, parsed):
        """Only those that the file sets to something."""
        config = parsed(
            '[DEFAULT]\nscheduler_manager = '
            'nova.scheduler.manager.SchedulerManager\n'
            'cell_worker_thread_pool_size = 7\nperiodic_fuzzy_delay = 60\n'
            '[notifications]\ndefault_level = WARN\n'
            '[database]\nslave_connection = mysql://u:hunter2@h/n\n'
            '[scheduler]\nworkers = 1\n')

        assert conf.warnings(config) == [
            'This release accepts these options but does not act on them: '
            '[DEFAULT] cell_worker_thread_pool_size, '
            '[database] slave_connection, '
            '[notifications] default_level; '
            'remove them, unless another service reads this file']

    @pytest.mark.parametrize('text', [
        '[scheduler]\nquery_placement_for_availability_zone = true\n',
        '[filter_scheduler]\ntrack_instance_changes = false\n'
        'pci_in_placement = true\n', '[api_database]\nmax_retries = -1\n',
        '[database]\ndb_max_retries = -1\ndb_retry_interval = 10\n'])
    def test_but_not_those_that_nobody_has_to_take_out(self, parsed, text):
        assert conf.warnings(parsed(text)) == []

    def test_a_manager_of_one_s_own_is_told_what_takes_its_place(
            self, parsed):
        config = parsed('[DEFAULT]\nscheduler_manager = my.Manager\n')

        assert ('[DEFAULT] scheduler_manager = my.Manager is not used: '
                'write a driver with its decisions, and name the driver in '
                '[scheduler] driver') in conf.warnings(config)

    @pytest.mark.parametrize(('filters', 'lacking'), [
        ('ComputeFilter,DiskFilter', 'RamFilter'),
        ('RamFilter', 'DiskFilter'), ('', 'RamFilter and DiskFilter')])
    def test_hosts_that_are_left_to_placement(self, parsed, filters,
                                              lacking):
        """By a driver that does not ask it what still fits."""
        [warning] = conf.warnings(parsed(
            '[placement]\nauth_type = password\n'
            '[scheduler]\ndriver = caching_scheduler\n'
            f'[filter_scheduler]\nenabled_filters = {filters}\n'))

        assert 'does not use Placement' in warning
        assert warning.endswith(f'which lacks {lacking}')

    @pytest.mark.parametrize('text', [
        '[filter_scheduler]\nenabled_filters = ComputeFilter\n' + ONE_WORKER,
        '[placement]\nauth_type = password\n',
        '[placement]\nauth_type = password\n[scheduler]\n'
        'driver = caching_scheduler\n',
        '[placement]\nauth_type = password\n[scheduler]\n'
        'driver = caching_scheduler\n[filter_scheduler]\n'
        'enabled_filters = RamFilter,ComputeFilter,DiskFilter\n'])
    def test_hosts_that_are_not(self, parsed, text):
        """Without Placement the list is the operator's own choice, with it
        the filter scheduler asks, and the default list has both filters.
        """
        assert conf.warnings(parsed(text)) == []


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

    def test_wrong_value_of_an_option_of_the_command_line(self, parsed,
                                                          capsys):
        """In a file, it ends nothing: it is reported with the others."""
        config = parsed('[DEFAULT]\ndebug = perhaps\n')

        assert config.reload_config_files()
        assert capsys.readouterr().err == ''
        assert only(conf.check(config)).startswith('[DEFAULT] debug = ')

    @pytest.mark.parametrize(('args', 'status'), [
        (['--help'], 0), (['--no-such-option'], 2),
        (['--config-file'], 2), (['--debug=perhaps'], 2)])
    def test_command_line_may_end_the_process(self, args, status):
        """Help, and a mistake where the operator sees it at once."""
        with pytest.raises(SystemExit) as ended:
            conf.new_conf(args, [])

        assert ended.value.code == status

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
