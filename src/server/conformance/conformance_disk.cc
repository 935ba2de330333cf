// SPDX-License-Identifier: LGPL-3.0-or-later
#include "server/conformance/conformance_disk.hh"

#include <algorithm>
#include <functional>

#include "runtime/sync_wait.hh"

namespace xec {
namespace {

using Problems = std::vector<std::string>;

class DiskCheck {
 public:
  DiskCheck(const ConformanceSubject& subject, ConformanceDisk& disk) : subject_(subject), disk_(disk) {}

  Problems WithoutIt();
  Problems AfterPowerCuts();

 private:
  std::string Path(const std::string& name) const { return subject_.directory + "/" + name; }
  CallContext Call() const { return subject_.Call(); }
  const DataServerPtr& server() const { return subject_.server; }
  Status Make(const std::string& name, bool sync) {
    return SyncWait(CreateFile(Call(), server(), Path(name), "content", sync));
  }
  // Adds a problem unless the request was refused, without a claim about names.
  template <typename T>
  void NeedNoClaim(const char* request, const Result<T>& answer) {
    if (answer) return Add("{} is OK while the disk is away", request);
    const Code code = answer.code();
    if (code != Code::kUnavailable && code != Code::kPermissionDenied)
      Add("{} is {} while the disk is away: {}", request, CodeName(code), answer.error().message);
  }
  template <typename... Args>
  void Add(fmt::format_string<Args...> format, Args&&... args) {
    problems_.push_back(fmt::format(format, std::forward<Args>(args)...));
  }
  void NeedOk(const char* what, const Status& status) {
    if (!status) Add("{} failed: {}", what, status.error().ToString());
  }
  void AskAll();
  // Makes the change, cuts the power, and looks whether `name` is in the directory `in`.
  void MustSurvive(const char* change, const Status& made, const std::string& in, const std::string& name);
  bool IsListed(const std::string& in, const std::string& name);

  const ConformanceSubject& subject_;
  ConformanceDisk& disk_;
  Problems problems_;
};

// Not a request that makes something: what is made on the disk of somebody else is found there by everybody
// that looks. Nor the removal of a folder: of one that is not there stock servers answer OK.
void DiskCheck::AskAll() {
  // First, while nothing else has shown yet that the disk is gone.
  NeedNoClaim("listing the root", SyncWait(List(Call(), server(), "/")));
  NeedNoClaim("opening a file", SyncWait(Open(Call(), server(), Path("d/f"), OpenMode::kRead)));
  NeedNoClaim("opening a name that is not there",
              SyncWait(Open(Call(), server(), Path("d/none"), OpenMode::kRead)));
  NeedNoClaim("listing a directory", SyncWait(List(Call(), server(), Path("d"))));
  NeedNoClaim("listing a directory that is not there", SyncWait(List(Call(), server(), Path("none"))));
  NeedNoClaim("listing directories", SyncWait(ListMany(Call(), server(), {Path("none"), Path("d")})));
  NeedNoClaim("removing a file", SyncWait(Remove(Call(), server(), Path("d/f"))));
  NeedNoClaim("renaming a file", SyncWait(Rename(Call(), server(), Path("d/f"), Path("d/g"))));
  if (subject_.attributes)
    NeedNoClaim("asking for attributes", SyncWait(GetAttributes(Call(), server(), Path("d/f"), "xec.")));
}

Problems DiskCheck::WithoutIt() {
  NeedOk("making a file", Make("d/f", true));
  for (const bool mount_point : {false, true}) {
    disk_.TakeAway(mount_point);
    AskAll();
    disk_.BringBack();
    const Result<std::string> content = SyncWait(ReadFile(Call(), server(), Path("d/f"), 100));
    if (!content || *content != "content")
      Add("the disk is back, and its file is not: {}", content ? *content : content.error().message);
  }
  return std::move(problems_);
}

bool DiskCheck::IsListed(const std::string& in, const std::string& name) {
  const Result<std::vector<Entry>> entries = SyncWait(List(Call(), server(), Path(in)));
  return entries && std::any_of(entries->begin(), entries->end(),
                                [&](const Entry& entry) { return entry.name == name; });
}

void DiskCheck::MustSurvive(const char* change, const Status& made, const std::string& in,
                            const std::string& name) {
  NeedOk(change, made);
  disk_.CutPower();
  if (!IsListed(in, name)) Add("{} was answered OK, and a power cut undoes it", change);
}

Problems DiskCheck::AfterPowerCuts() {
  MustSurvive("syncing a new file", Make("new/folders/synced", true), "new/folders", "synced");
  NeedOk("making a file", Make("object/s", true));
  MustSurvive("a rename", SyncWait(Rename(Call(), server(), Path("object/s"), Path("object/p"))), "object",
              "p");
  if (IsListed("object", "s")) Add("a file has its old name, too, after its rename and a power cut");
  MustSurvive("a rename into a new folder",
              SyncWait(Rename(Call(), server(), Path("object/p"), Path("to/new/q"))), "to/new", "q");
  MustSurvive("a rename of a folder", SyncWait(Rename(Call(), server(), Path("to"), Path("moved/to"))),
              "moved/to/new", "q");
  MustSurvive("making a directory and its parents",
              SyncWait(MakeDirectory(Call(), server(), Path("made/with/parents"))), "made/with", "parents");
  // As one that somebody else has just made, and has not synced yet.
  NeedOk("making a file", Make("of/others/f", false));
  MustSurvive("making a directory that is there",
              SyncWait(MakeDirectory(Call(), server(), Path("of/others"))), "of", "others");
  return std::move(problems_);
}

}  // namespace

Problems ProblemsWithoutItsDisk(const ConformanceSubject& subject, ConformanceDisk& disk) {
  return DiskCheck(subject, disk).WithoutIt();
}

Problems ProblemsAfterPowerCuts(const ConformanceSubject& subject, ConformanceDisk& disk) {
  return DiskCheck(subject, disk).AfterPowerCuts();
}

}  // namespace xec
