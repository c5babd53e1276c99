"""What all tests share: profiles of hypothesis, and no silent skips."""

import hypothesis
import pytest

hypothesis.settings.register_profile(
    'default', deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.load_profile('default')


def pytest_addoption(parser):
    """--no-skips: a test that is skipped is a failure."""
    parser.addoption('--no-skips', action='store_true',
                     help='fail when any test was skipped')


def pytest_terminal_summary(terminalreporter, config):
    """Say so when skips are going to fail the run."""
    if config.getoption('--no-skips') and _skipped(terminalreporter):
        terminalreporter.write_line(
            'Tests were skipped, and --no-skips makes that a failure.',
            red=True)


def pytest_sessionfinish(session, exitstatus):
    """Turn skips into a failure of the run."""
    reporter = session.config.pluginmanager.get_plugin('terminalreporter')
    if (session.config.getoption('--no-skips') and reporter
            and _skipped(reporter) and exitstatus == pytest.ExitCode.OK):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def _skipped(reporter):
    return reporter.stats.get('skipped', [])
