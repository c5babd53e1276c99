"""Tables of Markdown on standard output."""


def head(*cells):
    """Print the first two rows of a table."""
    row(*cells)
    row(*('---' for _ in cells))


def row(*cells):
    """Print a row of a table."""
    print('| ' + ' | '.join(map(str, cells)) + ' |', flush=True)
