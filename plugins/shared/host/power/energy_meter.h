// SPDX-License-Identifier: Apache-2.0
// Energy from counters that wrap around: joules since the last call, exact across wraps.
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

// Energy of AMD cores is only in registers, one per core, so it is read on request.
enum class Detail : uint8_t { packages, cores };

// More than any package or machine draws: a larger growth means that the counter was reset. Power limits would be closer, but they
// may change while the machine runs.
constexpr double kMaxWatts = 1500, kMaxPlatformWatts = 20000;
// A counter of a package or platform that does not advance for longer does not measure, because running hardware draws power.
constexpr double kMaxStoppedSeconds = 0.1;

// One counter of energy.
struct Zone {
  Domain domain = Domain::package;
  int32_t package = 0;   // of the platform 0
  int32_t core = -1;     // of Domain::core: the lowest CPU number of the core
  std::string name;      // for messages
  double joules = 1e-6;  // per count
  uint64_t range = 0;    // the highest count; the next one is 0
  double most_watts = kMaxWatts;

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

// Counts from one reading to a later one. Absent after a reset, when the growth is too large for the time.
std::optional<uint64_t> counted(const Zone &zone, uint64_t before, uint64_t now, double seconds);

class EnergyMeter {
 public:
  explicit EnergyMeter(std::unique_ptr<EnergyCounters> counters);
  EnergyMeter(const EnergyMeter &) = delete;
  EnergyMeter &operator=(const EnergyMeter &) = delete;
  ~EnergyMeter() { stop(); }

  const std::vector<Zone> &zones() const { return counters_->zones(); }
  // Replaces the counters; those that existed before keep their energy.
  void change(std::unique_ptr<EnergyCounters> counters);

  // By zone, since the last take. Absent in the first one, when a reading in between failed or was reset, and for a stopped package
  // or platform. An interval shorter than kMaxStoppedSeconds may be too short to count: then all zones are absent, and the next
  // take has their energy.
  std::vector<std::optional<Energy>> take(int64_t now_ns);
  // The zone that had stopped in the last take, "" if none; for the thread that calls take.
  const std::string &stopped_zone() const { return stopped_zone_; }
  // An additional reading between takes.
  void poll(int64_t now_ns);
  void forget();

  // The maximum interval between readings that misses no wrap.
  int64_t longest_pause_ns() const;
  // Starts a thread that reads in between if the interval is longer than that. May be called repeatedly.
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
  bool has_stopped(size_t zone) const;
  bool is_too_early() const;
  void poll_locked(int64_t now_ns);
  void run();

  std::unique_ptr<EnergyCounters> counters_;
  std::mutex mutex_;
  std::vector<State> states_;
  std::string stopped_zone_;

  std::condition_variable wake_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace atalaya::power
