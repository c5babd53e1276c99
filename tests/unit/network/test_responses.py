"""Values read from Neutron's responses."""

import json

import pytest

from nova_sched.network import responses


class TestPort:
    @pytest.mark.parametrize(('port', 'found'), [
        ({}, (None, None, 'normal')),
        ({'network_id': 'n', 'fixed_ips': None, 'binding:vnic_type': None},
         ('n', None, 'normal')),
        ({'network_id': 'n', 'fixed_ips': [], 'binding:vnic_type': 'direct'},
         ('n', None, 'direct')),
        ({'fixed_ips': [{'subnet_id': 's'}, {'subnet_id': 't'}]},
         (None, 's', 'normal'))])
    def test_has_a_network_a_subnet_and_a_type(self, port, found):
        assert responses.Port.from_document({'port': port}) == found


@pytest.mark.parametrize(('read', 'documents'), [
    (responses.Port.from_document, [
        {}, {'port': 5}, {'port': None}, {'port': {'fixed_ips': 5}},
        {'port': {'fixed_ips': [{}]}}]),
    (responses.extensions, [
        {}, {'extensions': None}, {'extensions': [{}]}, {'extensions': [5]}]),
    (responses.segments_page, [
        {}, {'subnets': None}, {'subnets': [5]},
        {'subnets': [], 'subnets_links': [{}]},
        {'subnets': [], 'subnets_links': [{'rel': 'next'}]},
        {'subnets': [], 'subnets_links': [5]}]),
    (responses.subnet_segments, [{}, {'subnet': None}, {'subnet': []}])])
def test_other_document_is_refused(read, documents):
    for document in documents:
        response = responses.Response(200, json.dumps(document))
        with pytest.raises(ValueError, match='not as expected'):
            response.read(read)


class TestError:
    @pytest.mark.parametrize(('text', 'kind', 'line'), [
        ('{"NeutronError": {"type": "A", "message": "b  c"}}', 'A', 'b c'),
        ('{"NeutronError": {"message": "b"}}', None, 'b'),
        ('{"NeutronError": {"type": "A"}}', 'A',
         '{"NeutronError": {"type": "A"}}'),
        ('{"NeutronError": 5}', None, '{"NeutronError": 5}'),
        ('{}', None, '{}'), ('x\n y', None, 'x y'), ('', None, 'HTTP 404'),
        ('x' * 501, None, 'x' * 500)])
    def test_has_a_type_and_a_line_of_500_characters(self, text, kind, line):
        assert responses.Response(404, text).error == (kind, line)


class TestLists:
    def test_extensions_have_an_alias_each(self):
        assert responses.extensions({'extensions': [
            {'alias': 'a'}, {'alias': 'b', 'name': 'x'}]}) == {'a', 'b'}

    def test_subnets_have_segments_and_may_have_a_next_page(self):
        subnets = [{'segment_id': 'a'}, {}, {'segment_id': None},
                   {'segment_id': 'a'}]
        for links, query in (
                ({}, None), ({'subnets_links': None}, None),
                ({'subnets_links': [{'rel': 'previous', 'href': 'x?y'}]},
                 None),
                ({'subnets_links': [
                    {'rel': 'previous', 'href': 'x?y'},
                    {'rel': 'next', 'href': 'http://h/x?limit=1&marker=b'},
                    {'rel': 'next', 'href': 'x?z'}]}, 'limit=1&marker=b')):
            assert responses.segments_page({'subnets': subnets, **links}) == (
                ['a', 'a'], query)

    def test_subnet_has_at_most_one_segment(self):
        for value, uuids in (('a', ['a']), (None, [])):
            assert responses.subnet_segments(
                {'subnet': {'segment_id': value}}) == uuids
        assert responses.subnet_segments({'subnet': {}}) == []
