// SPDX-License-Identifier: LGPL-3.0-or-later
// Files of an XrootdTree that are open.
#pragma once

#include "tree_xrootd/remote_file.hh"

namespace xec {

// Bytes of one reader come from the file as it was opened; when another one is there by then, after a pause
// or a lost connection, it answers kNotCurrent.
class XrootdReader final : public TreeReader {
 public:
  XrootdReader(std::shared_ptr<OpenFile> open, RemoteFile::Again again)
      : told_(open->told()), file_(std::move(open), std::move(again)) {}

  uint64_t size() const override { return told_.entry.size; }
  const std::string& version() const override { return told_.entry.version; }
  // Those of a plain server's file change under its readers.
  bool stays() const override { return false; }
  Result<uint64_t> Read(uint64_t offset, MutableByteSpan into) override;

  RemoteFile& file() { return file_; }

 private:
  const Told told_;
  RemoteFile file_;
};

// What is written goes to the server at once. A plain server shows it to everybody at once, a gateway when
// the file is closed, which a commit does; the next request opens it again.
class XrootdEdit final : public TreeEdit {
 public:
  // Asks the server what the file is.
  using Look = std::function<Result<Told>()>;
  // `cut`: it begins empty, which is a change.
  XrootdEdit(std::shared_ptr<OpenFile> open, RemoteFile::Again again, Look look, bool cut);

  uint64_t size() const override;
  std::string version() const override;
  bool changed() const override;
  bool stays() const override { return false; }
  Result<uint64_t> Read(uint64_t offset, MutableByteSpan into) override;
  Status Write(uint64_t offset, ByteSpan bytes) override;
  Status Truncate(uint64_t size) override;
  Result<bool> SetSettings(const Settings& settings) override;
  // It is the server that keeps what an upload has.
  Result<bool> Rest() override { return false; }
  Status Hold() override { return OkStatus(); }
  void LoseName() override {}
  Result<std::string> Commit() override;

  RemoteFile& file() { return file_; }
  void CloseIfIdleSince(TimePoint time);

 private:
  // Runs a request on the file, once more if it was lost and had no changes.
  template <typename F>
  auto OnFile(F request) -> decltype(request(std::declval<OpenFile&>()));
  // Of the first change that was lost: what is on the server then is unknown.
  Status Broken() const;
  void Changed(uint64_t size_at_least);

  RemoteFile file_;
  const Look look_;
  mutable Mutex mutex_;
  uint64_t size_ XEC_GUARDED_BY(mutex_);
  std::string version_ XEC_GUARDED_BY(mutex_);
  bool changed_ XEC_GUARDED_BY(mutex_);
  std::optional<Error> broken_ XEC_GUARDED_BY(mutex_);
};

}  // namespace xec
