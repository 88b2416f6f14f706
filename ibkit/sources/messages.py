"""Other names and addresses in what services were asked and what they replied: ibacm's and ibarr's messages."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ibkit.parsers import acm_protocol, ibarr
from ibkit.parsers.acm_protocol import ADDRESS_BYTES, IP4, IP6, NAME, PATH, Element, Endpoint
from ibkit.sources.base import ExchangeAnswer
from ibkit.sources.pseudonyms import Pseudonyms


def names_in(answer: ExchangeAnswer) -> Iterator[str]:
    """The names of hosts in a request to ibacm and in its reply."""
    for data in () if _is_ibarr(answer) else (answer.request, answer.reply):
        message = acm_protocol.decode(data)
        if message is not None:
            yield from (acm_protocol.text(element.info) for element in message.elements if element.type == NAME)
            yield from map(acm_protocol.text, message.endpoint.addresses if message.endpoint else ())


def scrubbed(answer: ExchangeAnswer, new: Pseudonyms, text: Callable[[str], str]) -> ExchangeAnswer | None:
    """The same exchange with other names and addresses; None where a message is not wholly understood.

    ``text`` replaces names and addresses in a text.
    """
    scrub = _scrubbed_ibarr if _is_ibarr(answer) else _scrubbed_acm
    request = scrub(answer.request, new, text)
    reply = scrub(answer.reply, new, text) if answer.reply else b""
    if request is None or reply is None:
        return None
    return ExchangeAnswer(text(answer.address), request, reply, answer.error)


def _is_ibarr(answer: ExchangeAnswer) -> bool:
    return answer.address.startswith("udp:")


def _scrubbed_acm(data: bytes, new: Pseudonyms, text: Callable[[str], str]) -> bytes | None:
    message = acm_protocol.decode(data)
    if message is None or acm_protocol.fault(message):
        return None
    try:
        elements = tuple(_element(element, new, text) for element in message.elements)
        endpoint = None if message.endpoint is None else _endpoint(message.endpoint, new, text)
    except ValueError:
        return None
    return acm_protocol.encode(message._replace(elements=elements, endpoint=endpoint))


def _element(element: Element, new: Pseudonyms, text: Callable[[str], str]) -> Element:
    info = b""
    if element.type == IP4:
        info = _other(element.info[:4], new.ipv4)
    elif element.type == IP6:
        info = _other(element.info[:16], new.ipv6)
    elif element.type == NAME:
        info = _text(element.info, text)
    elif element.type == PATH and (path := acm_protocol.decode_path(element.info)):
        path = path._replace(dgid=new.ipv6(path.dgid), sgid=new.ipv6(path.sgid), reserved=b"")
        info = acm_protocol.encode_path(path)
    return element._replace(info=info)


def _endpoint(endpoint: Endpoint, new: Pseudonyms, text: Callable[[str], str]) -> Endpoint:
    addresses = tuple(_text(address, text) for address in endpoint.addresses)
    return endpoint._replace(guid=new.guid(endpoint.guid), addresses=addresses)


def _scrubbed_ibarr(data: bytes, new: Pseudonyms, text: Callable[[str], str]) -> bytes | None:
    message = ibarr.decode(data)
    if message is None or message.tail:
        return None
    tlvs = []
    for tlv in message.tlvs:
        if (tlv.type, len(tlv.value)) not in ((ibarr.IPV4, 4), (ibarr.GID, 16)):
            return None
        tlvs.append(tlv._replace(value=_other(tlv.value, new.ipv4 if tlv.type == ibarr.IPV4 else new.ipv6)))
    return ibarr.encode(message._replace(tlvs=tuple(tlvs)))


def _other(data: bytes, number: Callable[[int], int]) -> bytes:
    return number(int.from_bytes(data, "big")).to_bytes(len(data), "big")


def _text(data: bytes, text: Callable[[str], str]) -> bytes:
    """A name's field. Raises ValueError where the other name has no room in it."""
    new = text(acm_protocol.text(data)).encode()
    if len(new) >= ADDRESS_BYTES:
        raise ValueError("no room for the name")
    return new.ljust(ADDRESS_BYTES, b"\0")
