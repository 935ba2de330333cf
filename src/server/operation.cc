// SPDX-License-Identifier: LGPL-3.0-or-later
#include "server/operation.hh"

namespace xec {

const char* OperationName(Operation operation) {
  switch (operation) {
    case Operation::kOpen: return "open";
    case Operation::kCreate: return "create";
    case Operation::kList: return "list";
    case Operation::kListMany: return "list_many";
    case Operation::kRename: return "rename";
    case Operation::kRemove: return "remove";
    case Operation::kMakeDirectory: return "make_directory";
    case Operation::kRemoveDirectory: return "remove_directory";
    case Operation::kSetAttributes: return "set_attributes";
    case Operation::kGetAttributes: return "get_attributes";
    case Operation::kGetSpace: return "get_space";
    case Operation::kRead: return "read";
    case Operation::kWrite: return "write";
    case Operation::kSync: return "sync";
    case Operation::kClose: return "close";
  }
  return "unknown";
}

bool IsMutating(Operation operation) {
  switch (operation) {
    case Operation::kCreate:
    case Operation::kRename:
    case Operation::kRemove:
    case Operation::kMakeDirectory:
    case Operation::kRemoveDirectory:
    case Operation::kSetAttributes:
    case Operation::kWrite: return true;
    default: return false;
  }
}

}  // namespace xec
