"""The service without nova_sched.compat: as if that were not installed."""

import pathlib
import shutil
import subprocess

import pytest

import nova_sched
from nova_sched import context
from nova_sched import exception
from nova_sched.scheduler.client import query
from tests.builders import requests
from tests.functional import conftest
from tests.functional import processes
from tests.functional import stage as stages

pytestmark = pytest.mark.real

_NOT_INSTALLED = ('needs the package nova_sched.compat; it is not installed')
#: A filter, by the package that it imports.
_FILTER = """
from {package}.scheduler import filters


class Named(filters.BaseHostFilter):
    def host_passes(self, host_state, spec_obj):
        return host_state.host == 'fake-0002'
"""
#: A driver with Nova's arguments, by the package that it imports.
_DRIVER = """
from {package}.scheduler import driver


class Own(driver.Scheduler):
    def select_destinations(self, context, spec_obj):
        return []
"""


@pytest.fixture(scope='module')
def package(tmp_path_factory):
    """The directory of a copy of nova_sched without its folder compat."""
    directory = tmp_path_factory.mktemp('package')
    shutil.copytree(
        pathlib.Path(nova_sched.__file__).parent, directory / 'nova_sched',
        ignore=lambda path, names: {'compat', '__pycache__'} & {*names})
    # An editable installation would find the folder in the checkout.
    (directory / 'sitecustomize.py').write_text(
        'import sys\n'
        'sys.meta_path[:] = [finder for finder in sys.meta_path\n'
        '                    if "__editable__" not in str(finder)]\n')
    for package in ('nova', 'nova_sched'):
        for name, text in (('filter', _FILTER), ('driver', _DRIVER)):
            (directory / f'{name}_of_{package}.py').write_text(
                text.format(package=package))
    return directory


@pytest.fixture
def stage(tmp_path):
    with conftest.open_stage(tmp_path) as stage:
        stage.cloud(4)
        yield stage


@pytest.fixture
def start(stage, package):
    """Function of options that starts a daemon; its Program."""
    def start(**options):
        daemon = processes.Program(
            *processes.command_line('nova-sched'),
            ['--config-file', stage.config_file(**options)],
            stage.directory / 'nova-sched.log',
            {'PYTHONPATH': str(package)})
        stage._exit.callback(daemon.end)
        daemon.wait_for_lines('Serving requests')
        return daemon
    return start


@pytest.fixture
def checked(stage, package):
    """Function of options: exit code and output of ``config check``."""
    def checked(**options):
        ended = subprocess.run(
            [*processes.command_line('nova-sched-manage'), '--config-file',
             stage.config_file(**options), 'config', 'check'],
            env={'PYTHONPATH': str(package)}, capture_output=True,
            text=True, timeout=processes.PATIENCE)
        return ended.returncode, ended.stdout + ended.stderr
    return checked


def select_below_4_5(stage, version):
    """The answer to a caller under a version cap: a dict an instance."""
    options = {'upgrade_levels__scheduler': version}
    client = query.SchedulerQueryClient(stage.configuration(**options),
                                        stage.transport(**options))
    spec = requests.a_request()
    return client.select_destinations(context.RequestContext(), spec,
                                      [spec.instance_uuid])


def test_callers_of_4_3_and_later_are_answered(stage, start):
    start(filter_scheduler__available_filters=[
              'nova.scheduler.filters.all_filters',
              'filter_of_nova_sched.Named'],
          filter_scheduler__enabled_filters='ComputeFilter,Named')

    assert stages.picks(stage.client().ask()) == ['fake-0002']
    for version in ('4.4', '4.3'):
        [picked] = select_below_4_5(stage, version)
        assert picked['host'] == 'fake-0002'


def test_dicts_of_callers_below_4_3_are_refused_by_name(stage, start):
    start()

    with pytest.raises(exception.InvalidInput, match=(
            r'RPC version 4\.3 need the package nova_sched\.compat')):
        select_below_4_5(stage, '4.2')


@pytest.mark.parametrize(('options', 'name'), [
    ({'filter_scheduler__available_filters': [
        'nova.scheduler.filters.all_filters', 'filter_of_nova.Named']},
     'filter_of_nova'),
    ({'scheduler__driver': 'driver_of_nova.Own'}, 'driver_of_nova')])
def test_plug_ins_that_import_nova_are_refused_by_name(checked, options,
                                                       name):
    code, output = checked(**options)

    assert code == 2, output
    assert name in output
    assert _NOT_INSTALLED in ' '.join(output.split())


def test_driver_with_arguments_of_nova_is_refused_by_name(checked):
    code, output = checked(scheduler__driver='driver_of_nova_sched.Own')

    assert code == 2, output
    assert 'driver_of_nova_sched.Own' in output
    assert ('drivers that are written for Nova need the package '
            'nova_sched.compat') in ' '.join(output.split())
