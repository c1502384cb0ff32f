#include "core/memory/module_file.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>

namespace clr {
namespace {

// `size` rounded up to whole pages.
std::uint64_t pages(std::uint64_t size) {
  return (size + ModuleFile::page - 1) / ModuleFile::page * ModuleFile::page;
}

// Words of a core in the order of their addresses, read some pages at a time: an image may have 10,000 of
// them.
class WordWindow {
public:
  explicit WordWindow(ElfCore& core) : core_(&core) {}

  // The bytes of the word; empty when the core does not hold them all.
  std::span<const std::byte> word(Address address, std::size_t size) {
    if (!holds(address, size)) {
      begin_ = address / ModuleFile::page * ModuleFile::page;
      held_ = core_->read_some(begin_, bytes_);
    }
    return holds(address, size) ? std::span(bytes_).subspan(address - begin_, size) : std::span<std::byte>();
  }

private:
  bool holds(Address address, std::size_t size) const {
    return address >= begin_ && address - begin_ < held_ && size <= held_ - (address - begin_);
  }

  ElfCore* core_;
  Address begin_ = 0;
  std::size_t held_ = 0;
  std::array<std::byte, 4 * ModuleFile::page> bytes_;
};

} // namespace

PeModuleFile::PeModuleFile(PartialFile& file, const SingleFileBundle* bundle) : file_(file) {
  // Files of a bundle may share their bytes.
  std::uint64_t relocation_bytes = PeLayout::max_relocation_bytes;
  const auto add = [&](std::uint64_t offset, std::uint64_t size) {
    if (auto layout = PeLayout::parse(file, offset, size, relocation_bytes))
      images_.push_back({.offset = offset, .size = size, .layout = std::move(*layout)});
  };
  if (bundle == nullptr) {
    add(0, file.size());
    return;
  }
  for (const SingleFileBundle::Entry& entry : bundle->entries)
    if (!entry.compressed) add(entry.offset, entry.size);
}

const PeModuleFile::Image* PeModuleFile::image_at(std::uint64_t file_offset) const {
  auto after =
      std::upper_bound(images_.begin(), images_.end(), file_offset,
                       [](std::uint64_t offset, const Image& image) { return offset < image.offset; });
  if (after == images_.begin()) return nullptr;
  --after;
  return file_offset - after->offset < after->size ? &*after : nullptr;
}

std::uint64_t PeModuleFile::kept_bytes() const {
  std::uint64_t bytes = 0;
  for (const Image& image : images_)
    bytes += sizeof image + image.layout.sections.size() * sizeof(PeSection) +
             image.layout.relocations.size() * sizeof(PeLayout::Relocation) +
             image.layout.ready_to_run_tables.size() * sizeof(PeLayout::Range);
  return bytes;
}

std::pair<std::size_t, std::size_t> PeModuleFile::images_in(std::uint64_t begin, std::uint64_t end) const {
  auto first = std::ranges::lower_bound(images_, begin, {}, &Image::offset);
  const auto last = std::ranges::lower_bound(first, images_.end(), end, {}, &Image::offset);
  if (first != images_.begin() && begin - std::prev(first)->offset < std::prev(first)->size) --first;
  return {first - images_.begin(), last - images_.begin()};
}

std::span<PeModuleFile::Image> PeModuleFile::images_of(const FileMapping& mapping) {
  const auto [first, last] =
      images_in(mapping.file_offset, mapping.file_offset + (mapping.end - mapping.begin));
  return std::span(images_).subspan(first, last - first);
}

// A core may say that a file is mapped a million times, and a bundle that it has thousands of images.
void PeModuleFile::look(std::uint64_t count) const {
  if (count > max_looks - looks_)
    throw Error(ErrorKind::corrupt,
                fmt::format("it has more than {} parts in all of its mappings", max_looks));
  looks_ += count;
}

PeModuleFile::Mapped PeModuleFile::how_mapped(const FilePlace& place, const Image& image) const {
  const FileMapping& mapping = *place.mapping;
  const std::uint64_t size = mapping.end - mapping.begin;
  if (mapping.file_offset > image.offset || mapping.file_offset + size < image.offset + image.size)
    return Mapped::laid_out;
  // A section of a small file may fill all of its pages.
  const bool may_be_section =
      std::any_of(image.layout.sections.begin(), image.layout.sections.end(), [&](const PeSection& section) {
        const std::uint64_t begin = image.offset + section.raw_offset;
        return mapping.file_offset == begin / page * page &&
               size <= pages(begin + section.raw_size - mapping.file_offset);
      });
  return may_be_section ? Mapped::unknown : Mapped::flat;
}

PeModuleFile::Run PeModuleFile::run_at(const FilePlace& place) const {
  const std::uint64_t at = place.file_offset();
  const Image* image = image_at(at);
  if (image == nullptr) return {};
  const std::uint64_t offset = at - image->offset;
  const Mapped how = how_mapped(place, *image);
  if (how == Mapped::flat) {
    if (place.mapped_writable) return {};
    return {at, image->size - offset, image, 0, Base::irrelevant};
  }
  if (const PeSection* section = image->layout.section_of_offset(offset)) {
    const auto into = static_cast<std::uint32_t>(offset - section->raw_offset);
    const std::uint32_t image_address = section->rva + into;
    std::uint32_t size = section->raw_size - into;
    if (section->writable || place.mapped_writable) {
      size = std::min(size, image->layout.constant_end(image_address) - image_address);
      if (size == 0) return {};
    }
    const bool is_laid_out =
        how == Mapped::laid_out && header_places_.contains({image->offset, place.address - image_address});
    return {at, size, image, image_address, is_laid_out ? Base::moves_words : Base::unknown};
  }
  if (place.mapped_writable) return {};
  const std::uint64_t headers = std::min<std::uint64_t>(image->layout.header_size, image->size);
  if (offset >= headers) return {};
  return {at, headers - offset, image, static_cast<std::uint32_t>(offset), Base::irrelevant};
}

std::size_t PeModuleFile::read(const FilePlace& place, std::span<std::byte> out) {
  const Run run = run_at(place);
  const std::size_t size = static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), run.size));
  const auto bytes = file_.bytes(run.offset, size);
  if (bytes.empty()) return 0;
  std::memcpy(out.data(), bytes.data(), size);
  if (run.base == Base::irrelevant) return size;
  const PeLayout& layout = run.image->layout;
  const Address base = place.address - run.image_address;
  for (auto word = layout.first_relocation(run.image_address);
       word != layout.relocations.end() &&
       (word->address < run.image_address || word->address - run.image_address < size);
       ++word) {
    // A word that begins before the place is not complete in the run.
    if (word->address < run.image_address) return 0;
    const std::size_t at = word->address - run.image_address;
    if (run.base == Base::unknown || word->size > size - at) return at;
    const auto raw = std::span(out).subspan(at, word->size);
    std::uint64_t value = word->size == 8 ? load<std::uint64_t>(raw, ByteOrder::little)
                                          : load<std::uint32_t>(raw, ByteOrder::little);
    value += base - layout.preferred_base;
    for (std::size_t i = 0; i < word->size; ++i) raw[i] = static_cast<std::byte>(value >> (8 * i));
  }
  return size;
}

