// SPDX-License-Identifier: Apache-2.0
// Energy from counters that start again at 0 when they are full: joules since the last question, without a wrap lost or invented.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace atalaya::power {

enum class Domain : uint8_t { package, cores, graphics, memory, platform, core };

// AMD's cores are in registers only, one each, so they are read for who asks for them.
enum class Detail : uint8_t { packages, cores };

// More than any package and any machine draws: what a counter says beyond it is no energy but a counter that was set anew. Power
// limits would be closer, but they are raised and lifted while the machine runs.
constexpr double kMostWatts = 1500, kMostPlatformWatts = 20000;
// Whatever runs draws something: a counter of a package or a platform that stands still for so long does not measure.
constexpr double kLongestStillSeconds = 0.1;

// One counter of energy.
struct Zone {
  Domain domain = Domain::package;
  int32_t package = 0;   // of the platform 0
  int32_t core = -1;     // of Domain::core: the lowest CPU number of the core
  std::string name;      // for messages
  double joules = 1e-6;  // of one count
  uint64_t range = 0;    // the highest count; the next one is 0
  double most_watts = kMostWatts;

  bool operator==(const Zone &) const = default;
};

class EnergyCounters {
 public:
  virtual ~EnergyCounters() = default;
  virtual const std::vector<Zone> &zones() const = 0;
  virtual std::optional<uint64_t> read(size_t zone) = 0;
};

struct Energy {
  double joules = 0, seconds = 0;
  double watts() const { return joules / seconds; }
};

// Counts from one reading to a later one. Absent: it was set anew, because a wrap cannot have been so far in the time.
std::optional<uint64_t> counted(const Zone &zone, uint64_t before, uint64_t now, double seconds);

class EnergyMeter {
 public:
  explicit EnergyMeter(std::unique_ptr<EnergyCounters> counters);
  EnergyMeter(const EnergyMeter &) = delete;
  EnergyMeter &operator=(const EnergyMeter &) = delete;
  ~EnergyMeter() { stop(); }

  const std::vector<Zone> &zones() const { return counters_->zones(); }
  // Others are there now; of those that were there before, the energy goes on.
  void change(std::unique_ptr<EnergyCounters> counters);

  // By zone, since the last take. Absent in the first one, when a reading in between failed or went down by a reset, and of a
  // package or platform that stands still. In less than kLongestStillSeconds it may have nothing to count: then all zones are
  // absent, and the next take has their energy.
  std::vector<std::optional<Energy>> take(int64_t now_ns);
  // The zone that stood still in the last take, for the one who takes; "" if none did.
  const std::string &still() const { return still_; }
  // A reading in between.
  void poll(int64_t now_ns);
  void forget();

  // Readings have to come at least so often, or a wrap is missed.
  int64_t longest_pause_ns() const;
  // Between takes that are further apart than that, a thread reads. May be called again and again.
  void keep_up(int64_t interval_ns);
  void stop();

 private:
  struct State {
    std::optional<uint64_t> last;
    int64_t last_ns = 0, since_ns = 0;
    uint64_t counts = 0;
    bool whole = false;  // every reading since `since_ns` is in `counts`

    double seconds() const { return static_cast<double>(last_ns - since_ns) / 1e9; }
  };
  bool stands_still(size_t zone) const;
  bool is_too_early() const;
  void poll_locked(int64_t now_ns);
  void run();

  std::unique_ptr<EnergyCounters> counters_;
  std::mutex mutex_;
  std::vector<State> states_;
  std::string still_;

  std::condition_variable wake_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace atalaya::power
