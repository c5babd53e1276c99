"""A nova.conf of each era starts the service that it describes.

A second file has only the test's broker, database and log.
"""

import json
import pathlib

import pytest

from nova_sched import exception
from tests.functional import conftest
from tests.functional import processes
from tests.functional import stage as stages

pytestmark = pytest.mark.real

_FILES = pathlib.Path(__file__).parents[1] / 'data' / 'nova-conf'

_COMMON = ['RetryFilter', 'AvailabilityZoneFilter']
_PROPERTIES = ['ComputeFilter', 'ComputeCapabilitiesFilter',
               'ImagePropertiesFilter', 'ServerGroupAntiAffinityFilter',
               'ServerGroupAffinityFilter']
_ALL_WEIGHERS = {'RAMWeigher', 'DiskWeigher', 'IoOpsWeigher', 'CPUWeigher'}
_NOWHERE = {'policy': 'affinity', 'hosts': ['nowhere']}

# Era: driver, filters, weighers, a request that the last effective filter
# refuses, and the number of alternates.
ERAS = {
    'kilo': ('filter_scheduler',
             [*_COMMON, 'RamFilter', 'CoreFilter', 'DiskFilter',
              *_PROPERTIES],
             {'RAMWeigher', 'IoOpsWeigher'}, {'group': _NOWHERE}, 3),
    'mitaka': ('filter_scheduler',
               [*_COMMON, 'RamFilter', 'DiskFilter', *_PROPERTIES,
                'CoreFilter'],
               _ALL_WEIGHERS, {'vcpus': 1000}, 2),
    'queens': ('caching_scheduler',
               [*_COMMON, *_PROPERTIES, 'AllHostsFilter'],
               _ALL_WEIGHERS, {'group': _NOWHERE}, 4),
}


@pytest.fixture(params=ERAS)
def era(request):
    return request.param


@pytest.fixture
def stage(era, tmp_path):
    """A Stage on the exchange that the files name or imply."""
    with conftest.open_stage(tmp_path,
                             DEFAULT__control_exchange='nova') as stage:
        yield stage


@pytest.fixture
def config_files(era, stage):
    """The era's file, and the second file."""
    where = stages.write_config(
        stage.directory / 'where.conf',
        DEFAULT__transport_url=stage.transport_url,
        DEFAULT__log_dir=stage.directory,
        DEFAULT__log_file='service.log',
        # The broker of the tests has no certificate.
        oslo_messaging_rabbit__ssl=False,
        database__connection=stage.database_url,
        api_database__connection=stage.database_url)
    return [_FILES / f'{era}.conf', where]


def test_file_of_an_era_runs_its_driver_and_filters(
        stage, era, config_files):
    """The service answers, and its log names the filters that ran."""
    _, filters, _, refused, alternates = ERAS[era]
    stage.cloud(8)
    stage.start(config_files)
    log = stage.directory / 'service.log'
    processes.until(
        lambda: log.exists() and 'Serving requests' in log.read_text(),
        'it serves')
    caller = stage.client()
    (chosen,) = stages.names(caller.ask())
    assert len(set(chosen)) == 1 + alternates
    with pytest.raises(exception.NoValidHost):
        caller.ask(**refused)
    line, = [line for line in log.read_text().splitlines()
             if 'Filtering removed all hosts' in line]
    ran = [word.partition(':')[0] for word in line.split("'")
           if '(start: ' in word]
    assert ran == [name for name in filters if name != 'AllHostsFilter']
    assert 'Traceback' not in log.read_text()


def test_config_check_lists_driver_filters_and_weighers_of_an_era(
        stage, era, config_files):
    """It has no findings."""
    driver, filters, weighers, _, _ = ERAS[era]
    output = processes.manage(
        *(word for path in config_files for word in ('--config-file', path)),
        'config', 'check', '-f', 'json')
    texts = {row['option']: row['text'] for row in json.loads(output)
             if row['level'] == 'ok'}
    assert texts['driver'] == driver
    assert texts['filters'].split(', ') == filters
    named = {text.split()[0] for text in texts['weighers'].split(', ')}
    assert weighers <= named
    if era == 'kilo':
        assert weighers == named
