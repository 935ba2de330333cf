// SPDX-License-Identifier: LGPL-3.0-or-later
// UniqueFunction<void(Args...)>: a move-only callable, since std::function needs copyable targets and
// g++ 12 lacks std::move_only_function. Calling an empty one is a bug (CHECKed).
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

#include "base/check.hh"

namespace xec {

template <typename Signature>
class UniqueFunction;

template <typename R, typename... Args>
class UniqueFunction<R(Args...)> {
 public:
  UniqueFunction() = default;
  template <typename F, typename = std::enable_if_t<!std::is_same_v<std::decay_t<F>, UniqueFunction>>>
  UniqueFunction(F&& target) : target_(std::make_unique<Holder<std::decay_t<F>>>(std::forward<F>(target))) {}

  explicit operator bool() const { return target_ != nullptr; }
  R operator()(Args... args) {
    XEC_CHECK(target_ != nullptr);
    return target_->Call(std::forward<Args>(args)...);
  }

 private:
  struct Base {
    virtual ~Base() = default;
    virtual R Call(Args... args) = 0;
  };
  template <typename F>
  struct Holder final : Base {
    explicit Holder(F f) : function(std::move(f)) {}
    R Call(Args... args) override { return function(std::forward<Args>(args)...); }
    F function;
  };
  std::unique_ptr<Base> target_;
};

using Closure = UniqueFunction<void()>;

}  // namespace xec
