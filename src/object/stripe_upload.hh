// SPDX-License-Identifier: LGPL-3.0-or-later
// StripeUpload: the bytes of one object on their way into archives that are not sealed yet. What both layouts
// share: the pipeline of stripes, the archives of the lanes, and what is known to be lost. Sealing and
// committing is the writers' (object_writer.cc, xrdec/writer.cc).
#pragma once

#include <map>
#include <memory>
#include <optional>

#include "archive/archive_writer.hh"
#include "archive/manifest.hh"
#include "codec/object_digests.hh"
#include "object/archive_opener.hh"
#include "object/object_writer.hh"
#include "object/stripe_buffer.hh"
#include "runtime/gather.hh"

namespace xec {

// One archive of the upload.
struct UploadedArchive {
  std::optional<uint32_t> lane;  // absent: a fill
  MemberIndex server = 0;
  ArchiveFilePtr file;  // null: no server took it
  std::shared_ptr<ArchiveWriter> archive = std::make_shared<ArchiveWriter>();
  bool lost = false;
  bool closed = false;
};

struct UploadPlan {
  ObjectPath path;
  std::string object_id;
  Geometry geometry;
  WriteOptions options;
  // An object of one stripe is not sent before its archives are sealed: chunk and end go in one request, to
  // lanes with bytes only. Else every stripe is sent to all lanes, chunks without bytes as empty members.
  bool one_stripe_form = true;
  ArchivePlace place;
};

// Owned and called as an ObjectWriter.
class StripeUpload {
 public:
  StripeUpload(Engine& engine, UploadPlan plan, ObjectDigests digests);

  // Bytes accepted so far.
  uint64_t size() const { return size_; }
  const UploadPlan& plan() const { return plan_; }
  const Geometry& geometry() const { return plan_.geometry; }
  uint32_t lanes_total() const { return plan_.geometry.Total(); }

  // As ObjectWriter's.
  Task<Status> Reserve();
  Task<Status> Append(ByteSpan bytes);

  // Ends the stream: sends what is left and waits for all writes, unless the object is held back whole (see
  // below). Error: also when the size is not the one announced.
  Task<Status> Flush();
  // After Flush: the only stripe of an object that was not sent; null if stripes were sent or there are no
  // bytes.
  std::shared_ptr<StripeBuffer> TakeHeldBack() { return std::move(current_); }
  bool sent() const { return next_stripe_ > 0; }

  // Creates the archives of these lanes, ascending. Once; Append and Flush do it for what they send.
  Task<Status> OpenLanes(std::vector<uint32_t> lanes);
  Task<Status> OpenAllLanes();
  // Creates archives without members on homes until `count` more homes have one.
  Task<void> OpenFills(size_t count);
  std::vector<UploadedArchive>& archives() { return archives_; }
  const std::vector<UploadedArchive>& archives() const { return archives_; }

  void Lose(UploadedArchive& archive, const Error& error);
  // Error: more lanes are lost than the options allow; names each.
  Status CheckRedundancy() const;
  // How many lanes may be missing at the end.
  size_t losses_max() const { return losses_max_; }
  // "s03: ...; s07: ..."
  std::string Losses() const;
  Error OpenProblems() const { return opener_.Problems(); }

  std::map<std::string, std::string> Checksums() { return digests_.Finish(); }
  // With everything but kind and lane.
  Manifest MakeManifest(std::map<std::string, std::string> checksums) const;

  // The first error; nothing is accepted after it.
  const std::optional<Error>& failed() const { return failed_; }
  void SetFailed(const Error& error);

  // Lets go of memory and of open archives. `servers`: where archives may lie.
  struct Remains {
    std::vector<ArchiveFilePtr> files;
    std::vector<MemberIndex> servers;
  };
  Remains GiveUp();

 private:
  StripeBuffer::Shape ShapeOfStripe(uint64_t stripe) const;
  Status CheckMayGrow(uint64_t bytes) const;
  Task<Status> NewStripe();
  Task<Status> SendStripe();
  Status StartWrite(uint64_t stripe, size_t index);
  Task<void> TakeWrite();

  Engine& engine_;
  const UploadPlan plan_;
  const size_t losses_max_;
  ObjectDigests digests_;
  ArchiveOpener opener_;

  uint64_t size_ = 0;
  uint64_t next_stripe_ = 0;
  std::shared_ptr<StripeBuffer> current_;
  StripeReservation reserved_;
  std::vector<UploadedArchive> archives_;  // lanes in ascending order, then fills
  std::vector<std::string> losses_;  // one clause for each lost archive
  std::optional<Code> loss_code_;  // of all losses, if they agree
  std::optional<Error> failed_;

  Gather<Status> writes_;  // tag: stripe * lanes + index of the archive
  std::map<uint64_t, size_t> stripes_on_their_way_;  // stripe -> writes not answered yet
};

// Closes the files, in parallel, whatever the servers answer.
Task<void> CloseAll(Engine& engine, std::vector<ArchiveFilePtr> files);

}  // namespace xec
