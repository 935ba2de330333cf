// SPDX-License-Identifier: LGPL-3.0-or-later
// A slash at the end of a name, as users write it, says "directory". What both layouts answer where none is
// there, so that no operation on `name/` ever meets an object.
#pragma once

#include "store/layout_store.hh"

namespace xec {

// ObjectPath drops such a slash.
bool SaysDirectory(std::string_view text);

// kNotDirectory if the text says "directory", and what is there, or is to come there, is an object.
Status NeedKindSaid(std::string_view text, bool directory);
// The same of both names of a rename.
Status NeedKindSaid(std::string_view from, std::string_view to, bool directory);

// The answer to an upload: kIsDirectory if the text says so.
Status NeedObjectSaid(std::string_view text);

// The answer to the removal of an object whose name says "directory": never OK.
Task<Status> RefuseRemoval(LayoutStore& store, std::string text);

}  // namespace xec
