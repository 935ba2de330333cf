// SPDX-License-Identifier: LGPL-3.0-or-later
// GoogleTest expectations on Result and Status that print the error. For tests only.
#pragma once

#include <string>

#include <gtest/gtest.h>

#include "base/result.hh"

// A success, or the error's text.
#define EXPECT_OK(expression)                                                         \
  do {                                                                                \
    const auto& expect_ok_result = (expression);                                      \
    EXPECT_TRUE(expect_ok_result.has_value()) << expect_ok_result.error().ToString(); \
  } while (false)

#define EXPECT_CODE(expression, expected)                                             \
  do {                                                                                \
    const auto& expect_code_result = (expression);                                    \
    if (expect_code_result.has_value()) {                                             \
      ADD_FAILURE() << #expression << " succeeded";                                   \
    } else {                                                                          \
      EXPECT_EQ(CodeName(expect_code_result.code()), std::string(CodeName(expected))) \
          << expect_code_result.error().message;                                      \
    }                                                                                 \
  } while (false)
