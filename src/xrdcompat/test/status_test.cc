// SPDX-License-Identifier: LGPL-3.0-or-later
#include "xrdcompat/status.hh"

#include <gtest/gtest.h>

#include "XProtocol/XProtocol.hh"
#include "XrdCl/XrdClXRootDResponses.hh"

namespace xec {
namespace {

XrdCl::XRootDStatus FromServer(uint32_t number, const std::string& message = "words") {
  return {XrdCl::stError, XrdCl::errErrorResponse, number, message};
}

TEST(XrdStatus, ServerAnswersKeepTheirMeaning) {
  EXPECT_EQ(CodeOf(FromServer(kXR_NotFound)), Code::kNotFound);
  EXPECT_EQ(CodeOf(FromServer(kXR_ItExists)), Code::kAlreadyExists);
  EXPECT_EQ(CodeOf(FromServer(kXR_isDirectory)), Code::kIsDirectory);
  EXPECT_EQ(CodeOf(FromServer(kXR_NotAuthorized)), Code::kPermissionDenied);
  EXPECT_EQ(CodeOf(FromServer(kXR_fsReadOnly)), Code::kPermissionDenied);
  EXPECT_EQ(CodeOf(FromServer(kXR_NoSpace)), Code::kNoSpace);
  EXPECT_EQ(CodeOf(FromServer(kXR_overQuota)), Code::kNoSpace);
}

TEST(XrdStatus, OneErrorNumberIsToldApartByItsWords) {
  EXPECT_EQ(CodeOf(FromServer(kXR_FSError, "Unable to remove /a; directory not empty")), Code::kNotEmpty);
  EXPECT_EQ(CodeOf(FromServer(kXR_ItExists, "Unable to remove /a; directory not empty")), Code::kNotEmpty);
  EXPECT_EQ(CodeOf(FromServer(kXR_FSError, "Unable to open directory /a; not a directory")),
            Code::kNotDirectory);
  EXPECT_EQ(CodeOf(FromServer(kXR_FSError, "something else")), Code::kUnavailable);
}

TEST(XrdStatus, WhateverMayHaveBeenSentIsNeverAProvenAnswer) {
  for (const uint16_t code : {XrdCl::errSocketError, XrdCl::errSocketTimeout, XrdCl::errSocketDisconnected,
                              XrdCl::errStreamDisconnect, XrdCl::errConnectionError, XrdCl::errInvalidSession,
                              XrdCl::errRedirect, XrdCl::errNoMoreFreeSIDs, XrdCl::errInvalidResponse,
                              XrdCl::errNotFound, XrdCl::errUnknown, XrdCl::errInternal}) {
    EXPECT_EQ(CodeOf({XrdCl::stError, code}), Code::kUnavailable) << code;
  }
  EXPECT_EQ(CodeOf({XrdCl::stError, XrdCl::errOperationExpired}), Code::kDeadlineExceeded);
}

TEST(XrdStatus, UnknownServerErrorsClaimNothing) {
  for (const uint32_t number :
       {uint32_t{kXR_ServerError}, uint32_t{kXR_IOError}, uint32_t{kXR_Overloaded}, 9999u}) {
    EXPECT_EQ(CodeOf(FromServer(number)), Code::kUnavailable) << number;
  }
}

TEST(XrdStatus, ADiskThatCannotGiveTheBytesIsNoSilence) {
  EXPECT_EQ(ToReadError(FromServer(kXR_IOError), "read /a").code, Code::kUnreadable);
  EXPECT_EQ(ToReadError(FromServer(kXR_FSError), "read /a").code, Code::kUnavailable);
  EXPECT_EQ(ToReadError({XrdCl::stError, XrdCl::errSocketDisconnected}, "read /a").code, Code::kUnavailable);
}

TEST(XrdStatus, AnErrorOfAClosingServerIsNoSilence) {
  EXPECT_EQ(ToCloseError(FromServer(kXR_IOError), "close /a").code, Code::kUnreadable);
  EXPECT_EQ(ToCloseError(FromServer(kXR_FSError), "close /a").code, Code::kUnreadable);
  EXPECT_EQ(ToCloseError(FromServer(kXR_ReqTimedOut), "close /a").code, Code::kUnreadable);
  EXPECT_EQ(ToCloseError(FromServer(kXR_NoSpace), "close /a").code, Code::kNoSpace);
  EXPECT_EQ(ToCloseError({XrdCl::stError, XrdCl::errSocketDisconnected}, "close /a").code,
            Code::kUnavailable);
}

TEST(XrdStatus, MessageNamesOperationServerAndReason) {
  const Error error =
      ToError(FromServer(kXR_NotFound, "no such file or directory\n"), "open /a on root://h:1");
  EXPECT_EQ(error.code, Code::kNotFound);
  EXPECT_EQ(error.message, "open /a on root://h:1 failed: no such file or directory");
}

}  // namespace
}  // namespace xec
