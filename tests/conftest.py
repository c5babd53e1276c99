"""What all tests share: options of the test run, and hypothesis' settings."""

import collections
import gc
import logging
import os
import tempfile

import hypothesis
from kombu.transport import memory
import pytest

# Before a test imports oslo.messaging: it chooses native threads.
import nova_sched  # noqa: F401

# What is imported and collected stays; to look through it for garbage takes a
# fifth of the time until the first test.
gc.disable()

# oslo.messaging sets this to zero, by which whoever waits for a message in
# memory keeps a processor busy.
memory.Transport.polling_interval = property(
    lambda self: 0.002, lambda self, value: None)

#: The variable that names the folder of tests/functional/shared.py.
SHARED = 'NOVA_SCHED_TEST_SHARED'

# A loaded machine must not make a property fail.
hypothesis.settings.register_profile(
    'project', deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow])
# For ``tox -e search``, which takes its time.
hypothesis.settings.register_profile(
    'search', hypothesis.settings.get_profile('project'),
    max_examples=10_000, print_blob=True)
hypothesis.settings.load_profile('project')


def pytest_addoption(parser):
    parser.addoption(
        '--no-skips', action='store_true',
        help='a test or file that is skipped, or expected to fail, fails')


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config):
    """Give all tests of a file to one worker: they share what is costly."""
    if (config.getoption('numprocesses', None)
            and config.getoption('dist') == 'no'):
        config.option.dist = 'loadfile'
        # Workers have them in another order: the following one.
        config.option.loadscopereorder = False


def pytest_collection_modifyitems(config, items):
    """Have workers begin with the files that take longest.

    These are of files that need servers the ones with few tests, of others
    properties, and then the ones with many.
    """
    if hasattr(config, 'workerinput'):
        counts = collections.Counter(item.path for item in items)
        real = {item.path for item in items
                if item.get_closest_marker('real')}
        items.sort(key=lambda item: (
            'properties' not in item.path.parts,
            counts[item.path] * (1 if item.path in real else -1)))


def pytest_collection_finish():
    """Look for garbage in what tests make, not in what there was before."""
    gc.freeze()
    gc.enable()


def pytest_configure(config):
    """Have a folder for what workers share; they find it in the environment.
    """
    if SHARED not in os.environ:
        folder = tempfile.TemporaryDirectory(prefix='nova-sched-')
        config.add_cleanup(folder.cleanup)
        config.add_cleanup(lambda: os.environ.pop(SHARED))
        os.environ[SHARED] = folder.name


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
    """Let reports with halves of characters pass between processes."""
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
    """Undo what a test does to the process's logging by setting it up."""
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
        # Each call empties what all loggers remember.
        if log.level != level:
            log.setLevel(level)
        log.handlers[:] = handlers
