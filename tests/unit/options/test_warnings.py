"""What starts and may not be meant has a sentence."""


import pytest

from nova_sched import conf

ONE = '[scheduler]\nworkers = 1\n'


def the_one(parsed, text):
    """The one warning that a file has."""
    warning, = conf.warnings(parsed(text))
    return warning


@pytest.mark.parametrize(('text', 'sentence'), [
    ('[sheduler]\ndriver = chance_scheduler\nmax_attempts = 1\n' + ONE,
     '[sheduler] is an unknown section, so its options driver, max_attempts '
     'have no effect; did you mean [scheduler]?'),
    ('[cells]\nenable = True\n' + ONE,
     '[cells] enable: cells v1, which Nova removed'),
    ('[neutron]\nauth_type = password\ncafile = /no/such/ca.pem\n' + ONE,
     "[neutron] cafile = '/no/such/ca.pem': cannot be read"),
    ('[service_user]\nauth_type = password\nkeyfile = /no/such/key\n' + ONE,
     "[service_user] keyfile = '/no/such/key': cannot be read"),
    ('[placement]\nauth_type = passwrd\n' + ONE,
     '[placement] auth_type = passwrd is no type of log-in, so requests '
     'that need a log-in fail; did you mean password?'),
    ('[trusted_computing]\nattestation_server = h\n'
     'attestation_server_ca_file = /no/such/ca\n' + ONE,
     "[trusted_computing] attestation_server_ca_file = '/no/such/ca': "
     'cannot be read'),
    ('[scheduler]\ndriver = chance_scheduler\n'
     '[filter_scheduler]\nenabled_filters = RamFilter\n',
     '[filter_scheduler] enabled_filters has no effect'),
    ('[DEFAULT]\ntransport_url = rabbit://openstack:RABBIT_PASS@h:5672/\n',
     '[DEFAULT] transport_url has RABBIT_PASS, the placeholder for a password '
     'in the installation guides'),
    ('[service_user]\nauth_type = password\npassword = NOVA_PASS\n',
     '[service_user] password has NOVA_PASS'),
    ('[database]\nconnection = mysql+pymysql://nova:NOVA_DBPASS@h/nova\n',
     '[database] connection has NOVA_DBPASS'),
    ('[placement]\nauth_type = password\npassword = PLACEMENT_PASS\n',
     '[placement] password has PLACEMENT_PASS'),
    ('[api_database]\nconnection = sqlite:////a\n',
     '[database] connection is not set beside [api_database] connection'),
    *((text, '[database] connection is not set, so the hosts are those of the '
       'file /var/lib/nova-sched/nova_sched.sqlite: this is probably the '
       'configuration of a compute node')
      for text in ('[libvirt]\nvirt_type = kvm\n',
                   '[DEFAULT]\ncompute_driver = libvirt.LibvirtDriver\n',
                   '[DEFAULT]\ntransport_url = rabbit://u:p@h/\n'
                   '[placement]\nauth_type = password\n'))])
def test_a_trap_is_named(parsed, text, sentence):
    assert the_one(parsed, text).startswith(sentence)
    assert conf.check(parsed(text)) == []


@pytest.mark.parametrize('text', [
    '[cells]\nenable = false\n' + ONE,
    '[scheduler]\ndriver = caching_scheduler\n',
    '[scheduler]\ndriver = caching_scheduler\nworkers = 4\n',
    '[scheduler]\nworkers = 4\n',
    '[scheduler]\ndriver = chance_scheduler\nworkers = 4\n',
    '[scheduler]\nworkers = 4\n[placement]\nauth_type = password\n',
    '[neutron]\ncafile = /no/such/ca.pem\n' + ONE,
    ONE + 'host_manager = own.HostManager\n',
    '[cinder]\ncatalog_info = x\n[placement_database]\nconnection = x\n'
    '[conductor]\nworkers = 1\n[consoleauth]\ntoken_ttl = 1\n'
    '[oslo_messaging_amqp]\ntrace = 1\n[keystone_authtoken]\nauth_url = x\n'
    '[api]\nauth_strategy = x\n[quota]\ndriver = x\n[cache]\nbackend = x\n'
    + ONE])
def test_what_is_no_trap_is_not(parsed, text):
    assert conf.warnings(parsed(text)) == []


