"""The service on each supported release of oslo.messaging.

It uses private parts of oslo.messaging, so tests run on the release that is
not installed here, too.  pip installs it into a folder of this environment,
which comes first on the Python path of these processes.
"""

import importlib.metadata
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import pytest

from tests.functional import processes

pytestmark = pytest.mark.real

TOP = pathlib.Path(__file__).parents[2]
#: The release of OpenStack 2026.2, and the next release.
RELEASES = ('18.2', '18.3')
#: Seconds for pip, and for the repeated tests.
PATIENCE = 1800
#: Tests of private parts, and of all messages to Nova of that release.
AGAIN = ('tests/unit/rpc', 'tests/unit/options/test_options.py',
         'tests/functional/test_wire.py')
NOT_AGAIN = 'not queens and not test_are_used_by_no_other_module'


def installed(release):
    return importlib.metadata.version('oslo.messaging').startswith(
        f'{release}.')


def fetched(release):
    """The folder with a release, installed if need be."""
    folder = pathlib.Path(sys.prefix) / 'oslo.messaging' / release
    if folder.exists():
        return folder
    folder.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as made:
        target = pathlib.Path(made) / release
        subprocess.run(
            [sys.executable, '-m', 'pip', 'install', '-q', '--no-deps',
             '--disable-pip-version-check', '--target', target,
             f'oslo.messaging=={release}.*'], check=True, timeout=PATIENCE)
        target.rename(folder)
    return folder


def environ(release):
    """Additional variables of a process that uses a release."""
    if installed(release):
        return {}
    return {'PYTHONPATH': str(fetched(release))}


def run(release, *words):
    """Run Python on a release: its output, or an assertion."""
    done = subprocess.run(
        [sys.executable, *words], cwd=TOP, text=True, capture_output=True,
        env={**os.environ, **environ(release)}, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    return done.stdout


@pytest.mark.parametrize('release', RELEASES)
def test_caller_gets_its_answer(stage, release):
    """Service and caller both use the release."""
    stage.cloud(4)
    stage.daemon(environ=environ(release))
    with processes.running(
            'nova-sched-manage',
            ['--config-file', stage.config_file(), 'request', 'call',
             '-f', 'json'],
            stage.directory / 'call.log', environ(release)) as caller:
        assert caller.wait() == 0, caller.text
    assert json.loads(caller.text)
    assert run(release, '-c', (
        'import importlib.metadata; '
        'print(importlib.metadata.version("oslo.messaging"))')).startswith(
            f'{release}.')


@pytest.mark.parametrize('release', [
    release for release in RELEASES if not installed(release)])
def test_private_parts_work_on_the_other_release(release):
    """Messages and options are the same."""
    run(release, '-m', 'pytest', '-q', '-p', 'no:cacheprovider',
        '-k', NOT_AGAIN, *AGAIN)
