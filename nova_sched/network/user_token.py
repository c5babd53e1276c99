"""A caller's token as a plug-in of keystoneauth1."""

from keystoneauth1 import plugin
from keystoneauth1.access import service_catalog
from keystoneauth1.exceptions import catalog as catalog_exceptions


class UserToken(plugin.BaseAuthPlugin):
    """A caller's token and service catalog.

    catalog: list of services, in the form of Keystone v2 or v3.
    """

    def __init__(self, token, catalog):
        super().__init__()
        self._token, self._services = token, catalog

    def get_token(self, session, **kwargs):
        """Return the token; see keystoneauth1.plugin."""
        return self._token

    def get_endpoint(self, session, service_type=None, interface=None,
                     region_name=None, service_name=None, **kwargs):
        """Return the address of a service; see keystoneauth1.plugin.

        Raises EndpointNotFound.
        """
        try:
            is_v3 = any('interface' in endpoint for service in self._services
                        for endpoint in service['endpoints'])
            catalog = (service_catalog.ServiceCatalogV3 if is_v3 else
                       service_catalog.ServiceCatalogV2)(self._services)
            return catalog.url_for(
                service_type=service_type, interface=interface,
                region_name=region_name, service_name=service_name)
        except (KeyError, TypeError, AttributeError) as exc:
            raise catalog_exceptions.EndpointNotFound(
                "The catalog in the caller's context cannot be read"
            ) from exc
