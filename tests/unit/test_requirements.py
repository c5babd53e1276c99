"""requirements.txt lists the libraries that the package imports."""

import ast
from importlib import metadata
import pathlib
import re
import sys

from packaging import requirements
import pytest

import nova_sched

PACKAGE = pathlib.Path(nova_sched.__file__).parent
TOP = PACKAGE.parent


def normalized(name):
    return re.sub(r'[-_.]+', '-', name).lower()


def listed(file):
    """The lines of a file of requirements: {name: Requirement}."""
    lines = (line.partition('#')[0].strip()
             for line in (TOP / file).read_text().splitlines())
    listed = [requirements.Requirement(line) for line in lines if line]
    return {normalized(requirement.name): requirement
            for requirement in listed}


def imported():
    """Names of the libraries that the package's files import: set."""
    modules = set()
    for path in PACKAGE.rglob('*.py'):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                modules |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                modules.add(node.module)
    tops = {name.partition('.')[0] for name in modules}
    owners = metadata.packages_distributions()
    return {normalized(owner) for top in tops
            - set(sys.stdlib_module_names) - {'nova_sched'}
            for owner in owners[top]}


def test_every_requirement_is_imported_and_every_import_required():
    assert set(listed('requirements.txt')) == imported()


def test_the_installed_versions_satisfy_them():
    for name, required in listed('requirements.txt').items():
        assert required.specifier.contains(metadata.version(name)), name


@pytest.mark.parametrize('version', ['17.0.0', '18.2.0', '18.3.1'])
def test_tested_releases_of_oslo_messaging_are_allowed(version):
    """nova_sched/rpc uses private parts of the library."""
    required = listed('requirements.txt')['oslo-messaging'].specifier

    assert required.contains(version)
    assert not required.contains('19.0.0')


def test_constraints_satisfy_them():
    required = listed('requirements.txt')
    for name, pinned in listed('constraints-2026.2.txt').items():
        if name in required:
            [pin] = pinned.specifier
            assert required[name].specifier.contains(pin.version), name
