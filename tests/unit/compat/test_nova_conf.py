"""``nova.conf.CONF`` holds what the service's files hold."""

from oslo_config import cfg
import pytest

from nova_sched import conf as config
from nova_sched.compat import nova_names
from nova_sched.compat.nova import conf as nova_conf
from tests.builders.rules import a_conf

pytestmark = pytest.mark.usefixtures('nova_names_anew')


class TestConf:
    """The global configuration."""

    @pytest.fixture
    def path(self, tmp_path):
        return tmp_path / 'nova.conf'

    @pytest.fixture(autouse=True)
    def global_conf(self):
        cfg.CONF.register_opts([cfg.StrOpt('where')], 'of_plug_in')
        yield
        nova_conf.follow(a_conf())

    def read(self, path, text):
        path.write_text(text)
        nova_names.provide(config.new_conf([], [str(path)]))

    def test_is_oslo_configs_own(self):
        from nova.conf import CONF

        assert CONF is cfg.CONF

    def test_holds_our_options_and_those_of_plug_ins(self, path):
        self.read(path, '[of_plug_in]\nwhere = here\n'
                        '[filter_scheduler]\nmax_instances_per_host = 7\n')

        assert cfg.CONF.of_plug_in.where == 'here'
        assert cfg.CONF.filter_scheduler.max_instances_per_host == 7

    def test_follows_the_files(self, path):
        """As at SIGHUP: whoever loads plug-ins anew provides it anew."""
        self.read(path, '[of_plug_in]\nwhere = here\n')
        self.read(path, '[of_plug_in]\nwhere = there\n')

        assert cfg.CONF.of_plug_in.where == 'there'

    def test_holds_what_all_directories_hold_in_their_order(self, tmp_path):
        """Each directory behind the file before it, as the service reads."""
        for name, text in (('one', 'where = one\nelse = one\n'),
                           ('two', 'where = two\n')):
            (tmp_path / name).mkdir()
            (tmp_path / name / 'own.conf').write_text(f'[of_plug_in]\n{text}')
        cfg.CONF.register_opts([cfg.StrOpt('else')], 'of_plug_in')
        nova_names.provide(config.new_conf([
            f'--config-dir={tmp_path}/two', f'--config-dir={tmp_path}/one']))

        assert cfg.CONF.of_plug_in.where == 'one'
        assert cfg.CONF.of_plug_in['else'] == 'one'
        nova_names.provide(config.new_conf([
            f'--config-dir={tmp_path}/one', f'--config-dir={tmp_path}/two']))
        assert cfg.CONF.of_plug_in.where == 'two'
        assert cfg.CONF.of_plug_in['else'] == 'one'

    def test_is_not_read_from_scratch_when_a_file_is_added(
            self, tmp_path, monkeypatch):
        """Whoever reads it meanwhile would see defaults."""
        (tmp_path / 'one.conf').write_text('[of_plug_in]\nwhere = one\n')
        args = [f'--config-dir={tmp_path}']
        nova_names.provide(config.new_conf(args))
        (tmp_path / 'two.conf').write_text('[of_plug_in]\nwhere = two\n')
        monkeypatch.setattr(cfg.CONF, 'clear', None)
        nova_names.provide(config.new_conf(args))

        assert cfg.CONF.of_plug_in.where == 'two'

    @pytest.mark.parametrize('text', [None, b'garbage', b'\x7fELF\xff'])
    def test_keeps_its_values_when_the_files_are_gone(self, path, text):
        """And what placement_configured looks for in them."""
        self.read(path, '[of_plug_in]\nwhere = here\n'
                        '[placement]\nauth_type = none\n')
        conf = config.new_conf([], [str(path)])
        if text is None:
            path.unlink()
        else:
            path.write_bytes(text)

        nova_names.provide(conf)

        assert cfg.CONF.of_plug_in.where == 'here'
        assert config.placement_configured(cfg.CONF)

    @pytest.mark.parametrize(('name', 'today', 'text', 'value'), [
        ('ram_weight_multiplier', 'filter_scheduler', '3', 3.0),
        ('soft_affinity_weight_multiplier', 'filter_scheduler', '4', 4.0),
        ('max_io_ops_per_host', 'filter_scheduler', '5', 5),
        ('isolated_hosts', 'filter_scheduler', 'a,b', ['a', 'b']),
        ('scheduler_host_subset_size', 'filter_scheduler.host_subset_size',
         '7', 7),
        ('scheduler_weight_classes', 'filter_scheduler.weight_classes',
         'mine.Weigher', ['mine.Weigher']),
        ('scheduler_available_filters', 'filter_scheduler.available_filters',
         'mine.Filter', ['mine.Filter']),
        ('scheduler_default_filters', 'filter_scheduler.enabled_filters',
         'RamFilter', ['RamFilter']),
        ('scheduler_max_attempts', 'scheduler.max_attempts', '9', 9),
        ('scheduler_driver_task_period', 'scheduler.periodic_task_interval',
         '11', 11),
        ('scheduler_host_manager', 'scheduler.host_manager', 'host_manager',
         'nova.scheduler.host_manager.HostManager'),
        ('scheduler_host_manager', 'scheduler.host_manager', 'mine.Manager',
         'mine.Manager'),
        ('scheduler_driver', 'scheduler.driver', 'chance_scheduler',
         'nova.scheduler.chance.ChanceScheduler'),
        ('sql_connection', 'database.connection', 'sqlite:///one',
         'sqlite:///one'),
    ])
    @pytest.mark.parametrize('is_old', [False, True])
    def test_has_what_either_name_is_given_by_the_name_before_ocata(
            self, path, name, today, text, value, is_old):
        section, _, now = today.partition('.')
        section, now = ('DEFAULT', name) if is_old else (section, now or name)
        self.read(path, f'[{section}]\n{now} = {text}\n')

        assert cfg.CONF[name] == getattr(cfg.CONF, name) == value

    def test_has_all_names_before_ocata(self, path):
        self.read(path, '')
        wrong = {
            name: (section, today) for name, (section, today)
            in nova_conf._today().items()
            if cfg.CONF[name] != cfg.CONF[section][today]}

        # Their values were class paths.
        assert wrong == {'scheduler_driver': ('scheduler', 'driver'),
                         'scheduler_host_manager': ('scheduler',
                                                    'host_manager')}

    @pytest.mark.parametrize(('text', 'value'), [
        ('', 'theirs'),
        ('[scheduler]\nhost_manager = todays\n', 'todays'),
        ('[DEFAULT]\nscheduler_host_manager = old\n', 'old')])
    def test_of_a_name_that_a_plug_in_registers_has_the_default_of_it_last(
            self, path, text, value, monkeypatch):
        monkeypatch.setattr(nova_conf, 'CONF', made := cfg.ConfigOpts())
        made.register_opts([
            cfg.StrOpt('scheduler_host_manager', default='theirs')])
        self.read(path, text)

        assert made.scheduler_host_manager == value

    def test_of_another_program_is_left_alone(self, path, monkeypatch):
        """One that runs a scheduler inside, and has options of its own."""
        monkeypatch.setattr(cfg.CONF, 'prog', 'all-in-one')

        self.read(path, '[of_plug_in]\nwhere = here\n')

        assert cfg.CONF.of_plug_in.where is None
