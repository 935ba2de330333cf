#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""Checks archives against the format, sharing no code with XEC: zipfile reads them, the rest is written anew.

  check_archive.py --layout xrdec --geometry 4+2 --chunk-size 65536 SERVER_FOLDER...
  check_archive.py --layout native SERVER_FOLDER...

The arguments are the folders of data servers (files with the same path below them are archives of one object), or
archives of one object. For every object: names, sizes, order and CRC of the members, no gaps between records, every
parity byte; in layout xrdec also the attributes, where the files have them; in layout native the manifests and the
page checksums, and geometry and chunk size are taken from the manifest. Of layout native, the files of object
directories whose names begin with "p." or "w." are checked (docs/protocol.md).

Prints a line for each object; exit status 0 when all are right, 1 when not, 2 for wrong arguments.
"""

import argparse
import os
import re
import struct
import sys
import zipfile
import zlib

MEMBER = re.compile(r"obj\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\Z")
END_SIGNATURE = b"PK\x05\x06"
PAGE_EXTRA, ZIP64_EXTRA = 0x4358, 1
FORMATS = (1, 2)
# A member with a chunk number that no geometry has: it has no data, and lets the records before the directory end at a
# multiple of RUN_UNIT where they have RUN_ALIGNED_FROM bytes or more. Archives of format 1 have none.
FILLER_CHUNK, RUN_UNIT, RUN_ALIGNED_FROM, MEMBERS_MAX = 32, 4096, 65536, 65534
PARTS_MAX, STRIPE_NUMBERS_MAX = 10000, 1 << 32
REQUIRED = ("!kind", "!object", "!size", "!geometry", "!chunk-size", "!page-size", "path", "mtime")


class Bad(Exception):
    """What is wrong, in one sentence."""


def need(condition, sentence):
    if not condition:
        raise Bad(sentence)


# --- arithmetic -------------------------------------------------------------------------------------------------


def gf_tables():
    """Exponentials and logarithms of GF(2^8) with the polynomial 0x11d and the generator 2."""
    exponential, logarithm, value = [0] * 510, [0] * 256, 1
    for power in range(255):
        exponential[power] = exponential[power + 255] = value
        logarithm[value] = power
        value = value << 1 ^ (0x11D if value & 0x80 else 0)
    return exponential, logarithm


EXP, LOG = gf_tables()


def multiplication_table(factor):
    """Of one factor: a translation table for bytes.translate."""
    return bytes([0] + [EXP[LOG[factor] + LOG[x]] for x in range(1, 256)])


def parity_chunk(row, data, length):
    """Parity chunk number `row` (k, k+1, ...) of the data chunks, which are padded with zeros to `length`."""
    total = 0
    for column, chunk in enumerate(data):
        factor = 1 if len(data) == 1 else EXP[255 - LOG[row ^ column]]
        product = chunk.ljust(length, b"\0").translate(multiplication_table(factor))
        total ^= int.from_bytes(product, "little")
    return total.to_bytes(length, "little")


def crc32c_table():
    table = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
        table.append(value)
    return table


CRC32C = crc32c_table()


def crc32c(data):
    crc, table = 0xFFFFFFFF, CRC32C
    for byte in data:
        crc = table[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def chunk_size_of(stripe_bytes, k, chunk_size, chunk):
    """Bytes of a member of a stripe that has so many bytes of the object."""
    return max(0, min(stripe_bytes - (chunk if chunk < k else 0) * chunk_size, chunk_size))


# --- one archive ------------------------------------------------------------------------------------------------


class Archive:
    """members: {(stripe, chunk): (offset of the data, its size)}: an archive may be larger than the memory."""

    def __init__(self, path, check_pages):
        self.path, self.members, self.comment = path, {}, b""
        self.directory_offset = self.records = 0
        self.page_sizes = set()
        if os.path.getsize(path) == 0:
            return  # XrdEc's archive of an empty object
        with open(path, "rb") as file, zipfile.ZipFile(file) as archive:
            self.comment = archive.comment
            need(END_SIGNATURE not in self.comment, "the comment contains the end signature")
            at = 0
            for info in archive.infolist():
                at = self.read_member(file, info, at, check_pages)
            need(at == archive.start_dir, f"{archive.start_dir - at} bytes lie between the last member and the directory")
            self.directory_offset, self.records = at, len(archive.infolist())
            file.seek(at)
            self.check_tail(file.read(), at, len(archive.infolist()))

    def data(self, key):
        offset, size = self.members[key]
        with open(self.path, "rb") as file:
            file.seek(offset)
            return file.read(size)

    def read_member(self, file, info, at, check_pages):
        name = MEMBER.match(info.filename)
        need(name, f"foreign member {info.filename!r}")
        need(info.header_offset == at, f"{info.filename} begins at {info.header_offset}, not at {at}")
        need(info.compress_type == 0 and info.flag_bits == 0, f"{info.filename} is not simply stored")
        need(not info.comment, f"{info.filename} has a comment")
        need((ZIP64_EXTRA in extra_fields(info.extra)) == (at >= 0xFFFFFFFF), f"{info.filename}: ZIP64 without need")
        file.seek(at)
        header = file.read(30)
        fields = struct.unpack("<IHHHHHIIIHH", header)
        need(fields[0] == 0x04034B50 and fields[2] == 0 and fields[3] == 0, f"{info.filename}: no local header")
        need(fields[6:9] == (info.CRC, info.file_size, info.file_size), f"{info.filename}: header and directory differ")
        local_name, extra = file.read(fields[9]), file.read(fields[10])
        need(local_name == info.filename.encode(), f"{info.filename}: the local header has another name")
        data_offset, data = file.tell(), file.read(info.file_size)
        need(zlib.crc32(data) == info.CRC and len(data) == info.file_size, f"{info.filename}: wrong CRC")
        key = (int(name[1]), int(name[2]))
        if key[1] >= FILLER_CHUNK:
            need(not data, f"{info.filename} is no chunk and has data")
            return data_offset
        need(key not in self.members, f"{info.filename} twice")
        self.members[key] = data_offset, len(data)
        pages = extra_fields(extra).get(PAGE_EXTRA)
        if pages is not None:
            self.check_page_field(info.filename, pages, data, check_pages)
        return data_offset + len(data)

    def check_page_field(self, name, body, data, check_pages):
        version, page_size = struct.unpack_from("<HI", body)
        need(version == 1 and page_size >= 4096, f"{name}: page checksums of an unknown form")
        self.page_sizes.add(page_size)
        pages = [data[i : i + page_size] for i in range(0, len(data), page_size)]
        need(len(body) == 6 + 4 * len(pages), f"{name}: wrong number of page checksums")
        if check_pages:
            for i, page in enumerate(pages):
                need(struct.unpack_from("<I", body, 6 + 4 * i)[0] == crc32c(page), f"{name}: wrong checksum of page {i}")

    def check_tail(self, tail, directory_offset, count):
        """The records after the members: ZIP64 exactly where it is needed, stock readers find the end record."""
        end = len(tail) - 22 - len(self.comment)
        need(tail.rfind(END_SIGNATURE) == end, "a reader that looks for the last end signature misses the end record")
        size, offset = struct.unpack_from("<II", tail, end + 12)
        need(struct.unpack_from("<HHHH", tail, end + 4) == (0, 0, count, count), "wrong counts in the end record")
        zip64 = directory_offset >= 0xFFFFFFFF
        need(offset == (0xFFFFFFFF if zip64 else directory_offset), "wrong directory offset in the end record")
        need((tail[end - 20 : end - 16] == b"PK\x06\x07") == zip64, "ZIP64 records without need, or none where needed")
        need(zip64 or size == end, "bytes between directory and end record")


def extra_fields(extra):
    fields, at = {}, 0
    while at + 4 <= len(extra):
        identity, size = struct.unpack_from("<HH", extra, at)
        fields[identity] = extra[at + 4 : at + 4 + size]
        at += 4 + size
    need(at == len(extra), "the extra fields do not fill their space")
    return fields


def parse_manifest(comment):
    text = comment[:-1] if comment.endswith(b"\n\n") else comment
    form = re.match(rb"!xec ([1-9][0-9]*)\n", text)
    need(len(text) <= 32768 and form and int(form[1]) in FORMATS, "no manifest of a known format")
    at = text.rfind(b"crc32c ")
    need(text[at:] == b"crc32c %08x\n" % crc32c(text[:at]), "the manifest's checksum is wrong")
    need(all(byte == 10 or 0x20 <= byte < 0x7F for byte in text), "the manifest has bytes that are no text")
    fields = {"!xec": [form[1].decode()]}
    for line in text[:at].decode().splitlines()[1:]:
        key, _, value = line.partition(" ")
        fields.setdefault(key, []).append(value)
    for key in REQUIRED:
        need(len(fields.get(key, [])) == 1, f"the manifest lacks {key}")
    return fields


# --- one object -------------------------------------------------------------------------------------------------


def stripes_of(manifest, size, stripe_size):
    """{stripe number: bytes of the object in it}, in the order of the object."""
    runs = [list(map(int, line.split())) for line in manifest.get("!parts", [])]
    stripes, end, parts = {}, 0, 0
    for first, part, count, step in runs or [(0, size, 1, -(-size // stripe_size))]:
        need(not runs or (part > 0 and 0 < count <= PARTS_MAX), "a part is empty, or there are too many")
        parts += count
        for i in range(count):
            stripe = first + i * step
            need(stripe >= end, "the stripe numbers of the parts do not ascend")
            for at in range(0, part, stripe_size):
                stripes[stripe] = min(stripe_size, part - at)
                stripe += 1
            end = stripe
    need(sum(stripes.values()) == size, "the parts do not make up the object")
    need(parts <= PARTS_MAX and end <= STRIPE_NUMBERS_MAX, "too many parts, or impossible stripe numbers")
    return stripes


def check_members(archives, k, m, chunk_size, stripes, empty_members):
    """All chunks of all stripes, from all archives together. `stripes`: their bytes by number. empty_members: members of
    size 0 must be there. Returns the object's adler32."""
    members, adler32 = {}, 1
    for archive in archives:
        for key in archive.members:
            need(key not in members, f"obj.{key[0]}.{key[1]} is in two archives")
            members[key] = archive
    for stripe, chunk in members:
        need(stripe in stripes and chunk < k + m, f"obj.{stripe}.{chunk} is beyond the object")
    for stripe, stripe_bytes in stripes.items():
        chunks = []
        for chunk in range(k + m):
            name, wanted = f"obj.{stripe}.{chunk}", chunk_size_of(stripe_bytes, k, chunk_size, chunk)
            archive = members.get((stripe, chunk))
            need(archive or (wanted == 0 and not empty_members), f"{name} is missing")
            chunks.append(archive.data((stripe, chunk)) if archive else b"")
            need(len(chunks[-1]) == wanted, f"{name} has {len(chunks[-1])} bytes, not {wanted}")
        for row in range(k, k + m):
            need(chunks[row] == parity_chunk(row, chunks[:k], len(chunks[0])), f"obj.{stripe}.{row}: wrong parity")
        for chunk in chunks[:k]:
            adler32 = zlib.adler32(chunk, adler32)
    return adler32


