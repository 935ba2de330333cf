// SPDX-License-Identifier: LGPL-3.0-or-later
// StoreMaintenance: what operators do with a store, by themselves or by jobs in the background. A program
// that only serves objects needs store.hh alone.
#pragma once

#include <chrono>
#include <map>

#include "api/balance.hh"
#include "api/call_options.hh"
#include "api/census.hh"
#include "api/chunk_report.hh"
#include "api/object_info.hh"
#include "api/object_places.hh"
#include "api/rebuild.hh"
#include "api/server_changes.hh"
#include "api/space_group.hh"
#include "jobs/job_orders.hh"
#include "jobs/job_record.hh"
#include "protocol/object_path.hh"
#include "runtime/task.hh"
#include "runtime/turn.hh"
#include "server/data_server.hh"

namespace xec {

// An object that has fewer archives than it should have, although every server has answered.
struct ThinObject {
  ObjectPath path;
  Version version;
};

// What one pass of the cleaner did.
struct CleanReport {
  uint64_t names = 0;        // object directories visited
  uint64_t removed = 0;      // files and marks removed
  uint64_t left = 0;         // states that wait for a grace time or a missing server
  std::vector<ThinObject> thin;  // objects that lack archives; they are queued for repair
};

struct RepairOptions {
  // The version that is meant; when another one is there by now, nothing is done.
  std::optional<Version> version;
  // Servers that will not come back: what they hold is written anew on others, which get nothing of it
  // otherwise.
  std::vector<MemberIndex> gone;
  // Servers that show something of the name: archives are removed there once they are on other servers. Those
  // that are not named here, but have been found otherwise, are as well.
  std::vector<MemberIndex> shown_on;
  // Reads everything, before and after, and so finds damage that only reading shows. Else an archive counts
  // as good whose directory is, until a chunk of it that has to be read turns out to be bad.
  bool deep = true;
  // Nothing is written; `copies` of the report tells what would be.
  bool dry_run = false;
  // If there are any, these archives are moved if the object is whole, and nothing else is done; one that is
  // not where it should come from stays where it is. Of a repair that is not deep.
  std::vector<LaneMove> moves;
  // Both are called on any thread, also at the same time. Bytes of chunks that were read, and of archives
  // that were written.
  std::function<void(uint64_t bytes)> progress = [](uint64_t) {};
  std::function<void(uint64_t bytes)> wrote = [](uint64_t) {};
  // Of one that is not deep. How long to rest before a stripe, asked again after that; and whether to give
  // up, with kCancelled.
  std::function<Duration()> rest = [] { return Duration::zero(); };
  std::function<bool()> stopped = [] { return false; };
};

struct RepairReport {
  uint64_t archives_bad = 0;  // found lost, damaged or owed
  uint64_t archives_silent = 0;  // on servers that do not answer: left alone
  uint64_t archives_made = 0;
  uint64_t archives_surplus = 0;  // of lanes that another server has: removed, or by a dry run to be removed
  uint64_t archives_twice = 0;  // likewise, but left there, since somebody may just be moving them
  int survives = 0;  // so many further archives could be lost before the repair, at least; < 0: none
  std::vector<MemberIndex> silent;  // these servers, ascending
  std::vector<std::string> made;  // one clause for each archive made: what was wrong, where it is now
  std::vector<std::string> problems;  // one sentence for each archive that could not be made
  // An archive that was written, or by a dry run would be.
  struct Copy {
    MemberIndex server = 0;
    uint64_t bytes = 0;  // of its chunks
  };
  std::vector<Copy> copies;
  // Of a dry run, for an object that is whole: where its archives are, and servers without one that could get
  // one, which readers would find there.
  std::vector<LanePlace> lanes;
  std::vector<MemberIndex> spares;
  bool Whole() const { return archives_bad == 0 && archives_silent == 0; }
};

// What stands in a directory on the servers, whether it lives itself or not.
struct StoredNames {
  std::vector<ListedName> names;  // that live, sorted
  // Paths of directories in it that do not live, but below which something may stand.
  std::vector<std::string> gone;
  // By name: the servers that show something of it. Others may be named as well.
  std::map<std::string, std::vector<MemberIndex>> shown_on;
};

// What the jobs of all processes of the store told last, and what is asked of them.
struct JobsTold {
  JobOrders orders;
  std::vector<ProcessRecord> records;
  int64_t now_ms = 0;  // when that was read
};

struct CensusOptions {
  bool deep = false;  // reads and checks every byte
  std::function<bool(const Census&)> progress = [](const Census&) { return true; };  // false: stop
};

// One call at a time. False: stop.
struct PlacesOptions {
  std::string from = {};  // a point of an earlier walk to begin at; "" = at the beginning
  Turn turn = {};  // awaited before each object
  std::function<bool(ObjectPlaces object)> object = {};
  // One that cannot be looked at, or a directory that cannot be listed: nobody knows what is below.
  std::function<bool(const std::string& path, bool directory, const Error& error)> unknown = {};
};

// One data server as this process sees it now.
struct ServerReport {
  enum class State { kUp, kSlow, kUnwritable, kSuspect, kDown };
  std::string id, address, host;
  State state = State::kUp;
  Duration median{}, high{};  // of small requests; high: the 95th percentile
  Duration since{};  // how long it has been suspect or down
  std::optional<Space> space;
  std::string problem;
  bool in_maintenance = false;

