"""A document as HTML, and as a file."""

import base64
import hashlib
import os
import re
import stat

import pytest

from nova_sched.page import writing
from nova_sched.printable import printable
from tests.builders import documents
from tests.builders import html_pages
from tests.builders.case_tables import case_table

VERDICTS = {'a': (), 'b': (), 'c': ('RamFilter',), 'd': ('RamFilter', 'X')}
EVIL = '<script>alert(1)</script>"\'&'
#: What ends a line, moves the cursor, or turns the text around.
ODD = '\n\x1b[2J\a\x00\x9b\u202e'


def figure(**amounts):
    return {'what': 'RAM', 'kind': 'left'} | amounts


def a_why_not(host, **fields):
    return {'host': host, 'fits': False, 'rank': 3, 'among': 3, 'picked': 'a',
            'rejected_by': [
                documents.a_verdict('RamFilter', 'too small', [figure(
                    need_mb=8192, have_mb=2048, lacking_mb=6144)]),
                documents.a_verdict('ComputeFilter', 'service disabled')],
            'weighers': [{'weigher': 'RAMWeigher', 'score': 1.0,
                          'picked_score': 4.0, 'gain': -3.0}],
            'error': ''} | fields


#: Documents of all kinds, with all parts.
DOCUMENTS = {
    'a decision': documents.a_decision(),
    'a refusal': documents.a_decision('refused'),
    'a failure': documents.a_decision(
        'failed', reason='it broke', filters=[], best=[], rejected=[],
        passed={'hosts': 0, 'named': []}, asked=None),
    'an explanation': documents.an_explanation(
        documents.a_decision(), VERDICTS, documents.a_pick('a'),
        why_not=[a_why_not('c')]),
    'an explained refusal': documents.an_explanation(
        documents.a_decision('refused'), {'c': ('RamFilter',)}, changes=[
            {'kind': 'filter_off', 'change': {'filter': 'RamFilter'},
             'sentence': 'without RamFilter the request is placed'}]),
    'a plan': documents.a_plan(VERDICTS, pick=documents.a_pick('a')),
    'a refused plan': documents.a_plan({'c': ('RamFilter',)}, 'refused'),
    'a plan without rules': documents.a_plan(
        VERDICTS, why=None, schedule_info=None, best=[]),
    'a plan of many': documents.a_plan(documents.of_many(500)),
}


def page(document):
    return html_pages.Page(writing.html(document))


def with_codes(document):
    """The document with codes for programs."""
    document['schedule_info'][0]['filters'][0]['code'] = 'no_ram'
    return document | {'kind': 'no_capacity', 'code': 'filters_left_none'}


@pytest.fixture(params=DOCUMENTS)
def each(request):
    """The page of each of the DOCUMENTS."""
    return page(DOCUMENTS[request.param])


class TestForm:
    def test_ids_are_one_elements_each_and_all_that_are_named_exist(
            self, each):
        ids = [attributes['id'] for _, attributes, _ in each.elements
               if 'id' in attributes]

        assert len(ids) == len(set(ids))
        assert {attributes['aria-labelledby']
                for _, attributes, _ in each.elements
                if 'aria-labelledby' in attributes} <= set(ids)

    def test_nothing_leads_out_of_it(self, each):
        assert not re.search(r'https?:|url\(|@import', each.text)
        assert not {'src', 'href', 'style', 'action'} & {
            name for _, attributes, _ in each.elements for name in attributes}
        assert not {'script', 'link', 'img', 'iframe', 'form'} & {
            tag for tag, _, _ in each.elements}

    def test_its_policy_allows_its_own_style_and_nothing_else(self, each):
        [style] = [text for text, around in each.texts
                   if around[-1:] == ('style',)]
        digest = base64.b64encode(hashlib.sha256(style.encode()).digest())

        [policy] = each.all('meta',
                            **{'http-equiv': 'Content-Security-Policy'})
        assert policy['content'] == (
            f"default-src 'none'; style-src 'sha256-{digest.decode()}'; "
            "base-uri 'none'; form-action 'none'")

    def test_it_has_language_title_landmarks_and_one_heading(self, each):
        assert each.all('html') == [{'lang': 'en'}]
        assert each.words('head', 'title').endswith('| nova_sched')
        assert [len(each.all(tag)) for tag in (
            'header', 'main', 'footer', 'h1')] == [1] * 4

    def test_each_input_is_below_a_label(self, each):
        assert all('label' in around for tag, _, around in each.elements
                   if tag == 'input')


