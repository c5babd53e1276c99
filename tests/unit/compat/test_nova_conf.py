"""``nova.conf.CONF`` has the values of the service's files."""

from oslo_config import cfg
import pytest

from nova_sched import conf as config
from nova_sched.compat import nova_names
from nova_sched.compat.nova import conf as nova_conf

HERE = '[of_plug_in]\nwhere = here\n'

pytestmark = pytest.mark.usefixtures('fresh_nova_names')


@pytest.fixture(autouse=True)
def plug_in_options():
    cfg.CONF.register_opts([cfg.StrOpt('where'), cfg.StrOpt('else')],
                           'of_plug_in')


@pytest.fixture
def path(tmp_path):
    return tmp_path / 'nova.conf'


def read(path, text):
    path.write_text(text)
    nova_names.provide(config.new_conf([], [str(path)]))


def test_conf_is_oslo_config_s():
    from nova.conf import CONF

    assert CONF is cfg.CONF


def test_values_are_read_again_on_a_reload(path):
    """For options of this service and options of plug-ins."""
    read(path, f'{HERE}[filter_scheduler]\nmax_instances_per_host = 7\n')
    assert cfg.CONF.of_plug_in.where == 'here'
    assert cfg.CONF.filter_scheduler.max_instances_per_host == 7

    read(path, '[of_plug_in]\nwhere = there\n')
    assert cfg.CONF.of_plug_in.where == 'there'


def test_directories_are_read_in_their_order(tmp_path):
    for name, text in (('one', 'where = one\nelse = one\n'),
                       ('two', 'where = two\n')):
        (tmp_path / name).mkdir()
        (tmp_path / name / 'own.conf').write_text(f'[of_plug_in]\n{text}')
    for order in (('two', 'one'), ('one', 'two')):
        nova_names.provide(config.new_conf([
            f'--config-dir={tmp_path}/{name}' for name in order]))

        assert cfg.CONF.of_plug_in.where == order[-1]
        assert cfg.CONF.of_plug_in['else'] == 'one'


def test_added_file_is_read_without_a_moment_of_defaults(
        tmp_path, monkeypatch):
    """Other threads may read the values at the same time."""
    (tmp_path / 'one.conf').write_text('[of_plug_in]\nwhere = one\n')
    args = [f'--config-dir={tmp_path}']
    nova_names.provide(config.new_conf(args))
    (tmp_path / 'two.conf').write_text('[of_plug_in]\nwhere = two\n')
    monkeypatch.setattr(cfg.CONF, 'clear', None)
    nova_names.provide(config.new_conf(args))

    assert cfg.CONF.of_plug_in.where == 'two'


@pytest.mark.parametrize('text', [None, b'garbage', b'\x7fELF\xff'])
def test_unreadable_file_leaves_the_values(path, text):
    """And whether Placement is configured."""
    read(path, f'{HERE}[placement]\nauth_type = none\n')
    conf = config.new_conf([], [str(path)])
    path.unlink() if text is None else path.write_bytes(text)

    nova_names.provide(conf)

    assert cfg.CONF.of_plug_in.where == 'here'
    assert config.placement_configured(cfg.CONF)


@pytest.mark.parametrize(('name', 'today', 'text', 'value'), [
    ('ram_weight_multiplier', 'filter_scheduler', '3', 3.0),
    ('soft_affinity_weight_multiplier', 'filter_scheduler', '4', 4.0),
    ('max_io_ops_per_host', 'filter_scheduler', '5', 5),
    ('isolated_hosts', 'filter_scheduler', 'a,b', ['a', 'b']),
    ('scheduler_host_subset_size', 'filter_scheduler.host_subset_size', '7',
     7),
    ('scheduler_weight_classes', 'filter_scheduler.weight_classes',
     'mine.Weigher', ['mine.Weigher']),
    ('scheduler_available_filters', 'filter_scheduler.available_filters',
     'mine.Filter', ['mine.Filter']),
    ('scheduler_default_filters', 'filter_scheduler.enabled_filters',
     'RamFilter', ['RamFilter']),
    ('scheduler_max_attempts', 'scheduler.max_attempts', '9', 9),
    ('scheduler_driver_task_period', 'scheduler.periodic_task_interval', '11',
     11),
    ('scheduler_host_manager', 'scheduler.host_manager', 'host_manager',
     'nova.scheduler.host_manager.HostManager'),
    ('scheduler_host_manager', 'scheduler.host_manager', 'mine.Manager',
     'mine.Manager'),
    ('scheduler_driver', 'scheduler.driver', 'chance_scheduler',
     'nova.scheduler.chance.ChanceScheduler'),
    ('sql_connection', 'database.connection', 'sqlite:///one',
     'sqlite:///one')])
@pytest.mark.parametrize('is_old', [False, True])
def test_names_before_ocata_have_the_values_of_either_name(
        path, name, today, text, value, is_old):
    section, _, option = today.partition('.')
    section, option = ('DEFAULT', name) if is_old else (
        section, option or name)
    read(path, f'[{section}]\n{option} = {text}\n')

    assert cfg.CONF[name] == getattr(cfg.CONF, name) == value


def test_all_names_before_ocata_have_values(path):
    """Some were class paths."""
    read(path, '')

    assert {name for name, (section, today) in nova_conf._today().items()
            if cfg.CONF[name] != cfg.CONF[section][today]} == {
        'scheduler_driver', 'scheduler_host_manager'}


@pytest.mark.parametrize(('text', 'value'), [
    ('', 'theirs'), ('[scheduler]\nhost_manager = todays\n', 'todays'),
    ('[DEFAULT]\nscheduler_host_manager = old\n', 'old')])
def test_default_of_a_plug_in_s_option_comes_last(path, text, value,
                                                  monkeypatch):
    monkeypatch.setattr(nova_conf, 'CONF', made := cfg.ConfigOpts())
    made.register_opts([
        cfg.StrOpt('scheduler_host_manager', default='theirs')])
    read(path, text)

    assert made.scheduler_host_manager == value


def test_configuration_of_another_program_is_left_alone(path, monkeypatch):
    """It may run a scheduler, and have options of its own."""
    monkeypatch.setattr(cfg.CONF, 'prog', 'all-in-one')

    read(path, HERE)

    assert cfg.CONF.of_plug_in.where is None
