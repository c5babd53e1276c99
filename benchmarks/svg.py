"""Charts as SVG files with their own background: text of a whole file."""

from xml.sax import saxutils

_WIDTH, _ROW, _LABELS, _RIGHT, _TOP = 720, 26, 240, 150, 44
_INK, _PAPER, _BAR, _SHORT, _LINE = (
    '#24292f', '#ffffff', '#3b7dd8', '#d1662f', '#8c959f')


def bars(title, rows):
    """Return a chart of horizontal bars with a line at 1.0.

    rows: (label, value, text after the bar); a bar below 1.0 has another
        colour.
    """
    room = _WIDTH - _LABELS - _RIGHT
    most = max([1.0, *(value for _, value, _ in rows)])
    height = _TOP + _ROW * len(rows) + 14
    mark = _LABELS + room / most
    parts = []
    for number, (label, value, behind) in enumerate(rows):
        top, length = _TOP + _ROW * number, room * value / most
        parts += [
            _text(_LABELS - 8, top + 17, label, 'end'),
            f'<rect x="{_LABELS}" y="{top + 4}" width="{length:.1f}" '
            f'height="18" fill="{_BAR if value >= 1 else _SHORT}"/>',
            _text(max(_LABELS + length, mark) + 8, top + 17, behind)]
    parts.append(_path([(mark, _TOP), (mark, height - 10)], _INK))
    return _file(title, height, parts)


def curve(title, points, across, up):
    """Return a chart of a line; both axes begin at 0.

    points: (x, y), x ascending; y in percent.  across, up: texts of the axes.
    """
    left, right, top, bottom = 60, _WIDTH - 20, _TOP + 10, 330
    most = points[-1][0] or 1

    def place(x, y):
        return (left + (right - left) * x / most,
                bottom - (bottom - top) * y / 100)

    parts = []
    for percent in range(0, 101, 25):
        parts += [_path([place(0, percent), place(most, percent)], _LINE),
                  _text(left - 8, place(0, percent)[1] + 4,
                        f'{percent} %', 'end')]
    parts += [
        _text(right, bottom + 20, f'{most:,} {across}', 'end'),
        _text(left, top - 10, up),
        _path([place(*point) for point in points], _BAR, 2)]
    return _file(title, bottom + 34, parts)


def _text(x, y, text, anchor='start', size=13):
    return (f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" '
            f'font-size="{size}">{saxutils.escape(text)}</text>')


def _path(points, colour, width=1):
    steps = ' '.join(f'{x:.1f},{y:.1f}' for x, y in points)
    return (f'<polyline points="{steps}" fill="none" stroke="{colour}" '
            f'stroke-width="{width}"/>')


def _file(title, height, parts):
    return '\n'.join([
        f'<svg xmlns="http://www.w3.org/2000/svg" '
        f'viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" '
        f'height="{height}" font-family="sans-serif" fill="{_INK}">',
        f'<title>{saxutils.escape(title)}</title>',
        f'<rect width="{_WIDTH}" height="{height}" fill="{_PAPER}"/>',
        _text(12, 24, title, size=16), *parts, '</svg>', ''])
