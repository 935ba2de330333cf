// SPDX-License-Identifier: LGPL-3.0-or-later
// What the archives at a plain name, found on the servers, and the register together say about the name.
// Pure.
#pragma once

#include <string>
#include <vector>

#include "archive/xrdec_attributes.hh"
#include "protocol/look.hh"

namespace xec {

// What one server has at the plain name.
struct Found {
  enum Kind {
    kSilent,   // it did not answer
    kAbsent,   // nothing
    kArchive,  // a file with XrdEc's attributes
    kOther,    // a directory, or a file without them: an upload of a stock client that is not closed, or
               // foreign
  } kind = kSilent;
  XrdecAttributes attributes = {};  // of kArchive
};

struct Verdict {
  enum Kind {
    kNothing,     // no object; proved
    kOther,       // no object, but some server has a directory or a file there
    kObject,      // an object
    kCannotTell,  // too few servers answered
  } kind = kNothing;
  XrdecAttributes attributes = {};        // of kObject; version 0: no archive of it is at the plain name
  std::vector<MemberIndex> holders = {};  // of kObject: have archives of it at the plain name
};

// `found[i]`: on member i. `registered`: what the register has accepted for the name. A name that the
// register has as an object is one, whatever was found, and its archives are those of its size with the
// highest version. One that it does not have is an object of XrdEc if the highest version found is on k
// servers or more and newer than the removal that the register knows of; fewer archives are debris if
// everybody was heard. An object that XrdEc wrote in full is on k+m servers: m silent ones cannot hide it.
Verdict Judge(const std::vector<Found>& found, const Accepted& registered, const Geometry& geometry);

// Archives of versions up to this one are left over from a removal; -1: there was none.
int64_t RemovedUpTo(const Accepted& registered);

// The members whose archives are left over from a removal.
std::vector<MemberIndex> LeftOver(const std::vector<Found>& found, const Accepted& registered);

// The highest version of any archive found; -1: none.
int64_t HighestVersion(const std::vector<Found>& found);

}  // namespace xec
