# SPDX-License-Identifier: LGPL-3.0-or-later
"""The clients of test_client_table.py: how each one does what users do, for the holder of one credential.

    client = Curl(test, credential)
    client.put(file, gateway, "/vo/file")
    client.stat(gateway, "/vo/file")            # its size

An operation fails as TestCase.run_program does. What a client has no command for is in its `lacks`, with the reason.
"""
import dataclasses
import json
import os
import re
import xml.etree.ElementTree

OPERATIONS = ("put", "get", "list", "stat", "checksum", "rename", "remove")
CERTIFICATES = ("certificate", "proxy", "VOMS proxy")
BEARERS = ("token", "macaroon")
LOGINS = ("proxy", "VOMS proxy", "token", "shared secret", "krb5")
# Debian's, which has the bindings of XRootD.
PYTHON = "/usr/bin/python3"
XROOTD61 = os.environ.get("XEC_XROOTD61", "")
UPROOT = os.environ.get("XEC_UPROOT", "")


@dataclasses.dataclass
class Credential:
    kind: str
    folder: str            # where its holder may do everything
    env: dict              # of clients by root://
    files: tuple = ()      # a certificate and its key, which may be in one file
    bearer: str = ""       # a token or a macaroon


class Client:
    name, protocol, credentials = "", "https", CERTIFICATES + BEARERS
    # Operations, each with a reason; and those that are lacking with one kind of credential only.
    lacks, lacks_with = {}, {}
    algorithm = "adler32"  # of its checksum
    asked, told = (), r"\d+(?:\.\d+)+"  # a command that tells its version, and how it does

    def __init__(self, test, credential):
        self.test, self.credential = test, credential

    def can(self, operation):
        return operation not in self.lacks and operation not in self.lacks_with.get(self.credential.kind, {})

    def version(self):
        result = self.run(*self.asked, env={"GFAL_PYTHONBIN": PYTHON})
        return re.search(self.told, result.out + result.err)[0]

    @classmethod
    def missing(cls):
        """Why the client cannot be tried here; "" if it can."""
        return ""

    def url(self, gateway, name):
        return f"https://localhost:{gateway.port}{name}"

    def run(self, *words, env=None, **options):
        return self.test.run_program(words, env={"X509_CERT_DIR": self.test.site.certificates, "HOME": self.test.path("home"),
                                                 **(env or {})}, **options)


class Curl(Client):
    name, asked = "curl", ("curl", "--version")

    def ask(self, *words):
        shown = ("-H", f"Authorization: Bearer {self.credential.bearer}")
        if self.credential.files:
            shown = ("--cert", self.credential.files[0], "--key", self.credential.files[1])
        return self.run("curl", "--silent", "--show-error", "--fail", "--cacert", self.test.site.authority, *shown, *words).out

    def put(self, file, gateway, name):
        self.ask("-T", file, self.url(gateway, name))

    def get(self, gateway, name, target):
        self.ask("-o", target, self.url(gateway, name))

    def properties(self, gateway, name, depth):
        answer = xml.etree.ElementTree.fromstring(
            self.ask("-X", "PROPFIND", "-H", f"Depth: {depth}", self.url(gateway, name)))
        return {response.findtext("{DAV:}href"): response.findtext(".//{DAV:}getcontentlength")
                for response in answer.iter("{DAV:}response")}

    def list(self, gateway, folder):
        hrefs = self.properties(gateway, folder + "/", 1)
        return {os.path.basename(href.rstrip("/")) for href in hrefs} - {os.path.basename(folder)}

    def stat(self, gateway, name):
        return int(self.properties(gateway, name, 0)[name])

    def checksum(self, gateway, name):
        headers = self.ask("--head", "-H", "Want-Digest: adler32", self.url(gateway, name))
        return re.search(r"(?im)^digest: *adler32=(\w+)", headers)[1]

    def rename(self, gateway, name, new):
        self.ask("-X", "MOVE", "-H", f"Destination: {self.url(gateway, new)}", self.url(gateway, name))

    def remove(self, gateway, name):
        self.ask("-X", "DELETE", self.url(gateway, name))


class Davix(Client):
    name, asked = "davix", ("davix-get", "--version")
    lacks = {"checksum": "it has no command for checksums"}

    def davix(self, command, *words, code=0):
        shown = ("-H", f"Authorization: Bearer {self.credential.bearer}")
        if self.credential.files:
            shown = ("--cert", self.credential.files[0], "--key", self.credential.files[1])
        return self.run(f"davix-{command}", "--capath", self.test.site.certificates, *shown, *words, code=code)

    def put(self, file, gateway, name):
        self.davix("put", file, self.url(gateway, name))

    def get(self, gateway, name, target):
        self.davix("get", self.url(gateway, name), target)

    def list(self, gateway, folder):
        return set(self.davix("ls", self.url(gateway, folder)).out.split())

    def stat(self, gateway, name):
        folder, _, last = name.rpartition("/")
        # Mode, links, size, date, time, name.
        lines = [line.split() for line in self.davix("ls", "-l", self.url(gateway, folder)).out.splitlines()]
        return next(int(line[2]) for line in lines if line[-1] == last)

    def rename(self, gateway, name, new):
        # It ends with 255 and without a word after the 201 of a success, too.
        result = self.davix("mv", self.url(gateway, name), self.url(gateway, new), code=255)
        self.test.assertEqual(result.err, "")

    def remove(self, gateway, name):
        self.davix("rm", self.url(gateway, name))


