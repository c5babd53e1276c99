"""Memory of a guest cell on a host cell: plain or in pages of one size."""

#: Page sizes a guest may ask for without naming one.
SMALL, LARGE, ANY = -1, -2, -3


def choose(host, guest):
    """Return the page size for a guest cell that asks for one, in KiB.

    It is the largest size that the guest allows, that divides its memory and
    that the host cell has enough free pages of; None if there is none.
    """
    needed = guest.memory * 1024
    for pages in _allowed(host, guest.pagesize):
        if needed <= pages.free * pages.size_kb and not (
                needed % pages.size_kb):
            return pages.size_kb
    return None


def most_free(host, wanted):
    """Return the most memory in free pages of one allowed size, in MiB."""
    return max((pages.free * pages.size_kb // 1024
                for pages in _allowed(host, wanted)), default=0)


def shortfall(host, guest):
    """Return what a guest cell needs, what a host cell has of it, both in MiB,
    and in pages of which size.

    The size is that of the host's pages in KiB, or one that the guest names,
    or None.  If there is enough, its memory is no whole number of such pages.
    """
    size, smallest = guest.pagesize, host.smallest_pages
    if size is not None:
        have = most_free(host, size)
        if have >= guest.memory:
            size = min((pages.size_kb for pages in _allowed(host, size) if
                        pages.free * pages.size_kb >= guest.memory * 1024),
                       default=size)
    elif smallest is None:
        have = host.usable_memory(guest.is_pinned)
    else:
        count = smallest.free if guest.is_pinned else smallest.total
        have, size = count * smallest.size_kb // 1024, smallest.size_kb
    return guest.memory, have, size


def _allowed(host, wanted):
    """Return the Pages of the allowed sizes, largest first: list."""
    pages = host.pages_by_size
    if wanted == SMALL:
        return pages[-1:]
    if wanted == LARGE:
        return pages[:-1]
    if wanted == ANY:
        return pages
    return [found for found in pages if found.size_kb == wanted]


def fits_plainly(host, guest):
    """Return whether a host cell has memory for a guest without a page size.

    Floating guests may overcommit: all of the cell counts, not what is free.
    In both cases it must be a whole number of the host's smallest pages.
    """
    smallest = host.smallest_pages
    if smallest is None:
        return guest.memory <= host.usable_memory(guest.is_pinned)
    needed = guest.memory * 1024
    count = smallest.free if guest.is_pinned else smallest.total
    return needed <= count * smallest.size_kb and (
        not needed % smallest.size_kb)
