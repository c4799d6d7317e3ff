"""How large the parts of a Parquet file are when unpacked, as each part itself says it.

A reader unpacks a file page by page, and makes room for what the page announces. The footer repeats these sizes, but no
reader looks there: a footer that says 9 bytes can stand for gigabytes. Pages begin with a small structure in Thrift's
compact protocol (https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md).
"""

from collections.abc import Iterator

import pyarrow.parquet

INT32 = 5
UNPACKED, PACKED = 2, 3  # fields of a page's header, both INT32
MAX_NUMBER_BYTES = 10


def unpacked_bytes(data: bytes, group: pyarrow.parquet.RowGroupMetaData) -> int:
    """Bytes of all pages of a row group when unpacked.

    Args:
        data: the file.
        group: where its pages are, as the footer has it.

    Raises:
        ValueError, LookupError, RecursionError: no pages of Parquet.
    """
    columns = (group.column(index) for index in range(group.num_columns))
    return sum(size for column in columns for size in _pages(data, column))


def _pages(data: bytes, column: pyarrow.parquet.ColumnChunkMetaData) -> Iterator[int]:
    begins = (column.data_page_offset, column.dictionary_page_offset)
    at = min(begin for begin in begins if begin is not None)
    end = at + column.total_compressed_size
    if not 0 < at <= end <= len(data):
        raise ValueError(f"pages from {at} to {end} in a file of {len(data)} bytes")
    while at < end:
        fields, at = _structure(data, at)
        unpacked, packed = fields[UNPACKED], fields[PACKED]
        if min(unpacked, packed) < 0:
            raise ValueError("a page of less than no bytes")
        yield max(unpacked, packed)
        at += packed


def _structure(data: bytes, at: int) -> tuple[dict[int, int], int]:
    """The fields of type INT32 by number, and where the structure ends."""
    fields, number = {}, 0
    while data[at]:
        step, kind = data[at] >> 4, data[at] & 15
        at += 1
        if step:
            number += step
        else:
            number, at = _whole(data, at)
        if kind == INT32:
            fields[number], at = _whole(data, at)
        else:
            at = _after(data, at, kind)
    return fields, at + 1


def _after(data: bytes, at: int, kind: int) -> int:
    """Where a value of a kind that begins at ``at`` ends."""
    match kind:
        case 1 | 2:  # true and false: the kind is the value
            return at
        case 3:
            return at + 1
        case 4 | 6:
            return _whole(data, at)[1]
        case 7:
            return at + 8
        case 8:
            length, at = _unsigned(data, at)
            return at + length
        case 12:
            return _structure(data, at)[1]
    raise ValueError(f"a value of type {kind}, which no page's header has")


def _whole(data: bytes, at: int) -> tuple[int, int]:
    """A whole number of up to 32 bits, as C++ reads it, and where it ends."""
    number, at = _unsigned(data, at)
    number &= 2**32 - 1
    return (number >> 1) ^ -(number & 1), at


def _unsigned(data: bytes, at: int) -> tuple[int, int]:
    number = 0
    for place in range(MAX_NUMBER_BYTES):
        byte = data[at + place]
        number |= (byte & 127) << 7 * place
        if byte < 128:
            return number, at + place + 1
    raise ValueError(f"a number of more than {MAX_NUMBER_BYTES} bytes")