class Rclone(Client):
    name, asked = "rclone", ("rclone", "version")
    lacks = {"checksum": "its WebDAV knows checksums of Nextcloud's and the like only"}

    def rclone(self, *words):
        shown = ()
        if self.credential.files:
            shown = ("--client-cert", self.credential.files[0], "--client-key", self.credential.files[1])
        return self.run("rclone", "--config", "", "--retries", "1", "--low-level-retries", "1",
                        "--ca-cert", self.test.site.authority, *shown, *words).out

    def place(self, gateway, name):
        bearer = f",bearer_token='{self.credential.bearer}'" if self.credential.bearer else ""
        return f":webdav,url='{self.url(gateway, '')}',vendor=other{bearer}:{name}"

    def put(self, file, gateway, name):
        self.rclone("copyto", file, self.place(gateway, name))

    def get(self, gateway, name, target):
        self.rclone("copyto", self.place(gateway, name), target)

    def list(self, gateway, folder):
        return set(self.rclone("lsf", self.place(gateway, folder)).split())

    def stat(self, gateway, name):
        return json.loads(self.rclone("lsjson", "--stat", self.place(gateway, name)))["Size"]

    def rename(self, gateway, name, new):
        self.rclone("moveto", self.place(gateway, name), self.place(gateway, new))

    def remove(self, gateway, name):
        self.rclone("deletefile", self.place(gateway, name))


class Gfal(Client):
    name, asked, told = "gfal2", ("gfal-copy", "--version"), r"(?<=gfal2 )\d+(?:\.\d+)+"

    def gfal(self, command, *words):
        shown = {"BEARER_TOKEN": self.credential.bearer}
        if self.credential.files:
            shown = {"X509_USER_CERT": self.credential.files[0], "X509_USER_KEY": self.credential.files[1]}
        return self.run(f"gfal-{command}", *words, env={"GFAL_PYTHONBIN": PYTHON, **shown}).out

    def put(self, file, gateway, name):
        self.gfal("copy", f"file://{file}", self.url(gateway, name))

    def get(self, gateway, name, target):
        self.gfal("copy", self.url(gateway, name), f"file://{target}")

    def list(self, gateway, folder):
        return set(self.gfal("ls", self.url(gateway, folder)).split())

    def stat(self, gateway, name):
        return int(re.search(r"Size: (\d+)", self.gfal("stat", self.url(gateway, name)))[1])

    def checksum(self, gateway, name):
        return self.gfal("sum", self.url(gateway, name), "ADLER32").split()[-1]

    def rename(self, gateway, name, new):
        self.gfal("rename", self.url(gateway, name), self.url(gateway, new))

    def remove(self, gateway, name):
        self.gfal("rm", self.url(gateway, name))


class RootClient(Client):
    """By root:// a macaroon is shown in the URL, after another login."""
    protocol, credentials, in_url = "root", LOGINS + ("macaroon", ), ("macaroon", )

    def url(self, gateway, name):
        return f"root://localhost:{gateway.port}/{self.named(name)}"

    def named(self, name):
        return name + (f"?authz=Bearer%20{self.credential.bearer}" if self.credential.kind in self.in_url else "")

    def run(self, *words, env=None, **options):
        return super().run(*words, env={**self.credential.env, **(env or {})}, **options)


class GfalRoot(RootClient, Gfal):
    lacks_with = {"macaroon": {"list": "it looks at each name of the list without what the folder was named with"}}

    def gfal(self, command, *words):
        return self.run(f"gfal-{command}", *words, env={"GFAL_PYTHONBIN": PYTHON}).out


class Xrdcp(RootClient):
    name = "xrdcp"
    lacks = {name: "it only copies: these are commands of xrdfs" for name in ("list", "stat", "rename", "remove")}

    def xrootd(self, program, *words):
        return self.run(program, *words)

    def version(self):
        result = self.xrootd("xrdcp", "--version")
        return re.search(self.told, result.out + result.err)[0]

    def put(self, file, gateway, name):
        self.xrootd("xrdcp", "--nopbar", file, self.url(gateway, name))

    def get(self, gateway, name, target):
        self.xrootd("xrdcp", "--nopbar", self.url(gateway, name), target)

    def checksum(self, gateway, name):
        result = self.xrootd("xrdcp", "--nopbar", "--force", "--cksum", "adler32:print", self.url(gateway, name), os.devnull)
        return re.search(r"adler32: (\w+)", result.err + result.out)[1]


