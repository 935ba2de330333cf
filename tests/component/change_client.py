# SPDX-License-Identifier: LGPL-3.0-or-later
"""A client that has one file open to be changed, in a process of its own that Debian's python runs:

    change_client.py root root://HOST:PORT       by the Python bindings of XRootD
    change_client.py c libxec.so CONFIGURATION   by the C interface
    change_client.py files DIRECTORY             files of a mount

Each line that comes in is a JSON list, a method below with its arguments. Each line that goes out is ["ok", VALUE] or
["error", MESSAGE]. Bytes that are written are told by the seed that makes them; those that are read are in base64."""
import base64
import ctypes
import fcntl
import json
import os
import random
import sys


def bytes_of(seed, size):
    return random.Random(seed).randbytes(size)


class Refused(Exception):
    pass


class Root:
    """XRootD has no append: it writes at the size that it asks for."""

    def __init__(self, url):
        from XRootD import client
        from XRootD.client.flags import OpenFlags
        self.client, self.url, self.files, self.file = client, url, client.FileSystem(url), None
        self.flags = {"update": OpenFlags.UPDATE, "truncate": OpenFlags.DELETE | OpenFlags.UPDATE,
                      "exclusive": OpenFlags.NEW | OpenFlags.UPDATE, "read": OpenFlags.READ}

    @staticmethod
    def must(answer):
        status, value = answer
        if not status.ok:
            raise Refused(status.message)
        return value

    def opened(self, name, how):
        file = self.client.File()
        self.must(file.open(f"{self.url}/{name}", self.flags[how]))
        return file

    def open(self, name, how):
        self.file = self.opened(name, how)

    def size(self):
        return self.must(self.file.stat(True)).size

    def write(self, data, offset):
        self.must(self.file.write(data, offset=offset))

    def append(self, data):
        self.write(data, self.size())

    def truncate(self, size):
        self.must(self.file.truncate(size))

    def read(self, offset, size):
        return self.must(self.file.read(offset, size))

    def sync(self):
        self.must(self.file.sync())

    def close(self):
        self.must(self.file.close())

    def rename(self, name, new):
        self.must(self.files.mv(name, new))

    def content(self, name):
        try:
            return self.must(self.opened(name, "read").read())
        except Refused as error:
            if "[3011]" in str(error):
                return None
            raise


class EditOptions(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("truncate", ctypes.c_int), ("create", ctypes.c_int),
                ("exclusive", ctypes.c_int), ("last_writer_wins", ctypes.c_int), ("attributes", ctypes.c_void_p),
                ("attributes_count", ctypes.c_size_t), ("parent_must_exist", ctypes.c_int)]


