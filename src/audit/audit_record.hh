// SPDX-License-Identifier: LGPL-3.0-or-later
// One change, or one refusal, as the audit log tells it: a line of JSON (docs/audit.md).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "api/call_options.hh"
#include "protocol/version.hh"

namespace xec {

// The texts outlive it.
struct AuditRecord {
  std::string_view
      event;  // "create", "replace", "remove", "rename", "mkdir", "rmdir", "attribute", "mode", "refused"
  std::string_view path;
  std::string_view to = {};         // of a rename
  std::string_view what = {};       // the name of an attribute; what was refused
  std::string_view claimed = {};    // who a refused client said it was, by a token that may be forged
  std::string_view result = "ok";   // "unknown": the change may have happened
  // Of what was created, or removed or renamed; size in bytes.
  std::optional<Version> version = {};
  std::optional<uint64_t> size = {};
};

// One line, without an end. `caller` null: the process itself. `process`: which one tells it, "" if it has no
// name.
std::string FormatAudit(const AuditRecord& record, const Caller* caller, int64_t wall_ms,
                        std::string_view process);

}  // namespace xec
