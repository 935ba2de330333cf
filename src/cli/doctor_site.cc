// SPDX-License-Identifier: LGPL-3.0-or-later
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <sys/fsuid.h>
#include <sys/stat.h>

#include <fmt/format.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "base/text.hh"
#include "cli/doctor.hh"
#include "server/kinds/local_root.hh"

namespace xec {
namespace {

namespace fs = std::filesystem;

constexpr int kDaysToAct = 14;
constexpr int kSecondsOfDay = 24 * 3600;

struct Closing {
  void operator()(FILE* file) const { std::fclose(file); }
  void operator()(X509* one) const { X509_free(one); }
  void operator()(X509_CRL* one) const { X509_CRL_free(one); }
  void operator()(EVP_PKEY* one) const { EVP_PKEY_free(one); }
};
template <typename T>
using Owned = std::unique_ptr<T, Closing>;

Owned<FILE> Open(const std::string& path) { return Owned<FILE>(std::fopen(path.c_str(), "re")); }

// Whole days from now until then; negative: it is over.
int DaysUntil(const ASN1_TIME* then, int64_t now_s) {
  const std::unique_ptr<ASN1_TIME, decltype(&ASN1_TIME_free)> now(ASN1_TIME_set(nullptr, now_s),
                                                                  ASN1_TIME_free);
  int days = 0, seconds = 0;
  if (!now || ASN1_TIME_diff(&days, &seconds, now.get(), then) != 1) return -1;
  return days < 0 || seconds < 0 ? days - 1 : days;
}

// A file that must be for the gateway alone.
Finding CheckSecret(const std::string& what, const std::string& path, const DoctorView& view) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0)
    return {FindingLevel::kFail, what, fmt::format("{}: {}", path, ErrnoWords(errno)),
            "Make it, or take its line away."};
  const std::string shown = fmt::format("{}, mode {:04o}", path, status.st_mode & 07777);
  if ((status.st_mode & 077) != 0)
    return {FindingLevel::kFail, what, shown, fmt::format("chmod 0600 {}", path)};
  if (status.st_uid != view.gateway_uid) {
    return {FindingLevel::kFail, what, fmt::format("{}, not of user {}", shown, view.gateway_user),
            fmt::format("chown {} {}", view.gateway_user, path)};
  }
  return {FindingLevel::kOk, what, shown};
}

// Each line of a keytab has its end as "e:SECONDS", 0 for none.
Finding CheckKeytab(const std::string& what, const std::string& path, const DoctorView& view) {
  Finding secret = CheckSecret(what, path, view);
  std::ifstream file(path);
  size_t keys = 0, over = 0;
  for (std::string line, word; std::getline(file, line);) {
    std::istringstream words(line);
    while (words >> word) {
      if (!word.starts_with("e:")) continue;
      ++keys;
      const auto end = ParseUint(word.substr(2));
      if (end && *end != 0 && static_cast<int64_t>(*end) <= view.now_s) ++over;
    }
  }
  if (secret.level != FindingLevel::kOk) return secret;
  secret.found += fmt::format(", {} keys, {} of them expired", keys, over);
  if (over < keys) return secret;
  return {FindingLevel::kFail, what, secret.found, "Add a key: docs/deployment.md, \"A change of keys\"."};
}

// XRootD keeps the keys of one file in a process, whoever asks for which.
Finding CheckOneKeytab(const std::string& of_clients, const DoctorView& view) {
  const std::string what = "files of shared secrets";
  std::error_code error;
  if (of_clients == view.key_file || fs::equivalent(of_clients, view.key_file, error))
    return {FindingLevel::kOk, what, "one for clients and data servers"};
  return {
      FindingLevel::kWarn, what,
      fmt::format("{} for clients, and {} for data servers (XrdSecSSSKT): one process has one, and clients "
                  "are refused",
                  of_clients, view.key_file),
      "Put all keys into one file, that for the data servers last, and name it in both places: "
      "docs/credentials.md."};
}