class CInterface:
    POINTERS = ("xec_config_new", "xec_edit_open", "xec_open", "xec_rename", "xec_edit_write", "xec_edit_append",
                "xec_edit_truncate", "xec_edit_read", "xec_edit_sync", "xec_edit_close", "xec_read",
                "xec_request_take_edit", "xec_request_take_reader")
    WORDS = ("xec_config_error", "xec_request_message", "xec_code_name")
    NUMBERS = ("xec_edit_size", "xec_request_bytes", "xec_reader_size")

    def __init__(self, library, configuration):
        self.xec = ctypes.CDLL(library)
        for names, kind in ((self.POINTERS, ctypes.c_void_p), (self.WORDS, ctypes.c_char_p), (self.NUMBERS, ctypes.c_uint64)):
            for name in names:
                getattr(self.xec, name).restype = kind
        config = ctypes.c_void_p(self.xec.xec_config_new())
        if self.xec.xec_config_read_file(config, configuration.encode()) != 0:
            raise Refused(self.xec.xec_config_error(config).decode())
        self.store, error = ctypes.c_void_p(), ctypes.create_string_buffer(500)
        if self.xec.xec_store_open(config, 1, ctypes.c_int64(0), ctypes.byref(self.store), error, ctypes.c_size_t(len(error))):
            raise Refused(error.value.decode())
        self.edit = ctypes.c_void_p()

    def must(self, request, take=lambda request: None):
        request = ctypes.c_void_p(request)
        try:
            code = self.xec.xec_request_wait(request)
            if code != 0:
                raise Refused(f"{self.xec.xec_code_name(code).decode()}: {self.xec.xec_request_message(request).decode()}")
            return take(request)
        finally:
            self.xec.xec_request_free(request)

    def drop(self):
        self.xec.xec_edit_free(self.edit)
        self.edit = ctypes.c_void_p()

    def open(self, name, how):
        self.drop()
        options = EditOptions(size=ctypes.sizeof(EditOptions), truncate=how == "truncate", exclusive=how == "exclusive")
        self.edit = ctypes.c_void_p(self.must(self.xec.xec_edit_open(self.store, name.encode(), ctypes.byref(options), None),
                                              self.xec.xec_request_take_edit))

    def size(self):
        return self.xec.xec_edit_size(self.edit)

    def write(self, data, offset):
        self.must(self.xec.xec_edit_write(self.edit, ctypes.c_uint64(offset), data, ctypes.c_size_t(len(data))))

    def append(self, data):
        self.must(self.xec.xec_edit_append(self.edit, data, ctypes.c_size_t(len(data))))

    def truncate(self, size):
        self.must(self.xec.xec_edit_truncate(self.edit, ctypes.c_uint64(size)))

    def read(self, offset, size):
        into = ctypes.create_string_buffer(size)
        got = self.must(self.xec.xec_edit_read(self.edit, ctypes.c_uint64(offset), into, ctypes.c_size_t(size)),
                        self.xec.xec_request_bytes)
        return into.raw[:got]

    def sync(self):
        self.must(self.xec.xec_edit_sync(self.edit))

    def close(self):
        self.must(self.xec.xec_edit_close(self.edit))
        self.drop()

    def rename(self, name, new):
        self.must(self.xec.xec_rename(self.store, name.encode(), new.encode(), None, None, None))

    def content(self, name):
        try:
            reader = ctypes.c_void_p(self.must(self.xec.xec_open(self.store, name.encode(), None, None),
                                               self.xec.xec_request_take_reader))
        except Refused as error:
            if str(error).startswith("not_found"):
                return None
            raise
        into = ctypes.create_string_buffer(self.xec.xec_reader_size(reader))
        self.must(self.xec.xec_read(reader, ctypes.c_uint64(0), into, ctypes.c_size_t(len(into)), None))
        self.xec.xec_reader_free(reader)
        return into.raw


class Files:
    FLAGS = {"update": 0, "truncate": os.O_CREAT | os.O_TRUNC, "exclusive": os.O_CREAT | os.O_EXCL}

    def __init__(self, directory):
        self.directory, self.file = directory, -1

    def open(self, name, how):
        if how != "update":
            os.makedirs(os.path.dirname(self.directory + name), exist_ok=True)
        self.file = os.open(self.directory + name, os.O_RDWR | self.FLAGS[how])

    def size(self):
        return os.fstat(self.file).st_size

    def write(self, data, offset):
        while data:
            done = os.pwrite(self.file, data, offset)
            data, offset = data[done:], offset + done

    def append(self, data):
        fcntl.fcntl(self.file, fcntl.F_SETFL, os.O_APPEND)
        self.write(data, 0)
        fcntl.fcntl(self.file, fcntl.F_SETFL, 0)

    def truncate(self, size):
        os.ftruncate(self.file, size)

    def read(self, offset, size):
        return os.pread(self.file, size, offset)

    def sync(self):
        os.fsync(self.file)

    def close(self):
        os.close(self.file)

    def rename(self, name, new):
        os.rename(self.directory + name, self.directory + new)

    def content(self, name):
        try:
            with open(self.directory + name, "rb") as file:
                return file.read()
        except FileNotFoundError:
            return None


def answer(client, method, *arguments):
    if method in ("write", "append"):
        seed, size, *place = arguments
        arguments = (bytes_of(seed, size), *place)
    try:
        value = getattr(client, method)(*arguments)
    except (Refused, OSError) as error:
        return "error", str(error)
    return "ok", base64.b64encode(value).decode() if isinstance(value, bytes) else value


def main():
    kind, *words = sys.argv[1:]
    client = {"root": Root, "c": CInterface, "files": Files}[kind](*words)
    for line in sys.stdin:
        print(json.dumps(answer(client, *json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
