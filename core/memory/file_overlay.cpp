#include "core/memory/file_overlay.h"

#include "core/memory/read_at.h"

#include <algorithm>
#include <array>
#include <elf.h>
#include <fmt/format.h>
#include <numeric>
#include <unordered_map>

namespace clr {
namespace {

constexpr std::string_view deleted_suffix = " (deleted)";

// Is this mapping no file, or one that must not be opened (a device)?
bool is_no_file(std::string_view path) {
  return !path.starts_with('/') || path.starts_with("/memfd:") || path.starts_with("/dev/") ||
         path.starts_with("/proc/") || path.starts_with("/SYSV");
}

} // namespace

// The contents of a file, each part with its proof of identity. The ELF module and the PE images of a
// single-file program are proven separately, because every bundle around the same host has the build id of
// that host.
struct FileOverlay::File {
  struct Part {
    std::unique_ptr<ModuleFile> module;
    std::string proof, refusal;
    std::vector<Address> strange; // first addresses of mappings that are left out, sorted
  };

  std::string target_path, host_path, refusal;
  std::unique_ptr<ElfFile> elf;
  std::unique_ptr<PartialFile> content; // of which PE images are read
  std::optional<SingleFileBundle> bundle;
  std::vector<Part> parts;
  std::uint64_t kept = 0; // bytes: of the file, and of what is known of its PE images
  std::uint64_t bytes = 0, lent_bytes = 0, missed_reads = 0;
  std::unordered_set<std::uint64_t> pages;
  std::uint64_t last_page = ~std::uint64_t{0};

  ModuleFile* module_at(const FilePlace& place) {
    for (Part& part : parts)
      if (part.module->covers(place)) {
        const bool left_out = std::ranges::binary_search(part.strange, place.mapping->begin);
        return part.refusal.empty() && !left_out ? part.module.get() : nullptr;
      }
    return nullptr;
  }