  bool Answers() const { return state <= State::kUnwritable; }
};
const char* ServerReportStateName(ServerReport::State state);

struct ServersReport {
  std::vector<ServerReport> servers;  // by member
  // No server lets this user write, so whether a gateway may is not known.
  bool writes_unknown = false;
};

// Thread-safe. Paths as of Store, and those that listings of what stands on the servers tell. Every operation
// may also answer kNoQuorum, and with a limited call kDeadlineExceeded and kCancelled: what it was about goes
// on to its end then.
class StoreMaintenance {
 public:
  virtual ~StoreMaintenance() = default;

  virtual const StoreDescriptor& descriptor() const = 0;
  // Where a member is, as the configuration says it.
  virtual std::string AddressOf(MemberIndex member) const = 0;

  // One pass over every name of the store: rolls forward, finishes moves, removes debris past its grace time.
  // `progress` hears how many names were visited; false: stop, with kCancelled, and what was done stays done.
  virtual Task<Result<CleanReport>> Clean(
      std::function<bool(uint64_t names)> progress = [](uint64_t) { return true; },
      CallOptions call = {}) = 0;

  // Writes what is lost or damaged of an object anew, and verifies it then. One at a time. Errors: kNotFound,
  // kDataLoss, kUnavailable, kCorruption (what was read has not the checksums of the object: nothing is
  // written then); kUnsupported for layout xrdec.
  virtual Task<Result<RepairReport>> Repair(std::string path, RepairOptions options,
                                            CallOptions call = {}) = 0;

  // Does that with every object of the store, several at a time, those with the least redundancy first. An
  // object that cannot be repaired now is told and tried once more at the end. Errors: kCancelled when
  // `options` ended it, kUnsupported for layout xrdec.
  virtual Task<Result<RebuildReport>> Rebuild(RebuildOptions options, CallOptions call = {}) = 0;

  // Moves archives of objects that are whole until all disks are about equally full, at the pace of a
  // rebuild, and no more than that takes. It has no state on the servers: begun anew it goes on. Errors:
  // kCancelled when `options` ended it, kConflict while the members change, kNoQuorum, kUnsupported for
  // layout xrdec.
  virtual Task<Result<BalanceReport>> Balance(BalanceOptions options, CallOptions call = {}) = 0;

  // Counts every object of the store, several at a time. Error: kCancelled when `progress` said so.
  virtual Task<Result<Census>> TakeCensus(CensusOptions options, CallOptions call = {}) = 0;

