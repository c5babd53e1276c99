"""Warnings about values that the operator may not have intended."""

import pytest

from nova_sched import conf

ONE = '[scheduler]\nworkers = 1\n'
PLACEMENT = '[placement]\nauth_type = password\n'
CACHING = '[scheduler]\ndriver = caching_scheduler\n'
FILTERS = '[filter_scheduler]\nenabled_filters = '


def only_warning(parsed, text):
    """The only warning about a file."""
    warning, = conf.warnings(parsed(text))
    return warning


@pytest.mark.parametrize(('text', 'sentence'), [
    ('[metrics]\nweight_setting = a=1,b\n',
     'Ignoring the invalid elements of the option metrics.weight_setting: b'),
    ('[metrics]\nweight_setting = a = 1\n',
     '[metrics] weight_setting = a =...: no name ends in a blank'),
    ('[DEFAULT]\nservice_down_time = 5\n',
     '[DEFAULT] service_down_time = 5 is not above report_interval = 10: 25 '
     'seconds are used'),
    ('[DEFAULT]\nconcurrency_backend = eventlet\n',
     '[DEFAULT] concurrency_backend: this service always uses native threads'),
    ('[DEFAULT]\nscheduler_manager = my.Manager\n',
     '[DEFAULT] scheduler_manager = my.Manager is not used: write a driver '
     'with its decisions, and name the driver in [scheduler] driver'),
    ('[oslo_messaging_notifications]\ndriver = mesagingv2\n',
     '[oslo_messaging_notifications] driver = mesagingv2 is no notification '
     'driver, so it sends nothing; did you mean messagingv2?'),
    ('[scheduler]\nhost_manager = ironic_host_manager\n',
     '[scheduler] host_manager: Nova deprecated the bare-metal host manager '
     'and removed it in 18.0.0 (Rocky)'),
    ('[sheduler]\ndriver = chance_scheduler\nmax_attempts = 1\n',
     '[sheduler] is an unknown section, so its options driver, max_attempts '
     'have no effect; did you mean [scheduler]?'),
    ('[cells]\nenable = True\n',
     '[cells] enable: cells v1, which Nova removed'),
    ('[neutron]\nauth_type = password\ncafile = /no/such/ca.pem\n',
     "[neutron] cafile = '/no/such/ca.pem': cannot be read"),
    ('[service_user]\nauth_type = password\nkeyfile = /no/such/key\n',
     "[service_user] keyfile = '/no/such/key': cannot be read"),
    ('[placement]\nauth_type = passwrd\n',
     '[placement] auth_type = passwrd is no type of log-in, so requests '
     'that need a log-in fail; did you mean password?'),
    ('[trusted_computing]\nattestation_server = h\n'
     'attestation_server_ca_file = /no/such/ca\n',
     "[trusted_computing] attestation_server_ca_file = '/no/such/ca': "
     'cannot be read'),
    ('[scheduler]\ndriver = chance_scheduler\n' + FILTERS + 'RamFilter\n',
     '[filter_scheduler] enabled_filters has no effect'),
    ('[DEFAULT]\ntransport_url = rabbit://openstack:RABBIT_PASS@h:5672/\n',
     '[DEFAULT] transport_url has RABBIT_PASS, the placeholder for a password '
     'in the installation guides'),
    ('[service_user]\nauth_type = password\npassword = NOVA_PASS\n',
     '[service_user] password has NOVA_PASS'),
    ('[database]\nconnection = mysql+pymysql://nova:NOVA_DBPASS@h/nova\n',
     '[database] connection has NOVA_DBPASS'),
    ('[api_database]\nconnection = sqlite:////a\n',
     '[database] connection is not set beside [api_database] connection'),
    *((text, '[database] connection is not set, so the hosts are those of the '
       'file /var/lib/nova-sched/nova_sched.sqlite: this is probably the '
       'configuration of a compute node')
      for text in ('[libvirt]\nvirt_type = kvm\n',
                   '[DEFAULT]\ncompute_driver = libvirt.LibvirtDriver\n',
                   '[DEFAULT]\ntransport_url = rabbit://u:p@h/\n'
                   + PLACEMENT)),
    *((PLACEMENT + FILTERS + f'{enabled}\n',
       f'[filter_scheduler] enabled_filters: {named} beside Placement: usage '
       'is counted twice')
      for enabled, named in (
          ('RamFilter,ComputeFilter', 'RamFilter'),
          ('DiskFilter,CoreFilter,AggregateRamFilter',
           'AggregateRamFilter and CoreFilter and DiskFilter'))),
    *((PLACEMENT + CACHING + FILTERS + f'{enabled}\n',
       '[placement] is configured, but the caching scheduler does not use '
       'Placement: nothing keeps hosts from being overfilled unless '
       'RamFilter and DiskFilter are named in [filter_scheduler] '
       f'enabled_filters, which lacks {lacking}')
      for enabled, lacking in (('ComputeFilter,DiskFilter', 'RamFilter'),
                               ('', 'RamFilter and DiskFilter'))),
    ('[placement]\nregion_name = a\nos_region_name = b\n',
     '[placement] region_name overrides [placement] os_region_name; remove '
     'the latter'),
    ('[scheduler]\ndriver = filter_scheduler\n'
     '[DEFAULT]\nscheduler_driver = chance_scheduler\n',
     '[scheduler] driver overrides [DEFAULT] scheduler_driver'),
    ('[database]\nconnection = sqlite://\n'
     '[DEFAULT]\nsql_connection = sqlite:////a\n',
     '[database] connection overrides [DEFAULT] sql_connection'),
    ('[DEFAULT]\ntransport_url = fake://\nrabbit_host = h\n'
     'rpc_backend = kombu\n[oslo_messaging_rabbit]\nrabbit_userid = u\n',
     '[DEFAULT] transport_url overrides [DEFAULT] rpc_backend, '
     '[DEFAULT] rabbit_host, [oslo_messaging_rabbit] rabbit_userid')])