// The file of xec.banned, opened as the user that the gateway is.
Finding CheckBanned(const std::string& path, const DoctorView& view) {
  const int own = setfsuid(view.gateway_uid);
  const int failure = Open(path) ? 0 : errno;
  setfsuid(static_cast<uid_t>(own));
  if (failure == 0) return {FindingLevel::kOk, "banned clients", path};
  return {
      FindingLevel::kFail, "banned clients",
      fmt::format("{} cannot be read by user {}: {}", path, view.gateway_user, ErrnoWords(failure)),
      "Put it there, readable, and empty if nobody is banned: without it a gateway does not start, and one "
      "that runs goes by what it said before."};
}

Finding CheckEnd(const std::string& what, const std::string& path, int days, const char* todo) {
  if (days < 0) return {FindingLevel::kFail, what, fmt::format("{} is over", path), todo};
  const std::string found = fmt::format("{} ends in {} days", path, days);
  if (days < kDaysToAct) return {FindingLevel::kWarn, what, found, todo};
  return {FindingLevel::kOk, what, found};
}

void CheckClientKeys(const std::string& path, const DoctorView& view, Findings& findings) {
  findings.push_back(CheckKeytab("shared secrets of clients", path, view));
  if (!view.key_file.empty()) findings.push_back(CheckOneKeytab(path, view));
}

void CheckCertificate(const std::string& path, const std::string& key_path, const DoctorView& view,
                      Findings& findings) {
  const Owned<FILE> file = Open(path);
  const Owned<X509> certificate(file ? PEM_read_X509(file.get(), nullptr, nullptr, nullptr) : nullptr);
  if (!certificate) {
    findings.push_back({FindingLevel::kFail, "certificate", fmt::format("{} cannot be read as one", path),
                        "Put the host's certificate there (PEM), readable by all."});
    return;
  }
  findings.push_back(CheckEnd("certificate", path,
                              DaysUntil(X509_get0_notAfter(certificate.get()), view.now_s),
                              "Have it renewed, and restart the gateway."));
  if (X509_check_host(certificate.get(), view.host.c_str(), view.host.size(), 0, nullptr) != 1) {
    findings.push_back({FindingLevel::kFail, "certificate's names",
                        fmt::format("{} is not among them", view.host),
                        "Have one made with the name that clients use."});
  }
  findings.push_back(CheckSecret("certificate's key", key_path, view));
  const Owned<FILE> key_file = Open(key_path);
  if (!key_file) return;
  const Owned<EVP_PKEY> key(PEM_read_PrivateKey(key_file.get(), nullptr, nullptr, nullptr));
  if (key && X509_check_private_key(certificate.get(), key.get()) == 1) return;
  findings.push_back({FindingLevel::kFail, "certificate's key",
                      fmt::format("{} is not that of {}", key_path, path),
                      "Put the key there that the certificate was made for."});
}

void CheckAuthorities(const std::string& folder, const DoctorView& view, Findings& findings) {
  std::error_code error;
  size_t authorities = 0, lists = 0, over = 0;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string extension = entry.path().extension();
    if (extension == ".0") ++authorities;
    if (extension != ".r0") continue;
    ++lists;
    const Owned<FILE> file = Open(entry.path());
    const Owned<X509_CRL> list(file ? PEM_read_X509_CRL(file.get(), nullptr, nullptr, nullptr) : nullptr);
    if (!list || DaysUntil(X509_CRL_get0_nextUpdate(list.get()), view.now_s) < 0) ++over;
  }
  const std::string found = fmt::format("{}: {} authorities, {} revocation lists, {} of them too old", folder,
                                        authorities, lists, over);
  if (authorities == 0) {
    findings.push_back(
        {FindingLevel::kFail, "authorities", found, "Install the authorities that count (HASH.0)."});
  } else if (over > 0) {
    findings.push_back(
        {FindingLevel::kFail, "authorities", found, "Run fetch-crl, and have it run each day."});
  } else {
    findings.push_back({FindingLevel::kOk, "authorities", found});
  }
}