LentBytes PeModuleFile::lend(const FilePlace& place, std::uint64_t size) {
  const Run run = run_at(place);
  if (size > run.size) return {};
  if (run.base != Base::irrelevant) {
    const PeLayout& layout = run.image->layout;
    const auto word = layout.first_relocation(run.image_address);
    if (word != layout.relocations.end() &&
        (word->address < run.image_address || word->address - run.image_address < size))
      return {};
  }
  return file_.lend(run.offset, size);
}

// Compares the words of writable sections that relocation made with those that the core holds.
PeModuleFile::Words PeModuleFile::compare_words(ElfCore& core, const FilePlace& place) {
  Words words;
  WordWindow window(core);
  const std::uint64_t begin = place.mapping->file_offset;
  const std::uint64_t end = begin + (place.mapping->end - place.mapping->begin);
  for (Image& image : images_of(*place.mapping)) {
    look(1 + image.layout.sections.size());
    if (how_mapped(place, image) != Mapped::laid_out) continue;
    for (const PeSection& section : image.layout.sections) {
      if (!section.writable) continue;
      const std::uint64_t in_target = place.mapping->begin + (image.offset + section.raw_offset - begin);
      const std::uint64_t loaded = in_target - section.rva;
      if (!header_places_.contains({image.offset, loaded})) continue;
      if (image.compared_sections == max_compared) break;
      ++image.compared_sections;
      // Some of the section in the file, for the words that follow each other.
      std::span<const std::byte> in_file;
      std::uint64_t held_from = 0;
      const std::uint64_t moved = loaded - image.layout.preferred_base;
      for (auto word = image.layout.first_relocation(section.rva);
           word != image.layout.relocations.end() && word->address - section.rva < section.raw_size; ++word) {
        const std::uint64_t into = word->address - section.rva;
        const std::uint64_t offset = image.offset + section.raw_offset + into;
        if (into + word->size > section.raw_size || offset < begin || offset + word->size > end) continue;
        const Address address = loaded + word->address;
        const auto there = window.word(address, word->size);
        if (there.empty()) continue;
        if (into < held_from || into + word->size > held_from + in_file.size()) {
          held_from = into;
          in_file = file_.bytes(offset, std::min<std::uint64_t>(page, section.raw_size - into));
          if (in_file.empty()) break; // the file was cut or changed
        }
        const auto raw = in_file.subspan(static_cast<std::size_t>(into - held_from), word->size);
        ++words.all;
        if (word->size == 8)
          words.equal += load<std::uint64_t>(there, ByteOrder::little) ==
                         load<std::uint64_t>(raw, ByteOrder::little) + moved;
        else
          words.equal += load<std::uint32_t>(there, ByteOrder::little) ==
                         static_cast<std::uint32_t>(load<std::uint32_t>(raw, ByteOrder::little) + moved);
      }
    }
  }
  return words;
}

