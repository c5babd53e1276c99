"""The codes of refusals: one a rule, each on the page."""

import re

import pytest

from nova_sched.plugins import loading as plugins
from nova_sched.rules import codes
from nova_sched.scheduler import filters
from tests.unit import doc_pages

#: Filters that reject no host.
SILENT = {'AllHostsFilter'}
BUILT_IN = {cls.__name__: cls for cls in plugins.all_filters()}


class GpuModelFilter(filters.BaseHostFilter):
    pass


class NamedFilter(filters.BaseHostFilter):
    code = 'gpu model!'


class SpoiltFilter(filters.BaseHostFilter):
    code = 7


@pytest.mark.parametrize('name', sorted(BUILT_IN.keys() - SILENT))
def test_each_built_in_filter_has_a_code_of_the_catalogue(name):
    code = codes.of_rule(name, BUILT_IN[name]())

    assert codes.CATALOGUE[code].stage == codes.FILTERS or (
        code == 'service_down')


@pytest.mark.parametrize('cls, code', [
    (GpuModelFilter, 'gpu_model'), (NamedFilter, 'gpu_model_'),
    (SpoiltFilter, 'spoilt')])
def test_a_plug_in_has_a_code_of_its_own_or_by_its_name(cls, code):
    assert codes.of_rule(cls.__name__, cls()) == code
    assert codes.stage(code) == codes.FILTERS


def test_a_plug_in_that_derives_from_a_built_in_keeps_its_code():
    class OurRamFilter(BUILT_IN['RamFilter']):
        pass

    assert codes.of_rule('OurRamFilter', OurRamFilter()) == 'ram'


def test_codes_are_identifiers():
    assert all(re.fullmatch('[a-z][a-z0-9_]*', name) and code.name == name
               and code.stage in codes.STAGES
               for name, code in codes.CATALOGUE.items())


def test_the_page_has_a_section_on_each_in_its_stage():
    page = doc_pages.PAGES['codes.rst']
    found, stage = {}, None
    for title, line in re.findall(r'^(\S.*)\n(=+|-+)$', page, re.MULTILINE):
        if line[0] == '=':
            stage = title.lower()
        else:
            found[title] = stage

    assert found == {name: code.stage
                     for name, code in codes.CATALOGUE.items()}


def test_the_page_explains_each_kind():
    page = doc_pages.PAGES['codes.rst']

    assert set(codes.KINDS) <= set(re.findall(r'^(\w+)\n   ', page,
                                              re.MULTILINE))
