#include "core/memory/process_memory.h"

#include "core/memory/read_at.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <limits>
#include <sstream>
#include <string_view>
#include <sys/types.h>
#include <unistd.h>

namespace clr {
namespace {

constexpr std::size_t random_size = 16;

// The whole content of a file in /proc, up to `limit` bytes.
std::string read_file(const std::string& path, std::size_t limit) {
  std::string text;
  std::ifstream in(path, std::ios::binary);
  std::array<char, 65536> part;
  while (text.size() < limit && (in.read(part.data(), part.size()), in.gcount() > 0))
    text.append(part.data(), static_cast<std::size_t>(in.gcount()));
  return text;
}

// Limit for /proc/PID/maps.
constexpr std::size_t max_maps_bytes = std::size_t{64} << 20;

// "begin-end rwxp offset device inode path"
std::optional<ProcessMapping> mapping_of_line(std::string_view line) {
  ProcessMapping mapping;
  const char* const last = line.data() + line.size();
  auto at = std::from_chars(line.data(), last, mapping.begin, 16);
  if (at.ec != std::errc() || at.ptr == last || *at.ptr != '-') return {};
  at = std::from_chars(at.ptr + 1, last, mapping.end, 16);
  constexpr std::size_t access_size = 4;
  if (at.ec != std::errc() || mapping.end <= mapping.begin || last - at.ptr < 7 || *at.ptr != ' ') return {};
  mapping.access.assign(at.ptr + 1, access_size);
  at = std::from_chars(at.ptr + 2 + access_size, last, mapping.file_offset, 16);
  if (at.ec != std::errc()) return {};
  // The path may contain spaces; device and inode contain none.
  std::string_view rest(at.ptr, static_cast<std::size_t>(last - at.ptr));
  for (int field = 0; field < 2; ++field) {
    rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
    rest.remove_prefix(std::min(rest.find(' '), rest.size()));
  }
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  mapping.path = rest;
  return mapping;
}

constexpr Address page_size = 4096;
// Bits of an entry of /proc/PID/pagemap.
constexpr std::uint64_t is_present = std::uint64_t{1} << 63, is_swapped = std::uint64_t{1} << 62,
                        is_of_file = std::uint64_t{1} << 61;

} // namespace

std::map<std::uint64_t, std::uint64_t> auxiliary_vector(const std::string& folder) {
  std::map<std::uint64_t, std::uint64_t> values;
  constexpr std::size_t limit = 65536;
  const std::string bytes = read_file(folder + "/auxv", limit);
  std::array<std::uint64_t, 2> entry;
  for (std::size_t at = 0; at + sizeof entry <= bytes.size(); at += sizeof entry) {
    std::memcpy(entry.data(), bytes.data() + at, sizeof entry);
    if (entry[0] != AT_NULL) values[entry[0]] = entry[1];
  }
  return values;
}

std::vector<ProcessMapping> process_mappings(const std::string& folder) {
  std::vector<ProcessMapping> mappings;
  std::istringstream maps(read_file(folder + "/maps", max_maps_bytes));
  for (std::string line; std::getline(maps, line);)
    if (auto mapping = mapping_of_line(line)) mappings.push_back(std::move(*mapping));
  return mappings;
}

std::unique_ptr<ProcessMemory> ProcessMemory::open(std::string folder) {
  const auto open_one = [&](const char* name) {
    return ::open((folder + name).c_str(), O_RDONLY | O_CLOEXEC);
  };
  const int file = open_one("/mem");
  if (file < 0) return nullptr;
  const int page_flags = open_one("/pagemap");
  std::unique_ptr<ProcessMemory> memory(new ProcessMemory(std::move(folder), file, page_flags));
  memory->check_page_flags();
  return memory;
}

ProcessMemory::~ProcessMemory() {
  ::close(file_);
  forget_page_flags();
}

std::size_t ProcessMemory::read_now(Address address, std::span<std::byte> out) const {
  // The kernel takes offsets as signed numbers, so addresses above this limit cannot be read.
  constexpr auto beyond = static_cast<Address>(std::numeric_limits<off_t>::max());
  if (address >= beyond) return 0;
  const auto size = static_cast<std::size_t>(std::min<Address>(out.size(), beyond - address));
  return read_at(file_, out.first(size), address);
}

std::size_t ProcessMemory::read_some(Address address, std::span<std::byte> out) {
  const Address begin = address / block_size * block_size;
  const std::size_t offset = address % block_size;
  if (out.size() > block_size - offset || out.size() > block_size / 4) return read_now(address, out);
  if (block_.empty() || block_begin_ != begin) {
    const bool near_last = address - last_asked_ < block_size || last_asked_ - address < block_size;
    last_asked_ = address;
    if (!near_last) return read_now(address, out);
    block_.resize(block_size);
    block_begin_ = begin;
    if (read_now(begin, block_) != block_size) block_.clear();
  }
  if (block_.empty()) return read_now(address, out);
  std::memcpy(out.data(), block_.data() + offset, out.size());
  return out.size();
}

// Readable mappings that may be read without asking the debugger. LLDB may have written breakpoints into
// instructions, and only LLDB knows where. So of the instructions, only those from private files are listed,
// because the kernel tells which of their pages are untouched.
std::vector<ProcessMemory::Mapping> ProcessMemory::plain_mappings(const std::string& folder) {
  std::vector<Mapping> plain;
  for (const ProcessMapping& mapping : process_mappings(folder)) {
    const auto has = [&](std::size_t at, char right) { return mapping.access[at] == right; };
    if (!has(0, 'r')) continue;
    // A debugger cannot write to memory that is shared and not writable. With W^X, the runtime has its code
    // in such memory and writes to it by another mapping.
    const bool instructions = has(2, 'x') && !(has(1, '-') && has(3, 's'));
    const bool private_file = has(1, '-') && has(3, 'p') && mapping.path.starts_with('/');
    if (instructions && !private_file) continue;
    if (!plain.empty() && plain.back().end == mapping.begin && plain.back().instructions == instructions)
      plain.back().end = mapping.end;
    else
      plain.push_back({mapping.begin, mapping.end, instructions});
  }
  return plain;
}

Address ProcessMemory::plain_end(Address address) {
  if (!mappings_) mappings_ = plain_mappings(folder_);
  const auto after = std::ranges::upper_bound(*mappings_, address, {}, &Mapping::begin);
  if (after == mappings_->begin()) return 0;
  const Mapping& mapping = *std::prev(after);
  if (address >= mapping.end) return 0;
  return mapping.instructions ? untouched_end(address, mapping.end) : mapping.end;
}

// A write to a page of a private file makes a copy of the page. So a page that still belongs to the file, or
// is not in memory yet, has the content of the file.
Address ProcessMemory::untouched_end(Address address, Address end) const {
  const Address first = address / page_size;
  std::array<std::uint64_t, max_pages> entries;
  const auto wanted =
      static_cast<std::size_t>(std::min<Address>((end - 1) / page_size + 1 - first, max_pages));
  const std::size_t told = read_page_flags(address, std::span(entries).first(wanted));
  std::size_t untouched = 0;
  while (untouched < told) {
    const std::uint64_t entry = entries[untouched];
    if ((entry & is_swapped) != 0 || ((entry & is_present) != 0 && (entry & is_of_file) == 0)) break;
    ++untouched;
  }
  return untouched == 0 ? 0 : std::min<Address>((first + untouched) * page_size, end);
}

bool ProcessMemory::is_read_by(MemoryReader& other) {
  const auto values = auxiliary_vector(folder_);
  const auto random = values.find(AT_RANDOM);
  if (random == values.end()) return false;
  std::array<std::byte, random_size> here, there;
  return read_now(random->second, here) == here.size() &&
         other.read_some(random->second, there) == there.size() && here == there;
}

// A system that hides the page flags answers zero for every page, even for one that is certainly in memory.
void ProcessMemory::check_page_flags() {
  const auto values = auxiliary_vector(folder_);
  const auto random = values.find(AT_RANDOM);
  std::array<std::byte, random_size> bytes;
  std::array<std::uint64_t, 1> entry{};
  const bool told = random != values.end() && read_now(random->second, bytes) == bytes.size() &&
                    read_page_flags(random->second, entry) == 1 && (entry[0] & is_present) != 0;
  if (!told) forget_page_flags();
}

// Reads the flags of the pages from that of `address` on; returns for how many pages the kernel gave them.
std::size_t ProcessMemory::read_page_flags(Address address, std::span<std::uint64_t> out) const {
  if (page_flags_ < 0) return 0;
  return read_at(page_flags_, std::as_writable_bytes(out), address / page_size * sizeof out[0]) /
         sizeof out[0];
}

void ProcessMemory::forget_page_flags() {
  if (page_flags_ >= 0) ::close(page_flags_);
  page_flags_ = -1;
}

void ProcessMemory::ran() {
  written();
  mappings_.reset();
}

void ProcessMemory::written() {
  block_.clear();
  last_asked_ = 0;
}

std::size_t DebuggedMemory::read_some(Address address, std::span<std::byte> out) {
  std::size_t done = 0;
  while (process_ != nullptr && done < out.size()) {
    const Address at = address + done;
    const Address end = process_->plain_end(at);
    if (at < address || end == 0) break;
    const auto here = static_cast<std::size_t>(std::min<Address>(end - at, out.size() - done));
    const std::size_t got = process_->read_some(at, out.subspan(done, here));
    done += got;
    if (got < here) break;
  }
  if (done == out.size()) return done;
  return done + debugger_->read_some(address + done, out.subspan(done));
}

} // namespace clr
