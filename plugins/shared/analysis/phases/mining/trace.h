// SPDX-License-Identifier: Apache-2.0
// The trace of one process: for each sample of its stacks the distinct stacks, or functions, and the threads in each. Numbers
// represent the texts. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace atalaya::phases {

// Assigns small numbers to texts. Beyond the limits every new text has the number kOther, so that memory is bounded.
class Symbols {
 public:
  static constexpr uint32_t kOther = 0;
  explicit Symbols(size_t maximum = 65536, size_t bytes = size_t{16} << 20);

  uint32_t number_of(std::string_view text);
  const std::string &text(uint32_t symbol) const { return *texts_[symbol]; }
  size_t size() const { return texts_.size(); }
  uint64_t lost() const { return lost_; }  // number of requests for texts beyond the limits

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  size_t max_texts_, remaining_bytes_;
  std::unordered_map<std::string, uint32_t, Hash, std::equal_to<>> known_;
  std::vector<const std::string *> texts_;  // keys of known_
  uint64_t lost_ = 0;
};

// A stack or function of a sample, and the threads in it. A thread dump counts threads; a CPU profile counts its samples.
struct Part {
  uint32_t symbol = 0;
  double threads = 0;
  bool operator==(const Part &) const = default;
};

class Trace {
 public:
  // Adds a sample. Sums parts with equal symbols and omits those without threads. `threads`: threads of the sample; several
  // parts may count the same one.
  void add(int64_t time_ns, std::span<const Part> parts, double threads);
  void clear();
  // Removes the first samples.
  void drop_front(size_t samples);

  size_t size() const { return times_ns_.size(); }
  std::span<const Part> parts(size_t sample) const {
    return std::span(parts_).subspan(begins_[sample], begins_[sample + 1] - begins_[sample]);
  }
  int64_t time_ns(size_t sample) const { return times_ns_[sample]; }
  double threads(size_t sample) const { return threads_[sample]; }
  uint32_t symbols() const { return symbols_; }  // all symbols are below this number

 private:
  std::vector<Part> parts_;  // parts of each sample, in order of symbols
  std::vector<size_t> begins_{0};
  std::vector<int64_t> times_ns_;
  std::vector<double> threads_;
  uint32_t symbols_ = 0;
};

// A number for each sample; equal samples (the same parts with the same whole numbers of threads) have equal numbers, from 0.
std::vector<uint32_t> tokens_of(const Trace &trace);

}  // namespace atalaya::phases
