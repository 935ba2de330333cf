// SPDX-License-Identifier: LGPL-3.0-or-later
// Balances a store (api/balance.hh): a rebuild that moves what a BalancePlan chooses.
#pragma once

#include "api/balance.hh"
#include "store/layout_store.hh"

namespace xec {

// `engine`: of the store; both outlive the task. Errors: as StoreMaintenance::Balance.
Task<Result<BalanceReport>> Balance(Engine& engine, LayoutStore& store, BalanceOptions options);

}  // namespace xec
