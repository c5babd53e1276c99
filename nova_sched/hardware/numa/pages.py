"""Memory of a guest cell on a host cell: plain or in pages of one size."""

#: Page sizes a guest may ask for without naming one.
SMALL, LARGE, ANY = -1, -2, -3


def choose(host, guest):
    """The page size for a guest cell that asks for one, in KiB, or None.

    The largest of the host cell's sizes that the guest allows, of which there
    are enough free pages and which divides its memory.
    """
    needed = guest.memory * 1024
    for pages in _allowed(host, guest.pagesize):
        if needed <= pages.free * pages.size_kb and not (
                needed % pages.size_kb):
            return pages.size_kb
    return None


def most_free(host, wanted):
    """The most memory in free pages of one size that is allowed, in MiB."""
    return max((pages.free * pages.size_kb // 1024
                for pages in _allowed(host, wanted)), default=0)


def _allowed(host, wanted):
    """The Pages of the sizes that are allowed, largest first: list."""
    pages = host.pages_by_size
    if wanted == SMALL:
        return pages[-1:]
    if wanted == LARGE:
        return pages[:-1]
    if wanted == ANY:
        return pages
    return [found for found in pages if found.size_kb == wanted]


def fits_plainly(host, guest):
    """Whether a host cell has the memory for a guest that asks for no size.

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
