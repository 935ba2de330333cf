// SPDX-License-Identifier: LGPL-3.0-or-later
// What tests of user attributes share: setting and reading them, and what is on the servers.
#pragma once

#include "commit/programs/attributes.hh"
#include "commit/test/test_world.hh"

namespace xec {

class AttributesTest : public ToleranceTest {
 protected:
  static Result<UserAttributes> Read(TestWorld& world, TestWorld::Gateway& gateway, const std::string& name) {
    const auto found = world.Run(LookUpAttributes(*gateway.engine, world.Path(name)));
    if (!found) return found.error();
    return found->set ? found->set->set.Values() : UserAttributes{};
  }

  static size_t Revisions(TestWorld& world, TestWorld::Gateway& gateway, const std::string& name) {
    std::set<std::string> revisions;
    for (const std::string& entry : world.EntriesOf(gateway, name)) {
      if (entry.starts_with("a.") || entry.starts_with("b.")) revisions.insert(entry);
    }
    return revisions.size();
  }

  static size_t HomesHavingAttributes(TestWorld& world, const std::string& name) {
    size_t count = 0;
    for (const MemberIndex home : HomeFinder(world.descriptor).Of(name)) {
      const auto files = world.memory[home]->Files();
      const auto after = files.lower_bound("/" + name + ".~xo/a.");
      count += after != files.end() && after->first.starts_with("/" + name + ".~xo/a.");
    }
    return count;
  }
};

inline Task<Status> SetAttribute(Engine& engine, ObjectPath path, std::string name,
                                 std::optional<std::string> value) {
  Result<NameAttributes> found = co_await LookUpAttributes(engine, path);
  if (!found) co_return found.error();
  AttributeChange change{{{std::move(name), std::move(value)}}, std::move(found->set), {}};
  co_return co_await ChangeAttribute(engine, std::move(found->info), std::move(change));
}

inline Task<void> Keep(Task<Status> task, std::optional<Status>* answer) {
  Status status = co_await task;
  *answer = std::move(status);
}

}  // namespace xec