@pytest.mark.parametrize('document', [
    documents.a_decision(), documents.a_plan(VERDICTS),
    documents.an_explanation(
        documents.a_decision(), VERDICTS, documents.a_pick('a'),
        why_not=[a_why_not('c')])], ids=['decision', 'plan', 'explanation'])
def test_no_text_from_outside_is_markup(document):
    """Whatever is a text in the document, it is shown as one."""
    keep = {'outcome', 'operation', 'source', 'version', 'result', 'kind'}

    def spoiled(value, name=None):
        if isinstance(value, dict):
            return {key: spoiled(each, key) for key, each in value.items()}
        if isinstance(value, list):
            return [spoiled(each) for each in value]
        return (value + EVIL + ODD if isinstance(value, str)
                and name not in keep else value)
    found = page(spoiled(document))

    assert not found.all('script')
    assert EVIL in found.words('h1') or EVIL in found.words('main')
    assert found.text.count(EVIL) == 0
    assert not [each for each in found.text if not each.isprintable()
                and each != '\n']
    assert f'{EVIL}{printable(ODD)}' in found.words('main') + found.words('h1')


class TestColours:
    @pytest.fixture(params=[0, 1], ids=['light', 'dark'])
    def colours(self, request):
        """{name: luminance} of the light or the dark."""
        schemes = re.findall(r':root \{(.*?)\}',
                             writing.html(documents.a_decision()), re.DOTALL)
        return {name: luminance(value) for name, value in re.findall(
            r'--(\w+): (#\w+);', schemes[request.param])}

    @pytest.mark.parametrize('ground', ['card', 'ground', 'track'])
    @pytest.mark.parametrize('ink', ['ink', 'muted', 'accent', 'bad', 'good'])
    def test_text_can_be_read(self, colours, ink, ground):
        assert contrast(colours[ink], colours[ground]) >= 4.5

    @pytest.mark.parametrize('name', [f'c{i}' for i in range(9)] + ['left'])
    def test_drawings_can_be_seen(self, colours, name):
        assert contrast(colours[name], colours['card']) >= 3


