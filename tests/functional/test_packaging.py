"""The installed files, and their places in doc/source/installing.rst.

The tree is copied without git, as from an archive; an sdist is built from the
copy, and a wheel from the sdist.
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile

import pytest

TOP = pathlib.Path(__file__).parents[2]
PAGE = (TOP / 'doc' / 'source' / 'installing.rst').read_text()
UNIT = 'share/nova-sched/nova-sched.service'
#: The virtual environment in the page and in the unit.
HOME = '/opt/nova-sched'

_BUILD = """
import sys
import pbr.build
print(pbr.build.build_sdist(sys.argv[1]))
"""


def run(*words, cwd=None):
    """Run a command; return its output."""
    done = subprocess.run(list(map(str, words)), cwd=cwd, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == 0, done.stdout
    return done.stdout


def pip(*words):
    """Run pip without an index."""
    run(sys.executable, '-m', 'pip', *words, '--no-deps', '--no-index')


@pytest.fixture(scope='module')
def sdist(tmp_path_factory):
    """Path of an sdist of the tree without git."""
    made = tmp_path_factory.mktemp('sdist')
    tree = made / 'tree'
    shutil.copytree(TOP, tree, ignore=shutil.ignore_patterns(
        '.*', '__pycache__', '*.egg-info', 'tests', 'benchmarks', 'build',
        'dist'))
    name = run(sys.executable, '-c', _BUILD, made, cwd=tree).split()[-1]
    return made / name


@pytest.fixture(scope='module')
def wheel(sdist):
    """Path of a wheel of the sdist."""
    pip('wheel', '--no-build-isolation', '-w', sdist.parent, sdist)
    [path] = sdist.parent.glob('*.whl')
    return path


@pytest.fixture(scope='module')
def home(wheel, tmp_path_factory):
    """Path of a virtual environment with the wheel, without dependencies."""
    path = tmp_path_factory.mktemp('opt') / 'nova-sched'
    run(sys.executable, '-m', 'venv', '--without-pip', path)
    pip('--python', path / 'bin' / 'python', 'install',
        '--no-compile', wheel)
    return path


def metadata(wheel, name):
    """The text of a file of a wheel's metadata."""
    with zipfile.ZipFile(wheel) as files:
        [path] = [path for path in files.namelist()
                  if path.endswith(f'.dist-info/{name}')]
        return files.read(path).decode()


def test_archive_without_git_has_the_next_version(wheel):
    assert wheel.name == 'nova_sched-0.1.0.dev0-py3-none-any.whl'


def test_wheel_requires_all_dependencies(wheel):
    needs = re.findall('^Requires-Dist: [^;\n]+$',
                       metadata(wheel, 'METADATA'), re.MULTILINE)
    assert len(needs) == len(
        (TOP / 'requirements.txt').read_text().splitlines())


def test_wheel_has_no_nova_scheduler_script(wheel):
    """Another distribution has that script."""
    scripts = re.findall('^(\\S+) = nova_sched.cmd:',
                         metadata(wheel, 'entry_points.txt'), re.MULTILINE)
    assert scripts == ['nova-sched', 'nova-sched-manage']


def test_sdist_has_the_pages_and_etc(sdist):
    with tarfile.open(sdist) as files:
        found = {name.partition('/')[2] for name in files.getnames()}

    assert {str(path.relative_to(TOP)) for path in (
        *TOP.glob('doc/source/**/*.rst'), *TOP.glob('etc/**/*.service'),
        *TOP.glob('etc/**/*.sample'),
        *TOP.glob('etc/**/*.logrotate'))} <= found


def test_all_paths_in_the_page_are_installed(home):
    named = set(re.findall(rf'{HOME}/([\w./-]*[\w-])', PAGE))

    assert {'bin/nova-sched-manage', UNIT} <= named
    assert {name for name in named - {'bin/pip'}
            if not (home / name).exists()} == set()


def test_each_page_is_installed(home):
    pages = TOP / 'doc' / 'source'

    assert {path.relative_to(pages) for path in pages.rglob('*.rst')} == {
        path.relative_to(home / 'share/doc/nova-sched')
        for path in (home / 'share/doc/nova-sched').rglob('*.rst')}


def test_wheel_has_schemas_templates_and_styles(wheel):
    with zipfile.ZipFile(wheel) as files:
        found = {*files.namelist()}

    wanted = {str(path.relative_to(TOP)) for path
              in (TOP / 'nova_sched').rglob('*.*')
              if path.suffix not in ('.py', '.pyc')}
    assert {'nova_sched/page/page.html.j2', 'nova_sched/page/page.css',
            'nova_sched/cmd/manage/plan.schema.json'} <= wanted
    assert wanted <= found


@pytest.mark.real
def test_systemd_accepts_the_unit(home, tmp_path):
    """Its program exists at the page's place."""
    unit = tmp_path / 'nova-sched.service'
    unit.write_text((home / UNIT).read_text().replace(HOME, str(home)))

    assert f'ExecStart={home}/bin/nova-sched\n' in unit.read_text()
    assert run('systemd-analyze', 'verify', unit) == ''


@pytest.mark.real
def test_sysusers_creates_the_unit_s_user(home, tmp_path):
    user, group = re.findall('^(?:User|Group)=(.*)$',
                             (home / UNIT).read_text(), re.MULTILINE)
    (tmp_path / 'etc').mkdir()

    run('systemd-sysusers', f'--root={tmp_path}',
        home / 'share/nova-sched/nova-sched-sysusers.conf')

    assert (tmp_path / 'etc/passwd').read_text().startswith(f'{user}:')
    assert (tmp_path / 'etc/group').read_text().startswith(f'{group}:')