def test_a_doubtful_value_is_a_warning_and_no_error(parsed, text, sentence):
    assert only_warning(parsed, text).startswith(sentence)
    assert conf.check(parsed(text)) == []


@pytest.mark.parametrize('text', [
    ONE, CACHING, PLACEMENT, PLACEMENT + CACHING,
    '[cells]\nenable = false\n',
    '[scheduler]\ndriver = chance_scheduler\nworkers = 4\n',
    '[neutron]\ncafile = /no/such/ca.pem\n',
    '[scheduler]\nhost_manager = own.HostManager\n',
    FILTERS + 'RamFilter,DiskFilter\n',
    PLACEMENT + FILTERS + 'ComputeFilter\n',
    PLACEMENT + CACHING + FILTERS + 'RamFilter,ComputeFilter,DiskFilter\n',
    '[filter_scheduler]\navailable_filters = my.Filter\n'
    'available_filters = nova.scheduler.filters.all_filters\n',
    '[DEFAULT]\nscheduler_manager = nova.scheduler.manager.SchedulerManager\n',
    # These are read by other services, or the hosts are the same without.
    '[scheduler]\nquery_placement_for_availability_zone = true\n',
    '[filter_scheduler]\ntrack_instance_changes = false\n'
    'pci_in_placement = true\n', '[api_database]\nmax_retries = -1\n',
    '[database]\ndb_max_retries = -1\ndb_retry_interval = 10\n',
    '[cinder]\ncatalog_info = x\n[placement_database]\nconnection = x\n'
    '[conductor]\nworkers = 1\n[consoleauth]\ntoken_ttl = 1\n'
    '[oslo_messaging_amqp]\ntrace = 1\n[keystone_authtoken]\nauth_url = x\n'
    '[api]\nauth_strategy = x\n[quota]\ndriver = x\n[cache]\nbackend = x\n'])
def test_other_values_are_no_warning(parsed, text):
    assert conf.warnings(parsed(text)) == []


def test_ignored_options_that_are_set_are_named_in_one_line(parsed):
    config = parsed(
        '[DEFAULT]\ncell_worker_thread_pool_size = 7\n'
        'periodic_fuzzy_delay = 60\n'
        '[notifications]\ndefault_level = WARN\n'
        '[database]\nslave_connection = mysql://u:hunter2@h/n\n')

    assert conf.warnings(config) == [
        'This release accepts these options but does not act on them: '
        '[DEFAULT] cell_worker_thread_pool_size, '
        '[database] slave_connection, '
        '[notifications] default_level; '
        'remove them, unless another service reads this file']