def test_an_option_given_twice_is_named_with_its_file(parsed, tmp_path):
    text = the_one(parsed, '[filter_scheduler]\nenabled_filters = RamFilter\n'
                   'enabled_filters = DiskFilter\n' + ONE)

    assert text == (f'[filter_scheduler] enabled_filters stands in '
                    f'{tmp_path}/nova.conf 2 times; only the last counts')


def test_an_option_that_is_meant_to_be_given_twice_is_not(parsed):
    assert conf.warnings(parsed(
        '[filter_scheduler]\n'
        'available_filters = nova.scheduler.filters.all_filters\n'
        'available_filters = my.Filter\n' + ONE)) == []


def test_older_names_are_told_in_one_line(parsed, caplog):
    """Oslo.config's own lines, one a name, are not in the log."""
    config = parsed('[DEFAULT]\nscheduler_driver = filter_scheduler\n'
                    'scheduler_max_attempts = 3\nrabbit_host = h\n'
                    '[database]\nidle_timeout = 5\n' + ONE)
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
        '[database] idle_timeout (now [database] connection_recycle_time)']
    assert caplog.records == []


@pytest.mark.parametrize(('text', 'sentence'), [
    ('[placement]\nregion_name = a\nos_region_name = b\n',
     '[placement] region_name overrides [placement] os_region_name'),
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
def test_of_an_older_and_a_newer_name_the_one_that_counts_is_told(
        parsed, text, sentence):
    assert the_one(parsed, text + ONE.replace('[scheduler]', '[api]')) == (
        f'{sentence}; remove the latter')


def test_of_several_files_the_last_one_counts(tmp_path):
    older = tmp_path / 'older.conf'
    older.write_text('[DEFAULT]\nscheduler_max_attempts = 5\n')
    newer = tmp_path / 'newer.conf'
    newer.write_text('[scheduler]\nmax_attempts = 3\n')
    config = conf.new_conf([], [str(newer), str(older)])

    first, second = conf.warnings(config)
    assert config.scheduler.max_attempts == 5
    assert first == ('[DEFAULT] scheduler_max_attempts overrides '
                     '[scheduler] max_attempts; remove the latter')
    assert second.startswith('These options are deprecated and still have an '
                             'effect: [DEFAULT] scheduler_max_attempts')


@pytest.mark.parametrize(('text', 'found'), [
    ('[scheduler]\nmax_attempt_count = 3\n', ('max_attempts',)),
    ('[nova_sched]\nquite_another = 3\n', None),
    ('[DEFAULT]\nmy_ip = 192.0.2.1\n', ()),
    ('[DEFAULT]\nmetrics_weight_setting = name1=1.0,name2=-1.0\n',
     ('[metrics] weight_setting',)),
    ('[filter_scheduler]\nmetrics_weight_setting = name1=1.0\n',
     ('[metrics] weight_setting',)),
    ('[metrics]\nmetrics_weight_setting = name1=1.0\n',
     ('[metrics] weight_setting',)),
    ('[DEFAULT]\nenabled_filters = RamFilter\n',
     ('[filter_scheduler] enabled_filters',)),
    ('[DEFAULT]\nscheduler_workers = 1\n', ('[scheduler] workers',))])
def test_an_option_that_is_none_has_the_nearest_name(parsed, text, found):
    """In [nova_sched], which nobody else reads, each of them."""
    nearest = tuple(near for _section, _name, near
                    in conf.unknown_options(parsed(text)))
    assert nearest == found if found is not None else len(nearest) == 1


WITH_PLACEMENT = ONE + '[placement]\nauth_type = password\n'


@pytest.mark.parametrize('enabled, named', [
    ('RamFilter,ComputeFilter', 'RamFilter'),
    ('DiskFilter,CoreFilter,AggregateRamFilter',
     'AggregateRamFilter and CoreFilter and DiskFilter')])
def test_what_placement_counts_is_counted_twice_by_filters(
        parsed, enabled, named):
    text = the_one(parsed, WITH_PLACEMENT + (
        f'[filter_scheduler]\nenabled_filters = {enabled}\n'))

    assert text.startswith('[filter_scheduler] enabled_filters: '
                           f'{named} beside Placement: ')
    assert 'counted twice' in text


@pytest.mark.parametrize('text', [
    ONE + '[filter_scheduler]\nenabled_filters = RamFilter,DiskFilter\n',
    WITH_PLACEMENT,
    WITH_PLACEMENT + '[filter_scheduler]\nenabled_filters = ComputeFilter\n'])
def test_elsewhere_it_is_not(parsed, text):
    assert conf.warnings(parsed(text)) == []
