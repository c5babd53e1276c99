"""From a document to HTML, and to a file."""

import base64
import contextlib
import errno
import functools
import hashlib
import os
import pathlib
import re
import tempfile

import jinja2

from nova_sched.explain import explanation
from nova_sched.explain import words
from nova_sched.hosts import decision
from nova_sched.page import facts as facts_
from nova_sched.page import funnel
from nova_sched.page import host_map
from nova_sched.page import weights
from nova_sched.printable import printable

#: Only for the service's group: a page tells of hosts and of other projects.
MODE = 0o640

#: What a page is known by, and within how many bytes.
_TITLE, _HEAD = re.compile(rb'<!DOCTYPE html>.* \| nova_sched</title>',
                           re.DOTALL), 2000

#: What is said of a decision, and of a plan, by their outcomes.
_HEADLINES = {
    decision.PLACED: ('{} placed', '{} would be placed'),
    decision.REFUSED: ('No valid host for {}', 'No valid host for {}'),
    decision.FAILED: ('The request for {} failed',) * 2}

#: What people read before a number; '-' joins words.
MINUS = '\N{MINUS SIGN}'

#: Ending of the names of amounts -> the unit that people read.
_UNITS = {'mb': 'MB', 'gb': 'GB', 'vcpus': 'VCPUs'}


def write(path, document):
    """Write the page of a document, a dict, to a file, all of it or nothing.

    The file is new, or such a page.
    Raises OSError, also for what is there and is no page.
    """
    path, text = pathlib.Path(path).resolve(), html(document)
    if path.exists() and not path.is_dir():
        _check_page(path)
    file, made = tempfile.mkstemp(dir=path.parent, prefix=f'.{path.name}.')
    try:
        with open(file, 'w', encoding='utf-8',
                  errors='backslashreplace') as opened:
            os.fchmod(file, MODE)
            opened.write(text)
        os.replace(made, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(made)
        raise


def _check_page(path):
    """Raise FileExistsError for what is no page that was written here."""
    if not path.is_file():
        raise FileExistsError(errno.EEXIST, 'it is no file', str(path))
    with open(path, 'rb') as opened:
        if not _TITLE.match(opened.read(_HEAD)):
            raise FileExistsError(
                errno.EEXIST, 'what is there is no page of this command',
                str(path))


def html(document):
    """Return the page of a document of ``decision show``, ``decision explain``
    or ``request plan``, a dict: text.
    """
    facts = facts_.of(document)
    loader = _environment().loader
    style = loader.get_source(_environment(), 'page.css')[0]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest())
    return _environment().get_template('page.html.j2').render(
        style=style, style_hash=f'sha256-{digest.decode()}', **_context(facts))


@functools.cache
def _environment():
    made = jinja2.Environment(
        loader=jinja2.PackageLoader('nova_sched', 'page'), autoescape=True,
        trim_blocks=True, lstrip_blocks=True, finalize=_shown)
    made.filters |= {'whole': '{:,}'.format, 'number': _number,
                     'signed': _signed, 'moment': facts_.moment,
                     'together': host_map.together}
    return made


def _shown(value):
    """Return a value of a template as it is written, before it is escaped.

    What the template itself has made, which is HTML, is so already.
    """
    return (printable(value) if isinstance(value, str)
            and not hasattr(value, '__html__') else value)


def _context(facts):
    """Return what the template shows: dict."""
    why = facts.why.get('why') or {}
    return {
        'facts': facts, 'headline': _headline(facts), 'document':
        facts.document, 'asked': facts_.requested(facts),
        'state': facts_.state(facts), 'notes': _notes(facts),
        'funnels': _funnels(facts),
        'map': host_map.host_map(facts), 'matrix': facts.matrix,
        'pick': why.get('pick'), 'pick_parts': _pick_parts(why),
        'weights': weights.weights(facts),
        'why_not': [_why_not(each) for each
                    in facts.why.get('why_not') or ()],
        'changes': facts.why.get('changes') or (),
        'not_all': ('' if facts.why.get('changes_complete', True)
                    else explanation.NOT_ALL)}


def _funnels(facts):
    """Return the funnels: dict of the first and the last that are open, those,
    and the others, as Alike; None without any.
    """
    found = funnel.funnels(facts)
    if not found:
        return None
    shown = [each for each in found
             if each is found[0] or each.instance == facts.instance]
    return {'first': shown[0], 'last': shown[-1], 'open': shown,
            'others': funnel.alike([each for each in found
                                    if each not in shown])}


def _headline(facts):
    count = facts.instances
    return _HEADLINES[facts.document['outcome']][facts.is_plan].format(
        words.counted(count, 'instance'))


def _pick_parts(why):
    """Return what weighers add to the distance to the next host, and what
    others take from it: two texts.
    """
    parts = sorted(
        (part for part in (why.get('pick') or {}).get('weighers') or ()
         if part['adds']), key=lambda part: -abs(part['adds']))
    return [', '.join(f'{part["weigher"]} ({words.weight(part["adds"], "+")})'
                      for part in parts if part['adds'] * sign > 0
                      ).replace('-', MINUS) for sign in (1, -1)]


def _notes(facts):
    """Return what a reader must know beside: list of texts."""
    notes, matrix = [*facts.notes], facts.matrix or {}
    error = (facts.why.get('why') or {}).get('error')
    if error:
        notes.append(error)
    if matrix.get('forced'):
        notes.append('The request forces hosts, so no filter is asked.')
    notes += [f'{name} is not asked: it asks other services.'
              for name in matrix.get('not_asked') or ()]
    return notes + [f'{name} failed: {why}' for name, why
                    in (matrix.get('errors') or {}).items()]


def _why_not(found):
    """Return a WhyNot as the template shows it: dict."""
    return found | {
        'rejected_by': [verdict | {'figures': [
            _figure(figure) for figure in verdict['figures']]}
            for verdict in found['rejected_by']],
        'weighers': sorted(
            (gap for gap in found['weighers'] if gap['gain']),
            key=lambda gap: -abs(gap['gain']))}


def _figure(figure):
    """Return a figure with its amounts, and how much of the need is there."""
    amounts = {}
    for name, value in figure.items():
        kind, _, unit = name.partition('_')
        if unit:
            amounts[kind] = value
            amounts['unit'] = _UNITS.get(unit, unit.replace('_', ' '))
    need, have = amounts['need'], amounts['have']
    return figure | amounts | {
        'part': min(1000, max(0, 1000 * have / need)) if need > 0 else 0}


def _number(value):
    """Return a number of few digits, or the word for one."""
    if isinstance(value, str):
        return value
    if float(value).is_integer() and abs(value) < 10 ** 12:
        return f'{int(value):,}'
    return f'{value:.4g}'


def _signed(value):
    return f'{"+" if value > 0 else ""}{_number(value)}'.replace('-', MINUS)
