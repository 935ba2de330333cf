# SPDX-License-Identifier: LGPL-3.0-or-later
"""What a grid site has around its storage, for tests: a certificate authority, host and user certificates, proxies,
a VO whose attributes they carry, an issuer of tokens, a keytab and a Kerberos realm. Made with openssl and the grid's own programs.

    site = GridSite(self)                       # a component test; its directory holds all files
    site.certificate("alice", "alice")          # alice.pem, alice.key
    site.token(scope="storage.read:/")          # signed by the issuer that site.start_issuer() runs
"""
import base64
import contextlib
import hmac
import http.server
import json
import os
import re
import shutil
import ssl
import threading
import time
import uuid

import xectest

ORGANISATION = "/DC=test/DC=xec"
AUTHORITY = ORGANISATION + "/CN=Test Authority"
AUDIENCE = "https://storage.example.org"
ALL_OF_STORAGE = "storage.read:/ storage.create:/ storage.modify:/"
ALL_ACTIVITIES = ("DOWNLOAD", "UPLOAD", "DELETE", "MANAGE", "LIST", "READ_METADATA", "UPDATE_METADATA")
REALM = "XEC.TEST"
# Exit codes of xrdcp and xrdfs.
LOGIN_REFUSED, PERMISSION_DENIED = 52, 54
# What http_status() says if there is no TLS.
NO_ANSWER = 0
# Of a PUT: XRootD 6 says that something was created.
PUT_STATUS = 200 if os.environ.get("XEC_XROOTD", "/usr") == "/usr" else 201


