"""The service on each release of oslo.messaging that it is to run with.

Parts of oslo.messaging are used that it keeps to itself, so the same is tried
on the release that is not installed here. It is fetched with pip into a
folder of this environment, which comes first on the path of whoever is to use
it.
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
#: That of OpenStack 2026.2, and the one after it.
RELEASES = ('18.2', '18.3')
#: Seconds for pip, and for the tests that are run once more.
PATIENCE = 1800
#: What uses private parts, or sees all that is sent to Nova of that release.
AGAIN = ('tests/unit/rpc', 'tests/unit/options/test_options.py',
         'tests/functional/test_wire.py')
NOT_AGAIN = 'not queens and not test_are_used_by_no_other_module'


def installed(release):
    return importlib.metadata.version('oslo.messaging').startswith(
        f'{release}.')


def fetched(release):
    """The folder with a release; fetched, whole or not at all, if need be."""
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
    """The variables to add to those of a process that is to use a release."""
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
def test_a_caller_gets_its_answer(stage, release):
    """Both the service and its caller are on the release."""
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
def test_what_uses_private_parts_works(release):
    """Nothing is sent, and no option read, in another way."""
    run(release, '-m', 'pytest', '-q', '-p', 'no:cacheprovider',
        '-k', NOT_AGAIN, *AGAIN)
