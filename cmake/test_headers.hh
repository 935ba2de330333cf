// SPDX-License-Identifier: LGPL-3.0-or-later
// The same for tests.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "library_headers.hh"
