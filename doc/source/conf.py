"""How Sphinx makes a site of these pages; ``tox -e docs`` runs it.

Pages link to each other, and to files of the tree, by their paths, which is
what leads somewhere for those who read the files.  ``lead_to_pages`` has the
same links lead somewhere on the site.
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
#: Files that the pages link to, beside each other; the site has copies.
html_extra_path = ['../../DESIGN.md',
                   '../../etc/nova-sched/nova-sched.conf.sample']


def lead_to_pages(app, doctree, page):
    """Turn links to files into links to what the site has of them.

    page: that the links are on, without suffix.  One that leads nowhere is
    warned of.
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
    """What Sphinx calls."""
    app.connect('doctree-resolved', lead_to_pages)
