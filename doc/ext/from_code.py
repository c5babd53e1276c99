"""Directives and a role that take what the pages say from the code.

``:conf:`[section] name```     an option with its type, default and bound
``.. limits::``                what one request may hold
``.. filters::``               the filters, with the pages beside this one
``.. weighers::``              the weighers, likewise
``.. nova-methods:: CLASS``    what becomes of overridden methods
``.. names-in:: MODULE``       the public names of a module
``.. nova-differences::``      what releases of Nova do otherwise

A table is written as reStructuredText and parsed, so that its cells may hold
links and literals.  What the code does not describe is a warning.
"""

import collections
import importlib
import pathlib
import re

from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.statemachine import StringList
from sphinx.pycode import ModuleAnalyzer
from sphinx.util import logging

from nova_sched import conf as config
from nova_sched.compat import nova_methods
from nova_sched.objects import bounds
from nova_sched.options import releases
from nova_sched.plugins import loading
from nova_sched.preflight import differences
from nova_sched.rules import nova_classes

LOG = logging.getLogger(__name__)

_TYPES = {'Integer': 'integer', 'Float': 'number', 'String': 'string',
          'Boolean': 'boolean', 'List': 'list'}


class FromCode(Directive):
    """A directive whose content is the text that ``lines`` returns."""

    def run(self):
        parent = nodes.Element()
        text = StringList(list(self.lines()), source=self.block_text)
        self.state.nested_parse(text, self.content_offset, parent,
                                match_titles=True)
        return parent.children

    def lines(self):
        """Return the lines of reStructuredText in the directive's place."""
        raise NotImplementedError

    def warn(self, text):
        LOG.warning(text, location=self.state_machine.get_source_and_line(
            self.lineno))


def table(heads, rows, widths='auto'):
    """Yield a list-table: heads and rows of texts, each on one line."""
    yield '.. list-table::'
    yield '   :header-rows: 1'
    yield f'   :widths: {widths}'
    yield ''
    for row in (heads, *rows):
        for number, cell in enumerate(row):
            yield f'   {" " if number else "*"} - {cell}'


class Limits(FromCode):
    """The constants of ``objects/bounds.py`` and their comments."""

    def lines(self):
        comments = ModuleAnalyzer.for_file(
            bounds.__file__, bounds.__name__).find_attr_docs()
        rows = []
        for name, value in vars(bounds).items():
            if name.isupper():
                comment = comments.get(('', name))
                if not comment:
                    self.warn(f'bounds.{name} has no comment')
                    continue
                rows.append((f'{value:,}', ' '.join(comment).strip()))
        yield from table(('At most', 'What'), rows, '15 85')


class Rules(FromCode):
    """Base of the tables of filters and of weighers."""

    def link(self, cls):
        """Return a link to the page beside this one about a class."""
        here = pathlib.Path(self.state.document.current_source)
        for page in sorted(here.parent.glob('*.rst')):
            titles = re.findall(r'^(\S.*)\n=+$', page.read_text(), re.M)
            if any(cls.__name__ in title.split(', ') for title in titles):
                return f'`{cls.__name__} <{page.name}>`_'
        self.warn(f'no page has a title with {cls.__name__}')
        return cls.__name__

    def summary(self, cls):
        """Return the first line of a class's docstring."""
        if not cls.__doc__:
            self.warn(f'{cls.__name__} has no docstring')
        return (cls.__doc__ or '').partition('\n')[0]


class Filters(Rules):
    """The filters by name."""

    def lines(self):
        yield from table(
            ('Filter', 'Hosts that pass', 'Once', 'Rebuild', 'Removed in'),
            [(self.link(cls), self.summary(cls),
              '✓' if cls.run_filter_once_per_request else '-',
              '✓' if cls.RUN_ON_REBUILD else '-',
              nova_classes.REMOVED_FILTERS.get(cls.__name__, '-'))
             for cls in sorted(loading.all_filters(),
                               key=lambda cls: cls.__name__)])


class Weighers(Rules):
    """The weighers in their order."""

    def lines(self):
        conf = config.new_conf([], [])
        rows = []
        for cls in loading.all_weighers():
            weigher = cls()
            weigher.configure(conf)
            rows.append((self.link(cls), f'{weigher.multiplier:,}',
                         self.summary(cls)))
        yield from table(('Weigher', 'Multiplier', 'Value of a host'), rows)


