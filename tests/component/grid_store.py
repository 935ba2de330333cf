# SPDX-License-Identifier: LGPL-3.0-or-later
"""A store of a site of the grid, whole: two gateways on stock data servers that let in nobody else, one credential of every
kind, and a judge who may do everything. XEC_TEST_LONG=1 takes twelve servers."""
import http.client
import os
import ssl

import grid_site
from grid_clients import Credential

SERVERS, GEOMETRY = (12, "8+2") if os.environ.get("XEC_TEST_LONG") == "1" else (3, "2+1")
VOMS_SERVER = "voms.example.org"


class StoreTest(grid_site.GridTest):
    rights = """\
u alice /alice a
u carol /carol a
u judge / a
= members o: testvo g: /testvo
s members /vo a
= producers o: testvo g: /testvo/production r: producer
s producers /produced a
"""

    def prepare_site(self):
        self.site.vo("testvo", VOMS_SERVER)
        self.site.certificate("judge", "judge")
        self.site.start_kdc()
        self.keys_of_servers = self.site.keytab("servers", "xec", "xec", 3)
        self.site.give(self.keys_of_servers)
        rules = self.site.write("servers.authdb", "u xec / a\n")
        self.servers = self.cluster(servers=SERVERS, redirector=False, server_lines=[
            "xrootd.seclib libXrdSec.so", f"sec.protocol sss -s {self.keys_of_servers}", "sec.protbind * only sss",
            "ofs.authorize 1", f"acc.authdb {rules}"]).servers

    def before_gateways(self):
        with open(self.site.path("gridmap"), "a", encoding="utf-8") as file:
            file.write(f'"{grid_site.ORGANISATION}/CN=judge" judge\n')
        # A process has one keytab (docs/credentials.md), and shows the last key in it.
        with open(self.site.path("gateway.keytab"), "a", encoding="ascii") as file, \
                open(self.keys_of_servers, encoding="ascii") as keys:
            file.write("\n" + keys.read())

    def words_of_servers(self):
        return [word for server in self.servers for word in ("--server", server.server_option())]

    def start_gateway(self, *options, **store):
        return super().start_gateway(*self.words_of_servers(), *options, env={"XrdSecSSSKT": self.site.path("gateway.keytab")},
                                     dirs=[], geometry=GEOMETRY, chunk_size="64KiB", **store)

    def setUp(self):
        super().setUp()
        self.second = self.start_gateway()
        self.trusted = self.tls(*self.pair("judge"))

    def tls(self, *files):
        """What a client of https trusts, and the files of its certificate."""
        context = ssl.create_default_context(cafile=self.site.authority)
        if files:
            context.load_cert_chain(*files)
        return context

    def pair(self, name):
        return self.site.path(name + ".pem"), self.site.path(name + ".key")

    def member(self, *groups, user="bob"):
        """A proxy with attributes of the VO."""
        return self.site.vo_proxy(user, "testvo", VOMS_SERVER, *(groups or ("/testvo/Role=NULL",)))

    def one_of_every_kind(self):
        """By kind, each with a folder where it may do everything."""
        proxy, member = self.site.proxy("alice", "alice"), self.member()
        token = self.site.token(grid_site.ALL_OF_STORAGE)
        made = (Credential("certificate", "/alice", {}, self.pair("alice")),
                Credential("proxy", "/alice", self.proxy_client(proxy), (proxy, proxy)),
                Credential("VOMS proxy", "/vo", self.proxy_client(member), (member, member)),
                Credential("token", "/tokens", self.root_client("ztn", BEARER_TOKEN=token), bearer=token),
                Credential("shared secret", "/carol", self.root_client("sss", XrdSecSSSKT=self.site.path("operator.keytab"))),
                Credential("krb5", "/alice", self.root_client("krb5", **self.site.ticket("alice"))),
                Credential("macaroon", "/vo", self.proxy_client(self.site.proxy("bob", "bob")),
                           bearer=self.macaroon("/vo/", "--cert", member)))
        return {credential.kind: credential for credential in made}

    def ask(self, method, name, body=None, context=None, headers=None):
        """Status and body of a request to the first gateway by https, with the name as it is; NO_ANSWER if there is no TLS."""
        connection = http.client.HTTPSConnection("localhost", self.gateway.port, context=context or self.tls(), timeout=60)
        try:
            connection.request(method, name, body, headers or {})
            answer = connection.getresponse()
            return answer.status, answer.read()
        except (OSError, http.client.HTTPException):
            return grid_site.NO_ANSWER, b""
        finally:
            connection.close()

    def judge(self, method, name, body=None, headers=None):
        """What the judge is told."""
        return self.ask(method, name, body, self.trusted, headers)

    def content(self):
        with open(self.file, "rb") as file:
            return file.read()
