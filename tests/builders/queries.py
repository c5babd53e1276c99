"""Queries of requests to Placement, parsed for tests."""

from urllib import parse

from nova_sched.scheduler import utils

NODE = '34000001-0000-4000-8000-000000000001'


def resource_requests(spec_obj, max_results=1000, **kw):
    """The ResourceRequests of a request, with a limit of 1000."""
    return utils.resource_requests(spec_obj, max_results=max_results, **kw)


def resource_request(spec_obj, **kw):
    """The first of its ResourceRequests."""
    return resource_requests(spec_obj, **kw)[0]


def parameters(query):
    """Parse a query string: name -> list of values, in order."""
    return parse.parse_qs(query, keep_blank_values=True, strict_parsing=True)


def asked(spec_obj, version='1.39', **kw):
    """The query of a request: name -> list of values."""
    return parameters(resource_request(spec_obj, **kw).query(version))


def unnumbered(spec_obj, **kw):
    """The unnumbered Group of a request's first query."""
    return resource_request(spec_obj, **kw).groups['']


def amounts(spec_obj, **kw):
    """Resources of the unnumbered group: resource class -> amount."""
    return unnumbered(spec_obj, **kw).resources
