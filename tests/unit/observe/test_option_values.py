"""The values of options, in a form that may be logged."""

from keystoneauth1 import loading
from oslo_config import cfg
import pytest

from nova_sched import conf as config
from nova_sched.observe import option_values
from tests.builders.case_tables import case_table


@pytest.fixture
def path(tmp_path):
    """An empty configuration file."""
    path = tmp_path / 'nova.conf'
    path.touch()
    return path


@pytest.fixture
def conf(path):
    """The configuration of the file."""
    return config.new_conf([], [str(path)])


@pytest.fixture
def reread(conf, path):
    """A function: new text of the file -> the changes."""
    seen = option_values.OptionValues(conf)

    def reread_as(text):
        path.write_text(text)
        conf.reload_config_files()
        return seen.changes()
    return reread_as


def test_a_changed_option_has_its_name_and_both_values(reread):
    assert reread('[scheduler]\nmax_attempts = 5\n') == (
        '[scheduler] max_attempts: 3 became 5')


def test_changes_are_in_order(reread):
    assert reread('[scheduler]\nmax_attempts = 5\n'
                  '[DEFAULT]\ndebug = true\nhost = \n') == (
        '[DEFAULT] debug: False became True; '
        f'[DEFAULT] host: {config.new_conf([], []).host} became unset; '
        '[scheduler] max_attempts: 3 became 5')


def test_changes_are_reported_once(reread):
    reread('[scheduler]\nmax_attempts = 5\n')
    assert reread('[scheduler]\nmax_attempts = 5\n') == 'nothing changed'


@case_table('observe-option-values', 'passwords')
def test_no_change_tells_a_password(reread, text):
    told = reread(text)
    option = text.splitlines()[1].partition(' =')[0]
    assert f'{option}: ' in told
    assert 'geheim' not in told
    assert 'heim' not in told
    assert option_values.MASK in told


def test_options_of_plug_ins_are_secret_by_their_names(conf):
    """Their authors may forget to say that they are secret."""
    secrets = ['rack_password', 'passcode', 'rack_passphrase', 'rack_passwd',
               'api_key', 'code']
    others = ['rack_height', 'keyboard', 'codec', 'passes', 'key_size']
    conf.register_opts([cfg.StrOpt(name, default='geheim')
                        for name in (*secrets, *others)], 'own')

    assert option_values.masked(conf, option_values.read(conf))['own'] == (
        dict.fromkeys(secrets, option_values.MASK)
        | dict.fromkeys(others, 'geheim'))


def test_an_option_that_is_registered_as_secret_is_masked(conf):
    """Whatever its name, and whichever its section."""
    for section in ('own', 'DEFAULT', 'placement'):
        conf.register_opts([cfg.StrOpt('pin', default='geheim', secret=True)],
                           None if section == 'DEFAULT' else section)
        assert option_values.masked(conf, option_values.read(conf))[section][
            'pin'] == option_values.MASK


def test_a_secret_of_a_log_in_is_masked(conf, path):
    """It is known only when the log-in has registered it."""
    path.write_text('[placement]\nauth_type = v3totp\n'
                    'passcode = geheim\nusername = u\n'
                    'user_domain_name = d\nauth_url = http://h/\n')
    conf.reload_config_files()
    loading.load_auth_from_conf_options(conf, 'placement')
    shown = option_values.masked(conf, option_values.read(conf))['placement']
    assert (shown['passcode'], shown['username']) == (option_values.MASK, 'u')


def test_a_change_of_a_secret_is_told_without_it(conf, reread):
    conf.register_opts([cfg.StrOpt('pin', secret=True)], 'own')
    assert reread('[own]\npin = geheim\n') == 'nothing changed'
    assert reread('[own]\npin = anders\n') == ('[own] pin: **** became ****')


@pytest.mark.parametrize(('section', 'name'), [
    ('scheduler', 'max_attempts'), ('DEFAULT', 'debug')])
def test_an_option_that_cannot_be_read_is_left_out(conf, path, section, name):
    path.write_text(f'[{section}]\n{name} = many\n')
    conf.reload_config_files()
    found = option_values.read(conf)
    assert (section, name) not in found
    assert {('scheduler', 'workers'), ('DEFAULT', 'host')} <= found.keys()


@pytest.mark.parametrize(('value', 'text'), [
    (None, 'unset'), ('', 'unset'), (0, '0'), (False, 'False'), ([], '[]')])
def test_only_what_is_nothing_is_unset(conf, value, text):
    for section, name, expected in (
            ('scheduler', 'max_attempts', text),
            ('DEFAULT', 'transport_url',
             text if text == 'unset' else option_values.MASK)):
        shown = option_values.masked(conf, {(section, name): value})
        assert shown[section][name] == expected
