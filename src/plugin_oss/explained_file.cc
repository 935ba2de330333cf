// SPDX-License-Identifier: LGPL-3.0-or-later
#include "plugin_oss/explained_file.hh"

#include <cstdlib>

#include <XrdVersion.hh>

#include "plugin_oss/gateway.hh"
#include "plugin_oss/open_handle.hh"

namespace xec {
namespace {

// So long a client waits for the answer to a close or a sync before it is told to come back, and then so many
// seconds until it does. A minute of silence would cost it its connection.
constexpr std::chrono::milliseconds kPrepareWait = std::chrono::seconds(20);
constexpr int kComeBackSeconds = 1;

class ExplainedFile final : public XrdSfsFile {
 public:
  explicit ExplainedFile(std::unique_ptr<XrdSfsFile> file) : XrdSfsFile(*file), file_(std::move(file)) {}

  int open(const char* path, XrdSfsFileOpenMode flags, mode_t mode, const XrdSecEntity* client,
           const char* opaque) override {
    const OpenOfThread of_thread;
    const bool changes =
        (flags & (SFS_O_WRONLY | SFS_O_RDWR)) != 0 && (flags & (SFS_O_CREAT | SFS_O_TRUNC)) == 0;
    // Else another one could find the handle of this one before it is hidden, and share what it changes.
    if (changes) TurnsOfDaemon().Take(path);
    const int opened = Explain([&] { return file_->open(path, flags, mode, client, opaque); });
    if (changes) TurnsOfDaemon().Give(path);
    handle_ = of_thread.handle();
    return opened;
  }
  int close() override {
    if (!Prepare()) return kComeBackSeconds;
    return Explain([&] { return file_->close(); });
  }
  XrdSfsXferSize read(XrdSfsFileOffset offset, char* buffer, XrdSfsXferSize size) override {
    return Explain([&] { return file_->read(offset, buffer, size); });
  }
  XrdSfsXferSize readv(XrdOucIOVec* pieces, int count) override {
    return Explain([&] { return file_->readv(pieces, count); });
  }
  XrdSfsXferSize pgRead(XrdSfsFileOffset offset, char* buffer, XrdSfsXferSize size, uint32_t* checksums,
                        uint64_t options) override {
    return Explain([&] { return file_->pgRead(offset, buffer, size, checksums, options); });
  }
  XrdSfsXferSize write(XrdSfsFileOffset offset, const char* buffer, XrdSfsXferSize size) override {
    return Explain([&] { return file_->write(offset, buffer, size); });
  }
  XrdSfsXferSize pgWrite(XrdSfsFileOffset offset, char* buffer, XrdSfsXferSize size, uint32_t* checksums,
                         uint64_t options) override {
    return Explain([&] { return file_->pgWrite(offset, buffer, size, checksums, options); });
  }
  int truncate(XrdSfsFileOffset size) override {
    return Explain([&] { return file_->truncate(size); });
  }

  int checkpoint(cpAct act, struct iov* range, int count) override {
    return file_->checkpoint(act, range, count);
  }
  int fctl(const int command, const char* arguments, XrdOucErrInfo& info) override {
    return file_->fctl(command, arguments, info);
  }
  int fctl(const int command, int size, const char* arguments, const XrdSecEntity* client) override {
    return file_->fctl(command, size, arguments, client);
  }
  const char* FName() override { return file_->FName(); }
  int getMmap(void** address, off_t& size) override { return file_->getMmap(address, size); }
  int pgRead(XrdSfsAio* aio, uint64_t options) override { return file_->pgRead(aio, options); }
  int pgWrite(XrdSfsAio* aio, uint64_t options) override { return file_->pgWrite(aio, options); }
  XrdSfsXferSize read(XrdSfsFileOffset offset, XrdSfsXferSize size) override {
    return file_->read(offset, size);
  }
#if XrdVNUMBER >= 60000
  XrdSfsXferSize read(XrdOucRangeList& ranges) override { return file_->read(ranges); }
#endif
  int read(XrdSfsAio* aio) override { return file_->read(aio); }
  int SendData(XrdSfsDio* sink, XrdSfsFileOffset offset, XrdSfsXferSize size) override {
    return file_->SendData(sink, offset, size);
  }
  int write(XrdSfsAio* aio) override { return file_->write(aio); }
  XrdSfsXferSize writev(XrdOucIOVec* pieces, int count) override { return file_->writev(pieces, count); }
  int stat(struct stat* out) override { return file_->stat(out); }
  int sync() override {
    const std::shared_ptr<OpenHandle> handle = handle_.lock();
    if (handle && handle->SyncCommits() && !Prepare()) return kComeBackSeconds;
    return Explain([&] { return file_->sync(); });
  }
  int sync(XrdSfsAio* aio) override { return file_->sync(aio); }
  int getCXinfo(char type[4], int& size) override { return file_->getCXinfo(type, size); }
  void setXio(XrdSfsXio* xio) override { file_->setXio(xio); }

 private:
  // False: the client is to come back (SFS_STALL).
  bool Prepare() {
    const std::shared_ptr<OpenHandle> handle = handle_.lock();
    if (!handle || handle->Prepare(kPrepareWait)) return true;
    error.setErrInfo(kComeBackSeconds, "what was changed is being written");
    return false;
  }

  // What XRootD refuses without us has no sentence.
  template <typename F>
  auto Explain(F call) -> decltype(call()) {
    RememberErrorText("");
    const auto result = call();
    if (result != SFS_ERROR) return result;
    int code = 0;
    std::string words = error.getErrText(code), sentence;
    if (TakeErrorText(sentence)) words += fmt::format(" ({})", sentence);
    // With a sentence of getErrMsg XRootD 6.1 leaves the number negative, for which third-party copy has no
    // HTTP status but 500.
    error.setErrInfo(std::abs(code), words.c_str());
    return result;
  }

  const std::unique_ptr<XrdSfsFile> file_;
  std::weak_ptr<OpenHandle> handle_;  // of what is written
};

}  // namespace

std::unique_ptr<XrdSfsFile> Explained(std::unique_ptr<XrdSfsFile> file) {
  if (!file) return file;
  return std::make_unique<ExplainedFile>(std::move(file));
}

}  // namespace xec
