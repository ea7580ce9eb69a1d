// SPDX-License-Identifier: Apache-2.0
// Who a point is about, for any tags: against plain maps.
#include <doctest/doctest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "plugins/shared/store/sqlite/names/entities.h"
#include "tests/unit/rounds.h"
#include "tests/unit/store/engines/fixture.h"
#include "tests/unit/store/engines/old_schema.h"

namespace atalaya::store::test {
namespace {

// Writes samples of random identities, each with its own number as the value.
class Names {
 public:
  explicit Names(uint32_t seed) : random_(seed) {
    while (numbers_.size() < 40) {
      const auto [at, is_new] = numbers_.try_emplace(random_tags(), static_cast<int64_t>(numbers_.size()));
      if (is_new) identities_.push_back(at->first);
    }
    reopen();
  }

  // Some of the identities: they come again, some of them after they were deleted.
  void write() {
    auto samples = store_.samples();
    for (auto left = 1 + random_() % 10; left > 0; --left) {
      const auto number = static_cast<int64_t>(random_() % identities_.size());
      const Tags &tags = identities_[static_cast<size_t>(number)];
      const int64_t time_ns = now_ns_ - static_cast<int64_t>(random_());
      samples.metrics(time_ns, {});
      for (const auto &[key, value] : tags) samples.tag(key, value);
      samples.count("number", number);
      written_[{number, time_ns}] = now_ns_;
    }
    writer_->write(samples.span(), now_ns_);
  }
  void pass() { now_ns_ += static_cast<int64_t>(random_() % 43'200) * kSecond; }
  void reopen() {
    writer_.reset();
    if (random_() % 4 == 0 && !written_.empty()) make_old();
    open();
  }
  void maintain() {
    for (int i = 0; i < 33; ++i) writer_->write({}, now_ns_);
    for (int i = 0; i < 50 && writer_->maintain(now_ns_); ++i) {
    }
  }

  void check() {
    check_ids();
    check_points();
    CHECK(store_.number("SELECT count(*) FROM tag_sets WHERE id NOT IN (SELECT tag_set FROM entity_rows)") == 0);
    CHECK(store_.number("SELECT count(*) FROM entity_rows WHERE tag_set NOT IN (SELECT id FROM tag_sets)") == 0);
    CHECK(store_.number("SELECT count(*) FROM tag_sets") ==
          store_.number("SELECT count(*) FROM (SELECT DISTINCT host, process, tags FROM entities)"));
  }
  size_t ids() const { return tags_of_id_.size(); }
  size_t identities() const { return identities_.size(); }

 private:
  std::string one_of(const std::vector<std::string> &texts) { return texts[random_() % texts.size()]; }
  Tags random_tags() {
    Tags tags;
    if (random_() % 4 != 0) tags["host"] = one_of({"ant", "bee", "", "{}", "7"});
    if (random_() % 4 != 0) tags["process"] = one_of({"g++", "cc1plus", "7", "", "\"'\\\n", "größe"});
    if (random_() % 4 != 0)
      tags["pid"] =
          one_of({"", "7", "007", "-7", "7.0", "9223372036854775807", "9223372036854775808", std::to_string(random_() % 50)});
    for (auto left = random_() % 3; left > 0; --left)
      tags[one_of({"a", "b", "\"", "parent"})] = one_of({"", "1", "{}", "g++", "\\"});
    return tags;
  }

  void open() { writer_ = std::unique_ptr<Writer>(new Writer(store_.writer({.retain_ns = kDay}))); }

  // What a reader of an older store sees, which the next writer brings up to date.
  void make_old() {
    const auto before = store_.sql("SELECT * FROM entities ORDER BY id");
    make_schema_9(store_.path);
    CHECK(store_.sql("SELECT * FROM entities ORDER BY id") == before);
    check_points();
    open();
    CHECK(store_.sql("SELECT * FROM entities ORDER BY id") == before);
    writer_.reset();
  }

  // An id means one identity for ever, and an identity has one id at a time.
  void check_ids() {
    std::map<Tags, int64_t> id_of;
    for (const auto &[id, entity] : find_all()) {
      CHECK(id_of.emplace(entity.tags, id).second);
      CHECK(tags_of_id_.emplace(id, entity.tags).first->second == entity.tags);
    }
  }
  Entities find_all() const {
    Database database(store_.path, Access::read_only);
    return find_entities(database, {});
  }

  void check_points() {
    const Entities entities = find_all();
    SqliteStore reader(store_.path);
    const auto series = reader.series({{"number"}, {}, {}}, SIZE_MAX);
    const auto points = scan(reader, {{"number"}, {}, {}});
    std::map<std::pair<int64_t, int64_t>, int64_t> missing;  // those that are too young to be deleted
    for (const auto &[key, arrived_ns] : written_)
      if (arrived_ns > now_ns_ - kDay) missing.emplace(key, arrived_ns);
    REQUIRE(points.size() == series.size());
    for (size_t i = 0; i < series.size(); ++i) {
      const int64_t number = numbers_.at(series[i].tags);
      const Range active = entities.at(series[i].entity).active;
      for (const Point &point : points[i]) {
        REQUIRE(point.count == number);
        CHECK(active.from_ns <= point.time_ns);
        CHECK(active.to_ns >= point.time_ns);
        CHECK(written_.contains({number, point.time_ns}));
        missing.erase({number, point.time_ns});
      }
    }
    CHECK(missing.empty());
    check_seen();
  }
  // No row refers to an entity that may be deleted before the row.
  void check_seen() {
    std::map<Tags, int64_t> arrived;
    for (const auto &[tags, number] : numbers_)
      for (auto at = written_.lower_bound({number, INT64_MIN}); at != written_.end() && at->first.first == number; ++at)
        arrived[tags] = std::max(arrived[tags], at->second);
    Database database(store_.path, Access::read_only);
    EntityTags tags(database);
    Statement(database, "SELECT host, pid, process, tags, seen_ns FROM entities").each([&](const Row &row) {
      CHECK(row.integer(4) >= arrived.at(tags.read(row, 0)));
    });
  }

  std::mt19937 random_;
  TestStore store_;
  std::unique_ptr<Writer> writer_;
  int64_t now_ns_ = kNow;
  std::vector<Tags> identities_;
  std::map<Tags, int64_t> numbers_;
  std::map<std::pair<int64_t, int64_t>, int64_t> written_;  // number and time -> arrival
  std::map<int64_t, Tags> tags_of_id_;
};

TEST_CASE("any identity comes back as it was written, has one id, and no id means two") {
  for (uint32_t seed = 0; seed < atalaya::test::rounds(20); ++seed) {
    CAPTURE(seed);
    Names names(seed);
    std::mt19937 random(seed + 1000);
    for (int step = 0; step < 60; ++step) {
      names.write();
      if (random() % 3 == 0) names.pass();
      if (random() % 4 == 0) names.maintain();
      if (random() % 6 == 0) names.reopen();
      if (random() % 4 == 0) names.check();
    }
    names.check();
    CHECK(names.ids() > names.identities());  // some were deleted, and came again
  }
}

}  // namespace
}  // namespace atalaya::store::test
