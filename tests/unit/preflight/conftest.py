"""Setups of configurations."""

import pytest

from nova_sched import conf as config
from nova_sched.preflight.startup import Setup


@pytest.fixture
def setup_of(tmp_path):
    """Function: the text of a configuration file -> its Setup."""
    def make(text=''):
        path = tmp_path / 'nova.conf'
        path.write_text(text)
        return Setup(config.new_conf([], [str(path)]))
    return make
