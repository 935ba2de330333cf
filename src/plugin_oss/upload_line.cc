// SPDX-License-Identifier: LGPL-3.0-or-later
#include "plugin_oss/upload_line.hh"

#include <utility>
#include <vector>

namespace xec {

UploadLine::~UploadLine() { scope_.Drain(); }

Task<void> UploadLine::Reserve(PlacePtr place) {
  Status status = co_await place->writer->Reserve();
  MutexLock lock(mutex_);
  place->reserved = std::move(status);
  changed_.NotifyAll();
}

UploadLine::ClientToken UploadLine::TokenOf(const std::string& client) {
  std::erase_if(clients_, [](const auto& known) { return known.second.expired(); });
  std::weak_ptr<const std::string>& known = clients_[client];
  ClientToken token = known.lock();
  if (!token) known = token = std::make_shared<const std::string>(client);
  return token;
}

void UploadLine::DropLost() {
  std::vector<PlacePtr> lost;  // destroyed without the lock
  const MutexLock lock(mutex_);
  const TimePoint now = std::chrono::steady_clock::now();
  std::erase_if(places_, [&](auto& place) {
    const bool is_lost = now - place.second->asked > patience_.absent;
    if (is_lost) lost.push_back(std::move(place.second));
    return is_lost;
  });
}

UploadLine::Admission UploadLine::Enter(const std::string& client, const std::string& key,
                                        std::unique_ptr<WriteHandle> writer, CreateOptions options) {
  DropLost();
  auto place = std::make_shared<Place>();
  place->writer = std::move(writer);
  place->options = std::move(options);
  PlacePtr forgotten;  // destroyed without the lock
  {
    MutexLock lock(mutex_);
    place->asked = std::chrono::steady_clock::now();
    place->client = TokenOf(client);
    forgotten = std::exchange(places_[key], place);
  }
  forgotten.reset();  // before this one waits for memory that one of them may have
  scope_.Spawn(Reserve(place));
  return Wait(key);
}

UploadLine::Admission UploadLine::EnterOnce(std::unique_ptr<WriteHandle> writer, CreateOptions options) {
  const auto place = std::make_shared<Place>();
  place->writer = std::move(writer);
  scope_.Spawn(Reserve(place));
  MutexLock lock(mutex_);
  const TimePoint until = std::chrono::steady_clock::now() + patience_.alone;
  while (!place->reserved && changed_.WaitUntil(mutex_, until)) {
  }
  const std::optional<Status> reserved = place->reserved;
  lock.Unlock();
  if (reserved && !*reserved) return reserved->error();
  if (reserved && place->writer->KeepPlace())
    return Admitted{std::move(place->writer), nullptr, std::move(options)};
  // Memory that comes later is given back at once: nobody else knows of this place.
  return Fail(Code::kUnavailable, "uploads under way have all the memory, and none ended within {} s",
              std::chrono::duration_cast<std::chrono::seconds>(patience_.alone).count());
}

bool UploadLine::Has(const std::string& key) {
  MutexLock lock(mutex_);
  const auto place = places_.find(key);
  if (place == places_.end()) return false;
  place->second->asked = std::chrono::steady_clock::now();
  return true;
}

UploadLine::Admission UploadLine::AskAgain(const std::string& key) { return Wait(key); }

UploadLine::Admission UploadLine::Wait(const std::string& key) {
  PlacePtr place;  // goes without the lock, if it was forgotten meanwhile
  MutexLock lock(mutex_);
  const auto found = places_.find(key);
  if (found == places_.end()) return Admitted();
  place = found->second;
  const long others = place->client.use_count() - 1;
  const TimePoint until =
      std::chrono::steady_clock::now() + (others > 0 ? patience_.beside_others / others : patience_.alone);
  while (!place->reserved && changed_.WaitUntil(mutex_, until)) {
  }
  place->asked = std::chrono::steady_clock::now();
  const auto now = places_.find(key);
  const bool mine = now != places_.end() && now->second == place;
  if (!place->reserved || !mine) return Admitted();
  places_.erase(now);
  const Status status = *place->reserved;
  Admitted admitted{std::move(place->writer), std::move(place->client), std::move(place->options)};
  lock.Unlock();
  if (!status) return status.error();
  if (admitted.writer->KeepPlace()) return admitted;
  // The client came back too late for what was reserved.
  const std::string client = *admitted.client;
  admitted.client.reset();
  return Enter(client, key, std::move(admitted.writer), std::move(admitted.options));
}

size_t UploadLine::size() const {
  MutexLock lock(mutex_);
  return places_.size();
}

}  // namespace xec
