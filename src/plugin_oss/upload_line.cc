// SPDX-License-Identifier: LGPL-3.0-or-later
#include "plugin_oss/upload_line.hh"

#include <vector>

#include "object/stripe_buffer.hh"

namespace xec {

UploadLine::~UploadLine() { scope_.Drain(); }

Task<void> UploadLine::Reserve(PlacePtr place) {
  Status status = co_await place->writer->Reserve();
  std::lock_guard lock(mutex_);
  place->reserved = std::move(status);
  changed_.notify_all();
}

UploadLine::Admission UploadLine::Enter(const std::string& key, std::unique_ptr<ObjectWriter> writer) {
  auto place = std::make_shared<Place>();
  place->writer = std::move(writer);
  std::vector<PlacePtr> forgotten;  // destroyed after the lock is released
  {
    std::lock_guard lock(mutex_);
    const TimePoint now = std::chrono::steady_clock::now();
    for (auto other = places_.begin(); other != places_.end();) {
      const bool lost = now - other->second->asked > StripeReservation::kReservationMax;
      if (lost) forgotten.push_back(std::move(other->second));
      other = lost ? places_.erase(other) : std::next(other);
    }
    place->asked = now;
    PlacePtr& mine = places_[key];
    if (mine) forgotten.push_back(std::move(mine));
    mine = place;
  }
  scope_.Spawn(Reserve(place));
  return Wait(std::unique_lock(mutex_), key);
}

bool UploadLine::Has(const std::string& key) {
  std::lock_guard lock(mutex_);
  const auto place = places_.find(key);
  if (place == places_.end()) return false;
  place->second->asked = std::chrono::steady_clock::now();
  return true;
}

UploadLine::Admission UploadLine::AskAgain(const std::string& key) {
  return Wait(std::unique_lock(mutex_), key);
}

UploadLine::Admission UploadLine::Wait(std::unique_lock<std::mutex> lock, const std::string& key) {
  const auto found = places_.find(key);
  if (found == places_.end()) return std::unique_ptr<ObjectWriter>();
  const PlacePtr place = found->second;
  changed_.wait_for(lock, patience_, [&] { return place->reserved.has_value(); });
  place->asked = std::chrono::steady_clock::now();
  const auto now = places_.find(key);
  const bool mine = now != places_.end() && now->second == place;
  if (!place->reserved || !mine) return std::unique_ptr<ObjectWriter>();
  places_.erase(now);
  const Status status = *place->reserved;
  std::unique_ptr<ObjectWriter> writer = std::move(place->writer);
  lock.unlock();
  if (!status) return status.error();
  return writer;
}

size_t UploadLine::size() const {
  std::lock_guard lock(mutex_);
  return places_.size();
}

}  // namespace xec
