"""The sample configuration, which operators read instead of the code."""

import pathlib

from oslo_config import cfg
from oslo_config import generator

import nova_sched

SAMPLE = (pathlib.Path(nova_sched.__file__).parents[1]
          / 'etc/nova-sched/nova-sched.conf.sample')


def test_the_sample_has_every_option_with_its_help(tmp_path):
    """``tox -e genconfig`` updates it."""
    conf, fresh = cfg.ConfigOpts(), tmp_path / 'sample'
    generator.register_cli_opts(conf)
    conf(['--namespace', 'nova_sched', '--wrap-width', '79',
          '--output-file', str(fresh)])
    generator.generate(conf)

    sample = SAMPLE.read_text().split('\n\n')
    assert [block for block in fresh.read_text().split('\n\n')
            if block not in sample] == []
