# SPDX-License-Identifier: LGPL-3.0-or-later
"""One operation by a library for Python, in a process that Debian's python runs:

    python_client.py bindings|uproot put|get URL FILE
    python_client.py bindings|uproot list|stat|checksum|remove URL
    python_client.py bindings|uproot rename URL NAME
    python_client.py bindings all URL FILE [OPAQUE]     # in a folder: what it is told as it writes, reads, lists and removes
    python_client.py uproot tree URL URL FILE        # the same name at two servers

With the bindings of XRootD the process forks, and both it and its child ask. It has asked nothing before: a child of XRootD's
client that has asked may hang (docs/clients.md)."""
import os
import shutil
import sys
from urllib.parse import urlsplit


def split(url):
    """The server, and the name on it."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}", parts.path[1:] + (f"?{parts.query}" if parts.query else "")


class Bindings:
    def __init__(self, url):
        from XRootD import client
        self.client, self.url = client, url
        self.server, self.name = split(url)
        self.files = client.FileSystem(self.server)

    @staticmethod
    def must(answer):
        status, value = answer
        if not status.ok:
            raise OSError(status.message)
        return value

    def copy(self, source, target):
        process = self.client.CopyProcess()
        process.add_job(source, target)
        for answer in (process.prepare(), process.run()[0]):
            if not answer.ok:
                raise OSError(answer.message)

    def put(self, file):
        self.copy(file, self.url)

    def get(self, file):
        self.copy(self.url, file)

    def list(self):
        return "\n".join(entry.name for entry in self.must(self.files.dirlist(self.name)))

    def stat(self):
        return self.must(self.files.stat(self.name)).size

    def checksum(self):
        from XRootD.client.flags import QueryCode
        return self.must(self.files.query(QueryCode.CHECKSUM, self.name)).decode().rstrip("\0").split()[1]

    def rename(self, new):
        self.must(self.files.mv(self.name, new))

    def remove(self):
        self.must(self.files.rm(self.name))

    def all(self, file, opaque=""):
        """A line "exit CODE" for each request, as xrdcp and xrdfs end."""
        from XRootD.client.flags import OpenFlags
        with open(file, "rb") as source:
            body = source.read()
        with self.client.File() as new, self.client.File() as old:
            answers = [new.open(f"{self.url}/new{opaque}", OpenFlags.DELETE | OpenFlags.UPDATE)[0]]
            answers[0] = new.write(body)[0] if answers[0].ok else answers[0]
            answers[0] = new.close()[0] if answers[0].ok else answers[0]
            answers.append(old.open(f"{self.url}/file{opaque}")[0])
            answers[1] = old.read()[0] if answers[1].ok else answers[1]
        answers.append(self.files.dirlist(f"{self.name}/{opaque}")[0])
        answers.append(self.files.rm(f"{self.name}/file{opaque}")[0])
        return "\n".join(f"exit {answer.shellcode}" for answer in answers)


class Uproot:
    """What uproot reads and writes by: fsspec-xrootd."""

    def __init__(self, url):
        import fsspec
        self.url = url
        self.files, self.name = fsspec.core.url_to_fs(url)

    def put(self, file):
        with open(file, "rb") as source, self.files.open(self.name, "wb") as target:
            shutil.copyfileobj(source, target)

    def get(self, file):
        self.files.get_file(self.name, file)

    def list(self):
        return "\n".join(os.path.basename(name) for name in self.files.ls(self.name, detail=False))

    def stat(self):
        return self.files.size(self.name)

    def checksum(self):
        return self.files.checksum(self.name)[1]

    def rename(self, new):
        self.files.mv(self.name, new)

    def remove(self):
        self.files.rm_file(self.name)

    def tree(self, elsewhere, file):
        """Writes a tree, by way of a local file since uproot changes files in place, and says whether parts of it are the
        same elsewhere."""
        import numpy
        import uproot
        numbers = numpy.arange(200_000)
        with uproot.recreate(file) as root:
            root["tree"] = {"numbers": numbers, "squares": numbers * numbers}
        self.put(file)
        with uproot.open(elsewhere + ":tree") as tree:
            read = tree["squares"].array(entry_start=70_000, entry_stop=90_000, library="np")
        return (read == (numbers * numbers)[70_000:90_000]).all()


def main():
    library, operation, url, *more = sys.argv[1:]
    if library == "uproot":
        print(getattr(Uproot(url), operation)(*more))
        return 0
    if operation == "all":
        print(Bindings(url).all(*more))
        return 0
    client = Bindings(url)
    child = os.fork()
    if child == 0:
        failed = 1
        try:
            print(getattr(client, operation)(*more), flush=True)
            failed = 0
        except OSError as error:
            print(error, file=sys.stderr, flush=True)
        finally:
            os._exit(failed)  # as children of multiprocessing end
    client.must(client.files.ping())
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


if __name__ == "__main__":
    sys.exit(main())
