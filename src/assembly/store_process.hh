// SPDX-License-Identifier: LGPL-3.0-or-later
// StoreProcess: the one implementation of OpenedStore.
//
//   opening --(servers agree)--> open <--(descriptor unseen for too long, or changed)--> answers "cannot
//   tell"
//
// INV-1  generations_ grows, under mutex_: its last one is the one in use, and none goes before the process
//        does, since handles and operations under way go on with theirs.
// INV-2  everything in scope_ ends soon after Stop(), except requests to servers.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "api/gated_store.hh"
#include "assembly/jobs/store_jobs.hh"
#include "assembly/maintenance/generation.hh"
#include "assembly/maintenance/upload_journal.hh"
#include "assembly/member_connections.hh"
#include "assembly/opened_store.hh"
#include "assembly/sites/store_sites.hh"
#include "assembly/store_front.hh"
#include "base/mutex.hh"
#include "base/random.hh"
#include "commit/disk/disk_clock.hh"
#include "jobs/alarm.hh"
#include "runtime/thread_pool.hh"
#include "server/decorators/completion_gate.hh"

namespace xec {

class StoreProcess final : public OpenedStore {
 public:
  StoreProcess(Configuration configuration, OpenOptions options);
  ~StoreProcess() override;

  // Opens, or starts to; see OpenStore. Call once, first.
  Status Start();

  Store& store() override { return front_.store(); }
  AuditLog* audit() override { return front_.audit(); }
  GroupUse UseOf(std::string_view path) override { return front_.space().Use(front_.space().Of(path)); }
  Executor& executor() override { return executor_; }
  const Configuration& configuration() const override { return configuration_; }
  Result<StoreMaintenance*> maintenance() override;
  std::vector<std::string> notes() const override;
  CreateOptions CreateOptionsFor(std::string_view path) override;
  [[nodiscard]] bool Settle(Duration at_most) override;

  // Of the list of members that is gone by now; null while the store could not be opened yet.
  Engine* engine() const;

 private:
  struct Attempt {
    Status status;
    bool again = false;  // worth another attempt by itself
  };
  // What the clocks are read with before there is an engine. Servers that are late keep it in use.
  struct Probe {
    Probe(const StoreDescriptor& descriptor, std::vector<DataServerPtr> servers, Executor& executor,
          const EngineOptions& options)
        : engine(descriptor, std::move(servers), executor, scope, SystemSeed(), options) {}
    TaskScope scope;
    Engine engine;
  };

  Task<Status> WaitUntilOpen();
  Task<void> OpenLoop(UniqueFunction<void(Status)> answer);
  Task<Attempt> TryToOpen();
  // `asked`: when the views were begun.
  Task<Attempt> CreateNew(std::vector<SiteView> views, Judgement::Kind kind, TimePoint asked);
  // Empty when the creation may begin, else why not yet.
  std::optional<Error> CreationMustWait(const std::vector<SiteView>& views, Judgement::Kind kind);
  // `asked`: likewise.
  Task<Status> OpenFrom(Judgement judgement, std::vector<SiteView> views, TimePoint asked);
  // The configuration's word over that of the servers.
  Result<StoreDescriptor> Effective(StoreDescriptor stored) const;
  std::unique_ptr<Generation> NewGeneration(StoreDescriptor stored, std::unique_ptr<Engine> beneath,
                                            std::unique_ptr<Engine> engine);
  Task<Status> Follow(StoreDescriptor next, TimePoint asked);
  Generation* InUse() const;  // null while there is none
  // Frees it as soon as nothing is under way with it, and so those of attempts before.
  void Retire(std::shared_ptr<Probe> probe);
  // So many tasks are under way.
  size_t Running() const;
  std::vector<std::shared_ptr<Probe>> Probes() const;
  // Where neither a list nor the one before has a majority: the newest one has been decided, and is brought
  // to those that show older ones.
  Task<void> SpreadNewest(const std::vector<SiteView>& views);
  // Writes copies of the descriptor where there is none. Whether this helps decides nothing.
  Task<void> FillDescriptors(const Judgement& judgement, const std::vector<SiteView>& views);

  bool AllAnswer(TimePoint now);
  Task<void> BindLateMembers();
  void StartJobs();
  // What waits in the background goes no further.
  void Stop();

  // While this process may go by what it knows of the store.
  Result<Store*> Gate() const;
  Task<void> Hear(SpaceLedger& ledger);
  // Of that list, in this process.
  Duration Lease(const StoreDescriptor& list) const {
    return std::min<Duration>(kDescriptorIntervalsMax * configuration_.engine.descriptor_interval,
                              std::chrono::seconds(list.lease_s));
  }
  // True if that is news.
  bool SetNotOpen(const Error& error);
  void Note(std::string note);

  const Configuration configuration_;
  const OpenOptions options_;
  ThreadPool executor_;
  const std::shared_ptr<CompletionGate> gate_of_answers_ =
      std::make_shared<CompletionGate>();  // of directories
  TaskScope scope_;
  JobRunner runner_;
  std::atomic<bool> stopped_ = false;

  // Used by the opening loop only, and by BindLateMembers after it.
  Alarm pause_{executor_};  // Stop ends it
  StoreSites sites_;
  std::string watched_;  // what an unfinished creation, or the list of discovered servers, looked like
  TimePoint watched_since_{};
  std::unique_ptr<MemberConnections> members_;
  std::map<std::string, std::string> hosts_;  // of members, where the configuration says another one
  DiskClocksPtr clocks_;  // set before there is a generation
  std::shared_ptr<UploadJournal> uploads_;  // likewise; null: commands do not live long
  std::unique_ptr<JobSite> site_;  // used by the jobs only; set after that

  mutable Mutex mutex_;
  std::vector<std::unique_ptr<Generation>> generations_ XEC_GUARDED_BY(mutex_);  // INV-1
  Error not_open_ XEC_GUARDED_BY(mutex_);  // why not, while there is no store
  // Retired ones; looked at without the lock.
  std::vector<std::shared_ptr<Probe>> probes_ XEC_GUARDED_BY(mutex_);
  std::vector<std::string> notes_ XEC_GUARDED_BY(mutex_);

  GatedStore gate_;
  StoreFront front_;
};

// Of a store that OpenStore has opened, for tests.
inline Engine* EngineOf(OpenedStore& store) { return dynamic_cast<StoreProcess&>(store).engine(); }

}  // namespace xec