// The tokens of other sites are refused by their audience only.
Finding CheckAudience(const std::string& path, const SiteLines& lines, const DoctorView& view) {
  std::vector<std::string> names = {view.host};
  for (const auto& words : lines) {
    if (words.front() == "all.manager" && words.size() > 1)
      names.push_back(words[1].substr(0, words[1].find(':')));
  }
  std::ifstream file(path);
  if (!file)
    return {FindingLevel::kFail, "token audience", fmt::format("{} cannot be read", path),
            "Make it: xec config scitokens"};
  std::string audience;
  for (std::string line; std::getline(file, line);) {
    const std::string_view text = Trim(line);
    if (text.starts_with("audience")) audience = std::string(Trim(text.substr(text.find('=') + 1)));
  }
  if (audience.empty()) {
    return {FindingLevel::kFail, "token audience",
            fmt::format("{} names none: tokens for any site are taken", path),
            fmt::format("Add audience = https://{} below [Global].", view.host)};
  }
  const bool named = std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    return audience.find("//" + name) != std::string::npos || audience == name;
  });
  if (named) return {FindingLevel::kOk, "token audience", audience};
  return {FindingLevel::kWarn, "token audience",
          fmt::format("{} is not the name of this host, {}", audience, view.host),
          "Clients that ask for tokens by the name in their URL are refused, unless that is another one: add "
          "it."};
}

}  // namespace

const char* FindingLevelName(FindingLevel level) {
  switch (level) {
    case FindingLevel::kOk: return "ok";
    case FindingLevel::kWarn: return "warn";
    case FindingLevel::kFail: return "fail";
  }
  return "";
}

SiteLines WordsOfLines(std::string_view text) {
  SiteLines lines;
  for (const std::string_view line : Split(text, '\n')) {
    std::istringstream stream{std::string(line)};
    std::vector<std::string> words;
    for (std::string word; stream >> word && !word.starts_with('#');) words.push_back(word);
    if (!words.empty() && !words.front().starts_with("xec.")) lines.push_back(std::move(words));
  }
  return lines;
}

Findings CheckSite(const SiteLines& lines, const Configuration& configuration, const DoctorView& view) {
  Findings findings;
  const bool far = !configuration.servers.empty() || !configuration.origin.empty();
  if (!view.key_file.empty()) {
    findings.push_back(CheckKeytab("key for data servers", view.key_file, view));
  } else if (far) {
    findings.push_back(
        {FindingLevel::kWarn, "key for data servers", "XrdSecSSSKT is not set",
         "Set it as in the unit (xec config unit), unless the data servers are open to everybody."});
  }
  if (!configuration.banned.empty()) findings.push_back(CheckBanned(configuration.banned, view));
  for (const auto& words : lines) {
    const auto has = [&](std::string_view directive, size_t count) {
      return words.front() == directive && words.size() >= count;
    };
    if (has("xrd.tls", 2)) CheckCertificate(words[1], words.size() > 2 ? words[2] : words[1], view, findings);
    if (has("xrd.tlsca", 3) && words[1] == "certdir") CheckAuthorities(words[2], view, findings);
    if (has("macaroons.secretkey", 2)) findings.push_back(CheckSecret("secret of macaroons", words[1], view));
    if (has("sec.protocol", 2) && std::find(words.begin(), words.end(), "sss") != words.end()) {
      const auto flag = std::find(words.begin(), words.end(), "-s");
      if (flag != words.end() && flag + 1 != words.end()) CheckClientKeys(*(flag + 1), view, findings);
    }
    if (!has("ofs.authlib", 2)) continue;
    for (const std::string& word : words) {
      constexpr std::string_view kConfig = "config=";
      if (word.starts_with(kConfig))
        findings.push_back(CheckAudience(word.substr(kConfig.size()), lines, view));
    }
  }
  return findings;
}

}  // namespace xec
