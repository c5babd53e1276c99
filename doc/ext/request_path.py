"""The picture of a request's way, drawn from a table on the page.

``.. request-path::`` has a block for each step, in the order in which a
request passes them::

    SchedulerManager: scheduler/manager.py
        what it does, one line or several
        < RabbitMQ: call
        > RabbitMQ: answer

``<`` is what a step reads from a port, ``>`` what it sends to one.  The
picture is SVG within the page, in the colours of the theme, and as wide as
the screen of a phone lets it be.
"""

import html

from docutils import nodes
from docutils.parsers.rst import Directive

WIDTH, STEP, PORT = 360, 214, 76        # of the picture, of its two columns
LINE, PADDING, GAP, EDGE = 14, 9, 20, 34

STYLE = """
.request-path { display: block; width: 100%; max-width: 34rem;
  margin: 1.5rem auto; font-family: var(--font-stack, sans-serif); }
.request-path rect { fill: var(--color-background-secondary, #f8f9fb);
  stroke: var(--color-foreground-border, #878787); }
.request-path .port rect { fill: var(--color-background-primary, #fff);
  stroke: var(--color-brand-primary, #06c); stroke-dasharray: 4 2; }
.request-path text { fill: var(--color-foreground-primary, #000);
  font-size: 11px; }
.request-path .name { font-size: 13px; font-weight: bold; }
.request-path .file { font-size: 10px;
  font-family: var(--font-stack--monospace, monospace);
  fill: var(--color-foreground-secondary, #555); }
.request-path .edge { font-size: 10px; text-anchor: middle; }
.request-path path { stroke: var(--color-brand-primary, #06c); fill: none;
  stroke-width: 1.5; }
.request-path marker path { fill: var(--color-brand-primary, #06c);
  stroke: none; }
"""


class RequestPath(Directive):
    """Read the steps and return the picture of them."""

    has_content = True

    def run(self):
        steps = list(read(self.content))
        return [nodes.raw('', draw(steps), format='html')]


def read(lines):
    """Yield (name, file, what it does, edges) of each step.

    edges: list of (direction, port, what is passed).
    """
    step = None
    for line in filter(None, map(str.rstrip, lines)):
        if not line.startswith(' '):
            if step:
                yield step
            name, _, file = line.partition(': ')
            step = name, file, [], []
        elif line.strip()[0] in '<>':
            port, _, what = line.strip()[2:].partition(': ')
            step[3].append((line.strip()[0], port, what))
        else:
            step[2].append(line.strip())
    yield step


def draw(steps):
    """Return the SVG of the steps, one below the other."""
    shapes, ports, top = [], [], 1
    for number, (name, file, does, edges) in enumerate(steps):
        height = max(2 * PADDING + LINE * (2 + len(does)) - 2,
                     EDGE * len(edges))
        shapes.append(f'<rect x="1" y="{top}" width="{STEP}" '
                      f'height="{height}" rx="6"/>')
        for row, (kind, text) in enumerate(
                [('name', name), ('file', file)]
                + [('does', line) for line in does], 1):
            shapes.append(f'<text class="{kind}" x="12" '
                          f'y="{top + PADDING + LINE * row - 4}">'
                          f'{html.escape(text)}</text>')
        for row, (direction, port, what) in enumerate(edges):
            middle = top + height * (2 * row + 1) / (2 * len(edges)) + 4
            if not ports or ports[-1][0] != port:
                ports.append((port, []))
            ports[-1][1].append(middle)
            left, right = STEP + 4, WIDTH - PORT - 4
            if direction == '<':
                left, right = right, left
            shapes.append(
                f'<path d="M{left} {middle} H{right}" '
                'marker-end="url(#arrow)"/>'
                f'<text class="edge" x="{(left + right) / 2}" '
                f'y="{middle - 4}">{html.escape(what)}</text>')
        top += height
        if number < len(steps) - 1:
            shapes.append(f'<path d="M40 {top} V{top + GAP - 3}" '
                          'marker-end="url(#arrow)"/>')
            top += GAP
    for port, edges in ports:
        first, last = min(edges) - 18, max(edges) + 10
        words = port.split()
        middle = (first + last - LINE * (len(words) - 1)) / 2 + 4
        shapes.append(
            f'<g class="port"><rect x="{WIDTH - PORT - 1}" y="{first}" '
            f'width="{PORT}" height="{last - first}" rx="6"/>'
            + ''.join(
                f'<text x="{WIDTH - PORT / 2 - 1}" text-anchor="middle" '
                f'y="{middle + LINE * row}">{html.escape(word)}</text>'
                for row, word in enumerate(words)) + '</g>')
    told = '; '.join(f'{name}: {", ".join(does)}'
                     for name, _, does, _ in steps)
    return (
        f'<svg class="request-path" viewBox="0 0 {WIDTH} {top + 1}" '
        f'role="img" aria-label="{html.escape(told)}">'
        f'<style>{STYLE}</style>'
        '<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" '
        'markerWidth="6" markerHeight="6" orient="auto-start-reverse">'
        '<path d="M0 0 L8 4 L0 8 z"/></marker></defs>'
        + ''.join(shapes) + '</svg>')


def setup(app):
    """Register the directive with Sphinx."""
    app.add_directive('request-path', RequestPath)
    return {'parallel_read_safe': True}
