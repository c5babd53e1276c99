"""Neutron's responses.

The functions of a document, a dict, are for ``Response.read``.
"""

import typing
import urllib.parse

from nova_sched import service_adapter


class Port(typing.NamedTuple):
    """The fields of a port that the scheduler reads.

    network_id: or None.  subnet_id: of the first fixed address, or None.
    vnic_type: such as 'normal'.
    """

    network_id: str | None
    subnet_id: str | None
    vnic_type: str

    @classmethod
    def from_document(cls, document):
        """Return the Port in a document."""
        port = document['port']
        subnets = [address['subnet_id']
                   for address in port.get('fixed_ips') or ()]
        return cls(port.get('network_id'), subnets[0] if subnets else None,
                   port.get('binding:vnic_type') or 'normal')


class Response(service_adapter.Response):
    """A response of Neutron, or of a proxy in front of it."""

    def read(self, understand):
        """Return the result of a function of the document, a dict.

        Raises ValueError if the document has another format.
        """
        try:
            return understand(self.document())
        except (KeyError, TypeError, AttributeError) as exc:
            raise ValueError('its content is not as expected') from exc

    @property
    def error(self):
        """The error of Neutron: (its type or None, its text).

        The text is one line of at most 500 characters.
        """
        try:
            error = dict(self.document()['NeutronError'])
            kind, text = error.get('type'), error.get('message')
        except (ValueError, KeyError, TypeError):
            kind, text = None, None
        return kind, service_adapter.one_line(
            text or self.text or f'HTTP {self.status}')

    @property
    def is_own_error(self):
        """See service_adapter.Response.

        False for HTTPNotFound, which Neutron returns for an unknown URL.
        """
        return self.error[0] not in (None, 'HTTPNotFound')


def extensions(document):
    """Return the aliases of Neutron's extensions: a set."""
    return {extension['alias'] for extension in document['extensions']}


def segments_page(document):
    """Return (segments, query of the next page) of a page of subnets.

    segments: list of uuids, with repeats.  The query of the last page is None.
    Only the query of the next page's address is used: host and path may be
    unreachable from here.
    """
    uuids = [subnet.get('segment_id') for subnet in document['subnets']]
    hrefs = [link['href'] for link in document.get('subnets_links') or ()
             if link['rel'] == 'next']
    query = urllib.parse.urlsplit(hrefs[0]).query if hrefs else None
    return [uuid for uuid in uuids if uuid], query


def subnet_segments(document):
    """Return the segment of a subnet: list of at most one uuid."""
    uuid = document['subnet'].get('segment_id')
    return [uuid] if uuid else []
