// SPDX-License-Identifier: LGPL-3.0-or-later
// What the data servers say about themselves when a store is opened, and what follows from it.
//
//   no descriptor anywhere, all empty         a new store
//   a descriptor on some, identities agree    the store; missing or empty ones are left out for now
//   identities, but no descriptor anywhere    a creation that was cut short: it is done again
//   anything else                             an error in one sentence
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "assembly/configuration/configuration.hh"
#include "assembly/sites/directory_look.hh"

namespace xec {

// For how many of EngineOptions::descriptor_interval a process goes by its list of members when too few of
// them show the descriptor again. A change of the members waits for that (docs/protocol/members.md).
constexpr int kDescriptorIntervalsMax = 3;
// How often a directory or server that was missing is looked at again.
constexpr Duration kRetryInterval = std::chrono::seconds(2);

struct SiteView {
  Site site;
  DataServerPtr server;  // without any check of identity
  std::shared_ptr<DirectoryLook> look;  // null: no local directory
  enum State {
    kMissing,      // does not exist, or does not answer: `problem`
    kEmpty,        // holds nothing at all
    kForeign,      // holds something, but nothing of a store
    kMember,       // `identity` says whose
    kUnreadable,   // what it says about itself is damaged: `problem`
    kClosed,       // cannot be looked into, by this user or at all: `problem`
    kRefused,      // cannot be used, whatever the others say: `problem`
  } state = kMissing;
  std::optional<Identity> identity;
  std::optional<StoreDescriptor> descriptor;
  std::optional<Error> problem;
  bool directory = false;  // a local directory
  bool absent = false;  // directories only: the system says that it does not exist
  bool listed = true;  // by the configuration; else only a descriptor named it
  bool damaged_descriptor = false;  // there is one that cannot be read as such
  bool content = false;    // holds more than the reserved area; known only where there is no descriptor
  int unwritable = 0;      // directories only: errno of making a name in it
  std::string place;  // directories only: of DirectoryLook
  // Directories only: device and inode, the same under all its names.
  std::optional<std::pair<uint64_t, uint64_t>> inode;
};

// Asks one server anew; of `asked` only the server, and what it is, counts (MakeSite, or an earlier answer).
// A site that does not answer by the deadline is kMissing, a local directory too.
Task<SiteView> InspectSite(CallContext context, SiteView asked);

// All at once; the views keep their order. Once `enough(views)` holds, servers that are late are not waited
// for: they are kMissing.
Task<std::vector<SiteView>> InspectSites(CallContext context, TaskScope& scope, std::vector<SiteView> asked,
                                         std::function<bool(std::span<const SiteView>)> enough);

struct Judgement {
  enum Kind {
    kOpen,
    kCreate,
    kUnfinished,  // identities without a descriptor: create anew unless somebody is at it right now
  } kind = kOpen;
  StoreDescriptor descriptor;  // of kOpen: as found, without what the configuration changes
  std::vector<std::optional<size_t>> site_of_member;  // of kOpen: index into the views
  std::vector<size_t> unbound;  // of kOpen: sites that may turn out to be members later
  std::vector<size_t> lack_descriptor;  // of kOpen: members that need a copy of the descriptor
  std::vector<std::string> notes;
};

// Do both say the same of themselves, or both nothing?
bool SameIdentity(const std::optional<Identity>& a, const std::optional<Identity>& b);

// The error that two sites are one.
Error SameSite(const SiteView& one, const SiteView& other);

// Pure. Errors: see OpenStore. kNoQuorum when servers that do not answer could change the judgement.
Result<Judgement> JudgeSites(std::span<const SiteView> views, const Configuration& configuration);

// Pure. Is the store open, and complete but for as many members as may be bad? Then late ones are not waited
// for; with fewer, on a busy machine, what is opened could only say that it cannot tell.
bool EnoughAnswered(std::span<const SiteView> views, const Configuration& configuration);

// The descriptor of a new store on these sites (host labels applied), and of an existing one as this process
// uses it: geometry, rules, sync policy and host labels of the configuration override it. Errors:
// kInvalidArgument.
Result<StoreDescriptor> NewDescriptor(std::span<const SiteView> views, const Configuration& configuration,
                                      std::string store_id);
Result<StoreDescriptor> EffectiveDescriptor(const Judgement& judgement, std::span<const SiteView> views,
                                            const Configuration& configuration,
                                            std::vector<std::string>& notes);

// Writes identities, then the descriptor. An interruption leaves identities without any descriptor, or with
// one on some servers; JudgeSites recognises both. Of two processes that create at once at most one succeeds.
// `asked`: when the views were begun. Errors: kConflict when somebody else is creating, kUnavailable when the
// views are too old, and those of the servers.
Task<Status> CreateStoreOn(Executor& executor, std::vector<SiteView> views, StoreDescriptor descriptor,
                           TimePoint asked);

}  // namespace xec
