#include "core/memory/core_writer.h"

#include "core/memory/cpu_table.h"
#include "core/memory/elf_image.h"
#include "core/memory/elf_records.h"
#include "core/memory/module_list.h"
#include "core/memory/output_file.h"
#include "core/memory/recording_reader.h"
#include "core/memory/target_bytes.h"

#include <algorithm>
#include <fmt/format.h>

namespace clr {
namespace {

constexpr std::uint64_t page_size = 4096;
constexpr std::uint64_t chunk = 1u << 20; // bytes that are read at once

struct Segment {
  CoreWriteRange place;
  std::uint64_t file_offset = 0;
};

// The ranges sorted and without overlaps: in an overlap the range that begins first keeps the bytes.
// Neighbours with the same access are joined.
std::vector<CoreWriteRange> disjoint(std::vector<CoreWriteRange> ranges) {
  std::stable_sort(ranges.begin(), ranges.end(), [](const CoreWriteRange& a, const CoreWriteRange& b) {
    return a.range.begin < b.range.begin;
  });
  std::vector<CoreWriteRange> made;
  std::uint64_t pages = 0;
  for (CoreWriteRange next : ranges) {
    if (next.range.size > ~next.range.begin) next.range.size = ~next.range.begin;
    if (!made.empty()) {
      CoreWriteRange& last = made.back();
      if (next.range.begin < last.range.end()) {
        const std::uint64_t overlap = last.range.end() - next.range.begin;
        if (overlap >= next.range.size) continue;
        next.range = {next.range.begin + overlap, next.range.size - overlap};
      }
      pages += next.range.size / page_size;
      if (next.range.begin == last.range.end() && next.readable == last.readable &&
          next.writable == last.writable && next.executable == last.executable) {
        last.range.size += next.range.size;
        continue;
      }
    } else {
      pages += next.range.size / page_size;
    }
    if (pages > max_core_pages) throw Error(ErrorKind::invalid_argument, "too much memory for one core");
    if (next.range.size != 0) made.push_back(next);
  }
  return made;
}

// Finds the parts of `wanted` that can be read. `buffer` has `chunk` bytes.
void find_readable(MemoryReader& memory, const CoreWriteRange& wanted, std::span<std::byte> buffer,
                   std::vector<Segment>& segments, std::vector<MemoryRange>& missing,
                   const std::function<void()>& check_stop) {
  const Address end = wanted.range.end();
  bool joins = false; // the last segment ends at `at`
  for (Address at = wanted.range.begin; at < end;) {
    check_stop();
    const std::size_t size = std::min(chunk, end - at);
    const std::size_t got = memory.read_some(at, buffer.first(size));
    if (got != 0 && joins) segments.back().place.range.size += got;
    if (got != 0 && !joins) {
      segments.push_back({wanted, 0});
      segments.back().place.range = {at, got};
    }
    at += got;
    joins = got == size;
    if (joins || at >= end) continue;
    // A byte is missing. The search goes on at the next page, page by page.
    const std::uint64_t rest_of_page = std::min(end - at, page_size - at % page_size);
    if (!missing.empty() && missing.back().end() == at)
      missing.back().size += rest_of_page;
    else
      missing.push_back({at, rest_of_page});
    at += rest_of_page; // not rounded up: behind the last page of all is address 0
  }
}

TargetBytes note_bytes(Platform platform, const std::vector<CoreNote>& notes) {
  TargetBytes out(platform);
  for (const CoreNote& note : notes) {
    out.u32(note.owner.size() + 1);
    out.u32(note.description.size());
    out.u32(note.type);
    out.text(note.owner, note.owner.size() + 1);
    out.align(4);
    out.append(note.description);
    out.align(4);
  }
  return out;
}

// ELF header, program headers and notes. All of them come before the memory, so that a file that is cut keeps
// them.
TargetBytes headers(Platform platform, const std::vector<CoreNote>& notes, std::vector<Segment>& segments) {
  const ElfFormat format{platform.pointer_size == 8, platform.byte_order};
  const TargetBytes note_part = note_bytes(platform, notes);
  const std::size_t count = segments.size() + 1;
  const bool extended = count >= PN_XNUM;
  const std::uint64_t table = format.header_size();
  const std::uint64_t section = table + count * format.segment_size();
  const std::uint64_t notes_at = section + (extended ? format.section_size() : 0);

  TargetBytes out(platform);
  out.u8(ELFMAG0);
  out.text("ELF", 3);
  out.u8(format.wide ? ELFCLASS64 : ELFCLASS32);
  out.u8(format.order == ByteOrder::little ? ELFDATA2LSB : ELFDATA2MSB);
  out.u8(EV_CURRENT);
  // LLDB takes the operating system from this byte. Without it, LLDB guesses from the paths of libraries and
  // may refuse the core.
  out.u8(platform.os == Os::unix_like ? ELFOSABI_LINUX : ELFOSABI_NONE);
  out.pad_to(EI_NIDENT);
  out.u16(ET_CORE);
  out.u16(cpu_row(platform.cpu).elf_machine);
  out.u32(EV_CURRENT);
  out.word(0); // entry
  out.word(table);
  out.word(extended ? section : 0);
  out.u32(0); // flags
  out.u16(format.header_size());
  out.u16(format.segment_size());
  out.u16(extended ? PN_XNUM : count);
  out.u16(extended ? format.section_size() : 0);
  out.u16(extended ? 1 : 0);
  out.u16(0);

  const auto put = [&](std::uint32_t type, std::uint32_t flags, std::uint64_t offset, Address address,
                       std::uint64_t size, std::uint64_t memory_size, std::uint64_t alignment) {
    out.u32(type);
    if (format.wide) out.u32(flags);
    out.word(offset);
    out.word(address);
    out.word(0);
    out.word(size);
    out.word(memory_size);
    if (!format.wide) out.u32(flags);
    out.word(alignment);
  };
  put(PT_NOTE, 0, notes_at, 0, note_part.size(), 0, 4);
  std::uint64_t at = (notes_at + note_part.size() + page_size - 1) / page_size * page_size;
  for (Segment& segment : segments) {
    const CoreWriteRange& place = segment.place;
    segment.file_offset = at;
    const auto flags = static_cast<std::uint32_t>((place.readable ? PF_R : 0) | (place.writable ? PF_W : 0) |
                                                  (place.executable ? PF_X : 0));
    put(PT_LOAD, flags, at, place.range.begin, place.range.size, place.range.size, 1);
    at += place.range.size;
  }
  if (extended) {
    // Section header 0, whose sh_info is the true number of program headers.
    const std::size_t begin = out.size();
    out.pad_to(begin + (format.wide ? 44 : 28));
    out.u32(count);
    out.pad_to(begin + format.section_size());
  }
  out.append(note_part.bytes());
  out.align(page_size);
  return out;
}

} // namespace

WrittenCore write_core(const std::string& path, Platform platform, const std::vector<CoreNote>& notes,
                       std::vector<CoreWriteRange> ranges, MemoryReader& memory,
                       const std::function<bool()>& stop) {
  const auto check_stop = [&] {
    if (stop && stop()) throw Error(ErrorKind::io, fmt::format("cannot write {}: stopped", path));
  };
  WrittenCore written;
  std::vector<Segment> segments;
  std::vector<std::byte> buffer(chunk);
  for (const CoreWriteRange& range : disjoint(std::move(ranges)))
    find_readable(memory, range, buffer, segments, written.missing, check_stop);
  written.missing = merge_ranges(std::move(written.missing));
  written.segments = segments.size();

  const TargetBytes front = headers(platform, notes, segments);
  OutputFile file(path, Readers::owner);
  file.write(front.bytes());
  written.file_size = front.size();
  for (const Segment& segment : segments) {
    const MemoryRange& range = segment.place.range;
    for (std::uint64_t done = 0; done < range.size;) {
      check_stop();
      const auto part = std::span(buffer).first(std::min(chunk, range.size - done));
      memory.read(range.begin + done, part);
      file.write(part);
      done += part.size();
    }
    written.memory_size += range.size;
  }
  written.file_size += written.memory_size;
  file.commit();
  return written;
}

std::vector<CoreWriteRange> with_access_of(const std::vector<CoreSegment>& segments,
                                           const std::vector<MemoryRange>& ranges) {
  std::vector<CoreWriteRange> made;
  for (const MemoryRange& range : merge_ranges(ranges)) {
    const Address end = range.size > ~range.begin ? ~Address{0} : range.end();
    for (Address at = range.begin; at < end;) {
      const auto next = std::upper_bound(segments.begin(), segments.end(), at,
                                         [](Address a, const CoreSegment& other) { return a < other.begin; });
      const CoreSegment* segment = next == segments.begin() ? nullptr : &*std::prev(next);
      if (segment != nullptr && at - segment->begin >= segment->memory_size) segment = nullptr;
      Address stop = next == segments.end() ? end : std::min(end, next->begin);
      CoreWriteRange part;
      if (segment != nullptr) {
        stop = std::min(stop, segment->begin + segment->memory_size);
        part = {{}, segment->readable, segment->writable, segment->executable};
      }
      part.range = {at, stop - at};
      made.push_back(part);
      at = stop;
    }
  }
  return made;
}

void touch_for_debugger(MemoryReader& memory, const std::vector<LoadedModule>& modules,
                        const std::function<bool()>& stop) {
  std::vector<std::byte> buffer(64 * page_size);
  std::vector<std::string> ignored;
  bool walked = false; // one module has a link map: the program
  for (const LoadedModule& module : modules) {
    if (stop && stop()) return;
    try {
      ElfImage image(memory, module.base);
      image.build_id();
      image.dynamic();
      if (!walked && image.dynamic().value(DT_DEBUG).value_or(0) != 0) {
        walked = true;
        memory.read_some(*image.dynamic().value(DT_DEBUG),
                         std::span(buffer).first(5 * sizeof(std::uint64_t)));
        walk_link_map(memory, module.base, ignored);
      }
      image.dynamic().soname();
      if (module.path == "[vdso]")
        memory.read_some(module.base,
                         std::span(buffer).first(std::min<std::uint64_t>(image.range().size, buffer.size())));
    } catch (const Error&) {
      // A debugger cannot read these bytes either.
    }
  }
}

} // namespace clr
