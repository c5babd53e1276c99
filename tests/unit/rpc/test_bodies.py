"""What is unpacked of a body, and how much of it."""

import bz2
import lzma
import tracemalloc
import zlib

from kombu import compression
import pytest

from nova_sched.objects import bounds
from nova_sched.rpc import bodies

PACK = {'application/x-gzip': zlib.compress, 'application/x-bz2':
        bz2.compress, 'application/x-lzma': lzma.compress}


@pytest.mark.parametrize('kind', PACK)
def test_a_small_body_that_unpacks_to_much_takes_little_memory(kind):
    """Of 48 MiB not more than a few times the limit is ever there."""
    packed = PACK[kind](b'0' * (48 << 20))
    tracemalloc.start()
    try:
        with pytest.raises(bodies.Unreadable, match='unpack to more than'):
            compression.decompress(packed, kind)
        assert tracemalloc.get_traced_memory()[1] < 4 * bounds.MESSAGE_BYTES
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize('kind', PACK)
def test_a_body_of_the_limit_is_unpacked(kind):
    body = b'0' * bounds.MESSAGE_BYTES
    assert compression.decompress(PACK[kind](body), kind) == body


def test_what_the_client_packs_can_be_unpacked():
    for name in ('gzip', 'zlib', 'bzip2', 'bzip', 'xz', 'lzma'):
        packed, kind = compression.compress('text', name)
        assert compression.decompress(packed, kind) == b'text'


def test_a_compression_that_has_no_bound_is_not_unpacked():
    with pytest.raises(bodies.Unreadable, match='brotli is not bounded'):
        bodies._unpacking('brotli')(b'')