class NovaMethods(FromCode):
    """One table of ``compat/nova_methods.py``."""

    required_arguments = 1

    def lines(self):
        called, instead = [], collections.defaultdict(list)
        for name, method in getattr(
                nova_methods, self.arguments[0]).items():
            if method.called:
                called.append((f'``{name}``', _options_marked(method.called)))
            else:
                instead[method.instead].append(f'``{name}``')
        if called:
            yield from table(('Called', 'When'), called, '35 65')
            yield ''
        yield from table(
            ('Refused', 'What takes its place'),
            [(', '.join(names), text) for text, names in instead.items()],
            '35 65')


class NamesIn(FromCode):
    """The classes and functions that a module offers, in one sentence."""

    required_arguments = 1

    def lines(self):
        module = importlib.import_module(self.arguments[0])
        names = getattr(module, '__all__', None) or [
            name for name, value in vars(module).items()
            if not name.startswith('_') and callable(value)]
        yield ', '.join(f'``{name}``' for name in sorted(names)) + '.'


class NovaDifferences(FromCode):
    """The facts of ``preflight/known_differences.toml``, by subject."""

    def lines(self):
        about = collections.defaultdict(list)
        for fact in differences.known('fact'):
            about[fact.about].append(fact)
        for name, facts in about.items():
            yield _options_marked(name)
            for fact in facts:
                advice = f' {fact.advice.rstrip(".")}.' if fact.advice else ''
                yield _options_marked(
                    f'    * *{_span(fact)}:* {fact.there}. '
                    f'*Here:* {fact.here}.{advice}')
            yield ''


def _options_marked(text):
    """Return a text with the names of options, and their values, literal."""
    return re.sub(r'\[\w+\] \w+(?: = \w+)?', r'``\g<0>``', text)


def _span(fact):
    """Return the releases that a fact is about, as words."""
    first, last = _release(fact.span[0]), _release(fact.span[-1])
    if fact.span[-1] == releases.LAST:
        return 'All releases' if fact.span[0] == releases.FIRST else (
            f'From {first} on')
    return first if first == last else f'{first} to {last}'


def _release(number):
    """Return what a release is called: Kilo, or 2026.2."""
    return re.search(r'\((.+)\)', str(releases.Release(number)))[1]


def option(name, rawtext, text, lineno, inliner, options=None, content=None):
    """Return an option's name with its type, default and lower bound."""
    section, _, option_name = text[1:].partition('] ')
    try:
        opt = _options()[section, option_name]
    except KeyError:
        return [nodes.literal(text, text)], [inliner.reporter.error(
            f'there is no option {text}', line=lineno)]
    kind = 'list' if opt.multi else next(
        _TYPES[cls.__name__] for cls in type(opt.type).__mro__
        if cls.__name__ in _TYPES)
    found = [nodes.literal(text, text),
             nodes.Text(f' ({kind}, default '), _shown(opt.default)]
    least = getattr(opt.type, 'min', None)
    end = ')' if least is None else f', at least {least:g})'
    return [*found, nodes.Text(end)], []


def _options():
    """Return the options of the service: dict (section, name) -> Opt."""
    return {(str(getattr(group, 'name', group) or 'DEFAULT'), opt.dest): opt
            for group, opts in config.list_opts() for opt in opts}


def _shown(default):
    """Return a node for a default."""
    if default is None:
        return nodes.Text('unset')
    if isinstance(default, bool):
        return nodes.Text(str(default).lower())
    text = (','.join(default) if isinstance(default, list) else str(default))
    return nodes.literal(text, text) if text else nodes.Text('empty')


def setup(app):
    """Register the directives and the role with Sphinx."""
    for name, directive in (('limits', Limits), ('filters', Filters),
                            ('weighers', Weighers),
                            ('nova-methods', NovaMethods),
                            ('names-in', NamesIn),
                            ('nova-differences', NovaDifferences)):
        app.add_directive(name, directive)
    app.add_role('conf', option)
    # What the pages show is not in their files: all are read at each build.
    app.connect('env-get-outdated',
                lambda app, env, added, changed, removed: env.found_docs)
    return {'parallel_read_safe': True}