def attribute(path, name):
    try:
        return os.getxattr(path, "user.U." + name).decode()
    except OSError:
        return None


def check_xrdec(archives, k, m, chunk_size, require_attributes):
    need(len(archives) == k + m, f"{len(archives)} archives, not {k + m}")
    sizes, versions = set(), set()
    data_bytes = sum(size for a in archives for (_, chunk), (_, size) in a.members.items() if chunk < k)
    for archive in archives:
        size, version = attribute(archive.path, "xrdec.filesize"), attribute(archive.path, "xrdec.strpver")
        need((size is None) == (version is None), "one of xrdec.filesize and xrdec.strpver is missing")
        need(size is not None or not require_attributes, "the attributes xrdec.* are missing")
        if size is not None:
            need(size.isdigit() and version.isdigit(), "xrdec.filesize or xrdec.strpver is no number")
            sizes.add(int(size))
            versions.add(int(version))
    need(len(sizes) <= 1 and len(versions) <= 1, "the archives' attributes differ")
    size = sizes.pop() if sizes else data_bytes
    stripes = stripes_of({}, size, k * chunk_size)
    adler32 = check_members(archives, k, m, chunk_size, stripes, True)
    for archive in archives:
        stored = attribute(archive.path, "xrdec.adler32")
        need(stored is None or int(stored, 16) == adler32, "xrdec.adler32 is not that of the bytes")
        need(size > 0 or os.path.getsize(archive.path) == 0, "an empty object has an archive that is not empty")
    return f"{k}+{m}, {size} bytes, {len(stripes)} stripes" + (", attributes" if versions else ", no attributes")