  // Which server holds which chunks of every object of the store, several at a time, in one order for all
  // walks, counted as by a census. Error: kCancelled when `options` ended it.
  virtual Task<Status> WalkPlaces(PlacesOptions options, CallOptions call = {}) = 0;

  // Reads and checks every chunk of every archive, parity included (against the data), one stripe at a time.
  // `report` runs for every chunk, in order; chunks without bytes are not reported. Errors: as reading.
  virtual Task<Status> Verify(std::string path, OnChunk report, CallOptions call = {}) = 0;

  // Where the chunks are, from the directories only.
  virtual Task<Status> Locate(std::string path, OnChunk report, CallOptions call = {}) = 0;

  // What census and repair walk along, so that nothing is hidden from them. `directory`: as given by them.
  virtual Task<Result<StoredNames>> ListStored(std::string directory, CallOptions call = {}) = 0;

  // Makes the directories above an object that are gone, so that listings find it (promise P10). True: some
  // were. Errors: kNotDirectory (an object has the name of one), as MakeDirectory.
  virtual Task<Result<bool>> BringIntoTree(std::string path, CallOptions call = {}) = 0;

  // Addresses of members that did not answer when this process asked them last. At once: nobody is asked.
  virtual std::vector<std::string> SilentServers() const = 0;
  // Asks every server for small things, and whether it takes writes.
  virtual Task<Result<ServersReport>> CheckServers(CallOptions call = {}) = 0;

  // The groups of the space as this process is configured, with what the gateways have told last.
  virtual Task<Result<std::vector<GroupUse>>> AskGroups(CallOptions call = {}) = 0;

  // What works in the background, here and in other processes (`xec jobs`). Error: kNoQuorum.
  virtual Task<Result<JobsTold>> LookAtJobs(CallOptions call = {}) = 0;
  // Asks it of the job, in all processes. Error: kNoQuorum, or what a server said: fewer than a majority have
  // taken it; it may be obeyed all the same.
  virtual Task<Status> AskOfJob(std::string job, JobVerb verb, CallOptions call = {}) = 0;

  // Members whose place answers, but holds nothing of the store any more: the folder was deleted or emptied.
  // A server that does not answer is not among them, nor a directory that could be one of several.
  virtual Task<Result<std::vector<MemberIndex>>> FindGone(CallOptions call = {}) = 0;

  // Gives an empty directory or data server the identity of a member whose disk is lost for good. It counts
  // as away until it has been compared with the others, by CompareDisk or by any gateway; what the member
  // held is written anew by Rebuild. May be called again after an interruption. Errors: kInvalidArgument (no
  // such member, or place), kConflict (the member still answers, or the place is not empty), kUnsupported (a
  // store without parity), what the servers say.
  virtual Task<Result<ReplacedServer>> ReplaceServer(ReplaceOptions options, CallOptions call = {}) = 0;

  // Begins a change of the members, or makes it where nothing has to follow. Answers the id of the member it
  // is about ("" of kUndo). Errors: kInvalidArgument with the reason and the numbers, kConflict (another one
  // is under way; a place that is not empty), kUnsupported (layout xrdec), what the servers say.
  virtual Task<Result<std::string>> ChangeServers(ChangeOptions options, CallOptions call = {}) = 0;

  // Carries out the change that is under way, beside gateways that do so as well. OK when it is complete.
  // Errors: kCancelled; a sentence, and it can be called again.
  virtual Task<Status> CarryOutChange(ChangeProgress progress, CallOptions call = {}) = 0;

  // Teaches a disk that lacks what its member had accepted, as a new one does, what the others know; then it
  // is used for decisions again. OK at once if it lacks nothing. Errors: a sentence; it can be called again.
  virtual Task<Status> CompareDisk(MemberIndex member, CompareProgress progress, CallOptions call = {}) = 0;
};

}  // namespace xec
