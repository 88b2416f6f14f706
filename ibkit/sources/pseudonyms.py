"""Other numbers and names in place of the real ones: the same for the same input, and with the structure that a
diagnosis needs.

Numbers keep their relations: two that share their first n bits still do, so what was one subnet stays one (the idea of
Crypto-PAn: J. Xu et al., "Prefix-preserving IP address anonymization", 2002). Which bits are flipped depends on a key
that is nowhere kept.
"""

from __future__ import annotations

from functools import cache
from hashlib import blake2b

#: The middle of a GUID where it tells only how the GUID was made: of a MAC (EUI-64), of Mellanox's 03:00, by hand.
_PLAIN_MIDDLES = frozenset({0xFFFE, 0x0300, 0x0003, 0x0000, 0xFFFF})
#: Bits of an IPv4 address that stay, so that a private address stays private (RFC 1918, 3927, 6598); else the first 8.
_IPV4_RANGES = ((0xC0A80000, 16), (0xAC100000, 12), (0xA9FE0000, 16), (0x64400000, 10))
_LOW_24 = (1 << 24) - 1
_LOW_64 = (1 << 64) - 1


class Pseudonyms:
    """The replacements of one capture. Every method gives the same answer to the same question."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._letters: dict[str, str] = {}
        self.guid = cache(self.guid)  # type: ignore[method-assign]
        self.ipv4 = cache(self.ipv4)  # type: ignore[method-assign]
        self.ipv6 = cache(self.ipv6)  # type: ignore[method-assign]

    def guid(self, value: int) -> int:
        """A GUID, an interface id or a subnet prefix (64 bits). The vendor's 24 bits stay.

        Small numbers, which somebody chose, and prefixes with a meaning of their own (link-local, site-local,
        multicast) stay as they are.
        """
        if value >> 24 == 0 or value >> 54 in (0x3FA, 0x3FB) or value >> 56 == 0xFF:
            return value
        vendor, middle, low = value >> 40, value >> 24 & 0xFFFF, value & _LOW_24
        if middle not in _PLAIN_MIDDLES:
            middle = self._flip("middle", vendor << 16 | middle, 40, keep_first=24) & 0xFFFF
        return vendor << 40 | middle << 24 | self._low(low)

    def mac(self, value: int) -> int:
        """A MAC address (48 bits). The vendor's 24 bits stay; group addresses stay but for those made of addresses."""
        made_of_an_address = value >> 24 == 0x3333FF  # IPv6 neighbour discovery, RFC 2464
        if value >> 40 & 1 and not made_of_an_address:
            return value
        return value & ~_LOW_24 | self._low(value & _LOW_24) if value else 0

    def ipv4(self, value: int) -> int:
        """An IPv4 address. Masks, loopback, multicast and "any" stay."""
        inverse = value ^ 0xFFFFFFFF
        if value >> 24 in (0, 127) or value >> 28 >= 0xE or inverse & inverse + 1 == 0:
            return value
        keep = next((bits for base, bits in _IPV4_RANGES if (value ^ base) >> 32 - bits == 0), 8)
        return self._flip("ipv4", value, 32, keep_first=keep)

    def ipv6(self, value: int) -> int:
        """An IPv6 address or a GID (128 bits): a prefix and an interface id, or an IPv4 address in disguise."""
        if value >> 32 == 0xFFFF:
            return value & ~0xFFFFFFFF | self.ipv4(value & 0xFFFFFFFF)
        if value >> 24 == 0xFF02 << 88 | 0x1FF:  # solicited-node, RFC 4291
            return value & ~_LOW_24 | self._low(value & _LOW_24)
        if value >> 120 == 0xFF or value >> 16 == 0:
            return value
        return self.guid(value >> 64) << 64 | self.guid(value & _LOW_64)

    def letters(self, text: str) -> str:
        """One run of letters in a name; digits and marks between them stay, so that node[01-16] stays a list."""
        text = text.lower()
        if text not in self._letters:
            self._letters[text] = f"host{_count_in_letters(len(self._letters))}"
        return self._letters[text]

    def _low(self, value: int) -> int:
        """The last three bytes of GUIDs and MACs alike: addresses that are made of each other still are.

        The last four bits stay, for a port's GUID is its node's and a small number.
        """
        return self._flip("low", value, 24, keep_last=4)

    def _flip(self, what: str, value: int, width: int, *, keep_first: int = 0, keep_last: int = 0) -> int:
        flipped = value
        for place in range(width - keep_first - 1, keep_last - 1, -1):
            above = value >> place + 1
            digest = blake2b(f"{what} {place} {above}".encode(), key=self._key, digest_size=1).digest()
            flipped ^= (digest[0] & 1) << place
        return flipped


def _count_in_letters(number: int) -> str:
    """A, b ... z, aa, ab ..."""
    text = ""
    number += 1
    while number:
        number, letter = divmod(number - 1, 26)
        text = chr(ord("a") + letter) + text
    return text
