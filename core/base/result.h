// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <variant>

namespace atalaya::core {

// An error message for users: the problem, its place, the remedy.
struct Error {
  std::string text;
};

// A value, or the error that prevented it. Functions return a Result for errors that their callers handle, and throw an exception
// for errors that end the program.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}
  Result(Error error) : state_(std::move(error)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  T &value() { return std::get<0>(state_); }
  const T &value() const { return std::get<0>(state_); }
  T &operator*() { return value(); }
  T *operator->() { return &value(); }
  const std::string &error() const { return std::get<1>(state_).text; }

 private:
  std::variant<T, Error> state_;
};

// The value of an operation without a result.
struct Done {};
using Status = Result<Done>;

}  // namespace atalaya::core
