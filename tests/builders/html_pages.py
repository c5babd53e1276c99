"""A strict reader of HTML."""

import html.parser

#: Elements without an end.
VOID = {'meta', 'input', 'br'}


class Page(html.parser.HTMLParser):
    """A parsed page; wrong nesting is an AssertionError.

    elements: list of (tag, attributes, tags around it, without it).
    texts: list of (text, tags around it).
    """

    def __init__(self, text):
        super().__init__()
        self.text, self.elements, self.texts, self._open = text, [], [], []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs), tuple(self._open)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs), tuple(self._open)))

    def handle_endtag(self, tag):
        assert self._open, f'</{tag}> ends nothing'
        assert self._open.pop() == tag, f'</{tag}> at {self.getpos()}'

    def handle_data(self, data):
        self.texts.append((data, tuple(self._open)))

    def all(self, tag, **wanted):
        """Attributes of all elements with a tag: list of dicts."""
        return [attributes for name, attributes, _ in self.elements
                if name == tag and wanted.items() <= attributes.items()]

    def words(self, *tags):
        """The text of the page, or of the parts within these tags."""
        return ' '.join(' '.join(
            text for text, around in self.texts
            if 'style' not in around and {*tags} <= {*around}).split())

    def headings(self):
        """The texts of all h2 elements: list."""
        found = []
        for text, around in self.texts:
            if around[-1:] == ('h2',):
                found.append(' '.join(text.split()))
        return found
