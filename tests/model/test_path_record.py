"""Codes of path records, by the specification's tables, and records that saquery printed."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibkit.model.ids import Gid, PKey
from ibkit.model.path_record import (
    MTU_BYTES,
    RATE_GBPS,
    PathRecord,
    code_of_mtu,
    code_of_rate,
    differences,
    life_seconds,
    of_codes,
    of_fields,
)
from ibkit.parsers import acm_protocol, saquery

FIXTURES = Path(__file__).parents[2] / "fixtures"


def test_what_saquery_printed_of_a_routed_path() -> None:
    text = (FIXTURES / "two-subnets/a/subnet/more-2.out").read_text()
    (record,) = saquery.parse(text).value.records
    path = of_fields(record.fields)
    assert path == PathRecord(
        Gid.parse("fec0::1:a1:0:0:11"), Gid.parse("fec0::2:b2:0:0:31"), 1, 4, PKey(0xFFFF), 0, 2048, 10.0, 255,
        1.07374, 0, 0, True,
    )  # fmt: skip
    assert path.is_routed


@pytest.mark.parametrize(
    "fault",
    [{"dlid": "0"}, {"slid": "0"}, {"dlid": "49152"}, {"dgid": "x"}, {"mtu": "0x0"}, {"pkey": "0x0"}, {"mtu": "0x3f"}],
)
def test_what_cannot_be_a_record_is_none(fault: dict[str, str]) -> None:
    """A simulator without reassembly makes saquery print what lay in its memory: LIDs of 0, an MTU of 0."""
    text = (FIXTURES / "two-subnets/a/subnet/more-2.out").read_text()
    (record,) = saquery.parse(text).value.records
    assert of_fields({**record.fields, **fault}) is None


def test_a_rate_of_a_coming_generation_is_unknown_and_not_zero() -> None:
    text = (FIXTURES / "two-subnets/a/subnet/more-2.out").read_text()
    (record,) = saquery.parse(text).value.records
    path = of_fields({**record.fields, "rate": "0xbd"})
    assert path
    assert (path.rate_gbps, path.dlid) == (None, 4)


@pytest.mark.parametrize(
    ("code", "rate"),
    [(2, 2.5), (3, 10), (7, 40), (12, 56), (16, 100), (17, 200), (21, 400), (23, 800), (19, 28), (20, 50)],
)
def test_rates(code: int, rate: float) -> None:
    """rdma-core, ``libibverbs/verbs.h``, enum ibv_rate."""
    assert RATE_GBPS[code] == rate
    assert code_of_rate(rate) == code


def test_mtus_and_lives() -> None:
    assert MTU_BYTES == {1: 256, 2: 512, 3: 1024, 4: 2048, 5: 4096}
    assert [code_of_mtu(size) for size in (256, 4096, 1500)] == [1, 5, None]
    assert life_seconds(18) == pytest.approx(1.073741824, rel=1e-5)
    assert life_seconds(0) == 4.096e-6


def test_of_a_message_zero_is_not_given() -> None:
    path = of_codes(acm_protocol.PathRecord(dgid=5, dlid=3, pkey=0x8001, mtu_code=4, rate_code=16, hop_limit=1))
    assert (path.dgid, path.sgid, path.dlid, path.slid, path.pkey) == (Gid(5), None, 3, None, PKey(0x8001))
    assert (path.mtu_bytes, path.rate_gbps, path.is_routed) == (2048, 100.0, False)


@given(st.dictionaries(st.sampled_from(["dlid", "slid", "mtu", "rate", "sgid", "dgid", "pkey"]), st.text(max_size=40)))
def test_no_fields_raise(fields: dict[str, str]) -> None:
    of_fields(fields)


def test_only_what_both_tell_can_differ() -> None:
    one, other = PathRecord(dlid=1, sl=0, mtu_bytes=2048), PathRecord(dlid=2, sl=0, rate_gbps=10)
    assert differences(one, other) == {"dlid": (1, 2)}
