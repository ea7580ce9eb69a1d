// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/store/sqlite/chunks/pool.h"

#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "core/base/crc32c.h"
#include "plugins/shared/store/sqlite/chunks/chunk_format.h"

namespace atalaya::store {
namespace {

constexpr char kPoolFormat = 1;
constexpr int kPoolLevel = 6;
constexpr size_t kMostMembers = size_t{1} << kPoolBits;
constexpr size_t kMostPoolBytes = 16 << 20;

void put_crc(std::string &out, uint32_t crc) {
  out.append(reinterpret_cast<const char *>(&crc), sizeof(crc));
}
bool take_crc(std::string_view &bytes, uint32_t &crc) {
  if (bytes.size() < sizeof(crc)) return false;
  std::memcpy(&crc, bytes.data(), sizeof(crc));
  bytes.remove_prefix(sizeof(crc));
  return true;
}

// A number of at most `most`.
bool take_size(std::string_view &bytes, size_t most, size_t &size) {
  uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (bytes.empty()) return false;
    const auto part = static_cast<uint8_t>(bytes.front());
    bytes.remove_prefix(1);
    value |= static_cast<uint64_t>(part & 0x7f) << shift;
    if (part >= 0x80) continue;
    size = static_cast<size_t>(value);
    return value <= most;
  }
  return false;
}

}  // namespace

void PoolEncoder::Free::operator()(ZSTD_CCtx_s *context) const {
  ZSTD_freeCCtx(context);
}

PoolEncoder::PoolEncoder() : zstd_(ZSTD_createCCtx()) {
  if (!zstd_) throw std::bad_alloc();
  ZSTD_CCtx_setParameter(zstd_.get(), ZSTD_c_compressionLevel, kPoolLevel);
}

void PoolEncoder::add(int64_t entity, const Chunk &chunk) {
  put_varint(members_, static_cast<uint64_t>(entity - last_entity_));
  put_varint(members_, chunk.head.size());
  put_varint(members_, chunk.data.size());
  heads_ += chunk.head;
  datas_ += chunk.data;
  first_ns_ = count_ == 0 ? chunk.first_ns : std::min(first_ns_, chunk.first_ns);
  last_ns_ = count_ == 0 ? chunk.last_ns : std::max(last_ns_, chunk.last_ns);
  last_entity_ = entity;
  ++count_;
}

void PoolEncoder::finish(Chunk &pool) {
  heads_ += datas_;
  pool.data.resize(ZSTD_compressBound(heads_.size()));
  const size_t size = ZSTD_compress2(zstd_.get(), pool.data.data(), pool.data.size(), heads_.data(), heads_.size());
  if (ZSTD_isError(size) != 0) throw std::bad_alloc();  // there is no other reason
  pool.data.resize(size);
  std::string head(1, kPoolFormat);
  put_varint(head, count_);
  head += members_;
  put_crc(head, core::crc32c(pool.data));
  pool.head.clear();
  put_crc(pool.head, core::crc32c(head));
  pool.head += head;
  pool.first_ns = first_ns_;
  pool.last_ns = last_ns_;
  members_.clear();
  heads_.clear();
  datas_.clear();
  count_ = 0;
  last_entity_ = 0;
}

void PoolReader::Free::operator()(ZSTD_DCtx_s *context) const {
  ZSTD_freeDCtx(context);
}

PoolReader::PoolReader() : zstd_(ZSTD_createDCtx()) {
  if (!zstd_) throw std::bad_alloc();
}

bool PoolReader::open(std::string_view head) {
  members_.clear();
  heads_size_ = datas_size_ = 0;
  uint32_t crc = 0;
  size_t count = 0, step = 0;
  if (!take_crc(head, crc) || crc != core::crc32c(head) || head.empty() || head.front() != kPoolFormat) return false;
  head.remove_prefix(1);
  if (!take_size(head, kMostMembers, count)) return false;
  int64_t entity = 0;
  for (size_t i = 0; i < count; ++i) {
    Member member;
    if (!take_size(head, INT64_MAX, step) || (i > 0 && step == 0) || __builtin_add_overflow(entity, step, &entity)) return false;
    member.entity = entity;
    if (!take_size(head, kMostPoolBytes, member.head_size) || !take_size(head, kMostPoolBytes, member.data_size)) return false;
    heads_size_ += member.head_size;
    datas_size_ += member.data_size;
    if (heads_size_ + datas_size_ > kMostPoolBytes) return false;
    members_.push_back(member);
  }
  return take_crc(head, data_crc_) && head.empty();
}

const PoolReader::Member *PoolReader::find(int64_t entity) const {
  const auto has_less = [](const Member &member, int64_t id) { return member.entity < id; };
  const auto member = std::lower_bound(members_.begin(), members_.end(), entity, has_less);
  return member != members_.end() && member->entity == entity ? &*member : nullptr;
}

bool PoolReader::read(std::string_view data) {
  if (core::crc32c(data) != data_crc_) return false;
  raw_.resize(heads_size_ + datas_size_);
  if (ZSTD_decompressDCtx(zstd_.get(), raw_.data(), raw_.size(), data.data(), data.size()) != raw_.size()) return false;
  std::string_view heads = std::string_view(raw_).substr(0, heads_size_), datas = std::string_view(raw_).substr(heads_size_);
  for (Member &member : members_) {
    member.head = heads.substr(0, member.head_size);
    member.data = datas.substr(0, member.data_size);
    heads.remove_prefix(member.head_size);
    datas.remove_prefix(member.data_size);
  }
  return true;
}

}  // namespace atalaya::store
