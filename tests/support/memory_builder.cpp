#include "tests/support/memory_builder.h"

#include <algorithm>
#include <stdexcept>

namespace clr::test {

std::vector<Platform> all_platforms(Cpu cpu, Os os) {
  std::vector<Platform> platforms;
  for (const unsigned size : {8u, 4u})
    for (const ByteOrder order : {ByteOrder::little, ByteOrder::big})
      platforms.push_back({.pointer_size = size, .byte_order = order, .cpu = cpu, .os = os});
  return platforms;
}

std::string to_string(const Platform& platform) {
  return std::string(platform.byte_order == ByteOrder::little ? "little" : "big") + " endian, " +
         (platform.pointer_size == 8 ? "64" : "32") + " bit";
}

MemoryCursor& MemoryCursor::integer(std::uint64_t value, unsigned width) {
  memory_->write_integer(at_, value, width);
  at_ += width;
  return *this;
}

MemoryCursor& MemoryCursor::pointer(Address value) {
  return integer(value, memory_->platform().pointer_size);
}

MemoryCursor& MemoryCursor::pointer(std::string_view label, std::int64_t addend) {
  const Address at = at_;
  pointer(Address{0});
  memory_->use(label, {at, memory_->platform().pointer_size, static_cast<std::uint64_t>(addend)});
  return *this;
}

MemoryCursor& MemoryCursor::relative(std::string_view label, Address base) {
  const Address at = at_;
  u32(0);
  memory_->use(label, {at, 4, 0 - base});
  return *this;
}

MemoryCursor& MemoryCursor::bytes(std::initializer_list<unsigned> values) {
  for (const unsigned value : values) u8(value);
  return *this;
}

MemoryCursor& MemoryCursor::bytes(std::span<const std::byte> values) {
  memory_->write(at_, values);
  return skip(values.size());
}

MemoryCursor& MemoryCursor::text(std::string_view text) {
  return bytes(std::as_bytes(std::span(text)));
}

MemoryCursor& MemoryCursor::utf8(std::string_view text) {
  return this->text(text).u8(0);
}

MemoryCursor& MemoryCursor::utf16(std::u16string_view text) {
  for (const char16_t unit : text) u16(unit);
  return u16(0);
}

MemoryCursor& MemoryCursor::fill(std::size_t count, unsigned value) {
  return bytes(std::vector<std::byte>(count, static_cast<std::byte>(value)));
}

MemoryCursor& MemoryCursor::align(std::size_t unit) {
  return fill((unit - at_ % unit) % unit);
}

MemoryCursor& MemoryCursor::skip(std::size_t count) {
  at_ += count;
  return *this;
}

MemoryCursor& MemoryCursor::label(std::string name) {
  memory_->define(std::move(name), at_);
  return *this;
}

Address MemoryBuilder::allocate(std::size_t size, std::size_t alignment) {
  // At least a byte is left out between two allocations, so that a reader that runs over the end faults.
  next_ = (next_ + alignment) / alignment * alignment;
  const Address at = next_;
  write(at, std::vector<std::byte>(size));
  next_ += size;
  return at;
}

Address MemoryBuilder::place(std::span<const std::byte> bytes, std::size_t alignment) {
  const Address at = allocate(bytes.size(), alignment);
  write(at, bytes);
  return at;
}

Address MemoryBuilder::place_utf8(std::string_view text) {
  const Address place = allocate(text.size() + 1);
  at(place).utf8(text);
  return place;
}

Address MemoryBuilder::place_utf16(std::u16string_view text) {
  const Address place = allocate((text.size() + 1) * 2);
  at(place).utf16(text);
  return place;
}

void MemoryBuilder::write(Address address, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    auto& page = pages_[address / page_size];
    if (!page) page = std::make_unique<Page>();
    const std::size_t offset = address % page_size;
    const std::size_t count = std::min(bytes.size(), page_size - offset);
    std::copy_n(bytes.begin(), count, page->bytes.begin() + static_cast<std::ptrdiff_t>(offset));
    for (std::size_t i = 0; i < count; ++i) page->present.set(offset + i);
    bytes = bytes.subspan(count);
    address += count;
  }
}

void MemoryBuilder::write_integer(Address address, std::uint64_t value, unsigned width) {
  std::array<std::byte, 8> raw;
  for (unsigned i = 0; i < width; ++i) {
    const unsigned place = platform_.byte_order == ByteOrder::little ? i : width - 1 - i;
    raw[place] = static_cast<std::byte>(value >> (8 * i));
  }
  write(address, std::span(raw).first(width));
}

void MemoryBuilder::erase(Address address, std::size_t size) {
  for (; size != 0; ++address, --size)
    if (const auto page = pages_.find(address / page_size); page != pages_.end())
      page->second->present.reset(address % page_size);
}

void MemoryBuilder::define(std::string label, Address address) {
  if (!labels_.emplace(label, address).second) throw std::logic_error("label defined twice: " + label);
  const auto [first, last] = pending_.equal_range(label);
  for (auto use = first; use != last; ++use)
    write_integer(use->second.at, address + use->second.addend, use->second.width);
  pending_.erase(first, last);
}

void MemoryBuilder::use(std::string_view label, Use use) {
  if (const auto found = labels_.find(label); found != labels_.end())
    write_integer(use.at, found->second + use.addend, use.width);
  else
    pending_.emplace(label, use);
}

Address MemoryBuilder::operator[](std::string_view label) const {
  const auto found = labels_.find(label);
  if (found == labels_.end()) throw std::logic_error("label never defined: " + std::string(label));
  return found->second;
}

std::size_t MemoryBuilder::read_some(Address address, std::span<std::byte> out) {
  if (!pending_.empty()) throw std::logic_error("label never defined: " + pending_.begin()->first);
  for (std::size_t done = 0; done < out.size(); ++done, ++address) {
    const auto page = pages_.find(address / page_size);
    if (page == pages_.end() || !page->second->present.test(address % page_size)) return done;
    out[done] = page->second->bytes[address % page_size];
  }
  return out.size();
}

} // namespace clr::test
