"""Every option is either read or listed as ignored."""

import pathlib
import re

import pytest

import nova_sched
from nova_sched import conf
from nova_sched.conf import keystone
from nova_sched.options import known_options
from nova_sched.options import sections

ROOT = pathlib.Path(nova_sched.__file__).parent
#: Modules of conf/ that read options instead of defining them.
READERS = {'checking.py', 'database.py', 'messaging.py', 'names.py',
           'settings.py'}
CODE = [path.read_text() for path in ROOT.rglob('*.py')
        if path.parent.name != 'conf' or path.name in READERS]

#: Read under composed names.
COMPOSED = {f'initial_{resource}_allocation_ratio'
            for resource in ('cpu', 'ram', 'disk')}
OWN = {(section.GROUP or 'DEFAULT', opt.dest)
       for section in sections.SECTIONS for opt in section.OPTS}
#: Read by keystoneauth1.
KEYSTONEAUTH = {(section.GROUP, opt.dest) for section in sections.WITH_LOG_IN
                for opt in keystone.options('any')}
HELP = {(str(getattr(group, 'name', group) or 'DEFAULT'), opt.dest): opt.help
        for group, opts in conf.list_opts() for opt in opts}
IGNORED = known_options.ignored()


def is_read(section, name):
    """Whether code reads an option: as an attribute or by its quoted name."""
    place = r'\bconf' if section == 'DEFAULT' else rf'\b{section}'
    pattern = re.compile(rf"{place}\.{name}\b|multiplier_name = '{name}'")
    return any(pattern.search(text) for text in CODE)


@pytest.mark.parametrize(('section', 'name'), IGNORED)
def test_an_ignored_option_is_not_read(section, name):
    assert not is_read(section, name)


@pytest.mark.parametrize(('section', 'name'), sorted(
    OWN - KEYSTONEAUTH - set(IGNORED)))
def test_another_option_is_named_in_code(section, name):
    assert name in COMPOSED or any(
        re.search(rf'\b{name}\b', text) for text in CODE)


@pytest.mark.parametrize(('section', 'name'), sorted(OWN))
def test_only_the_help_of_an_ignored_option_says_so(section, name):
    assert HELP[section, name].endswith(known_options.SENTENCE) == (
        (section, name) in IGNORED)


def test_the_table_names_existing_options():
    """Options of oslo.db depend on its release."""
    assert {(section, name) for section, name in IGNORED
            if 'database' not in section} <= set(sections.known_opts())
