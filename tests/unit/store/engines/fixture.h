// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/sample/batch.h"
#include "core/base/sample/symbols.h"
#include "plugins/shared/store/sqlite/rows/block.h"
#include "plugins/shared/store/sqlite/sqlite_store.h"
#include "plugins/shared/store/sqlite/writer.h"
#include "tests/unit/declarations.h"
#include "tests/unit/temporary_folder.h"

namespace atalaya::store::test {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kHour = 3600 * kSecond;
constexpr int64_t kDay = 24 * kHour;
constexpr int64_t kNow = 1'700'000'000 * kSecond;

using Folder = testing::TemporaryFolder;

inline testing::Declarations usual_declarations() {
  return testing::Declarations().add("flow.sent.bytes", ATALAYA_DELTA, "By").add("self.samples.in", ATALAYA_TOTAL, "1");
}

using Pairs = std::initializer_list<std::pair<std::string_view, std::string_view>>;

// Samples as a pipeline would hand them over.
class Samples {
 public:
  explicit Samples(core::Symbols &symbols) : symbols_(symbols) {}

  Samples &add(uint32_t kind, int64_t time_ns, int64_t duration_ns, Pairs tags, std::string_view text = {}) {
    atalaya_sample &sample = batch_.add_sample(kind);
    sample.time_ns = time_ns;
    sample.duration_ns = duration_ns;
    sample.text = batch_.copy(text);
    for (const auto &[key, value] : tags) batch_.add_tag(sample, symbols_.intern(key), value);
    return *this;
  }
  Samples &metrics(int64_t time_ns, Pairs tags, int64_t duration_ns = kSecond) {
    return add(ATALAYA_METRICS, time_ns, duration_ns, tags);
  }
  Samples &tag(std::string_view key, std::string_view value) {
    batch_.add_tag(batch_.raw().samples[batch_.count() - 1], symbols_.intern(key), value);
    return *this;
  }
  Samples &real(std::string_view name, double value) {
    atalaya_field field{symbols_.intern(name), ATALAYA_F64, {}};
    field.value.f64 = value;
    return put(field);
  }
  Samples &count(std::string_view name, int64_t value) {
    atalaya_field field{symbols_.intern(name), ATALAYA_I64, {}};
    field.value.i64 = value;
    return put(field);
  }
  Samples &put(const atalaya_field &field) {
    batch_.add_field(batch_.raw().samples[batch_.count() - 1], field);
    return *this;
  }
  std::span<const atalaya_sample> span() const { return {batch_.raw().samples, batch_.raw().count}; }

 private:
  core::Symbols &symbols_;
  core::Batch batch_;
};

struct Point {
  int64_t time_ns = 0, duration_ns = 0;
  double value = 0;
  std::optional<int64_t> count;
  bool operator==(const Point &) const = default;
};

// The points of the series that a selection returns, one list per series.
inline std::vector<std::vector<Point>> scan(store::Store &store, const Selection &selection) {
  struct Collect final : PointVisitor {
    std::vector<std::vector<Point>> all;
    void points(size_t series, const Points &points) override {
      for (size_t i = 0; i < points.times_ns.size(); ++i) {
        Point point{points.times_ns[i], points.durations_ns[i], points.values[i], {}};
        if (!points.counts.empty()) point.count = points.counts[i];
        all[series].push_back(point);
      }
    }
  } collect;
  const auto series = store.series(selection, SIZE_MAX);
  collect.all.resize(series.size());
  store.scan(series, selection.range, collect);
  return collect.all;
}

// SQL: a row per sample of the table `samples`.
inline const std::string kSamplesOfRows =
    "(SELECT s.window, json_extract(s.fields, '$[' || g.key || '][0]') + i.key AS entity FROM samples s "
    "CROSS JOIN json_each(s.fields) g CROSS JOIN json_each(s.fields, '$[' || g.key || '][2]') i WHERE i.type <> 'null')";

// The form that a row had until schema 8.
inline std::string old_row(std::string_view row) {
  std::string text = "{";
  for (BlockReader samples(row); samples.next();) {
    text += (text.size() > 1 ? ",\"" : "\"") + std::to_string(samples.entity()) + "\":";
    char before = '{';
    for (FieldReader fields(samples.fields()); fields.next(); before = ',')
      ((text += before) += "\"" + std::to_string(fields.metric()) + "\":") += fields.value_text();
    text += '}';
  }
  return text + "}";
}
// Gives all rows that form.
inline void make_rows_old(const std::string &path) {
  Database database(path, Access::read_write);
  std::vector<std::tuple<int64_t, int64_t, std::string>> rows;
  Statement(database, "SELECT window, block, fields FROM samples").each([&](const Row &row) {
    rows.emplace_back(row.integer(0), row.integer(1), old_row(row.text(2)));
  });
  Statement put(database, "UPDATE samples SET fields = ?3 WHERE window = ?1 AND block = ?2");
  Transaction transaction(database);
  for (const auto &[window, block, text] : rows) put.run(window, block, std::string_view(text));
  transaction.commit();
}

// A store in a separate folder.
struct TestStore {
  Folder folder;
  core::Symbols symbols;
  testing::Declarations declared = usual_declarations();
  std::string path = folder / "atalaya.db";

  core::NameOf names() {
    return [this](uint32_t id) { return symbols.name(id); };
  }
  Writer writer(const Limits &limits = {}) { return Writer({path, limits, false}, names(), declared.metric_of(names())); }
  // One series.
  std::vector<Point> scan(std::string metric, std::string_view key, std::string value, Range range = {}) const {
    SqliteStore store(path);
    const auto all = test::scan(store, {{std::move(metric)}, {{std::string(key), {std::move(value)}}}, range});
    return all.empty() ? std::vector<Point>{} : all.front();
  }
  int64_t number(const char *statement) const { return Database(path, Access::read_only).number(statement); }
  int64_t point_count() const { return number("SELECT count(*) FROM points"); }
  int64_t row_count() const { return number(("SELECT count(*) FROM " + kSamplesOfRows).c_str()); }
  Samples samples() { return Samples(symbols); }

  // Output of `sqlite3 file "statement"`.
  std::vector<std::string> sql(const char *statement) const {
    Database database(path, Access::read_only);
    std::vector<std::string> lines;
    Statement(database, statement).each([&](const Row &row) {
      std::string line;
      for (int i = 0; i < row.columns(); ++i) line += (i > 0 ? "|" : "") + std::string(row.text(i));
      lines.push_back(line);
    });
    return lines;
  }
};

}  // namespace atalaya::store::test