def test_an_option_given_twice_is_named_with_its_file(parsed, tmp_path):
    assert only_warning(
        parsed, FILTERS + 'RamFilter\nenabled_filters = DiskFilter\n') == (
        '[filter_scheduler] enabled_filters is set 2 times in '
        f'{tmp_path}/nova.conf; only the last value is used')


def test_deprecated_names_are_listed_in_one_line(parsed, caplog):
    """oslo.config's own lines, one for each name, are not in the log."""
    config = parsed('[DEFAULT]\nscheduler_driver = filter_scheduler\n'
                    'scheduler_max_attempts = 3\nrabbit_host = h\n'
                    '[oslo_messaging_rabbit]\nrabbit_userid = u\n'
                    '[database]\nidle_timeout = 5\n')
    assert conf.check(config) == []

    line, = conf.warnings(config)
    start, _, rest = line.partition(': ')
    listed, _, advice = rest.partition('; ')
    assert start == 'These options are deprecated and still have an effect'
    assert advice == 'use the newer name where there is one'
    assert sorted(listed.split(', ')) == [
        '[DEFAULT] rabbit_host (now [oslo_messaging_rabbit] rabbit_host)',
        '[DEFAULT] scheduler_driver (now [scheduler] driver)',
        '[DEFAULT] scheduler_max_attempts (now [scheduler] max_attempts)',
        '[database] idle_timeout (now [database] connection_recycle_time)',
        '[oslo_messaging_rabbit] rabbit_userid']
    assert caplog.records == []


def test_the_last_of_several_files_overrides_the_others(tmp_path):
    older, newer = tmp_path / 'older.conf', tmp_path / 'newer.conf'
    older.write_text('[DEFAULT]\nscheduler_max_attempts = 5\n')
    newer.write_text('[scheduler]\nmax_attempts = 3\n')
    config = conf.new_conf([], [str(newer), str(older)])

    first, second = conf.warnings(config)
    assert config.scheduler.max_attempts == 5
    assert first == ('[DEFAULT] scheduler_max_attempts overrides '
                     '[scheduler] max_attempts; remove the latter')
    assert second.startswith('These options are deprecated and still have an '
                             'effect: [DEFAULT] scheduler_max_attempts')


@pytest.mark.parametrize(('section', 'name', 'near'), [
    ('scheduler', 'max_attempt_count', 'max_attempts'),
    ('filter_scheduler', 'enabled_filter', 'enabled_filters'),
    ('DEFAULT', 'scheduler_default_filter', 'scheduler_default_filters'),
    ('filter_scheduler', 'scheduler_default_filters',
     '[filter_scheduler] enabled_filters'),
    ('scheduler', 'scheduler_driver', '[scheduler] driver'),
    ('scheduler', 'filter_scheduler', '[scheduler] driver'),
    ('filter_scheduler', 'max_attempts', '[scheduler] max_attempts'),
    ('DEFAULT', 'metrics_weight_setting', '[metrics] weight_setting'),
    ('filter_scheduler', 'metrics_weight_setting',
     '[metrics] weight_setting'),
    ('metrics', 'metrics_weight_setting', '[metrics] weight_setting'),
    ('DEFAULT', 'enabled_filters', '[filter_scheduler] enabled_filters'),
    ('DEFAULT', 'scheduler_workers', '[scheduler] workers')])
def test_a_misspelt_or_misplaced_option_has_the_nearest_name(
        parsed, section, name, near):
    assert conf.unknown_options(parsed(f'[{section}]\n{name} = x\n')) == [
        (section, name, near)]


def test_any_unknown_option_of_the_own_section_is_misspelt(parsed):
    assert len(conf.unknown_options(parsed(
        '[nova_sched]\nquite_another = 3\n'))) == 1


def test_unknown_options_of_other_services_and_plug_ins_are_accepted(parsed):
    config = parsed('[DEFAULT]\nmy_ip = 192.0.2.1\n'
                    '[libvirt]\ndriver_name = kvm\n'
                    '[filter_scheduler]\nsomething_of_a_plugin = 1\n')

    assert conf.unknown_options(config) == []
    assert conf.check(config) == []
