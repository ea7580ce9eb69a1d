// SPDX-License-Identifier: Apache-2.0
#include "plugins/translators/tags/tags.h"

#include <algorithm>

namespace atalaya::tags {
namespace {

uint32_t intern_tag(Host host, std::string_view parameter, std::string_view name) {
  const uint32_t id = host.intern(name);
  if (id == 0)
    throw Failure(Code::bad_config, "parameter \"" + std::string(parameter) + "\": the name of a tag is empty or too long");
  return id;
}

atalaya_tag *find(Sample &sample, uint32_t key) {
  atalaya_tag *end = sample.tags + sample.tag_count;
  atalaya_tag *found = std::find_if(sample.tags, end, [&](const atalaya_tag &tag) { return tag.key == key; });
  return found == end ? nullptr : found;
}

template <class Goes>
void remove(Sample &sample, Goes &&goes) {
  sample.tag_count = static_cast<uint32_t>(std::remove_if(sample.tags, sample.tags + sample.tag_count, goes) - sample.tags);
}

void set(Batch &batch, Sample &sample, uint32_t key, atalaya_str value) {
  if (atalaya_tag *tag = find(sample, key))
    tag->value = value;
  else
    batch.tag_shared(sample, key, value);
}

}  // namespace

Tags::Tags(Host host) : drop_(host, "drop"), metric_(host, "metric") {
  read_copies(host);
  read_renames(host);
  for (uint64_t i = 0; const auto entry = host.child("add", i); ++i)
    fixed_.push_back({intern_tag(host, "add", entry->key()), std::string(entry->text()), {}});
  if (const auto kind = host.find("kind"))
    kind_ = kind->text() == "stack" ? ATALAYA_STACK : kind->text() == "span" ? ATALAYA_SPAN : ATALAYA_METRICS;
}

// A Lua table has no order, so rules whose result depends on their order are rejected.
void Tags::read_copies(Host host) {
  for (uint64_t i = 0; const auto entry = host.child("copy", i); ++i)
    copies_.push_back({intern_tag(host, "copy", entry->text()), intern_tag(host, "copy", entry->key())});
  for (const Pair &copy : copies_)
    for (const Pair &other : copies_)
      if (copy.to == other.from)
        throw Failure(Code::bad_config, "parameter \"copy\": \"" + std::string(host.name_of(copy.to)) +
                                            "\" is written by one rule and read by another; use two translators in a row");
}

void Tags::read_renames(Host host) {
  for (uint64_t i = 0; const auto entry = host.child("rename", i); ++i)
    renames_.push_back({intern_tag(host, "rename", entry->key()), intern_tag(host, "rename", entry->text())});
  for (const Pair &rename : renames_)
    for (const Pair &other : renames_)
      if (rename.to == other.from || (&rename != &other && rename.to == other.to))
        throw Failure(Code::bad_config, "parameter \"rename\": \"" + std::string(host.name_of(rename.to)) +
                                            "\" is in two rules; use two translators in a row");
}

Code Tags::process(const Window &, Batch &batch) {
  for (Fixed &fixed : fixed_) fixed.in_batch = batch.copy(fixed.value);
  for (Sample &sample : batch.samples())
    if (selects(sample)) edit(batch, sample);
  return Code::ok;
}

bool Tags::selects(const Sample &sample) {
  if (kind_ && sample.kind != *kind_) return false;
  return metric_.empty() || metric_.match_any_field(sample);
}

void Tags::edit(Batch &batch, Sample &sample) {
  batch.reserve(sample, sample.tag_count + static_cast<uint32_t>(copies_.size() + fixed_.size()), 0);
  for (const Pair &copy : copies_)
    if (const atalaya_tag *from = find(sample, copy.from)) set(batch, sample, copy.to, from->value);
  for (const Pair &rename : renames_) {
    if (find(sample, rename.from) == nullptr) continue;
    remove(sample, [&](const atalaya_tag &tag) { return tag.key == rename.to; });
    find(sample, rename.from)->key = rename.to;
  }
  if (!drop_.empty()) remove(sample, [&](const atalaya_tag &tag) { return drop_.matches(tag.key); });
  for (const Fixed &fixed : fixed_) set(batch, sample, fixed.key, fixed.in_batch);
}

}  // namespace atalaya::tags
