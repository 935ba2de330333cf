// SPDX-License-Identifier: LGPL-3.0-or-later
#include "server_xrootd/listing.hh"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/mutex.hh"
#include "xrdcompat/status.hh"

namespace xec {
namespace {

// Endings whose answers are waited for before others are tried.
constexpr size_t kLikelyEndings = 2;
// XRootD's buffer for one name of a listing, without the zero at its end.
constexpr size_t kListedBytesMax = 254;

Entry EntryOf(std::string name, const XrdCl::StatInfo& info) {
  Entry entry;
  entry.name = std::move(name);
  entry.directory = info.TestFlags(XrdCl::StatInfo::IsDir);
  entry.size = entry.directory ? 0 : info.GetSize();
  entry.mtime_s = static_cast<int64_t>(info.GetModTime());
  return entry;
}

// How a name may go on after 254 bytes: not at all, or with one byte that the protocol can carry. Object
// directories end in 'o'; letters and digits are likelier than others.
std::vector<std::string> MakeEndings() {
  std::vector<std::string> endings = {"", "o"};
  for (const bool likely : {true, false}) {
    for (int byte = 1; byte < 256; ++byte) {
      const char c = static_cast<char>(byte);
      const bool alphanumeric = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
      if (alphanumeric != likely || c == 'o' || c == '/' || c == '\n' || c == '?') continue;
      endings.emplace_back(1, c);
    }
  }
  return endings;
}

const std::vector<std::string>& Endings() {
  static const std::vector<std::string> endings = MakeEndings();
  return endings;
}

// Finds the names of entries that may be cut. Every ending is tried, all names with one ending before the
// next ending, until each file or directory that was listed has been met.
class CutNames : public std::enable_shared_from_this<CutNames> {
 public:
  // `ids` of what was listed, by the bytes that were sent of its name.
  CutNames(ServerCorePtr core, OpContext context, std::string path, std::vector<Entry> whole,
           std::map<std::string, std::vector<std::string>> ids, Done<std::vector<Entry>> done)
      : core_(std::move(core)),
        context_(context),
        path_(std::move(path)),
        done_(std::move(done)),
        entries_(std::move(whole)) {
    for (auto& [stem, listed] : ids) cut_.push_back({stem, std::move(listed)});
  }

  // Sends what may be sent; answers when there is nothing to wait for.
  void Go() {
    std::optional<Error> problem;
    std::vector<Entry> entries;
    while (true) {
      size_t name = 0;
      std::string guess;
      {
        MutexLock lock(mutex_);
        if (in_flight_ == kNameProbesMax) return;
        if (!SkipToNext()) {
          if (in_flight_ > 0 || std::exchange(ended_, true)) return;
          problem = std::move(problem_);
          entries = std::move(entries_);
          break;
        }
        name = next_name_++;
        guess = cut_[name].stem + std::string(Endings()[next_ending_]);
        ++in_flight_;
      }
      Probe(name, guess);
    }
    if (problem) return done_(std::move(*problem));
    done_(std::move(entries));
  }

 private:
  struct Cut {
    std::string stem;
    std::vector<std::string> ids;  // listed, and not met yet
  };

  // To the next probe that is needed. False: there is none, or none before others are answered.
  bool SkipToNext() XEC_REQUIRES(mutex_) {
    while (!problem_) {
      while (next_name_ < cut_.size() && cut_[next_name_].ids.empty()) ++next_name_;
      if (next_name_ < cut_.size()) return true;
      const bool wait = next_ending_ < kLikelyEndings && in_flight_ > 0;
      if (wait || next_ending_ + 1 == Endings().size()) return false;
      ++next_ending_;
      next_name_ = 0;
    }
    return false;
  }

  void Probe(size_t name, const std::string& guess) {
    const std::string path = (path_ == "/" ? "" : path_) + "/" + guess;
    SendRequest(
        core_->gate(),
        [&](XrdCl::ResponseHandler* handler) {
          return core_->filesystem().Stat(core_->ServerPath(path), handler, core_->Timeout(context_));
        },
        [self = shared_from_this(), name, guess](Reply reply) {
          self->Answered(name, guess, reply);
          self->Go();
        });
  }

  void Answered(size_t name, const std::string& guess, const Reply& reply) {
    MutexLock lock(mutex_);
    --in_flight_;
    const XrdCl::StatInfo* info = reply.ok() ? reply.Get<XrdCl::StatInfo>() : nullptr;
    if (info != nullptr) {
      entries_.push_back(EntryOf(guess, *info));
      std::vector<std::string>& ids = cut_[name].ids;
      const auto met = std::find(ids.begin(), ids.end(), info->GetId());
      if (met != ids.end()) ids.erase(met);
      return;
    }
    // A path that is too long for the server is none of its.
    const Code code = reply.ok() ? Code::kUnknown : CodeOf(*reply.status);
    if (code == Code::kNotFound || code == Code::kInvalidArgument) return;
    problem_ = ToError(*reply.status, core_->Describe("list", path_));
  }

  const ServerCorePtr core_;
  const OpContext context_;
  const std::string path_;
  Done<std::vector<Entry>> done_;  // called once, by the caller that sets ended_

  Mutex mutex_;
  std::vector<Entry> entries_ XEC_GUARDED_BY(mutex_);
  std::vector<Cut> cut_ XEC_GUARDED_BY(mutex_);
  std::optional<Error> problem_ XEC_GUARDED_BY(mutex_);
  size_t next_ending_ XEC_GUARDED_BY(mutex_) = 0;
  size_t next_name_ XEC_GUARDED_BY(mutex_) = 0;
  size_t in_flight_ XEC_GUARDED_BY(mutex_) = 0;
  bool ended_ XEC_GUARDED_BY(mutex_) = false;
};

void TakeList(const ServerCorePtr& core, OpContext context, const std::string& path,
              const XrdCl::DirectoryList* list, Done<std::vector<Entry>> done) {
  std::vector<Entry> entries;
  std::map<std::string, std::vector<std::string>> cut;
  if (list == nullptr) return done(std::move(entries));
  entries.reserve(list->GetSize());
  for (auto it = list->Begin(); it != list->End(); ++it) {
    const XrdCl::StatInfo* info = (*it)->GetStatInfo();
    if (info == nullptr) {
      return done(
          Fail(Code::kUnsupported, "{} failed: the server lists no sizes", core->Describe("list", path)));
    }
    std::string name = (*it)->GetName();
    if (name == "." || name == "..") continue;
    if (name.size() == kListedBytesMax) {
      cut[name].push_back(info->GetId());
    } else {
      entries.push_back(EntryOf(std::move(name), *info));
    }
  }
  if (cut.empty()) return done(std::move(entries));
  std::make_shared<CutNames>(core, context, path, std::move(entries), std::move(cut), std::move(done))->Go();
}

}  // namespace

void ListDirectory(ServerCorePtr core, OpContext context, std::string path, Done<std::vector<Entry>> done) {
  const std::string on_server = core->ServerPath(path);
  XrdCl::FileSystem& filesystem = core->filesystem();
  SendRequest(
      core->gate(),
      [&](XrdCl::ResponseHandler* handler) {
        return filesystem.DirList(on_server, XrdCl::DirListFlags::Stat, handler, core->Timeout(context));
      },
      [core, context, path, done = std::move(done)](Reply reply) mutable {
        if (!reply.ok()) return done(ToError(*reply.status, core->Describe("list", path)));
        TakeList(core, context, path, reply.Get<XrdCl::DirectoryList>(), std::move(done));
      });
}

}  // namespace xec
