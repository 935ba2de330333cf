// SPDX-License-Identifier: LGPL-3.0-or-later
// The scenarios; README.md has the table. Each runs to its end and counts in session.statistics(), and
// answers what it prints: the fields all have in common, and its own. Called from the main thread.
#pragma once

#include <nlohmann/json.hpp>

#include "load/session.hh"

namespace xec::load {

nlohmann::ordered_json RunSmall(Session& session, const SmallOptions& options);
nlohmann::ordered_json RunStream(Session& session, const StreamOptions& options);
nlohmann::ordered_json RunReread(Session& session, const RereadOptions& options);
nlohmann::ordered_json RunCopy(Session& session, const CopyOptions& options);
nlohmann::ordered_json RunIngest(Session& session, const IngestOptions& options);
nlohmann::ordered_json RunSparse(Session& session, const SparseOptions& options);
nlohmann::ordered_json RunVector(Session& session, const VectorOptions& options);
nlohmann::ordered_json RunList(Session& session, const ListOptions& options);

}  // namespace xec::load
