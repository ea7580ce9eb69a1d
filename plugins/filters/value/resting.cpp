// SPDX-License-Identifier: Apache-2.0
#include "plugins/filters/value/resting.h"

#include <utility>

#include "plugins/shared/io/samples/sample_window.h"

namespace atalaya::value {
namespace {

constexpr size_t kMaxResting = size_t{1} << 18;

void add_amount(atalaya_field &sum, const atalaya_field &field) {
  if (field.type == ATALAYA_I64)
    sum.value.i64 += field.value.i64;
  else
    sum.value.f64 += field.value.f64;
}

}  // namespace

Resting::Resting(Host host, int64_t every_ns) : host_(host), every_ns_(every_ns), ids_(kMaxResting) {}

const Resting::Form &Resting::form_of(uint32_t name) {
  return merge_forms_.get(name, [&] {
    const auto info = host_.metric(name);
    return info ? Form{info->kind, info->decimals} : Form{};
  });
}

// Returns null if there are too many entities.
Resting::Entity *Resting::entity_of(const Sample &sample, std::string_view identity) {
  const auto found = ids_.find_or_add(identity);
  if (!found) return nullptr;
  if (found->index >= entities_.size()) entities_.resize(found->index + 1);
  Entity &entity = entities_[found->index];
  if (found->added) {
    entity.from_ns = entity.until_ns = 0;
    entity.tags.clear();
    for (uint32_t i = 0; i < sample.tag_count; ++i) entity.tags.emplace_back(sample.tags[i].key, view(sample.tags[i].value));
  }
  return &entity;
}

bool Resting::add(const Window &window, const Sample &sample, std::string_view identity) {
  const io::SampleWindow own(window, sample);
  if (sample.kind != ATALAYA_METRICS || own.duration_ns == 0) return false;
  Entity *const entity = entity_of(sample, identity);
  if (entity == nullptr) return false;
  if (!can_merge(*entity, sample, own.begin_ns)) {
    finish(*entity);
    entity->from_ns = own.begin_ns;
    entity->sums.clear();
  }
  append(*entity, sample, own.duration_ns);
  entity->until_ns = own.time_ns;
  entity->seen = window_;
  return true;
}

// Whether the sample starts at the end of the merged one, before the next multiple of every_ns, and has the same fields and gauges.
bool Resting::can_merge(const Entity &entity, const Sample &sample, int64_t from_ns) {
  if (entity.until_ns == entity.from_ns || entity.until_ns != from_ns || entity.sums.size() != sample.field_count) return false;
  if (entity.from_ns / every_ns_ != from_ns / every_ns_) return false;
  for (uint32_t i = 0; i < sample.field_count; ++i) {
    const atalaya_field &before = entity.sums[i].field, &now = sample.fields[i];
    if (before.name != now.name || before.type != now.type) return false;
    const bool is_equal = now.type == ATALAYA_I64 ? before.value.i64 == now.value.i64 : before.value.f64 == now.value.f64;
    if (!is_equal && form_of(now.name).must_be_equal(now)) return false;
  }
  return true;
}

void Resting::append(Entity &entity, const Sample &sample, int64_t duration_ns) {
  const bool is_first = entity.sums.empty();
  entity.sums.resize(sample.field_count);
  for (uint32_t i = 0; i < sample.field_count; ++i) {
    Sum &sum = entity.sums[i];
    const atalaya_field &field = sample.fields[i];
    const Form &form = form_of(field.name);
    if (!is_first && form.kind == ATALAYA_DELTA)
      add_amount(sum.field, field);
    else
      sum.field = field;
    if (form.is_averaged(field)) sum.integral = (is_first ? 0 : sum.integral) + field.value.f64 * static_cast<double>(duration_ns);
  }
}

void Resting::finish(Entity &entity) {
  if (entity.until_ns == entity.from_ns) return;
  if (finished_count_ == finished_.size()) finished_.emplace_back();
  finished_[finished_count_++] = entity;
  entity.until_ns = entity.from_ns;
}

void Resting::complete_entity(std::string_view identity) {
  if (const auto found = ids_.find(identity)) finish(entities_[*found]);
}

void Resting::emit(const Entity &entity, Batch &batch) {
  Sample &sample = batch.add(ATALAYA_METRICS, static_cast<uint32_t>(entity.tags.size()), static_cast<uint32_t>(entity.sums.size()));
  sample.time_ns = entity.until_ns;
  sample.duration_ns = entity.until_ns - entity.from_ns;
  for (const auto &[key, value] : entity.tags) batch.tag(sample, key, value);
  for (const Sum &sum : entity.sums) {
    const Form &form = form_of(sum.field.name);
    if (!form.is_averaged(sum.field)) {
      batch.put(sample, sum.field);
      continue;
    }
    const double mean = sum.integral / static_cast<double>(sample.duration_ns);
    batch.field(sample, sum.field.name, form.decimals < 0 ? mean : round_to(mean, form.decimals));
  }
}

uint64_t Resting::end_window(const Window &window, Batch &batch) {
  static constexpr uint64_t kMaxAbsentWindows = 32;  // windows; the identity table removes an entity after 64
  const size_t before = batch.samples().size();
  const bool is_last = (window.flags & ATALAYA_WINDOW_LAST) != 0;
  for (size_t i = 0; i < finished_count_; ++i) emit(finished_[i], batch);
  finished_count_ = 0;
  for (size_t i = 0; i < ids_.size(); ++i) {
    Entity &entity = entities_[i];
    const bool has_time_left = !is_last && entity.from_ns / every_ns_ == window.time_ns / every_ns_;
    if (entity.until_ns == entity.from_ns || (has_time_left && entity.seen + kMaxAbsentWindows > window_)) continue;
    emit(entity, batch);
    entity.until_ns = entity.from_ns;
  }
  ids_.next_window([&](uint32_t from, uint32_t to) {
    if (from != to) std::swap(entities_[from], entities_[to]);
  });
  ++window_;
  return batch.samples().size() - before;
}

}  // namespace atalaya::value
