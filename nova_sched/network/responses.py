"""What Neutron answers."""

import typing
import urllib.parse

from nova_sched import service_adapter


class Port(typing.NamedTuple):
    """What the scheduler reads of a port.

    network_id: or None.  subnet_id: of the first fixed address, or None.
    vnic_type: such as 'normal'.
    """

    network_id: str | None
    subnet_id: str | None
    vnic_type: str

    @classmethod
    def of(cls, document):
        """Read Neutron's answer; ValueError if it is something else."""
        try:
            port = document['port']
            subnets = [address['subnet_id']
                       for address in port.get('fixed_ips') or ()]
            return cls(port.get('network_id'),
                       subnets[0] if subnets else None,
                       port.get('binding:vnic_type') or 'normal')
        except (KeyError, TypeError, AttributeError) as exc:
            raise ValueError('it describes no port') from exc


class Response(service_adapter.Response):
    """An answer of Neutron, or of whatever answers in its place."""

    @property
    def error(self):
        """What Neutron says of an error: (its type or None, its text).

        The text is one line of at most 500 characters.
        """
        try:
            found = dict(self.document()['NeutronError'])
            kind, text = found.get('type'), found.get('message')
        except (ValueError, KeyError, TypeError):
            kind, text = None, None
        return kind, service_adapter.one_line(
            text or self.text or f'HTTP {self.status}')

    @property
    def is_own_error(self):
        """As of service_adapter.Response; not where a page is missing."""
        return self.error[0] not in (None, 'HTTPNotFound')


def extensions(document):
    """Return the aliases of the extensions that Neutron has: a set.

    Raises ValueError for another document; so do those below.
    """
    try:
        return {found['alias'] for found in document['extensions']}
    except (KeyError, TypeError) as exc:
        raise ValueError('it lists no extensions') from exc


def segments(document):
    """Read a page of subnets: (segments, query of the next page).

    segments: list of uuids, with repeats.  The query is None for the last.
    Of the next page's address only the query counts: the rest may be one at
    which Neutron is known to others alone.
    """
    try:
        found = [subnet.get('segment_id') for subnet in document['subnets']]
        hrefs = [link['href'] for link in document.get('subnets_links') or ()
                 if link['rel'] == 'next']
        query = urllib.parse.urlsplit(hrefs[0]).query if hrefs else None
    except (KeyError, TypeError, AttributeError) as exc:
        raise ValueError('it lists no subnets') from exc
    return [segment for segment in found if segment], query


def segment(document):
    """Return the segments of one subnet: a list of one uuid, or of none."""
    try:
        found = document['subnet'].get('segment_id')
    except (KeyError, TypeError, AttributeError) as exc:
        raise ValueError('it describes no subnet') from exc
    return [found] if found else []