def check_native(archives):
    manifests = [parse_manifest(archive.comment) for archive in archives]
    first = manifests[0]
    for manifest in manifests[1:]:
        for key in ("!object", "!size", "!geometry", "!chunk-size", "!page-size", "!parts", "checksum", "attribute"):
            need(manifest.get(key) == first.get(key), f"the manifests differ in {key}")
    lanes = [m["lane"][0] for m in manifests if m["!kind"] == ["object"] and "lane" in m]
    need(len(lanes) == len(set(lanes)), "two archives of one lane")
    k, m = map(int, first["!geometry"][0].split("+"))
    size, chunk_size, page_size = (int(first[key][0]) for key in ("!size", "!chunk-size", "!page-size"))
    for archive, manifest in zip(archives, manifests):
        need(manifest["!kind"] == ["object"] or not archive.members, "a witness has members")
        need(archive.page_sizes <= {page_size}, "the page size is not the manifest's")
        aligned = archive.directory_offset < RUN_ALIGNED_FROM or archive.directory_offset % RUN_UNIT == 0
        need(aligned or manifest["!xec"] == ["1"] or archive.records >= MEMBERS_MAX, "the records do not end at a multiple")
    if all(manifest["!kind"] == ["witness"] for manifest in manifests) and size > 0:
        return "witnesses only"
    stripes = stripes_of(first, size, k * chunk_size)
    adler32 = check_members(archives, k, m, chunk_size, stripes, False)
    for line in first.get("checksum", []):
        name, value = line.split()
        if name == "adler32":
            need(int(value, 16) == adler32, "adler32 is not that of the bytes")
    return f"{k}+{m}, {size} bytes, {len(stripes)} stripes, {len(archives)} archives"