  void count(Address address, std::size_t size) {
    bytes += size;
    for (std::uint64_t page = address / ModuleFile::page; page <= (address + size - 1) / ModuleFile::page;
         ++page)
      if (page != last_page) {
        pages.insert(page);
        last_page = page;
      }
  }
};

FileOverlay::FileOverlay(ElfCore& core, FileOverlayOptions options)
    : core_(core), options_(std::move(options)) {
  for (const FileMapping& mapping : core.file_mappings()) mappings_.push_back({mapping});
  index();
}

FileOverlay::~FileOverlay() = default;

void FileOverlay::index() {
  std::stable_sort(mappings_.begin(), mappings_.end(),
                   [](const Mapping& a, const Mapping& b) { return a.mapping.begin < b.mapping.begin; });
  // A core may name a million files, so the texts are not kept a second time.
  std::unordered_map<std::string_view, std::uint32_t> known;
  for (const Mapping& mapping : mappings_)
    if (mapping.file != no_file) known.emplace(mapping.mapping.path, mapping.file);
  std::vector<Address> bases(files_.size());
  for (Mapping& mapping : mappings_) {
    const auto [file, is_new] =
        known.try_emplace(mapping.mapping.path, static_cast<std::uint32_t>(bases.size()));
    if (is_new) bases.push_back(0);
    mapping.file = file->second;
    if (mapping.mapping.file_offset == 0) bases[mapping.file] = mapping.mapping.begin;
    mapping.base = bases[mapping.file];
  }
  files_.resize(bases.size());
  by_file_.resize(mappings_.size());
  std::iota(by_file_.begin(), by_file_.end(), 0);
  std::ranges::stable_sort(by_file_, {}, [&](std::uint32_t at) { return mappings_[at].file; });
}

void FileOverlay::add_modules(const std::vector<LoadedModule>& modules) {
  std::vector<Mapping> added;
  for (const LoadedModule& module : modules) {
    if (module.path.empty() || mapping_at(module.base) != nullptr) continue;
    for (const PathMap::Candidate& candidate : options_.paths.candidates(module.path)) {
      try {
        const HostFile found = HostFile::open(candidate.path, candidate.named_by());
        const auto bytes = static_cast<std::uint64_t>(found.status().st_size);
        if (!room_.has(bytes)) continue;
        room_.waste(bytes);
        const auto file = std::make_unique<ElfFile>(LoadedFile::read(found, candidate.named_by()));
        if (!module.build_id.empty() && module.build_id != file->build_id()) continue;
        const ElfSegment* first = nullptr;
        for (const ElfSegment& segment : file->segments()) {
          if (segment.type != PT_LOAD || segment.file_size == 0) continue;
          if (first == nullptr) first = &segment;
          const Address bias = module.base - (first->address - first->file_offset);
          const std::uint64_t into = segment.address % ModuleFile::page;
          const Address begin = bias + segment.address - into;
          const std::uint64_t size =
              (into + segment.file_size + ModuleFile::page - 1) / ModuleFile::page * ModuleFile::page;
          if (size > ~begin || segment.file_offset < into) break;
          added.push_back(
              {.mapping = {begin, begin + size, segment.file_offset - into, module.path}, .by_guess = true});
        }
        break;
      } catch (const Error&) {
        // The next candidate may be better. A read of the module will report why none was accepted.
      }
    }
  }
  mappings_.insert(mappings_.end(), added.begin(), added.end());
  index();
}

const FileOverlay::Mapping* FileOverlay::mapping_at(Address address) const {
  auto after = std::upper_bound(mappings_.begin(), mappings_.end(), address,
                                [](Address a, const Mapping& mapping) { return a < mapping.mapping.begin; });
  if (after == mappings_.begin()) return nullptr;
  --after;
  return address < after->mapping.end ? &*after : nullptr;
}

FilePlace FileOverlay::place_at(const Mapping& mapping, Address address) const {
  const CoreSegment* segment = core_.segment_at(address);
  return {&mapping.mapping, mapping.base, address, segment != nullptr && segment->writable};
}

std::span<const std::uint32_t> FileOverlay::mappings_of(std::uint32_t file) const {
  const auto found =
      std::ranges::equal_range(by_file_, file, {}, [&](std::uint32_t at) { return mappings_[at].file; });
  return {found.begin(), found.end()};
}

FileOverlay::File& FileOverlay::resolved(std::uint32_t number) {
  if (files_[number] == nullptr) resolve(number);
  return *files_[number];
}

void FileOverlay::resolve(std::uint32_t number) {
  files_[number] = std::make_unique<File>();
  File& file = *files_[number];
  file.target_path = mappings_[mappings_of(number).front()].mapping.path;
  std::string path = file.target_path;
  const bool deleted = path.ends_with(deleted_suffix);
  if (deleted) path.resize(path.size() - deleted_suffix.size());
  if (is_no_file(file.target_path) && options_.paths.directories.empty()) {
    file.refusal = "not a file on disk";
    return;
  }
  std::string reasons;
  for (const PathMap::Candidate& candidate : options_.paths.candidates(path)) {
    std::string reason;
    if (try_file(number, candidate, deleted, reason)) return;
    if (!reasons.empty()) reasons += "; ";
    reasons += reason;
  }
  file.refusal = reasons.empty() ? "not a file on disk" : reasons;
}

bool FileOverlay::try_file(std::uint32_t number, const PathMap::Candidate& candidate, bool deleted,
                           std::string& reason) {
  File& file = *files_[number];
  File opened;
  std::int64_t changed = 0;
  std::vector<FilePlace> places;
  bool by_guess = false; // the file itself gave its mappings: that they fit is no proof
  for (const std::uint32_t at : mappings_of(number)) {
    places.push_back(place_at(mappings_[at], mappings_[at].mapping.begin));
    by_guess = by_guess || mappings_[at].by_guess;
  }
  try {
    HostFile found = HostFile::open(candidate.path, candidate.named_by());
    changed = found.status().st_ctim.tv_sec;
    // A core can name any file: only what looks like a module is read.
    std::array<std::byte, SELFMAG> magic{};
    const bool is_elf = read_at(found.descriptor(), magic, 0) == magic.size() &&
                        std::memcmp(magic.data(), ELFMAG, magic.size()) == 0;
    const bool is_pe = !is_elf && magic[0] == std::byte{'M'} && magic[1] == std::byte{'Z'};
    const auto size = static_cast<std::uint64_t>(found.status().st_size);
    const auto check_room = [&](std::uint64_t bytes) {
      if (!room_.has(bytes))
        throw Error(ErrorKind::io, fmt::format("{} would be more than {} bytes of files that are kept",
                                               candidate.path, room_.most()));
    };
    if (is_elf || is_pe) check_room(size);
    // Whatever it turns out to be, it takes the time to read it.
    if (is_elf) room_.waste(size);
    if (is_elf) {
      opened.elf = std::make_unique<ElfFile>(LoadedFile::read(found, candidate.named_by()));
      opened.parts.push_back({.module = std::make_unique<ElfModuleFile>(*opened.elf)});
      // Looking for a bundle takes as long as reading the file, and one that is not mapped is of no use.
      const ModuleFile& native = *opened.parts.front().module;
      if (std::ranges::any_of(places, [&](const FilePlace& place) {
            return !native.covers(place) || !native.covers(place.at(place.mapping->end - 1));
          }))
        opened.bundle = SingleFileBundle::parse(opened.elf->bytes());
      if (opened.bundle) {
        opened.content = std::make_unique<PartialFile>(opened.elf->bytes());
        auto module = std::make_unique<PeModuleFile>(*opened.content, &*opened.bundle);
        opened.kept = module->kept_bytes();
        opened.parts.push_back({.module = std::move(module)});
      }
    } else if (is_pe) {
      LoadedFile::check_size(found, candidate.named_by());
      opened.content = size <= small_file || open_files_ == max_open_files
                           ? std::make_unique<PartialFile>(LoadedFile::read(found, candidate.named_by()))
                           : std::make_unique<PartialFile>(std::move(found));
      auto module = std::make_unique<PeModuleFile>(*opened.content, nullptr);
      opened.kept = module->kept_bytes();
      if (module->has_images()) opened.parts.push_back({.module = std::move(module)});
    }
    if (opened.parts.empty()) {
      reason = fmt::format("{} is neither an ELF module nor a PE image", candidate.path);
      return false;
    }
    opened.kept += opened.elf ? opened.elf->bytes().size() : opened.content->size();
    check_room(opened.kept);
  } catch (const Error& error) {
    reason = error.what();
    return false;
  }

  const bool untouched = core_.modified() != 0 && changed <= core_.modified() && !by_guess;
  bool any = false;
  for (File::Part& part : opened.parts) {
    std::vector<FilePlace> covered;
    for (const FilePlace& place : places) {
      // The mapping of an image in a bundle begins at the start of its page, which may lie before the image.
      const FilePlace last = place.at(place.mapping->end - 1),
                      middle = place.at(std::min(place.address + ModuleFile::page, place.mapping->end) - 1);
      const bool taken = std::any_of(opened.parts.begin(), opened.parts.end(), [&](const File::Part& other) {
        return &other < &part && other.module->covers(place);
      });
      if (!taken && (part.module->covers(place) || part.module->covers(middle) || part.module->covers(last)))
        covered.push_back(place);
    }
    const auto refuse = [&](std::string why) { part.refusal = fmt::format("{}: {}", candidate.path, why); };
    try {
      const FileProof proof = part.module->identify(core_, covered);
      ModuleFile::Layout layout = part.module->layout(covered);
      if (proof.verdict == FileProof::Verdict::proven)
        part.proof = proof.text;
      else if (proof.verdict == FileProof::Verdict::contradicted)
        refuse(proof.text);
      else if (options_.trust_files)
        part.proof = "trusted without proof";
      else if (!layout.fits)
        refuse("its size or layout does not fit the mappings");
      else if (deleted)
        refuse("the file that was mapped was deleted, and nothing in the core proves that this is the same");
      else if (candidate.by_user)
        part.proof = "named by the user, and its size and layout fit";
      else if (untouched)
        part.proof = "not touched since before the core was written, and its size and layout fit";
      else
        refuse("it was changed or copied after the core was written, and nothing in the core proves that it "
               "is the "
               "same");
      if (part.refusal.empty() && proof.verdict != FileProof::Verdict::proven && !layout.strange.empty()) {
        part.strange = std::move(layout.strange);
        part.proof +=
            fmt::format(", but for {} mappings that are no part of it as it is loaded, the first at {:#x}",
                        part.strange.size(), part.strange.front());
      }
    } catch (const Error& error) {
      refuse(error.what());
    }
    any = any || part.refusal.empty();
    if (!part.refusal.empty()) reason += (reason.empty() ? "" : "; ") + part.refusal;
  }
  if (!any) return false;
  room_.keep(opened.kept);
  open_files_ += opened.content && opened.content->is_open() ? 1 : 0;
  opened.target_path = file.target_path;
  opened.host_path = candidate.path;
  file = std::move(opened);
  return true;
}

std::size_t FileOverlay::read_some(Address address, std::span<std::byte> out) {
  std::size_t done = core_.read_some(address, out);
  bytes_from_core_ += done;
  while (done < out.size()) {
    const Address at = address + done;
    if (at < address) break; // past the end of the address space
    const std::size_t from_file = read_file(at, out.subspan(done));
    if (from_file == 0) {
      ++missed_reads_;
      break;
    }
    done += from_file;
    const std::size_t from_core = core_.read_some(address + done, out.subspan(done));
    bytes_from_core_ += from_core;
    done += from_core;
  }
  return done;
}

// Reads from one mapping, up to the next byte that the core holds.
std::size_t FileOverlay::read_file(Address address, std::span<std::byte> out) {
  const Mapping* mapping = mapping_at(address);
  if (mapping == nullptr) return 0;
  File& file = resolved(mapping->file);
  const FilePlace place = place_at(*mapping, address);
  ModuleFile* module = file.module_at(place);
  if (module == nullptr) {
    if (place.file_offset() >= ModuleFile::page) ++file.missed_reads;
    return 0;
  }
  const Address end = std::min(mapping->mapping.end, core_.next_readable(address));
  const std::size_t got = module->read(place, out.first(std::min<std::uint64_t>(out.size(), end - address)));
  if (got != 0)
    file.count(address, got);
  else if (place.file_offset() >= ModuleFile::page)
    ++file.missed_reads;
  return got;
}

std::span<const std::byte> FileOverlay::view(Address address, std::size_t size) {
  const LentBytes lent = view_in_parts(address, size);
  const bool there = lent.file == nullptr || lent.file->provide(lent.offset, size);
  return there ? lent.bytes : std::span<const std::byte>();
}

LentBytes FileOverlay::view_in_parts(Address address, std::size_t size) {
  if (const auto lent = core_.view(address, size); !lent.empty() || size == 0) return {.bytes = lent};
  const Mapping* mapping = mapping_at(address);
  if (mapping == nullptr || size > mapping->mapping.end - address) return {};
  if (core_.next_readable(address) - address < size) return {};
  File& file = resolved(mapping->file);
  const FilePlace place = place_at(*mapping, address);
  ModuleFile* module = file.module_at(place);
  if (module == nullptr) return {};
  const LentBytes lent = module->lend(place, size);
  file.lent_bytes += lent.bytes.size();
  return lent;
}

std::string FileOverlay::elf_file_at(Address address) {
  const Mapping* mapping = mapping_at(address);
  if (mapping == nullptr) return {};
  const File& file = resolved(mapping->file);
  return file.elf && file.parts.front().refusal.empty() ? file.host_path : std::string();
}

std::vector<FileOverlay::FileUse> FileOverlay::files() const {
  std::vector<FileUse> uses;
  for (const auto& file : files_) {
    if (file == nullptr) continue;
    FileUse use{.target_path = file->target_path,
                .host_path = file->host_path,
                .proof = {},
                .refusal = file->refusal,
                .bytes = file->bytes,
                .pages = file->pages.size(),
                .lent_bytes = file->lent_bytes,
                .missed_reads = file->missed_reads};
    for (const File::Part& part : file->parts) {
      if (!part.proof.empty()) use.proof += (use.proof.empty() ? "" : "; ") + part.proof;
      if (!part.refusal.empty()) use.refusal += (use.refusal.empty() ? "" : "; ") + part.refusal;
    }
    uses.push_back(std::move(use));
  }
  return uses;
}

ModuleList list_modules(const ElfCore& core, FileOverlay& overlay) {
  MemoryReader& memory = overlay;
  ModuleList list = list_modules(core, memory);
  if (!core.file_mappings().empty()) return list;
  overlay.add_modules(list.modules);
  return list_modules(core, memory);
}

} // namespace clr
