// SPDX-License-Identifier: LGPL-3.0-or-later
// The conformance suite on the example of a data server.
#include "tray_server.hh"

#include "server/conformance/conformance.hh"

namespace xec {
namespace {

constexpr const char* kAddress = "mem://test";

class TrayDisk final : public ConformanceDisk {
 public:
  void TakeAway(bool) override { SetTrayAway(kAddress, true); }
  void BringBack() override { SetTrayAway(kAddress, false); }
  void CutPower() override {}
};

DataServerPtr Tray() {
  static ThreadPool pool("tray", 2);
  return MakeTrayServer(kAddress, pool);
}

INSTANTIATE_TEST_SUITE_P(Tray, ConformanceTest,
                         testing::Values(ConformanceTarget{
                             .name = "Tray",
                             .make = Tray,
                             .attributes = false,
                             .disk = [] { return std::make_unique<TrayDisk>(); },
                             .syncs_no_names = "nothing outlives the process"}),
                         ConformanceName);

}  // namespace
}  // namespace xec
