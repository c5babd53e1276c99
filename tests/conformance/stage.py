"""A recorded cloud in a database, with parts of the scheduler on it."""

import contextlib
import datetime
import json
import pathlib
import shutil
import tempfile
import types
from unittest import mock

from nova_sched import conf as config
from nova_sched.cloud import file as cloud_file
from nova_sched.db import engine
from nova_sched.db import schema
from nova_sched.scheduler import host_manager
from tests.conformance import offers
from tests.conformance import vectors


class Stages:
    """Loads clouds into databases, one at a time."""

    def __init__(self, folder):
        self._folder = folder
        self._directory = tempfile.TemporaryDirectory()
        self._empty = pathlib.Path(self._directory.name) / 'empty.sqlite'
        database = engine.Database(f'sqlite:///{self._empty}')
        schema.sync_database(database)
        database.close()
        self._name = self._stage = None

    def close(self):
        """Remove the databases."""
        self._directory.cleanup()

    def of(self, case):
        """The Stage with the cloud of a case."""
        if case['cloud'] != self._name:
            path = self._empty.with_name('cloud.sqlite')
            shutil.copy(self._empty, path)
            self._stage = Stage(self._folder.cloud(case['cloud']), path)
            self._name = case['cloud']
        return self._stage


class Stage:
    """One cloud in a database, at the time of its recording."""

    def __init__(self, cloud, path):
        self.cloud = cloud
        self._url = f'sqlite:///{path}'
        database = engine.Database(self._url)
        cloud_file.load(database.engine, cloud)
        database.close()
        self._managers = {}
        now = datetime.datetime.fromisoformat(cloud['now'])
        self._clock = types.SimpleNamespace(
            time=now.replace(tzinfo=datetime.UTC).timestamp)

    @contextlib.contextmanager
    def frozen(self):
        """Set the scheduler's clock to the cloud's time for a block."""
        with mock.patch.object(host_manager, 'time', self._clock):
            yield

    def conf(self, case, **filter_scheduler_options):
        """The options of a case, with its release's defaults."""
        conf = config.new_conf([], [])
        conf.set_override('connection', self._url, 'database')
        for options in (vectors.ERA_DEFAULTS[case['era']], case['config'],
                        {'filter_scheduler': filter_scheduler_options}):
            for group, values in options.items():
                for name, value in values.items():
                    conf.set_override(name, value,
                                      None if group == 'DEFAULT' else group)
        return conf

    def hosts(self, case, conf):
        """All hosts for the filters of a case: a HostSnapshot."""
        key = json.dumps([case['era'], conf.scheduler.host_manager,
                          case['config'].get('DEFAULT')], sort_keys=True)
        if key not in self._managers:
            manager = host_manager.load_host_manager(conf)
            manager.refresh()
            self._managers[key] = manager
        manager = self._managers[key]
        table = manager.view().table
        with self.frozen():
            return manager.snapshot(
                table, manager.instances(), offer=offers.offered(
                    case, table.columns['uuid'].values))
