// SPDX-License-Identifier: LGPL-3.0-or-later
// What the clients ask about user attributes. Each value is a number that is set once.
#include <algorithm>
#include <charconv>

#include "world.hh"

namespace xec::sim {
namespace {

constexpr std::array<const char*, kAttributeNames> kNamesOfAttributes = {"U.a", "U.b"};

}  // namespace

Op World::ChooseAttributeOp(bool writes) {
  Op op;
  op.name = names_[attribute_random_.Below(traits_.names)];
  // What is set while the object is being renamed goes along, or is refused: who looks often looks there.
  const bool follows = attribute_random_.OneIn(2);
  // What several set at once, each another attribute, is all to be kept.
  const bool joins = writes && attribute_random_.OneIn(2);
  std::optional<size_t> beside;
  for (const Client& client : clients_) {
    if (!follows || client.op >= history_.ops().size()) continue;
    const Op& other = history_.at(client.op);
    if (other.kind == OpKind::kRename && client.busy == writes) op.name = writes ? other.name : other.to;
  }
  for (const Client& client : clients_) {
    if (!joins || !client.busy || client.op >= history_.ops().size()) continue;
    const Op& other = history_.at(client.op);
    if (other.kind != OpKind::kSetAttribute) continue;
    op.name = other.name;
    beside = other.attribute;
  }
  op.attribute = attribute_random_.Below(kAttributeNames);
  if (beside) op.attribute = (*beside + 1) % kAttributeNames;
  const uint64_t how = writes ? attribute_random_.Below(10) : 9;
  op.kind = how < 4 ? OpKind::kSetAttribute : how < 6 ? OpKind::kRemoveAttribute : OpKind::kGetAttributes;
  if (op.kind == OpKind::kSetAttribute) op.attributes[op.attribute] = next_value_++;
  return op;
}

bool World::IsRenaming() const {
  return std::any_of(clients_.begin(), clients_.end(), [this](const Client& client) {
    return client.busy && history_.ops()[client.op].kind == OpKind::kRename;
  });
}

AttributeValues World::AttributesOfPut() {
  AttributeValues values = {};
  if (!traits_.attributes || attribute_random_.OneIn(2)) return values;
  values[attribute_random_.Below(kAttributeNames)] = next_value_++;
  return values;
}

std::map<std::string, std::string> AttributesText(const AttributeValues& values) {
  std::map<std::string, std::string> attributes;
  for (size_t i = 0; i < kAttributeNames; ++i) {
    if (values[i] != kNotSet) attributes[kNamesOfAttributes[i]] = std::to_string(values[i]);
  }
  return attributes;
}

Task<Status> World::ChangeAttribute(LayoutStore* store, Op op) {
  const std::string name = InStore(op.name);
  std::optional<std::string> value;
  if (op.kind == OpKind::kSetAttribute) value = std::to_string(op.attributes[op.attribute]);
  co_return co_await store->SetAttribute(name, kNamesOfAttributes[op.attribute], std::move(value));
}

Task<Status> World::GetAttributes(LayoutStore* store, size_t id, std::string name) {
  const std::string told = InStore(name);
  const Result<ObjectDescription> described = co_await store->Describe(told);
  if (!described) co_return described.error();
  const auto& got = described->attributes;
  Op& op = history_.at(id);
  for (size_t i = 0; i < kAttributeNames; ++i) {
    const auto found = got.find(kNamesOfAttributes[i]);
    if (found == got.end()) continue;
    const std::string& text = found->second;
    std::from_chars(text.data(), text.data() + text.size(), op.attributes[i]);
  }
  if (got != AttributesText(op.attributes))
    Break(fmt::format("{} (#{}) has attributes that nobody set", name, id));
  co_return OkStatus();
}

// One revision at most, which a quorum of homes has.
void World::CheckAttributes(Gateway& gateway, const std::string& name) {
  Op get;
  get.kind = OpKind::kGetAttributes;
  get.name = name;
  if (!DoAtRest(gateway, get) && history_.ops().back().error != Code::kNotFound)
    return Break(fmt::format("at rest the attributes of {} cannot be read", name));
  LetBackgroundEnd();
  const ObjectPath path = PathOf(name);
  const Homes homes = gateway.engine->Homes(path);
  std::map<std::string, size_t> having;  // by revision
  for (const MemberIndex home : homes) {
    for (const auto& [file, size] : servers_[home]->Files()) {
      const std::string folder = path.ObjectDirectory() + "/a.";
      if (file.starts_with(folder)) ++having[file];
    }
  }
  if (having.size() > 1) return Break(fmt::format("at rest {} has attributes in pieces", name));
  if (having.size() == 1 && having.begin()->second <= homes.size() / 2)
    return Break(
        fmt::format("at rest {} is on {} homes only", having.begin()->first, having.begin()->second));
}

}  // namespace xec::sim
