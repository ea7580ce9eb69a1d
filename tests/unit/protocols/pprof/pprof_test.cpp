// SPDX-License-Identifier: Apache-2.0
// Each rule of pprof's profiles, judged by a second reader; the bytes of Google's own writer have the same content.
#include "plugins/shared/protocols/pprof/pprof.h"

#include "tests/unit/protocols/pprof/profile.h"
#include "tests/unit/protocols/random.h"
#include "tests/unit/protocols/records.h"
#include "tests/unit/rounds.h"

namespace atalaya::protocols::testing {
namespace {

std::string write(const Profile &profile) {
  PprofWriter writer(profile.types[0].first, profile.types[0].second);
  for (const Profile::Sample &sample : profile.samples) {
    const std::vector<std::string_view> frames(sample.frames.begin(), sample.frames.end());
    std::vector<PprofLabel> labels;
    for (const auto &[key, value] : sample.labels) labels.push_back({key, value});
    writer.add(frames, sample.values[0], labels);
  }
  if (profile.duration_ns > 0) writer.set_time(profile.time_ns, profile.duration_ns);
  return writer.finish();
}

Profile random_profile(Random &random) {
  Profile profile{.types = {{random.pick(std::vector<std::string>{"samples", "offcpu", "count"}), "count"}}};
  for (uint64_t i = random.below(8); i > 0; --i) {
    Profile::Sample sample{.values = {static_cast<int64_t>(random.below(uint64_t{1} << random.below(63)))}};
    for (uint64_t k = random.below(6); k > 0; --k)
      sample.frames.push_back(random.one_of(9) ? "" : random.text("ab<>;\xc3\xa9 ", 3));
    for (uint64_t k = random.below(3); k > 0; --k) sample.labels.emplace_back(random.text("ab", 2), random.text("abcount", 2));
    profile.samples.push_back(sample);
  }
  if (random.one_of(2)) {
    profile.time_ns = static_cast<int64_t>(random.below(uint64_t{1} << 62));
    profile.duration_ns = static_cast<int64_t>(random.between(1, 1'000'000'000'000));
  }
  return profile;
}

}  // namespace

TEST_CASE("pprof: a profile has the content of the one that Google's package writes") {
  const Profile profile{.types = {{"offcpu", "nanoseconds"}},
                        .samples = {{{"work<int>", "run"}, {1500}, {{"host", "h1"}, {"process", "shop"}}},
                                    {{"wait", "work<int>", "work<int>", "run"}, {7}, {{"process", "shop"}}},
                                    {{}, {9}, {}}},
                        .time_ns = 1'700'000'000'000'000'000,
                        .duration_ns = 10'000'000'000};
  CHECK(read_profile(fixture("pprof/google.pb.gz")) == profile);
  CHECK(read_profile(write(profile)) == profile);
}

TEST_CASE("pprof: a name is one function and one location, also of a text that is a label") {
  const Profile profile{.types = {{"samples", "count"}},
                        .samples = {{{"a", "samples", "a"}, {1}, {{"a", "b"}}}, {{"b", "a"}, {2}, {{"b", "a"}}}}};
  CHECK(read_profile(write(profile)) == profile);
}

TEST_CASE("pprof: the empty name has a location whose number is not 0") {
  const Profile profile{.types = {{"samples", "count"}}, .samples = {{{"", "a"}, {1}, {}}}};
  CHECK(read_profile(write(profile)) == profile);
}

TEST_CASE("pprof: without a range of time, the profile has none") {
  CHECK(read_profile(write({.types = {{"samples", "count"}}})) == Profile{.types = {{"samples", "count"}}});
}

TEST_CASE("pprof: the reader returns each random profile as it was written") {
  for (uint32_t seed = 0; seed < test::rounds(4000); ++seed) {
    Random random(seed);
    const Profile profile = random_profile(random);
    CAPTURE(seed);
    REQUIRE(read_profile(write(profile)) == profile);
  }
}

}  // namespace atalaya::protocols::testing
