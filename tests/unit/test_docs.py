"""The pages in doc/ name all that there is, by its right names."""

import argparse
import configparser
import json
import pathlib
import re
import shlex

from oslo_config import cfg
import pytest

from nova_sched import conf as config
from nova_sched.cmd import manage
from nova_sched.cmd.manage import specs
from nova_sched.objects import arguments
from nova_sched.plugins import loading as plugins
from nova_sched.rules import nova_classes
from tests.builders import rules
from tests.unit import doc_pages

FILTERS = {cls.__name__: cls for cls in plugins.all_filters()}
WEIGHERS = {cls.__name__: cls for cls in plugins.all_weighers()}
OPTIONS = {(str(getattr(group, 'name', group) or 'DEFAULT'), opt.dest): opt
           for group, opts in config.list_opts() for opt in opts}
NOVAS = {name for modules in (nova_classes.FILTER_MODULES,
                              nova_classes.WEIGHER_MODULES)
         for names in modules.values() for name in names}
TYPES = {cfg.types.Integer: 'integer', cfg.types.Float: 'number',
         cfg.types.String: 'string', cfg.types.Boolean: 'boolean',
         cfg.types.List: 'list'}


#: (index page, rule, page of its own or None, other cells)
ROWS = [(index, name, *row)
        for index in ('filters/index.rst', 'weighers/index.rst')
        for name, row in doc_pages.table(index).items()]


def test_the_index_lists_all_filters_by_name():
    assert list(doc_pages.table('filters/index.rst')) == sorted(FILTERS)


def test_the_index_lists_all_weighers_in_the_order_they_run():
    assert list(doc_pages.table('weighers/index.rst')) == list(WEIGHERS)


@pytest.mark.parametrize('index, name, link, _cells', ROWS)
def test_a_rule_is_described_on_the_one_page_its_index_links_to(
        index, name, link, _cells):
    """And on none, if all that there is to say stands in the index."""
    pages = [str(pathlib.Path(index).parent / link)] if link else []

    assert [page for page in doc_pages.PAGES
            for title in doc_pages.headings(page)
            if name in title.split(', ')] == pages


@pytest.mark.parametrize('index, name, link, _cells', ROWS)
def test_a_rule_of_novas_has_a_page(index, name, link, _cells):
    assert link or name not in NOVAS


@pytest.mark.parametrize('name, cells', [
    (name, cells) for _, name, _, cells in ROWS if name in FILTERS])
def test_the_index_says_when_a_filter_runs_and_who_removed_it(name, cells):
    once, rebuild, gone = cells[1:]

    assert (once, rebuild) == tuple(
        'yes' if flag else '-' for flag in (
            FILTERS[name].run_filter_once_per_request,
            FILTERS[name].RUN_ON_REBUILD))
    assert gone in nova_classes.REMOVED_FILTERS.get(name, '-')


@pytest.mark.parametrize('name, cells', [
    (name, cells) for _, name, _, cells in ROWS if name in WEIGHERS])
def test_the_index_says_how_much_a_weigher_counts(name, cells):
    assert float(cells[1]) == rules.configured(WEIGHERS[name]).multiplier


class Asked:
    """A configuration that notes which options are read."""

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
    """What a weigher declares itself is explained in its own file."""
    asked = Asked(rules.a_conf())
    for cls in (*FILTERS.values(), *WEIGHERS.values()):
        cls().configure(asked)

    assert asked.read & OPTIONS.keys() <= {
        (section, name) for _, section, name, _ in doc_pages.options()}


@pytest.mark.parametrize('page, section, name, words', doc_pages.options())
def test_an_option_stands_with_its_type_default_and_bound(
        page, section, name, words):
    opt = OPTIONS[section, name]
    kind = 'list' if opt.multi else next(
        TYPES[cls] for cls in type(opt.type).__mro__ if cls in TYPES)
    least = getattr(opt.type, 'min', None)

    assert words == f'{kind}, default {shown(opt.default)}' + (
        '' if least is None else f', at least {least:g}')


def shown(default):
    """A default as the pages write it: text in double backquotes."""
    if isinstance(default, bool):
        return str(default).lower()
    if isinstance(default, (int, float)):
        return str(default)
    if default is None:
        return 'unset'
    text = ','.join(default) if isinstance(default, list) else default
    return f'``{text}``' if text else 'empty'


@pytest.mark.parametrize('page, line', doc_pages.commands())
def test_commands_can_be_typed_as_they_stand(page, line):
    words = shlex.split(line)[1:]
    if words[0] == 'help':
        words = words[1:]
    app = manage.ManageApp()

    factory, name, arguments = app.command_manager.find_command(words)
    factory(app, None).get_parser(name).parse_args(arguments)


@pytest.mark.parametrize('page, text', [
    (page, text) for page, text in doc_pages.blocks('ini')
    if page != 'plugins.rst'])      # which names modules of the reader
def test_configurations_start_the_service(page, text, tmp_path):
    file = tmp_path / 'nova.conf'
    file.write_text(text)
    parser = configparser.ConfigParser()
    parser.read_string(text)

    assert plugins.problems(config.new_conf([], [str(file)])) == []
    assert {(section, name) for section in parser.sections()
            for name in parser[section]} <= OPTIONS.keys()


@pytest.mark.parametrize('page, text', doc_pages.blocks('json'))
def test_requests_have_only_fields_that_there_are(page, text, tmp_path):
    """And "request call --spec" takes them as they are."""
    file = tmp_path / 'spec.json'
    file.write_text(text)
    parser = argparse.ArgumentParser()
    specs.add_request_arguments(parser)

    made = arguments.from_wire(specs.build_spec(
        parser.parse_args(['--spec', str(file)])))

    for part in (made, *(getattr(made, field) for field in json.loads(text))):
        assert not part.__dict__.get('_unknown')


@pytest.mark.parametrize('page', sorted({
    page for page in doc_pages.PAGES for title in doc_pages.headings(page)
    if title.split(', ')[0] in {**FILTERS, **WEIGHERS}}))
def test_a_page_about_rules_has_a_configuration_and_a_request(page):
    assert page in dict(doc_pages.blocks('ini'))
    assert any('request call' in line for found, line in doc_pages.commands()
               if found == page)


@pytest.mark.parametrize('page', doc_pages.PAGES)
def test_links_lead_to_files(page):
    folder = (doc_pages.SOURCE / page).parent

    assert [link for link in doc_pages.links(page)
            if not (folder / link).exists()] == []


@pytest.mark.parametrize('page', doc_pages.PAGES)
def test_titles_are_underlined_for_their_whole_length(page):
    """Else they are no titles to those who build the pages."""
    assert [title for title, line in re.findall(
        r'^(\S.*)\n(=+)$', doc_pages.PAGES[page], re.MULTILINE)
        if len(line) < len(title)] == []
