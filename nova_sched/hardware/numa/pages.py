"""Memory of a guest cell on a host cell: plain or in pages of one size."""

#: Page sizes of a guest's request other than a number.
SMALL, LARGE, ANY = -1, -2, -3


def choose(host, guest):
    """Return the page size in KiB for a guest cell that requests pages.

    It is the largest size that the guest allows, that divides its memory, and
    of which the host cell has enough free pages; None without such a size.
    """
    needed = guest.memory * 1024
    for pages in _allowed(host, guest.pagesize):
        if needed <= pages.free * pages.size_kb and not (
                needed % pages.size_kb):
            return pages.size_kb
    return None


def most_free(host, requested):
    """Return the most memory in free pages of one allowed size, in MiB."""
    return max((pages.free * pages.size_kb // 1024
                for pages in _allowed(host, requested)), default=0)


def shortfall(host, guest):
    """Return (needed memory, free memory, size of pages).

    Memory in MiB.  The size is that of the host's pages in KiB, or as the
    guest requests it, or None.  If the free memory suffices, the needed memory
    is not a multiple of the size.
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


def _allowed(host, requested):
    """Return the Pages of the allowed sizes, largest first: list."""
    by_size = host.pages_by_size
    if requested == SMALL:
        return by_size[-1:]
    if requested == LARGE:
        return by_size[:-1]
    if requested == ANY:
        return by_size
    return [pages for pages in by_size if pages.size_kb == requested]


def fits_plainly(host, guest):
    """Return whether a host cell has memory for a guest without a page size.

    Floating guests may overcommit: they can use the total memory of the cell,
    pinned guests the free memory.  The guest's memory must be a multiple of
    the host's smallest pages.
    """
    smallest = host.smallest_pages
    if smallest is None:
        return guest.memory <= host.usable_memory(guest.is_pinned)
    needed = guest.memory * 1024
    count = smallest.free if guest.is_pinned else smallest.total
    return needed <= count * smallest.size_kb and (
        not needed % smallest.size_kb)
