"""All options: defaults, names, help and secrets."""

import importlib
import sys
import types

from oslo_config import cfg
import oslo_messaging
import pytest

from nova_sched import conf
from nova_sched.options import libraries
from nova_sched.options import sections
from tests.unit.options import documented

OURS = [(str(getattr(group, 'name', group) or 'DEFAULT'), opt)
        for group, opts in conf.list_opts() for opt in opts]
IDS = {'ids': lambda value: value if isinstance(value, str) else ''}

#: Type of an option's value -> text for a file, and the value read from it.
SAMPLES = {bool: ('true', True), int: ('7', 7), float: ('0.5', 0.5),
           list: ('one,two', ['one', 'two']), str: ('text', 'text'),
           type(None): ('text', 'text')}
SPECIAL = {
    'available_filters': ('a.B', ['a.B']),
    'cpu_allocation_ratio': ('2.5', 2.5),
    'default_level': ('WARN', 'WARN'),
    'driver': ('text', 'text'),
    'enabled_filters': ('one,two', ['one', 'two']),
    'notification_format': ('both', 'both'),
    'pool_timeout': ('7', 7),
    ('oslo_messaging_notifications', 'driver'): ('log', ['log']),
}


def sample(section, name, default):
    """Text for an option in a file, and the value read from it."""
    written, read = SPECIAL.get((section, name)) or SPECIAL.get(name) or (
        SAMPLES[type(default)])
    return ('false', False) if read is default else (written, read)


class TestDocumentedOptions:
    def test_exist_with_their_defaults(self, parsed):
        config, known = parsed(), sections.known_opts()

        assert {option: sections.value(config, *option)
                for option in documented.DEFAULTS} == documented.DEFAULTS
        assert {*documented.DEFAULTS, *documented.COMPUTED} <= known.keys()

    @pytest.mark.parametrize(('section', 'name', 'old_section', 'old'),
                             documented.OLD_NAMES, **IDS)
    def test_have_older_names_that_set_them(self, parsed, section, name,
                                            old_section, old):
        written, read = sample(section, name, sections.value(
            parsed(), section, name))

        config = parsed(f'[{old_section}]\n{old} = {written}\n')

        assert read == sections.value(config, section, name)

    def test_old_sql_connection_is_not_the_api_database(self, parsed):
        config = parsed('[DEFAULT]\nsql_connection = mysql://u:p@h/nova\n')

        assert config.api_database.connection is None


class TestListOpts:
    @pytest.mark.parametrize(('section', 'opt'), OURS,
                             ids=[f'{s}.{o.name}' for s, o in OURS])
    def test_every_option_has_help(self, section, opt):
        assert opt.help

    def test_no_option_is_listed_twice(self):
        names = [(section, opt.dest) for section, opt in OURS]

        assert len(names) == len(set(names))

    @pytest.mark.parametrize('name', [
        ('database', 'connection'), ('database', 'slave_connection'),
        ('api_database', 'connection'), ('api_database', 'slave_connection'),
        ('DEFAULT', 'transport_url'),
        ('oslo_messaging_notifications', 'transport_url'),
        ('oslo_messaging_rabbit', 'rabbit_password'),
        ('trusted_computing', 'attestation_auth_blob'),
        ('placement', 'password'), ('neutron', 'password'),
        ('service_user', 'password')], ids='.'.join)
    def test_secrets_are_marked(self, name):
        assert sections.known_opts()[name].secret

    def test_host_of_the_build_machine_is_not_shown(self):
        host, = (opt for _section, opt in OURS if opt.name == 'host')

        assert host.sample_default == '<host name>'

    def test_the_list_is_a_copy(self):
        conf.list_opts()[0][1][0].default = 'changed'

        assert conf.list_opts()[0][1][0].default != 'changed'


class TestKnownOpts:

    def test_are_not_the_registered_objects(self, parsed):
        """A ConfigOpts marks an option when it is read under an old name."""
        config = parsed('[DEFAULT]\nrabbit_host = broker\n')
        config.set_default('rabbit_port', 7, 'oslo_messaging_rabbit')
        config.set_override('rabbit_port', 8, 'oslo_messaging_rabbit')
        registered = [
            config._get_opt_info(name, None if section == 'DEFAULT'
                                 else section)['opt']
            for section, name in sections.registered_names(config)]
        known = sections.known_opts()

        assert registered
        assert not {*map(id, registered)} & {*map(id, known.values())}
        assert known['oslo_messaging_rabbit', 'rabbit_port'].default == 5672


class TestRegistration:
    def test_two_configurations_are_independent(self, parsed):
        first, second = parsed(), parsed()
        first.set_override('max_attempts', 9, group='scheduler')

        assert second.scheduler.max_attempts == 3

    def test_libraries_may_register_their_options_again(self, parsed):
        config = parsed('[DEFAULT]\ntransport_url = fake://\n')

        oslo_messaging.get_rpc_transport(config)
        notifications = oslo_messaging.get_notification_transport(config)
        oslo_messaging.Notifier(notifications)
        for group, opts in libraries.list_lib_opts():
            config.register_opts(opts, group)

    def test_rpc_client_finds_metrics_and_tracing(self, parsed):
        """Groups that oslo.messaging registers globally are there too.

        Releases before 18.3 have no tracing.
        """
        config = parsed()
        importlib.import_module('oslo_messaging.rpc.client')
        registered = {group for group in cfg.CONF
                      if group.startswith('oslo_messaging_')}

        assert 'oslo_messaging_metrics' in config
        assert registered <= set(config)

    @pytest.mark.parametrize('gone', ['metrics', 'tracing'])
    def test_a_missing_part_of_a_library_hides_no_other_options(
            self, monkeypatch, gone):
        every = {'metrics', 'tracing'}
        for part in every:
            name = f'oslo_messaging_{part}'
            monkeypatch.setitem(
                sys.modules, f'oslo_messaging._{part}.client',
                types.SimpleNamespace(**{name: []}) if part != gone else None)

        assert {group for group, _ in libraries.list_unlisted_opts()
                if group and group.startswith('oslo_messaging_')} == {
            f'oslo_messaging_{part}' for part in every - {gone}}
