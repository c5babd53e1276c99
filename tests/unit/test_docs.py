"""The pages in doc/ are complete and name existing things."""

import argparse
import configparser
import importlib
import json
import re
import shlex

from oslo_config import cfg
import pytest

from nova_sched import conf as config
from nova_sched.cmd import manage
from nova_sched.cmd.manage import specs
from nova_sched.objects import arguments
from nova_sched.objects import bounds
from nova_sched.plugins import loading as plugins
from tests.builders import rules
from tests.unit import doc_pages

FILTERS = {cls.__name__: cls for cls in plugins.all_filters()}
WEIGHERS = {cls.__name__: cls for cls in plugins.all_weighers()}
OPTIONS = {(str(getattr(group, 'name', group) or 'DEFAULT'), opt.dest): opt
           for group, opts in config.list_opts() for opt in opts}


@pytest.mark.parametrize('name', [*FILTERS, *WEIGHERS])
def test_a_rule_is_described_on_one_page(name):
    """In its own section, or in a shared section."""
    assert len([page for page in doc_pages.PAGES
                for title in doc_pages.headings(page)
                if name in title.split(', ')]) == 1


class Asked:
    """A configuration that records which options are read."""

    def __init__(self, conf, section='DEFAULT', read=None):
        self._conf, self._section = conf, section
        self.read = set() if read is None else read

    def __getattr__(self, name):
        value = getattr(self._conf, name)
        if isinstance(value, cfg.ConfigOpts.GroupAttr):
            return Asked(value, name, self.read)
        self.read.add((self._section, name))
        return value


def test_every_option_of_the_sample_that_a_rule_reads_is_explained():
    """An option that a weigher declares is explained in its file."""
    asked = Asked(rules.a_conf())
    for cls in (*FILTERS.values(), *WEIGHERS.values()):
        cls().configure(asked)

    assert asked.read & OPTIONS.keys() <= {
        (section, name) for _, section, name in doc_pages.options()}


@pytest.mark.parametrize('page, section, name', doc_pages.options())
def test_an_explained_option_exists(page, section, name):
    assert (section, name) in OPTIONS


@pytest.mark.parametrize('page, line', doc_pages.commands())
def test_commands_can_be_typed_as_printed(page, line):
    words = shlex.split(line)[1:]
    if words[0] == 'help':
        words = words[1:]
    app = manage.ManageApp()

    factory, name, arguments = app.command_manager.find_command(words)
    factory(app, None).get_parser(name).parse_args(arguments)


@pytest.mark.parametrize('page, text', [
    (page, text) for page, text in doc_pages.blocks('ini')
    if page != 'plugins.rst'])      # it names modules of the reader
def test_configurations_start_the_service(page, text, tmp_path):
    file = tmp_path / 'nova.conf'
    file.write_text(text)
    parser = configparser.ConfigParser()
    parser.read_string(text)

    assert plugins.problems(config.new_conf([], [str(file)])) == []
    assert {(section, name) for section in parser.sections()
            for name in parser[section]} <= OPTIONS.keys()


@pytest.mark.parametrize('page, text', doc_pages.blocks('json'))
def test_requests_have_only_known_fields(page, text, tmp_path):
    """And "request call --spec" accepts them."""
    file = tmp_path / 'spec.json'
    file.write_text(text)
    parser = argparse.ArgumentParser()
    specs.add_request_arguments(parser)

    made = arguments.from_wire(specs.build_spec(
        parser.parse_args(['--spec', str(file)]), rules.a_conf()))

    for part in (made, *(getattr(made, field) for field in json.loads(text))):
        assert not part.__dict__.get('_unknown')


@pytest.mark.parametrize('page', sorted({
    page for page in doc_pages.PAGES for title in doc_pages.headings(page)
    if title.split(', ')[0] in {**FILTERS, **WEIGHERS}}))
def test_a_page_about_rules_has_a_configuration_and_a_request(page):
    assert page in dict(doc_pages.blocks('ini'))
    assert any('request call' in line for found, line in doc_pages.commands()
               if found == page)


def test_the_picture_shows_classes_in_their_modules():
    steps = re.findall(r'^   (\w+): (\w+)/(\w+)\.py$',
                       doc_pages.PAGES['index.rst'], re.MULTILINE)

    assert len(steps) == 5
    for cls, folder, module in steps:
        assert hasattr(importlib.import_module(
            f'nova_sched.{folder}.{module}'), cls)


@pytest.mark.parametrize('page', doc_pages.PAGES)
def test_links_lead_to_files(page):
    folder = (doc_pages.SOURCE / page).parent

    assert [link for link in doc_pages.links(page)
            if not (folder / link).exists()] == []


@pytest.mark.parametrize('page', doc_pages.PAGES)
def test_titles_are_underlined_for_their_whole_length(page):
    """Sphinx warns about a shorter line."""
    assert [title for title, line in re.findall(
        r'^(\S.*)\n(=+)$', doc_pages.PAGES[page], re.MULTILINE)
        if len(line) < len(title)] == []


def test_no_option_allows_more_instances_than_the_page_on_limits():
    assert OPTIONS['nova_sched', 'max_instances_per_request'].type.max == (
        bounds.INSTANCES)