def luminance(colour):
    """The relative luminance of #rgb or #rrggbb, as of WCAG."""
    digits = colour[1:] if len(colour) == 7 else ''.join(
        digit * 2 for digit in colour[1:])
    parts = [int(digits[i:i + 2], 16) / 255 for i in (0, 2, 4)]
    red, green, blue = (part / 12.92 if part <= 0.04045
                        else ((part + 0.055) / 1.055) ** 2.4
                        for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(*luminances):
    return (max(luminances) + 0.05) / (min(luminances) + 0.05)


class TestContent:
    @pytest.mark.parametrize('name, headline', [
        ('a decision', '1 instance placed'),
        ('a refusal', 'No valid host for 1 instance'),
        ('a failure', 'The request for 1 instance failed'),
        ('a plan', '1 instance would be placed'),
        ('a refused plan', 'No valid host for 1 instance')])
    def test_the_headline_is_the_outcome(self, name, headline):
        assert headline in page(DOCUMENTS[name]).words('h1')

    @case_table('page-writing', 'headings')
    def test_has_the_sections_for_the_content_of_the_document(
            self, name, headings):
        assert page(DOCUMENTS[name]).headings() == headings

    @pytest.mark.parametrize('count', [12, 500, 10000])
    def test_every_host_has_a_cell(self, count):
        found = page(documents.a_plan(documents.of_many(count)))
        cells = [attributes for tag, attributes, _ in found.elements
                 if tag == 'li' and 'tabindex' in attributes]

        words = found.words('ul', 'li', 'p').split()
        assert len(cells) == count
        assert {*documents.names(count)} <= {*words}
        assert len(found.text) < 3_000_000

    def test_each_group_can_be_hidden_by_its_line_of_the_legend(self):
        found = page(documents.a_plan(documents.of_many(100)))
        groups = {attributes['class'].split()[0][1:]
                  for attributes in found.all('li', tabindex='-1')}

        assert {attributes['id'] for attributes in found.all(
            'input', type='checkbox')} == {f'show-{group}' for group in groups}
        assert all(f'#show-{group}:not(:checked)) .cells .g{group}'
                   in found.text for group in groups)

    def test_has_a_tie_and_its_seed(self):
        document = documents.a_plan(VERDICTS, pick=documents.a_pick(
            'a', tied=5, drawn=True))

        words = page(document).words('main')
        assert '5 are as good: one was drawn, by the seed 42.' in words
        assert ('It is first because of RAMWeigher (+2.00); against it '
                f'IoOpsWeigher ({writing.MINUS}1.00). '
                'Without RAMWeigher b would be first.') in words

    def test_has_figures_of_a_host_that_lacks_something(self):
        words = page(DOCUMENTS['an explanation']).words('article')

        assert 'RAM left , MB 8,192 2,048 6,144' in words
        assert 'ComputeFilter : service disabled' in words
        assert 'It would be number 3 of 3 hosts that fit.' in words
        assert f'RAMWeigher +1 +4 {writing.MINUS}3' in words

    def test_has_what_would_help(self):
        assert 'without RamFilter the request is placed' in page(
            DOCUMENTS['an explained refusal']).words('ol')

    def test_many_instances_that_are_alike_have_one_line(self):
        document = documents.a_plan(documents.of_many(50))
        document['filters'] = [step for i in range(200) for step
                               in documents.steps(('RamFilter', 50, 49 - i % 2
                                                   ), instance=i)]
        document['request']['instances'] = 200
        found = page(document)

        assert len(found.all('details')) <= 4
        assert ('Instances 2 to 200, alike: from 50 to 48'
                in found.words('details'))

    def test_notes_an_incomplete_search_for_changes(self):
        document = documents.a_plan({'c': ('RamFilter',)}, 'refused',
                                    changes_complete=False)

        assert 'There was no time to try all changes' in page(document).words(
            'section')

    def test_has_codes_where_the_document_has(self):
        found = page(with_codes(documents.a_plan(
            {'a': ('RamFilter',)}, 'refused')))

        assert found.words('header').count('no_capacity') == 1
        assert found.words('header', 'code') == 'filters_left_none'
        assert 'no_ram' in found.words('label', 'code')

    def test_notes_limits_of_the_explanation(self):
        document = documents.a_plan(VERDICTS)
        document['why']['matrix'] |= {
            'forced': True, 'not_asked': ['TrustedFilter'],
            'errors': {'OddFilter': 'broken'}}

        assert ('The request forces hosts, so no filter runs. '
                'TrustedFilter does not run: it queries other services. '
                'OddFilter failed: broken') in page(document).words('header')


class TestFile:
    def test_takes_the_place_of_another_page(self, tmp_path):
        """Behind a link; it is for the group of its owner."""
        path, link = tmp_path / 'page.html', tmp_path / 'link.html'
        link.symlink_to('page.html')
        for outcome in ('refused', 'placed'):
            writing.write(link, documents.a_decision(outcome))

        assert link.is_symlink()
        assert {*tmp_path.iterdir()} == {path, link}
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
        assert path.read_text() == writing.html(documents.a_decision())

    @pytest.mark.parametrize('text', [
        '[DEFAULT]\n', '', '<!DOCTYPE html>\n<html>',
        '# <!DOCTYPE html><title>A | nova_sched</title>',
        '<!DOCTYPE html>' + ' ' * 2000 + ' | nova_sched</title>'])
    def test_leaves_any_other_file_as_it_is(self, tmp_path, text):
        """Such as the configuration, or another page."""
        path = tmp_path / 'nova.conf'
        path.write_text(text)
        with pytest.raises(FileExistsError, match='not a page of this'):
            writing.write(path, documents.a_decision())

        assert [*tmp_path.iterdir()] == [path]
        assert path.read_text() == text

    def test_leaves_nothing_behind_on_failure(self, tmp_path):
        (tmp_path / 'page.html').mkdir()
        with pytest.raises(OSError):
            writing.write(tmp_path / 'page.html', documents.a_decision())

        assert [path.name for path in tmp_path.iterdir()] == ['page.html']

    def test_leaves_a_fifo_as_it_is(self, tmp_path):
        """Such as /dev/stdout."""
        os.mkfifo(tmp_path / 'page.html')
        with pytest.raises(OSError, match='it is not a file'):
            writing.write(tmp_path / 'page.html', documents.a_decision())

        assert (tmp_path / 'page.html').is_fifo()

    def test_may_have_half_a_character(self, tmp_path):
        path = tmp_path / 'page.html'
        writing.write(path, documents.a_decision(
            'refused', reason='half \ud800 of it'))

        assert r'half \ud800 of it' in path.read_text()
