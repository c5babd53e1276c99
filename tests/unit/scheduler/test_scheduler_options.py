"""The operator's JSON file for plug-ins."""

import logging
import os

import pytest

from nova_sched.scheduler import filters
from nova_sched.scheduler.scheduler_options import SchedulerOptions
from tests.builders import hosts
from tests.builders import requests
from tests.builders.drivers import MemoryScheduler
from tests.builders.drivers import picks


@pytest.fixture
def path(tmp_path):
    return tmp_path / 'options.json'


def write(path, text):
    """Write the file with a new time stamp."""
    path.write_text(text)
    write.time += 1
    os.utime(path, ns=(write.time, write.time))


write.time = 10 ** 18


@pytest.mark.parametrize('content, found', [
    ('{"a": 1}', {'a': 1}), ('{', {})], ids=['good', 'broken'])
def test_are_read_again_when_the_file_changes(path, content, found, caplog):
    caplog.set_level('INFO')
    options = SchedulerOptions(str(path))
    write(path, content)
    assert options.get_configuration() == found
    write(path, '{"a": [2]}')

    assert options.get_configuration() == {'a': [2]}
    assert caplog.messages[-1] == f'Options for plug-ins read from {path}'


def test_are_read_again_when_an_older_file_takes_its_place(path):
    """A file of the same size and time stamp."""
    options = SchedulerOptions(str(path))
    write(path, '{"a": 1}')
    options.get_configuration()
    other = path.with_name('other.json')
    other.write_text('{"a": 2}')
    os.utime(other, ns=(write.time, write.time))
    other.replace(path)

    assert options.get_configuration() == {'a': 2}


@pytest.mark.parametrize('content', [
    b'{', b'[1]', b'[' * 100000, b'', b'\xff{}'])
def test_invalid_or_missing_file_keeps_the_last_options(path, content, caplog):
    """And is logged once."""
    options = SchedulerOptions(str(path))
    write(path, '{"a": 1}')
    options.get_configuration()
    path.write_bytes(content)

    for _ in range(2):
        assert options.get_configuration() == {'a': 1}
    assert [r.levelname for r in caplog.records
            if r.levelname == 'ERROR'] == ['ERROR']
    assert str(path) in caplog.text
    path.unlink()
    assert options.get_configuration() == {'a': 1}
    assert SchedulerOptions('').get_configuration() == {}


def test_each_read_of_a_changed_file_is_logged(path, caplog):
    caplog.set_level(logging.INFO)
    options = SchedulerOptions(str(path))
    for content in ('{}', '{"a": 1}'):
        write(path, content)
        options.get_configuration()
        options.get_configuration()

    assert caplog.messages == [f'Options for plug-ins read from {path}'] * 2


def test_a_directory_is_logged_once(path, caplog):
    options = SchedulerOptions(str(path.parent))

    assert options.get_configuration() == {} == options.get_configuration()
    assert [record.levelname for record in caplog.records] == ['ERROR']


class OptionFilter(filters.BaseHostFilter):
    def host_passes(self, host_state, filter_properties):
        wanted = filter_properties['config_options']['host']
        return wanted == host_state.host


class ChangingFilter(filters.BaseHostFilter):
    """Removes items from the options."""

    def host_passes(self, host_state, spec_obj):
        assert spec_obj.config_options is spec_obj['config_options']
        return spec_obj.config_options['hosts'].pop() == host_state.host


@pytest.mark.parametrize(('cls', 'content', 'found'), [
    (OptionFilter, '{"host": "b"}', 'b'),
    (ChangingFilter, '{"hosts": ["b", "a"]}', 'a')])
def test_reach_filters_and_are_not_changed(path, cls, content, found):
    """Changes by a plug-in end with the request."""
    write(path, content)
    scheduler = MemoryScheduler(
        hosts.a_host('a'), hosts.a_host('b'),
        available_filters=[f'{__name__}.{cls.__name__}'],
        enabled_filters=[cls.__name__],
        DEFAULT__scheduler_json_config_location=str(path))

    for _ in range(2):
        assert picks(scheduler, requests.a_request()) == [found]
