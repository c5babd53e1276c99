"""A full nova.conf of each release works as in its release."""

import pathlib
import tomllib

import pytest

from nova_sched import conf

RESULTS = tomllib.loads(pathlib.Path(__file__).parents[2].joinpath(
    'data', 'nova-conf', 'results.toml').read_text())


@pytest.mark.parametrize('name', RESULTS)
def test_the_file_has_no_errors(era, name):
    """Except for TLS files that do not exist here."""
    assert [error.option for error in conf.check(era(name))] == (
        ['[oslo_messaging_rabbit] kombu_ssl_ca_certs'] if name == 'mitaka'
        else [])


@pytest.mark.parametrize('name', RESULTS)
def test_options_of_other_services_are_not_misspelt(era, name):
    assert conf.unknown_options(era(name)) == []


@pytest.mark.parametrize('name', RESULTS)
def test_options_have_the_results_of_their_release(era, name):
    expected, config = dict(RESULTS[name]), era(name)
    expected |= dict.fromkeys(expected.pop('none'))

    found = {name: getattr(conf, name)(config) for name in expected}
    assert found | {'fallback_ratios': [*found['fallback_ratios']]} == expected