def without_padding(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def raw_signature(der):
    """r and s of an ECDSA signature, 32 bytes each as JWS wants them, from the two INTEGERs of its DER form."""
    numbers, at = b"", 2
    for _ in range(2):
        length = der[at + 1]
        numbers += int.from_bytes(der[at + 2:at + 2 + length], "big").to_bytes(32, "big")
        at += 2 + length
    return numbers


def with_caveat(macaroon, caveat):
    """What its bearer may do without a secret: a macaroon that admits less. In its text form each packet begins with its
    length, and the signature comes last."""
    packets = base64.urlsafe_b64decode(macaroon + "=" * (-len(macaroon) % 4))
    prefix = b"002fsignature "
    packets, _, signature = packets.rpartition(prefix)
    added = f"{len(caveat) + 9:04x}cid {caveat}\n".encode()
    signature = hmac.digest(signature[:32], caveat.encode(), "sha256")
    return without_padding(packets + added + prefix + signature + b"\n")


class GridSite:
    def __init__(self, test):
        self._test = test
        self.folder = test.path("site")
        self.certificates = self.path("certificates")
        self.user = xectest.xrootd_cluster.User().entry
        self.kerberos = {}  # what programs of the realm have in their environment, once there is one
        os.makedirs(self.certificates)
        self._make_authority()

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def write(self, name, text, secret=False):
        """A file of the site. One that is secret belongs to the user of the gateway."""
        path = self.path(name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        if secret:
            self.give(path)
        return path

    def give(self, path):
        """To the user of the gateway, for its eyes only."""
        os.chmod(path, 0o600)
        if self.user is not None:
            os.chown(path, self.user.pw_uid, self.user.pw_gid)

    def openssl(self, *words, **options):
        return self._test.run_program(["openssl", *words], **options).out

    # X.509.

    def _make_authority(self):
        self.authority = self._self_signed("authority")
        self._revocations = {"authority": self._trust("authority", AUTHORITY)}
        self._list_revoked("authority")

    def _trust(self, name, subject):
        """In the form that grid software wants: names by the hash of the subject, and a policy. Answers where its list of
        revoked certificates belongs."""
        certificate = self.path(name + ".pem")
        beside = os.path.join(self.certificates, self.openssl("x509", "-in", certificate, "-noout", "-hash").strip())
        os.symlink(certificate, beside + ".0")
        with open(beside + ".signing_policy", "w", encoding="utf-8") as file:
            file.write(f"access_id_CA X509 '{subject}'\npos_rights globus CA:sign\n"
                       f"cond_subjects globus '\"{ORGANISATION}/*\"'\n")
        self.write(name + ".cnf", f"[ca]\ndefault_ca=ca\n[ca]\ndatabase={self.write(name + '.index', '')}\n"
                                  "default_md=sha256\ndefault_crl_days=2\n")
        return beside + ".r0"

    def _as_authority(self, name, *words):
        self.openssl("ca", "-config", self.path(name + ".cnf"), "-cert", self.path(name + ".pem"), "-keyfile",
                     self.path(name + ".key"), *words)

    def _list_revoked(self, authority):
        path = self._revocations[authority]
        self._as_authority(authority, "-gencrl", "-out", path + ".new")
        os.rename(path + ".new", path)

    def revoke(self, name, authority="authority"):
        self._as_authority(authority, "-revoke", self.path(name + ".pem"))
        self._list_revoked(authority)

    def authority_below(self, name):
        """One that the site's authority has signed."""
        subject = f"{ORGANISATION}/CN={name}"
        self._sign(name, subject, "authority", "basicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign,cRLSign\n", 2)
        self._revocations[name] = self._trust(name, subject)
        self._list_revoked(name)

    def _self_signed(self, name):
        certificate = self.path(name + ".pem")
        self.openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", AUTHORITY, "-out", certificate,
                     "-keyout", self.path(name + ".key"), "-addext", "keyUsage=critical,keyCertSign,cRLSign")
        return certificate

    def impostor(self):
        """Another authority of the same name, which nobody trusts."""
        self._self_signed("impostor")
        return "impostor"

    def _sign(self, name, subject, issuer, extensions, days, serial=None):
        """NAME.pem and NAME.key for a subject, by the certificate and key of an issuer."""
        certificate, key, request = (self.path(f"{name}.{end}") for end in ("pem", "key", "csr"))
        self.openssl("req", "-new", "-newkey", "rsa:2048", "-nodes", "-subj", subject, "-keyout", key, "-out", request)
        self.openssl("x509", "-req", "-in", request, "-days", str(days), "-CA", self.path(issuer + ".pem"),
                     "-CAkey", self.path(issuer + ".key"), "-set_serial", str(serial or uuid.uuid4().int >> 65),
                     "-extfile", self.write(name + ".ext", extensions), "-out", certificate)
        return certificate, key

    def certificate(self, name, common_name, names="", days=1, authority="authority"):
        """Answers the files of a certificate and its key; `names` are those of a host."""
        return self._sign(name, f"{ORGANISATION}/CN={common_name}", authority,
                          "basicConstraints=critical,CA:FALSE\nkeyUsage=critical,digitalSignature,keyEncipherment\n" +
                          (f"subjectAltName={names}\n" if names else ""), days)

    def proxy(self, user, common_name, days=1):
        """A proxy certificate (RFC 3820) of a user: one file with it, its key and the user's certificate."""
        number = uuid.uuid4().int >> 97
        certificate, key = self._sign(f"{user}-proxy", f"{ORGANISATION}/CN={common_name}/CN={number}", user,
                                      "keyUsage=critical,digitalSignature,keyEncipherment\n"
                                      "proxyCertInfo=critical,language:id-ppl-inheritAll\n", days, number)
        return self._joined(f"{user}-{number}.proxy", certificate, key, self.path(user + ".pem"))

    def _joined(self, name, *files):
        text = ""
        for path in files:
            with open(path, encoding="ascii") as file:
                text += file.read()
        path = self.write(name, text)
        os.chmod(path, 0o600)
        return path

    # Virtual organisations.

    def vo(self, name, server):
        """A VO whose server has this host name: its certificate, and who may speak for the VO."""
        self.certificate(server, server, f"DNS:{server}")
        os.makedirs(self.path("vomsdir", name), exist_ok=True)
        self.write(f"vomsdir/{name}/{server}.lsc", f"{ORGANISATION}/CN={server}\n{AUTHORITY}\n")

    def vo_proxy(self, user, vo, server, *attributes):
        """A user's proxy with attributes of a VO ("/testvo/production/Role=NULL") that its server signed."""
        path = self.path(f"{user}-{uuid.uuid4()}.proxy")
        words = [word for attribute in attributes for word in ("-fqan", attribute + "/Capability=NULL")]
        self._test.run_program(["voms-proxy-fake", "-rfc", "-quiet", "-certdir", self.certificates,
                                "-cert", self.path(user + ".pem"), "-key", self.path(user + ".key"), "-out", path,
                                "-voms", vo, "-uri", f"{server}:15000", "-hostcert", self.path(server + ".pem"),
                                "-hostkey", self.path(server + ".key"), *words], env={"HOME": self.folder})
        return path

    # Tokens by the WLCG profile.

    @contextlib.contextmanager
    def _file_of(self, data):
        path = self.path("to-sign")
        with open(path, "wb") as file:
            file.write(data)
        yield path
        os.unlink(path)

    def start_issuer(self, name="localhost", address=xectest.HOST):
        """An https server with the issuer's metadata and its key; sets self.issuer. The certificate is `host`."""
        self._signer = self.path("signer.key")
        self.openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", self._signer)
        point = self._test.run_program(["openssl", "ec", "-in", self._signer, "-pubout", "-outform", "DER"],
                                       binary=True).out[-64:]
        port = self._test.free_port()
        self.issuer = f"https://{name}:{port}"
        answers = {
            "/.well-known/openid-configuration": {"issuer": self.issuer, "jwks_uri": self.issuer + "/jwks"},
            "/jwks": {"keys": [{"kty": "EC", "crv": "P-256", "alg": "ES256", "use": "sig", "kid": "signer",
                                "x": without_padding(point[:32]), "y": without_padding(point[32:])}]},
        }

        class Issuer(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                body = json.dumps(answers.get(self.path, {})).encode()
                self.send_response(200 if self.path in answers else 404)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer((address, port), Issuer)
        server.daemon_threads = True
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.path("host.pem"), self.path("host.key"))
        server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        self._test.addCleanup(thread.join)
        self._test.addCleanup(server.server_close)
        self._test.addCleanup(server.shutdown)

    def token(self, scope, **claims):
        """A signed token; `claims` replace what a good one has. A claim that is None is left out."""
        now = int(time.time())
        claims = {"wlcg.ver": "1.0", "iss": self.issuer, "sub": "d0c4e1f2", "aud": AUDIENCE,
                  "iat": now, "nbf": now - 1, "exp": now + 3600, "jti": str(uuid.uuid4()), "scope": scope, **claims}
        parts = ({"alg": "ES256", "typ": "JWT", "kid": "signer"}, {k: v for k, v in claims.items() if v is not None})
        text = ".".join(without_padding(json.dumps(part).encode()) for part in parts)
        with self._file_of(text.encode()) as path:
            der = self._test.run_program(["openssl", "dgst", "-sha256", "-sign", self._signer, path], binary=True).out
        return f"{text}.{without_padding(raw_signature(der))}"

    def trust_authority(self):
        """For libscitokens, which asks the issuer for its key with the system's trust anchors and no others."""
        self._test.enter_mounts()
        self._test.run_program(["mount", "--bind", self.authority, "/etc/ssl/certs/ca-certificates.crt"])
        self._test.addCleanup(self._test.run_program, ["umount", "/etc/ssl/certs/ca-certificates.crt"])

    # Shared secrets.

    def keytab(self, name, user, group, number):
        """A keytab of `sss` with one new key of this number, by which its holder is this user of this group."""
        path = self.path(name + ".keytab")
        self._test.run_program(["xrdsssadmin", "-k", f"key{number}", "-u", user, "-g", group, "add", path], stdin=b"y\n")
        # By itself it takes the time: keys of one second, each in its own file, have the same number.
        with open(path, "r+", encoding="ascii") as file:
            text = re.sub(r" N:\d+ ", f" N:{number} ", file.read())
            file.seek(0)
            file.truncate()
            file.write(text)
        return path

    # Kerberos.

    def start_kdc(self):
        """A realm with the gateway in it; sets self.kerberos."""
        port = self._test.free_port()
        configuration = self.write("krb5.conf", f"""\
[libdefaults]
default_realm = {REALM}
dns_lookup_kdc = false
dns_lookup_realm = false
dns_canonicalize_hostname = false
rdns = false
[realms]
{REALM} = {{
  kdc = {xectest.HOST}:{port}
  database_name = {self.path("principals")}
  key_stash_file = {self.path("stash")}
  kdc_listen = {port}
  kdc_tcp_listen = {port}
}}
[logging]
kdc = STDERR
""")
        replays = self.path("replays")
        os.makedirs(replays)
        if self.user is not None:
            os.chown(replays, self.user.pw_uid, self.user.pw_gid)
        self.kerberos = {"KRB5_CONFIG": configuration, "KRB5_KDC_PROFILE": configuration, "KRB5RCACHEDIR": replays}
        self._test.run_program(["kdb5_util", "create", "-s", "-P", "of the test"], env=self.kerberos)
        self.principal("xrootd/localhost")
        self.give(self.path("xrootd/localhost.keys"))
        kdc = self._test.background(["krb5kdc", "-n"], env=self.kerberos)
        self._test.eventually(lambda: "commencing operation" in kdc.output(), 30, "the KDC is ready")

    def principal(self, name):
        """Somebody of the realm; answers the file with the key."""
        keys = self.path(name + ".keys")
        os.makedirs(os.path.dirname(keys), exist_ok=True)
        for words in (f"addprinc -randkey {name}", f"ktadd -k {keys} {name}"):
            self._test.run_program(["kadmin.local", "-q", words], env=self.kerberos)
        return keys

    def ticket(self, name):
        """What a client of the realm has in its environment after its login."""
        keys = self.principal(name)
        env = {**self.kerberos, "KRB5CCNAME": f"FILE:{keys}.cache"}
        self._test.run_program(["kinit", "-k", "-t", keys, name], env=env)
        return env

    # The gateway.

    def directives(self, rights):
        """The file of a gateway that takes all of these credentials, as `xec config` prints it but for the places of the
        site's files. After start_issuer()."""
        host, key = self.path("host.pem"), self.path("gateway.key")
        shutil.copy(self.path("host.key"), key)
        self.give(key)
        gridmap = self.write("gridmap", f'"{ORGANISATION}/CN=alice" alice\n')
        tokens = self.printed("scitokens").replace("https://storage.example.org", AUDIENCE)
        secret = self.write("macaroon-secret", base64.b64encode(os.urandom(64)).decode() + "\n", secret=True)
        kerberos = ("--krb5",) if self.kerberos else ()
        text = "".join(line for line in self.printed("gateway", "--voms", "--tokens", "--tpc", "--sss", *kerberos).splitlines(True)
                       if not line.startswith("xec."))
        for place, own in (("/etc/grid-security/certificates", self.certificates),
                           ("/etc/grid-security/xrd/hostcert.pem", host), ("/etc/grid-security/xrd/hostkey.pem", key),
                           ("/etc/grid-security/grid-mapfile", gridmap), ("/etc/xrootd/rules", self.write("authdb", rights)),
                           ("/etc/xrootd/clients.keytab", self.path("gateway.keytab")),
                           ("/etc/xrootd/krb5.keytab xrootd/<host>", self.path("xrootd/localhost.keys") + " xrootd/localhost"),
                           ("/etc/xrootd/macaroon-secret", secret), ("/etc/xrootd/scitokens.cfg", self.write(
                               "scitokens.cfg", tokens.replace("https://issuer.example.org", self.issuer)))):
            text = text.replace(place, own)
        return text + "tpc.allow local\ntpc.allow private\n"  # XRootD 6 does not copy on loopback else

    def printed(self, *words):
        """What `xec config` prints."""
        return self._test.run_program([self._test.program("xec"), "config", *words]).out


class GridTest(xectest.TestCase):
    """A gateway at such a site, and clients that show it their credentials."""
    rights = None  # what is granted beside tokens; None: what `xec config rules` prints

    def setUp(self):
        super().setUp()
        if os.environ.get("XEC_PRESET") == "asan":
            self.skipTest("stock xrootd with AddressSanitizer does not get past loading its third-party copy handler")
        # A token can be anywhere in the environment of a client.
        for name in ("BEARER_TOKEN", "BEARER_TOKEN_FILE", "XrdSecSSSKT", "X509_USER_PROXY"):
            os.environ.pop(name, None)
        self.site = GridSite(self)
        self.site.certificate("host", "localhost", f"DNS:localhost,DNS:{os.uname().nodename},IP:127.0.0.1")
        for name in ("alice", "bob"):
            self.site.certificate(name, name)
        self.prepare_site()
        self.site.start_issuer()
        self.site.trust_authority()
        shutil.copy(self.site.keytab("operator", "carol", "operators", 1), self.site.path("gateway.keytab"))
        self.site.give(self.site.path("gateway.keytab"))
        lines = self.site.directives(self.rights or self.site.printed("rules"))
        self.conf = self.site.write("gateway.conf", lines)
        self.before_gateways()
        self.gateway = self.start_gateway()
        self.file = self.random_file("file", 100_000)
        self.https = f"https://localhost:{self.gateway.port}"
        self.root = f"root://localhost:{self.gateway.port}/"

    def start_gateway(self, *options, env=None, **store):
        names = ("--user", self.site.user.pw_name) if self.site.user is not None else ()
        return self.serve(options=("-c", self.conf, *names, *options), env={
            "X509_CERT_DIR": self.site.certificates, "X509_VOMS_DIR": self.site.path("vomsdir"),
            "XDG_CACHE_HOME": self.path("cache"), **self.site.kerberos, **(env or {})}, **{"geometry": "2+1", **store})

    def prepare_site(self):
        """What has to be there before the issuer and the gateway's file."""

    def before_gateways(self):
        """What the gateway finds when it starts, and what the file of self.conf says, is there and may be changed."""

    def restart_with(self, line):
        """One more line in the gateway's file."""
        with open(self.conf, "a", encoding="utf-8") as file:
            file.write(line + "\n")
        self.gateway.stop()
        self.gateway = self.start_gateway()
        self.https = f"https://localhost:{self.gateway.port}"
        self.root = f"root://localhost:{self.gateway.port}/"

    def https_status(self, name, *arguments, **options):
        return self.http_status("--cacert", self.site.authority, *arguments, self.https + name, **options)

    def macaroon(self, name, *credential, activities=ALL_ACTIVITIES):
        """One that the gateway gives to this client, for a name and what lies below it."""
        request = json.dumps({"caveats": ["activity:" + ",".join(activities)], "validity": "PT1H"})
        answer = self.curl("--cacert", self.site.authority, *credential, "-H", "Content-Type: application/macaroon-request",
                           "--data", request, self.https + name)
        return json.loads(answer.out)["macaroon"]

    def root_client(self, protocol, **env):
        """The environment of a client of root:// that shows this credential and no other."""
        return {"XrdSecPROTOCOL": protocol, "X509_CERT_DIR": self.site.certificates, "HOME": self.path("home"), **env}

    def proxy_client(self, proxy):
        return self.root_client("gsi", X509_USER_PROXY=proxy)

    def gfal(self, command, *arguments, code=0, **env):
        # The commands of gfal are for Debian's python.
        return self.run_program([command, *arguments], code=code, env={
            "GFAL_PYTHONBIN": "/usr/bin/python3", "X509_CERT_DIR": self.site.certificates, "HOME": self.path("home"), **env})

    def check_root_refused(self, folder, env, code=PERMISSION_DENIED):
        """A client that may neither write, read nor list there; nothing was made."""
        self.xrdcp(self.file, f"{self.root}{folder}/refused", env=env, code=code)
        self.xrdcp(f"{self.root}{folder}/file", self.path("refused"), env=env, code=code)
        self.assertFalse(os.path.exists(self.path("refused")))
        self.xrdfs(self.root, "ls", folder, env=env, code=code)

    def check_https(self, folder, *words):
        self.assertEqual(self.https_status(f"{folder}/file", *words, "-T", self.file), PUT_STATUS)
        self.curl("--cacert", self.site.authority, *words, self.https + f"{folder}/file", "-o", self.path("back"))
        self.assert_same(self.file, self.path("back"))
        self.assertEqual(self.https_status(folder + "/", *words, "-X", "PROPFIND", "-H", "Depth: 1"), 207)

    def check_https_refused(self, folder, *words, status=403):
        for request in (("-T", self.file), (), ("-X", "PROPFIND", "-H", "Depth: 1"), ("-X", "DELETE")):
            self.assertEqual(self.https_status(f"{folder}/file", *words, *request), status, request)
