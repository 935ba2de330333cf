// SPDX-License-Identifier: LGPL-3.0-or-later
#include <array>
#include <cstdint>
#include <dlfcn.h>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <XrdOuc/XrdOucCRC.hh>

uint32_t crc32c(uint32_t crc, const void* buffer, size_t size);

namespace {

constexpr size_t kPage = 4096;

TEST(PreloadCrc32c, IsWhatIsFoundFirst) {
  Dl_info where = {};
  ASSERT_NE(dladdr(dlsym(RTLD_DEFAULT, "_Z6crc32cjPKvm"), &where), 0);
  EXPECT_NE(std::string_view(where.dli_fname).find("libXecCrc32c.so"), std::string_view::npos)
      << where.dli_fname;
}

TEST(PreloadCrc32c, GivesThePublishedValue) {
  const std::string_view text = "123456789";
  EXPECT_EQ(crc32c(0, text.data(), text.size()), 0xe3069283);
  EXPECT_EQ(crc32c(crc32c(0, text.data(), 4), text.data() + 4, text.size() - 4), 0xe3069283);
  EXPECT_EQ(crc32c(0xe3069283, nullptr, 0), 0xe3069283);
}

TEST(PreloadCrc32c, AgreesWithTheFunctionItTakesThePlaceOf) {
  Dl_info where = {};
  ASSERT_NE(dladdr(dlsym(RTLD_DEFAULT, "_ZN9XrdOucCRC7Calc32CEPKvmj"), &where), 0);
  void* own = dlopen(where.dli_fname, RTLD_NOLOAD | RTLD_LAZY);
  ASSERT_NE(own, nullptr) << dlerror();
  const auto theirs = reinterpret_cast<decltype(&crc32c)>(dlsym(own, "_Z6crc32cjPKvm"));
  ASSERT_NE(theirs, nullptr);
  ASSERT_NE(theirs, &crc32c);
  std::string bytes;
  for (size_t size : {1, 7, 8, 63, 255, 256, 4095, 4096, 10'000}) {
    while (bytes.size() < size) bytes.push_back(static_cast<char>(bytes.size() * 131 % 251));
    EXPECT_EQ(crc32c(0, bytes.data(), size), theirs(0, bytes.data(), size)) << size;
    EXPECT_EQ(crc32c(0x1234abcd, bytes.data() + 1, size - 1), theirs(0x1234abcd, bytes.data() + 1, size - 1));
  }
}

TEST(PreloadCrc32c, XrootdFindsADamagedPageWithIt) {
  std::vector<char> pages(3 * kPage + 100, 'x');
  std::array<uint32_t, 4> checksums{};
  XrdOucCRC::Calc32C(pages.data(), pages.size(), checksums.data());
  uint32_t is = 0;
  EXPECT_EQ(XrdOucCRC::Ver32C(pages.data(), pages.size(), checksums.data(), is), -1);
  pages[2 * kPage + 5] ^= 1;
  EXPECT_EQ(XrdOucCRC::Ver32C(pages.data(), pages.size(), checksums.data(), is), 2);
}

}  // namespace
