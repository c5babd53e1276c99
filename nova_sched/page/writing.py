"""Render the page of a document, and write it to a file."""

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

#: Readable for the service's group: a page shows hosts and other projects.
MODE = 0o640

#: The beginning of a page, and within how many bytes it is found.
_TITLE, _HEAD = re.compile(rb'<!DOCTYPE html>.* \| nova_sched</title>',
                           re.DOTALL), 2000

#: Headlines of a decision and of a plan, by outcome.
_HEADLINES = {
    decision.PLACED: ('{} placed', '{} would be placed'),
    decision.REFUSED: ('No valid host for {}', 'No valid host for {}'),
    decision.FAILED: ('The request for {} failed',) * 2}

#: Sign of negative numbers; '-' is a hyphen.
MINUS = '\N{MINUS SIGN}'

#: Suffix of the names of amounts -> unit.
_UNITS = {'mb': 'MB', 'gb': 'GB', 'vcpus': 'VCPUs'}


def write(path, document):
    """Write the page of a document, a dict, to a file, all of it or nothing.

    An existing file is replaced if it is such a page.
    Raises OSError, also for an existing file that is not a page.
    """
    path, text = pathlib.Path(path).resolve(), html(document)
    if path.exists() and not path.is_dir():
        _check_page(path)
    file, temporary = tempfile.mkstemp(dir=path.parent,
                                       prefix=f'.{path.name}.')
    try:
        with open(file, 'w', encoding='utf-8',
                  errors='backslashreplace') as opened:
            os.fchmod(file, MODE)
            opened.write(text)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


def _check_page(path):
    """Raise FileExistsError for a file that is not a page of these commands.
    """
    if not path.is_file():
        raise FileExistsError(errno.EEXIST, 'it is not a file', str(path))
    with open(path, 'rb') as opened:
        if not _TITLE.match(opened.read(_HEAD)):
            raise FileExistsError(
                errno.EEXIST, 'it exists and is not a page of this command',
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
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader('nova_sched', 'page'), autoescape=True,
        trim_blocks=True, lstrip_blocks=True, finalize=_shown)
    environment.filters |= {'whole': '{:,}'.format, 'number': _number,
                            'signed': _signed, 'moment': facts_.moment,
                            'together': host_map.together}
    return environment


def _shown(value):
    """Return a value of a template with unprintable characters escaped.

    HTML that the template itself has made is not changed.
    """
    return (printable(value) if isinstance(value, str)
            and not hasattr(value, '__html__') else value)


def _context(facts):
    """Return the variables of the template: dict."""
    why = facts.why.get('why') or {}
    return {
        'facts': facts, 'headline': _headline(facts), 'document':
        facts.document, 'asked': facts_.requested(facts),
        'state': facts_.state(facts), 'notes': _notes(facts),
        'funnels': _funnels(facts),
        'map': host_map.host_map(facts), 'matrix': facts.matrix,
        'pick': why.get('pick'), 'pick_parts': _pick_parts(why),
        'weights': weights.weights(facts),
        'why_not': [_why_not(host) for host
                    in facts.why.get('why_not') or ()],
        'changes': facts.why.get('changes') or (),
        'not_all': ('' if facts.why.get('changes_complete', True)
                    else explanation.NOT_ALL)}


def _funnels(facts):
    """Return the funnels by their place on the page; None without funnels.

    Keys: first, last, open (list of Funnel) and others (list of pairs).
    """
    funnels = funnel.funnels(facts)
    if not funnels:
        return None
    shown = [one for one in funnels
             if one is funnels[0] or one.instance == facts.instance]
    return {'first': shown[0], 'last': shown[-1], 'open': shown,
            'others': funnel.alike([one for one in funnels
                                    if one not in shown])}


def _headline(facts):
    count = facts.instances
    return _HEADLINES[facts.document['outcome']][facts.is_plan].format(
        words.counted(count, 'instance'))


def _pick_parts(why):
    """Return the weighers for and against the pick, compared with the next
    host: two texts.
    """
    parts = sorted(
        (part for part in (why.get('pick') or {}).get('weighers') or ()
         if part['adds']), key=lambda part: -abs(part['adds']))
    return [', '.join(f'{part["weigher"]} ({words.weight(part["adds"], "+")})'
                      for part in parts if part['adds'] * sign > 0
                      ).replace('-', MINUS) for sign in (1, -1)]


def _notes(facts):
    """Return the remarks that a reader must know: list of texts."""
    notes, matrix = [*facts.notes], facts.matrix or {}
    error = (facts.why.get('why') or {}).get('error')
    if error:
        notes.append(error)
    if matrix.get('forced'):
        notes.append('The request forces hosts, so no filter runs.')
    notes += [f'{name} does not run: it queries other services.'
              for name in matrix.get('not_asked') or ()]
    return notes + [f'{name} failed: {why}' for name, why
                    in (matrix.get('errors') or {}).items()]


def _why_not(why_not):
    """Return a WhyNot in the form of the template: dict."""
    return why_not | {
        'rejected_by': [verdict | {'figures': [
            _figure(figure) for figure in verdict['figures']]}
            for verdict in why_not['rejected_by']],
        'weighers': sorted(
            (gap for gap in why_not['weighers'] if gap['gain']),
            key=lambda gap: -abs(gap['gain']))}


def _figure(figure):
    """Return a figure with its amounts, and the share of the need that is
    there.
    """
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
    """Return a number with few digits; texts as they are."""
    if isinstance(value, str):
        return value
    if float(value).is_integer() and abs(value) < 10 ** 12:
        return f'{int(value):,}'
    return f'{value:.4g}'


def _signed(value):
    return f'{"+" if value > 0 else ""}{_number(value)}'.replace('-', MINUS)
