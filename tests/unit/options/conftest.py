import pathlib

import pytest

from nova_sched import conf


@pytest.fixture
def parsed(tmp_path):
    """A function: the text of a file -> the configuration it makes."""
    def parse(text=''):
        path = tmp_path / 'nova.conf'
        path.write_text(text)
        return conf.new_conf([], [str(path)])
    return parse


@pytest.fixture
def era(tmp_path):
    """A function: the name of an era -> the configuration of its file.

    Its log is in a directory that is there.
    """
    data = pathlib.Path(__file__).parents[2] / 'data' / 'nova-conf'
    return lambda name: conf.new_conf(['--log-dir', str(tmp_path)],
                                      [str(data / f'{name}.conf')])