FileProof PeModuleFile::identify(ElfCore& core, const std::vector<FilePlace>& places) {
  for (const FilePlace& place : places)
    for (const Image& image : images_of(*place.mapping)) {
      look(1);
      const FileMapping& mapping = *place.mapping;
      if (image.offset >= mapping.file_offset)
        header_places_.emplace(image.offset, mapping.begin + (image.offset - mapping.file_offset));
    }
  bool same_header = false;
  for (const FilePlace& place : places) {
    const std::uint64_t begin = place.mapping->file_offset;
    const std::uint64_t end = begin + (place.mapping->end - place.mapping->begin);
    for (Image& image : images_of(*place.mapping)) {
      const std::uint64_t size = std::min<std::uint64_t>(image.size, image.layout.header_size);
      if (image.offset < begin || image.offset + size > end || image.compared_headers == max_compared)
        continue;
      look(1 + size / 64);
      std::vector<std::byte> header(size);
      if (core.read_some(place.mapping->begin + (image.offset - begin), header) < size) continue;
      ++image.compared_headers;
      if (!std::ranges::equal(header, file_.bytes(image.offset, size)))
        return {FileProof::Verdict::contradicted, "another PE header"};
      same_header = true;
    }
  }
  if (same_header) return {FileProof::Verdict::proven, "same PE header"};
  Words words;
  for (const FilePlace& place : places) {
    const Words some = compare_words(core, place);
    words.equal += some.equal;
    words.all += some.all;
  }
  const std::string text =
      fmt::format("{} of {} relocated words of its data are as in the file", words.equal, words.all);
  const bool many = words.equal >= min_equal_words && words.equal >= words.all / min_equal_part;
  const bool most = words.equal >= min_mostly_equal_words && words.equal >= words.all - words.all / 4;
  if (many || most) return {FileProof::Verdict::proven, text};
  if (words.all >= min_equal_words && words.equal < words.all / min_equal_part)
    return {FileProof::Verdict::contradicted, "only " + text};
  return {};
}

PeModuleFile::Layout PeModuleFile::layout(const std::vector<FilePlace>& places) const {
  // Where a part of an image begins, and whether `size` bytes from there are such a part.
  enum class Fit { inner, wrong, right };
  const auto fit_of = [&](std::uint64_t begin, std::uint64_t size) {
    Fit best = Fit::inner;
    const auto [first, last] = images_in(begin, begin + page);
    for (const Image& image : std::span(images_).subspan(first, last - first)) {
      look(1 + image.layout.sections.size());
      const auto try_part = [&](std::uint64_t offset, bool right) {
        if (begin == offset / page * page) best = std::max(best, right ? Fit::right : Fit::wrong);
      };
      // A mapping of the whole image has its size, rounded to pages; a mapping of a part is no longer than
      // the part.
      try_part(image.offset, size == pages(image.offset + image.size - begin) ||
                                 size <= pages(image.offset + image.layout.header_size - begin));
      for (const PeSection& section : image.layout.sections) {
        const std::uint64_t offset = image.offset + section.raw_offset;
        try_part(offset, size <= pages(offset + section.raw_size - begin));
      }
    }
    return best;
  };
  const auto size_of = [&](std::size_t i) { return places[i].mapping->end - places[i].mapping->begin; };
  Layout found;
  for (std::size_t i = 0, next = 0; i < places.size(); i = next) {
    // A page whose protection was changed splits a mapping in three, which together are one part.
    const FileMapping& first = *places[i].mapping;
    next = i + 1;
    Fit fit = fit_of(first.file_offset, first.end - first.begin);
    for (std::size_t to = next; fit == Fit::wrong && to < places.size(); ++to) {
      const FileMapping& before = *places[to - 1].mapping;
      const FileMapping& piece = *places[to].mapping;
      if (piece.begin != before.end || piece.file_offset - before.file_offset != before.end - before.begin)
        break;
      if (fit_of(first.file_offset, piece.end - first.begin) != Fit::right) continue;
      fit = Fit::right;
      next = to + 1;
      for (std::size_t k = i + 1; k < to; ++k)
        if (size_of(k) < size_of(k - 1) && size_of(k) < size_of(k + 1))
          found.strange.push_back(places[k].mapping->begin);
    }
    if (fit == Fit::wrong) return {};
    if (fit == Fit::inner) found.strange.push_back(first.begin);
    found.fits = found.fits || fit == Fit::right;
  }
  return found;
}

} // namespace clr
