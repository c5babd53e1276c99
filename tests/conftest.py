"""Options, hooks and fixtures for all tests, and settings of hypothesis."""

import collections
import gc
import logging
import os
import tempfile

import hypothesis
from kombu.transport import memory
import pytest

# Import nova_sched before oslo.messaging: it selects native threads.
import nova_sched  # noqa: F401
from tests.builders import examples
from tests.builders import log_lines

# Imported modules and collected tests are never garbage. Scanning them took a
# fifth of the time before the first test.
gc.disable()

# oslo.messaging sets this to zero, which makes each wait for a message on
# the in-memory transport a busy loop.
memory.Transport.polling_interval = property(
    lambda self: 0.002, lambda self, value: None)

#: The log lines that the tests of this process emit, and of its workers.
EMITTED = set()

#: The environment variable with the folder of tests/functional/shared.py.
SHARED = 'NOVA_SCHED_TEST_SHARED'

# No deadline: a property must not fail because the machine is busy. Random
# examples belong to the runs that search for faults: a run that gates changes
# must fail because of the change.
hypothesis.settings.register_profile(
    'project', deadline=None, derandomize=examples.ALL not in os.environ,
    suppress_health_check=[hypothesis.HealthCheck.too_slow])
# For ``tox -e search``: many more examples.
hypothesis.settings.register_profile(
    'search', hypothesis.settings.get_profile('project'),
    derandomize=False, max_examples=10_000, print_blob=True)
hypothesis.settings.load_profile('project')


def pytest_addoption(parser):
    parser.addoption(
        '--no-skips', action='store_true',
        help='report skipped tests and expected failures as failures')
    parser.addoption(
        '--all-log-lines', action='store_true',
        help='fail for lines of log-lines.rst that no test emits')


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config):
    """Run all tests of a file in one worker, so they share servers."""
    if (config.getoption('numprocesses', None)
            and config.getoption('dist') == 'no'):
        config.option.dist = 'loadfile'
        # Keep the order of pytest_collection_modifyitems.
        config.option.loadscopereorder = False


def pytest_collection_modifyitems(config, items):
    """Run the slowest files first.

    Properties come first. Among files with real servers the ones with few
    tests are slow, among other files the ones with many.
    """
    if hasattr(config, 'workerinput'):
        counts = collections.Counter(item.path for item in items)
        real = {item.path for item in items
                if item.get_closest_marker('real')}
        items.sort(key=lambda item: (
            'properties' not in item.path.parts,
            counts[item.path] * (1 if item.path in real else -1)))


def pytest_collection_finish():
    """Collect garbage again, except from objects that exist by now."""
    gc.freeze()
    gc.enable()


def pytest_configure(config):
    """Make the folder that workers share and name it in the environment."""
    if config.getoption('--all-log-lines'):
        log_lines.watch(EMITTED)
    if SHARED not in os.environ:
        folder = tempfile.TemporaryDirectory(prefix='nova-sched-')
        config.add_cleanup(folder.cleanup)
        config.add_cleanup(lambda: os.environ.pop(SHARED))
        os.environ[SHARED] = folder.name


def pytest_sessionfinish(session, exitstatus):
    """Fail with --all-log-lines if no test emits a documented line."""
    config = session.config
    if not config.getoption('--all-log-lines'):
        return
    if hasattr(config, 'workeroutput'):
        config.workeroutput['log lines'] = _encodable([*EMITTED])
    elif not exitstatus and not config.getoption('keyword'):
        reporter = config.pluginmanager.get_plugin('terminalreporter')
        for line in log_lines.unemitted(EMITTED):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
            reporter.write_line(f'no test emits {line}', red=True)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    """Add the lines that a worker's tests emitted."""
    EMITTED.update(map(tuple, getattr(node, 'workeroutput', {}).get(
        'log lines', ())))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    return _failed_if_skipped(item.config, report)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    report = yield
    return _failed_if_skipped(collector.config, report)


def _failed_if_skipped(config, report):
    if config.getoption('--no-skips') and report.outcome == 'skipped':
        report.outcome = 'failed'
        report.longrepr = (
            f'Skipped, which --no-skips forbids: {report.longrepr}')
        if hasattr(report, 'wasxfail'):
            del report.wasxfail
    return report


@pytest.hookimpl(wrapper=True)
def pytest_report_to_serializable():
    """Escape lone surrogates, so that workers can send their reports."""
    return _encodable((yield))


def _encodable(part):
    if isinstance(part, str):
        return part.encode(errors='backslashreplace').decode()
    if isinstance(part, dict):
        return {name: _encodable(value) for name, value in part.items()}
    if isinstance(part, list | tuple):
        return type(part)(map(_encodable, part))
    return part


@pytest.fixture(autouse=True)
def logging_as_it_was():
    """Restore the process's logging setup after each test."""
    manager = logging.root.manager
    loggers = [logging.root, *(found for found in manager.loggerDict.values()
                               if isinstance(found, logging.Logger))]
    kept = [(log, log.level, log.propagate, log.disabled, log.handlers[:])
            for log in loggers]
    disabled = manager.disable
    factory = logging.getLogRecordFactory()
    yield
    logging.setLogRecordFactory(factory)
    logging.disable(disabled)
    for log, level, log.propagate, log.disabled, handlers in kept:
        # Each call clears the level caches of all loggers.
        if log.level != level:
            log.setLevel(level)
        log.handlers[:] = handlers
