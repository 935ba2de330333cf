// SPDX-License-Identifier: LGPL-3.0-or-later
#include "cli/site_files.hh"

#include <fmt/format.h>

#include "assembly/configuration/options.hh"

namespace xec {
namespace {

constexpr size_t kExampleServers = 12;

const char* const kTls =
    "\n"
    "# TLS: this host's certificate and its key (mode 0600, of user xrootd), and the authorities that count, "
    "with\n"
    "# their revocation lists.\n"
    "xrd.tls /etc/grid-security/xrd/hostcert.pem /etc/grid-security/xrd/hostkey.pem\n"
    "xrd.tlsca certdir /etc/grid-security/certificates crlcheck all\n"
    "xrootd.tls capable all\n";

// A program that clients log in to needs to know whose certificates count.
const char* const kVoms =
    "# Certificates and proxies of users, with attributes of their virtual organisations. The grid-mapfile "
    "may be\n"
    "# empty; /etc/grid-security/vomsdir/VO/HOST.lsc says who speaks for a VO.\n"
    "sec.protocol gsi -certdir:/etc/grid-security/certificates -cert:/etc/grid-security/xrd/hostcert.pem "
    "-key:/etc/grid-security/xrd/hostkey.pem -ca:2 -crldir:/etc/grid-security/certificates -crl:3 "
    "-md:sha256:sha1 -moninfo:1 -gmapopt:11 -gridmap:/etc/grid-security/grid-mapfile -vomsat:extract "
    "-vomsfun:libXrdVoms.so\n"
    "http.gridmap /etc/grid-security/grid-mapfile\n"
    "http.secxtractor libXrdVoms.so\n";

const char* const kTokens =
    "# Tokens. /etc/xrootd/scitokens.cfg names issuers and this site's audience: xec config scitokens\n"
    "sec.protocol ztn\n"
    "http.header2cgi Authorization authz\n";

const char* const kThirdParty =
    "# Third-party copies, and macaroons, which their services ask for. The secret is base64 of 64 bytes "
    "(mode\n"
    "# 0600, of user xrootd), the same on all gateways: openssl rand -base64 -out macaroon-secret 64\n"
    "all.sitename SITE\n"
    "http.exthandler xrdtpc libXrdHttpTPC.so\n"
    "http.exthandler xrdmacaroons libXrdMacaroons.so\n"
    "macaroons.secretkey /etc/xrootd/macaroon-secret\n";

const char* const kClientSecrets =
    "# Shared secrets of clients; the file has mode 0600 and belongs to user xrootd. Where data servers ask\n"
    "# for a key, all keys belong in one file, which XrdSecSSSKT names too: docs/credentials.md.\n"
    "sec.protocol sss -s /etc/xrootd/clients.keytab\n";

// XRootD puts the name of each gateway for <host>; a principal without a realm is of the default one.
const char* const kKerberos =
    "# Kerberos, by root:// only. The file (mode 0600, of user xrootd) has the key of this principal.\n"
    "sec.protocol krb5 /etc/xrootd/krb5.keytab xrootd/<host>\n";

std::string Authorization(const SiteOptions& options) {
  std::string text =
      "# Who may do what: xec config rules. Everybody else is refused.\n"
      "ofs.authorize 1\n";
  if (options.third_party) text += "ofs.authlib ++ libXrdMacaroons.so\n";
  if (options.tokens) text += "ofs.authlib ++ libXrdAccSciTokens.so config=/etc/xrootd/scitokens.cfg\n";
  return text + "acc.authdb /etc/xrootd/rules\n";
}

Result<std::string> StoreLines(Configuration configuration) {
  if (configuration.data.empty() && configuration.servers.empty() && configuration.origin.empty()) {
    for (size_t i = 1; i <= kExampleServers; ++i) {
      XEC_TRY(SetOption(configuration, "server",
                        fmt::format("root://disk{0:02}.example.org:1095,host=disk{0:02}", i), "example"));
    }
  }
  if (!configuration.chunks) XEC_TRY(SetOption(configuration, "geometry", "8+2", "example"));
  return FormatDirectives(configuration);
}

Result<std::string> GatewayFile(const SiteOptions& options, const Configuration& configuration) {
  XEC_ASSIGN_OR_RETURN(const std::string store, StoreLines(configuration));
  std::string text =
      "# An XEC gateway: /etc/xec/xec.conf, the same on all of them, which `xec serve -c` takes.\n"
      "# Lines of xec. are XEC's (docs/configuration.md); all others are for stock xrootd.\n"
      "\n"
      "# The data servers, and what they have in common (host=) that may fail; k data and m parity "
      "chunks.\n" +
      store + "xec.port 1094\n";
  if (!options.redirector.empty()) {
    text += fmt::format(
        "\n"
        "# The redirector that sends clients here (its cmsd). `xec serve` starts a cmsd for it.\n"
        "all.manager {}\n",
        options.redirector);
  }
  if (options.Tls()) text += kTls;
  if (!options.Authorizes())
    return text + "\n# Open: everybody may read, write and remove everything. For tests only.\n";
  text += "\nxrootd.seclib libXrdSec.so\n";
  if (options.voms) text += kVoms;
  if (options.tokens || options.third_party) text += kTokens;
  if (options.shared_secrets) text += kClientSecrets;
  if (options.kerberos) text += kKerberos;
  if (options.third_party) text += kThirdParty;
  return text + Authorization(options);
}

const char* const kServerSecrets =
    "\n"
    "# Only gateways, and hosts where operators use xec, which have the same key (mode 0600, of user "
    "xrootd):\n"
    "#   xrdsssadmin -k xec -u xec -g xec add /etc/xrootd/xec.keytab\n"
    "#   echo 'u xec / a' > /etc/xrootd/xec.authdb\n"
    "# A changed file of keys is read after ten minutes: docs/deployment.md has the steps of a change of "
    "keys.\n"
    "xrootd.seclib libXrdSec.so\n"
    "sec.protocol sss -r 10 -s /etc/xrootd/xec.keytab\n"
    "sec.protbind * only sss\n"
    "ofs.authorize 1\n"
    "acc.authdb /etc/xrootd/xec.authdb\n";

const char* const kServerTls =
    "\n"
    "# All traffic is encrypted. Gateways find the authority in X509_CERT_DIR "
    "(/etc/grid-security/certificates).\n"
    "xrd.tls /etc/grid-security/xrd/hostcert.pem /etc/grid-security/xrd/hostkey.pem\n"
    "xrd.tlsca certdir /etc/grid-security/certificates\n"
    "xrootd.tls all\n";

std::string DataServerFile(const SiteOptions& options) {
  std::string text =
      "# A data server of XEC, stock xrootd: /etc/xrootd/xrootd-xec.cfg, started by\n"
      "#   systemctl enable --now xrootd@xec\n"
      "# One for each disk: with another port and folder, and another name in place of xec.\n"
      "all.adminpath /var/spool/xrootd\n"
      "all.pidpath /run/xrootd\n"
      "all.export /\n"
      "oss.localroot /srv/xec\n"
      "xrd.port 1095\n"
      "# Without this line data moves in pieces of 64 KiB.\n"
      "xrootd.async off\n";
  if (options.Tls()) text += kServerTls;
  if (options.shared_secrets) return text + kServerSecrets;
  return text + "\n# Open: everybody may read and destroy what is here. For tests only.\n";
}

std::string RedirectorFile(const SiteOptions& options) {
  std::string text =
      "# A redirector in front of XEC gateways, stock xrootd and cmsd: /etc/xrootd/xrootd-redirector.cfg, "
      "started by\n"
      "#   systemctl enable --now cmsd@redirector xrootd@redirector\n"
      "# Gateways join it by their line all.manager.\n"
      "all.role manager\n"
      "all.manager redirector.example.org:1213\n";
  if (!options.higher.empty())
    text += fmt::format(
        "# The redirector above this one, which sends clients of other sites here.\nall.manager meta {}\n",
        options.higher);
  text +=
      "all.adminpath /var/spool/xrootd\n"
      "all.pidpath /run/xrootd\n"
      "all.export /\n"
      "xrd.port 1094\n"
      "if exec cmsd\n"
      "  xrd.port 1213\n"
      "fi\n"
      "# Clients are sent to gateways by their names, which certificates have, in private networks too.\n"
      "xrd.network rpipa\n"
      "if exec xrootd\n"
      "  xrd.protocol http:1094 libXrdHttp.so\n"
      "fi\n"
      "# These hosts only may join, and this one itself.\n"
      "cms.allow host redirector.example.org\n"
      "cms.allow host gateway*.example.org\n"
      "# All gateways have all names: clients are sent on at once, to each in turn, without a question "
      "whether a\n"
      "# name is there.\n"
      "cms.dfs lookup distrib redirect immed\n"
      "cms.delay startup 10 servers 1 lookup 1 full 1 drop 5\n"
      "# A gateway whose host is dead is left out after some of these.\n"
      "cms.ping 5 usage 12\n"
      "# Requests for these checksums are sent on as well.\n"
      "xrootd.chksum max 0 adler32 crc32 crc32c md5\n";
  if (options.Tls()) {
    text += kTls;
    text += "# Without this line clients are sent on to plain http, with their tokens.\nhttp.desthttps yes\n";
  }
  if (options.tokens || options.third_party)
    text += "# Tokens are handed on.\nhttp.header2cgi Authorization authz\n";
  return text;
}

const char* const kRules =
    "# /etc/xrootd/rules: who may do what beside tokens and macaroons (XRootD's acc.authdb). o: a virtual "
    "organisation,\n"
    "# g: a group, r: a role, u: a name; a: all rights, rl: reading. A rule for a group names the VO as "
    "well, because\n"
    "# a token may claim the groups of another one.\n"
    "= members o: testvo g: /testvo\n"
    "= producers o: testvo g: /testvo/production r: producer\n"
    "s members /vo a\n"
    "s producers /produced a\n"
    "u carol /operators a\n";

const char* const kScitokens =
    "# /etc/xrootd/scitokens.cfg: whose tokens count, and for which folder.\n"
    "[Global]\n"
    "audience = https://storage.example.org, https://wlcg.cern.ch/jwt/v1/any\n"
    "[Issuer test]\n"
    "issuer = https://issuer.example.org\n"
    "base_path = /tokens\n";

const char* const kUnit =
    "# /etc/systemd/system/xec.service\n"
    "[Unit]\n"
    "Description=XEC gateway\n"
    "Wants=network-online.target\n"
    "After=network-online.target\n"
    "\n"
    "[Service]\n"
    "ExecStart=/usr/local/bin/xec serve -c /etc/xec/xec.conf\n"
    "# The key for the data servers; and where keys of token issuers are kept.\n"
    "Environment=XrdSecSSSKT=/etc/xec/xec.keytab\n"
    "Environment=XDG_CACHE_HOME=/var/lib/xec/gateway-1094\n"
    "Restart=on-failure\n"
    "RestartSec=5\n"
    "KillMode=mixed\n"
    "TimeoutStopSec=30\n"
    "LimitNOFILE=65536\n"
    "\n"
    "[Install]\n"
    "WantedBy=multi-user.target\n";

const char* const kMountUnit =
    "# /etc/systemd/system/xec-mount@.service: `systemctl enable --now xec-mount@mnt-xec` mounts at "
    "/mnt/xec\n"
    "[Unit]\n"
    "Description=XEC mount at %f\n"
    "Wants=network-online.target\n"
    "After=network-online.target\n"
    "\n"
    "[Service]\n"
    "# It is started when the mount answers.\n"
    "Type=forking\n"
    "ExecStart=/usr/local/bin/xec mount -c /etc/xec/xec.conf -o allow_other %f\n"
    "# The key for the data servers.\n"
    "Environment=XrdSecSSSKT=/etc/xec/xec.keytab\n"
    "Restart=on-failure\n"
    "RestartSec=5\n"
    "# SIGTERM stores what programs have written, and ends the mount.\n"
    "KillMode=mixed\n"
    "TimeoutStopSec=300\n"
    "LimitNOFILE=65536\n"
    "\n"
    "[Install]\n"
    "WantedBy=remote-fs.target\n";

}  // namespace

Result<std::string> SiteFile(const std::string& kind, const SiteOptions& options,
                             const Configuration& configuration) {
  if (kind == "gateway") return GatewayFile(options, configuration);
  if (kind == "dataserver") return DataServerFile(options);
  if (kind == "redirector") return RedirectorFile(options);
  if (kind == "rules") return std::string(kRules);
  if (kind == "scitokens") return std::string(kScitokens);
  if (kind == "unit") return std::string(kUnit);
  if (kind == "mount-unit") return std::string(kMountUnit);
  return Fail(Code::kInvalidArgument,
              "there is no file for '{}': say gateway, dataserver, redirector, rules, scitokens, unit or "
              "mount-unit",
              kind);
}

}  // namespace xec
