"""nova-sched-manage config"""

import pytest


@pytest.fixture
def check(run, tmp_path):
    """Function: check a configuration file with this text."""
    def check(text):
        file = tmp_path / 'nova.conf'
        file.write_text(text)
        return run('--config-file', file, 'config', 'check')
    return check


class TestCheck:
    def test_says_what_the_service_would_run_with(self, check):
        ended = check('[scheduler]\ndriver = caching_scheduler\n'
                      '[filter_scheduler]\n'
                      'enabled_filters = RamFilter,ComputeFilter\n')

        assert ended.code == 0
        assert 'driver: caching_scheduler\n' in ended.out
        assert 'filters: RamFilter, ComputeFilter\n' in ended.out
        assert 'weighers: RAMWeigher, ' in ended.out

    def test_reads_the_names_of_kilo(self, check):
        ended = check(
            '[DEFAULT]\nscheduler_driver = '
            'nova.scheduler.chance.ChanceScheduler\n'
            'scheduler_default_filters = DiskFilter\n')

        assert ended.code == 0
        assert 'driver: chance_scheduler\n' in ended.out
        assert 'filters: DiskFilter\n' in ended.out

    @pytest.mark.parametrize('text, words', [
        ('[scheduler]\ndriver = filter_sheduler\n',
         "error: [scheduler] driver = 'filter_sheduler': no such driver; "
         "did you mean filter_scheduler?"),
        ('[filter_scheduler]\nenabled_filters = RamFilte\n',
         'did you mean RamFilter?'),
        ('[filter_scheduler]\nweight_classes = nova.scheduler.weights.x.Y\n',
         'nova.scheduler.weights.x.Y'),
        ('[scheduler]\nmax_attempts = many\n', 'max_attempts'),
        ('[DEFAULT]\ndebug = maybe\n',
         "error: [DEFAULT] debug = 'maybe': must be true or false"),
        ('[DEFAULT]\nservice_down_time = long\n', 'service_down_time'),
        ('[scheduler]\nhost_manager = my.module.HostManager\n',
         "error: [scheduler] host_manager = 'my.module.HostManager': there "
         'is no module my'),
        ('[scheduler]\nhost_manager = ironic_host_manager\n'
         '[filter_scheduler]\nuse_baremetal_filters = true\n'
         'baremetal_enabled_filters = RamFilte\n',
         "error: [filter_scheduler] baremetal_enabled_filters = 'RamFilte': "
         'no such filter; did you mean RamFilter?'),
        ('[DEFAULT]\ntransport_url = nonsense\n', 'transport_url'),
        ('[database]\nconnection = nonsense\n', 'connection'),
    ])
    def test_refuses_what_the_service_would_not_start_with(self, check, text,
                                                           words):
        ended = check(text)

        assert ended.code == 1
        assert words in ended.out
        assert ended.err == ''
        assert 'driver:' not in ended.out

    def test_lists_every_wrong_filter(self, check):
        ended = check('[filter_scheduler]\n'
                      'enabled_filters = RamFilte,JsonFilte\n')

        assert ended.out.count('error: ') == 2
        assert 'did you mean JsonFilter?' in ended.out

    def test_shows_no_password(self, check):
        ended = check('[DEFAULT]\ntransport_url = rabbit://u:secr/et@h:1/\n'
                      '[database]\nconnection = mysql:/u:secr/et@h/nova\n')

        assert ended.code == 1
        assert 'secr' not in ended.out + ended.err

    def test_warns_of_options_that_do_nothing(self, check):
        ended = check('[DEFAULT]\nscheduler_manager = my.Manager\n')

        assert ended.code == 0
        assert ('warning: This release accepts these options but does not '
                'act on them: [DEFAULT] scheduler_manager\n'
                ) in ended.out

    def test_warns_of_hosts_that_are_left_to_placement(self, check):
        ended = check('[placement]\nauth_url = http://192.0.2.1:5000\n'
                      '[scheduler]\ndriver = caching_scheduler\n')

        assert ended.code == 0
        assert ('warning: [placement] is configured, but the caching '
                'scheduler does not ask Placement') in ended.out

    def test_warns_of_options_that_are_none(self, check):
        ended = check('[filter_scheduler]\nenabled_filter = RamFilter\n')

        assert ended.code == 0
        assert ('warning: [filter_scheduler] enabled_filter is no option; '
                'did you mean enabled_filters?') in ended.out

    def test_of_a_missing_file_is_an_error(self, run, tmp_path):
        ended = run('--config-file', tmp_path / 'none.conf', 'config',
                    'check')

        assert ended.code == 1
        assert 'none.conf' in ended.err
        assert 'Traceback' not in ended.err