# --- finding objects --------------------------------------------------------------------------------------------


def find_objects(paths, layout):
    """{name to show: [archive files]}."""
    files = [path for path in paths if os.path.isfile(path)]
    objects = {"given files": files} if files else {}
    for root in paths:
        for folder, folders, names in os.walk(root) if os.path.isdir(root) else ():
            folders.sort()
            for name in sorted(names):
                relative = os.path.relpath(os.path.join(folder, name), root)
                if layout == "xrdec" and relative.startswith(".xec" + os.sep):
                    continue  # the reserved area of a store
                if layout == "native":
                    if not name.startswith(("p.", "w.")):
                        continue
                    # p.<version>.<object id>.<size>: its witness has the same name but for the first letter.
                    relative = os.path.join(os.path.dirname(relative), name[2:])
                objects.setdefault(relative, []).append(os.path.join(folder, name))
    return objects


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layout", choices=("native", "xrdec"), required=True)
    parser.add_argument("--geometry", help="k+m, for layout xrdec")
    parser.add_argument("--chunk-size", type=int, help="bytes, for layout xrdec")
    parser.add_argument("--require-attributes", action="store_true", help="layout xrdec: missing attributes are an error")
    parser.add_argument("--no-pages", action="store_true", help="do not compute page checksums (slow in Python)")
    parser.add_argument("paths", nargs="+", metavar="FOLDER|ARCHIVE")
    arguments = parser.parse_args()
    geometry = re.match(r"([1-9][0-9]*)\+([1-9][0-9]*)\Z", arguments.geometry or "")
    if arguments.layout == "xrdec" and not (geometry and arguments.chunk_size):
        parser.error("layout xrdec needs --geometry and --chunk-size")
    for path in arguments.paths:
        if not os.path.exists(path):
            parser.error(f"{path} does not exist")

    objects = find_objects(arguments.paths, arguments.layout)
    bad = 0
    for name, files in sorted(objects.items()):
        try:
            current, archives = None, []
            for current in files:
                archives.append(Archive(current, not arguments.no_pages))
            current = None
            if arguments.layout == "native":
                summary = check_native(archives)
            else:
                k, m = int(geometry[1]), int(geometry[2])
                summary = check_xrdec(archives, k, m, arguments.chunk_size, arguments.require_attributes)
            print(f"ok  {name}: {summary}")
        except (Bad, zipfile.BadZipFile, struct.error, ValueError, OSError) as error:
            bad += 1
            print(f"BAD {name}: " + (f"{current}: " if current else "") + str(error))
    print(f"{len(objects)} objects, {bad} bad")
    return 1 if bad or not objects else 0


if __name__ == "__main__":
    sys.exit(main())
