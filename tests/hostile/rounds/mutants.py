# SPDX-License-Identifier: Apache-2.0
"""Datagrams that were RTP or RTCP once. All by a random.Random, so that a seed
tells them all."""
import struct

SIZES = (0, 1, 2, 3, 4, 7, 8, 11, 12, 13, 15, 16, 27, 28, 29, 255, 1460, 1472,
         1500, 1922, 2047, 2048, 2049, 4096, 9000, 40000)
NUMBERS = (0, 1, 127, 128, 255, 256, 0x7fff, 0x8000, 0xffff, 0x7fffffff,
           0x80000000, 0xffffffff)
SR, RR, SDES, BYE, APP, RTPFB, PSFB, XR = range(200, 208)


def flip(rng, data):
    """A few bits."""
    for _ in range(rng.choice((1, 1, 2, 8))):
        if data:
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def cut(rng, data):
    del data[rng.randrange(len(data) + 1):]


def grow(rng, data):
    data += rng.randbytes(rng.choice((1, 2, 4, 20, 160, 1000)))


def resize(rng, data):
    """To a size at which something might end."""
    size = rng.choice(SIZES)
    data += rng.randbytes(max(0, size - len(data)))
    del data[size:]


def scramble(rng, data):
    """The payload is noise."""
    data[12:] = rng.randbytes(len(data[12:]))


def number(rng, data):
    """Some octets are a number that is often a limit."""
    size, code = rng.choice(((1, "!B"), (2, "!H"), (4, "!I")))
    if len(data) >= size:
        at = rng.randrange(len(data) - size + 1)
        struct.pack_into(code, data, at,
                         rng.choice(NUMBERS) & (1 << 8 * size) - 1)


def double(rng, data):
    """A part of it comes twice."""
    if data:
        a = rng.randrange(len(data))
        data[a:a] = data[a:a + rng.randrange(1, 64)]


def head(rng, data):
    """The first octet: version, padding, extension, number of CSRCs."""
    if data:
        data[0] = rng.randrange(256) if rng.random() < 0.3 else \
            0x80 | rng.randrange(64)


def kind(rng, data):
    """Marker and payload type."""
    if len(data) > 1:
        data[1] = rng.choice((rng.randrange(256), 13, 0x80 | 13, 96, 101,
                              *range(SR, XR + 1)))


def leap(rng, data):
    """Another sequence number."""
    if len(data) > 3:
        struct.pack_into("!H", data, 2, rng.choice((rng.randrange(65536), 0,
                                                    65535, 32768)))


def jump(rng, data):
    """Another timestamp."""
    if len(data) > 7:
        struct.pack_into("!I", data, 4, rng.choice((rng.getrandbits(32),
                                                    *NUMBERS[-3:])))


def stranger(rng, data):
    """Another SSRC."""
    if len(data) > 11:
        struct.pack_into("!I", data, 8, rng.choice((rng.getrandbits(32), 0,
                                                    0xffffffff)))


def extend(rng, data):
    """An extension that may claim more than there is."""
    if len(data) >= 12:
        data[0] |= 0x10
        data[12:12] = struct.pack("!HH", rng.choice((0xbede, 0x1000, 0)),
                                  rng.choice((0, 1, 2, 255, 65535)))


def pad(rng, data):
    """Padding that may claim more than there is."""
    if data:
        data[0] |= 0x20
        data[-1] = rng.choice((0, 1, 4, 12, len(data) & 255, 255))


EDITS = (flip, cut, grow, resize, scramble, number, double, head, kind, leap,
         jump, stranger, extend, pad)


def mutated(rng, data, edits=EDITS):
    """@data with one to three edits; one of eight stays as it is."""
    data = bytearray(data)
    for _ in range(rng.choice((0, 1, 1, 1, 1, 2, 2, 3))):
        rng.choice(edits)(rng, data)
    return bytes(data)


def event(rng):
    """A payload of telephone events, or of comfort noise."""
    if rng.random() < 0.3:
        return rng.randbytes(rng.randrange(1, 12))
    return struct.pack("!BBH", rng.choice((*range(17), 255)),
                       rng.choice((10, 0x8a, 0xff)),
                       rng.choice((0, 160, 320, 8000, 65535)))


def report(rng, ssrc):
    """A block of a receiver report."""
    return struct.pack("!IIIIII", ssrc, rng.getrandbits(32),
                       *(rng.choice(NUMBERS) for _ in range(4)))


def chunk(rng, ssrc):
    """An SDES chunk, whose items may claim more than there is."""
    text = b"".join(bytes((rng.randrange(9), rng.choice((n, n, 255)))) +
                    rng.randbytes(n) for n in
                    (rng.randrange(20) for _ in range(rng.randrange(3))))
    return struct.pack("!I", ssrc) + text + bytes(4 - len(text) % 4)


def rtcp_part(rng, ssrc, ours):
    """One packet of a compound one."""
    what = rng.randrange(SR, XR + 1)
    blocks = rng.choice((0, 1, 1, 2, 31))
    body = struct.pack("!I", ssrc)
    if what == SR:
        body += struct.pack("!IIIII", *(rng.choice(NUMBERS) for _ in range(5)))
    if what in (SR, RR):
        body += b"".join(report(rng, rng.choice((ours, ssrc, 0)))
                         for _ in range(blocks))
    elif what == SDES:
        body = b"".join(chunk(rng, ssrc) for _ in range(blocks))
    else:
        body += rng.randbytes(4 * rng.randrange(12))
    body += bytes(-len(body) % 4)
    words = len(body) // 4 if rng.random() < 0.8 else rng.choice(NUMBERS)
    return struct.pack("!BBH", 0x80 | blocks, what, words & 0xffff) + body


def rtcp(rng, ssrc, ours):
    """A compound packet of @ssrc on what @ours sends."""
    return b"".join(rtcp_part(rng, ssrc, ours)
                    for _ in range(rng.choice((1, 1, 2, 3, 8))))
