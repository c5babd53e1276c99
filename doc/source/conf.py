"""How Sphinx makes a site of these pages; ``tox -e docs`` runs it.

Pages link to each other, and to files of the tree, by their paths, so that the
links work for those who read the files.  ``lead_to_pages`` makes them work on
the site.  ``doc/ext`` has the project's own directives.
"""

import pathlib
import posixpath
import sys
from urllib import parse

from docutils import nodes
from sphinx.util import logging

from nova_sched import version as installed

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / 'ext'))

LOG = logging.getLogger(__name__)

project = 'nova_sched'
author = copyright = 'The nova_sched authors'
version = release = installed.version_string()
extensions = ['oslo_config.sphinxext', 'from_code', 'request_path']
html_theme = 'furo'
html_title = f'nova_sched {release}'
html_show_sourcelink = False
#: Files that the pages link to; the site has copies, side by side.
html_extra_path = ['../../DESIGN.md',
                   '../../etc/nova-sched/nova-sched.conf.sample']


def lead_to_pages(app, doctree, page):
    """Turn links to files into links to what the site has of them.

    page: the page that has the links, without suffix.  A link that leads
    nowhere is a warning.
    """
    copies = {posixpath.basename(path) for path in html_extra_path}
    for node in doctree.findall(nodes.reference):
        link = node.get('refuri', '')
        if not link or node.get('internal') or parse.urlsplit(link).scheme:
            continue
        path = posixpath.normpath(
            posixpath.join(posixpath.dirname(page), link))
        name, suffix = posixpath.splitext(path)
        if suffix == '.rst' and name in app.env.all_docs:
            node['refuri'] = app.builder.get_relative_uri(page, name)
        elif posixpath.basename(path) in copies:
            node['refuri'] = '../' * page.count('/') + posixpath.basename(path)
        else:
            LOG.warning('the site has no %s', link, location=node)


def setup(app):
    """Register ``lead_to_pages`` with Sphinx."""
    app.connect('doctree-resolved', lead_to_pages)