class Xrdfs(Xrdcp):
    name = "xrdfs"
    lacks = {"put": "these are commands of xrdcp", "get": "these are commands of xrdcp"}

    def xrdfs(self, gateway, *words):
        return self.xrootd("xrdfs", f"{self.protocol}://localhost:{gateway.port}", *words).out

    def list(self, gateway, folder):
        # With the opaque part, if the folder was named with one.
        return {os.path.basename(line) for line in self.xrdfs(gateway, "ls", self.named(folder)).split()}

    def stat(self, gateway, name):
        return int(re.search(r"Size: +(\d+)", self.xrdfs(gateway, "stat", self.named(name)))[1])

    def checksum(self, gateway, name):
        return self.xrdfs(gateway, "query", "checksum", self.named(name)).split()[1]

    def rename(self, gateway, name, new):
        self.xrdfs(gateway, "mv", self.named(name), self.named(new))

    def remove(self, gateway, name):
        self.xrdfs(gateway, "rm", self.named(name))


class Xrootd61:
    """The same with the programs of XRootD 6.1."""

    @classmethod
    def missing(cls):
        return "" if XROOTD61 else "XEC_XROOTD61 names no installation of XRootD 6.1"

    def xrootd(self, program, *words):
        return self.run(os.path.join(XROOTD61, "bin", program), *words, env={"LD_LIBRARY_PATH": os.path.join(XROOTD61, "lib")})


class Xrdcp61(Xrootd61, Xrdcp):
    name = "xrdcp 6.1"


class Xrdfs61(Xrootd61, Xrdfs):
    name = "xrdfs 6.1"


class Http61(Xrootd61):
    """By XrdClHttp, the plug-in of the client for https. It takes certificates from X509_USER_PROXY only, and bearers' words
    from the URL only."""
    protocol, credentials, in_url = "https", ("proxy", "VOMS proxy") + BEARERS, BEARERS

    def url(self, gateway, name):
        return f"https://localhost:{gateway.port}{self.named(name)}"

    def run(self, *words, env=None):
        plugins = self.test.path("plugins", self.name, self.credential.kind)
        os.makedirs(plugins, exist_ok=True)
        with open(os.path.join(plugins, "http.conf"), "w", encoding="utf-8") as file:
            file.write("url = http://*;https://*\nlib = libXrdClHttp.so\nenable = true\n")
        shown = {"X509_USER_PROXY": self.credential.files[0]} if self.credential.files else {}
        return Client.run(self, *words, env={**shown, "XRD_PLUGINCONFDIR": plugins, **env})


class XrdcpHttp61(Http61, Xrdcp61):
    pass


class XrdfsHttp61(Http61, Xrdfs61):
    lacks = {**Xrdfs61.lacks, "rename": "\"Operation is not implemented\""}
    algorithm = "crc32c"  # it asks for this one, and does not know Adler-32


class Python(RootClient):
    """A process for each operation, which forks and asks in both."""
    name, library = "python", "bindings"
    asked = (PYTHON, "-c", "import XRootD.client; print(XRootD.client.__version__)")

    def python(self, operation, *words):
        return self.run(PYTHON, os.path.join(os.path.dirname(__file__), "python_client.py"), self.library, operation, *words).out

    def put(self, file, gateway, name):
        self.python("put", self.url(gateway, name), file)

    def get(self, gateway, name, target):
        self.python("get", self.url(gateway, name), target)

    def list(self, gateway, folder):
        return set(self.python("list", self.url(gateway, folder)).split())

    def stat(self, gateway, name):
        return int(self.python("stat", self.url(gateway, name)))

    def checksum(self, gateway, name):
        return self.python("checksum", self.url(gateway, name)).strip()

    def rename(self, gateway, name, new):
        self.python("rename", self.url(gateway, name), self.named(new))

    def remove(self, gateway, name):
        self.python("remove", self.url(gateway, name))


class Uproot(Python):
    name, library = "uproot", "uproot"
    asked = (PYTHON, "-c", "import uproot; print(uproot.__version__)")

    @classmethod
    def missing(cls):
        return "" if UPROOT else "XEC_UPROOT names no folder made by pip install --target FOLDER uproot fsspec-xrootd"

    def run(self, *words, env=None):
        return super().run(*words, env={"PYTHONPATH": UPROOT})


CLIENTS = (Xrdcp, Xrdfs, GfalRoot, Python, Uproot, Xrdcp61, Xrdfs61, Curl, Davix, Rclone, Gfal, XrdcpHttp61, XrdfsHttp61)
