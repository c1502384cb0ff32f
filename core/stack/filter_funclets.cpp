#include "core/stack/filter_funclets.h"

#include "core/types/r2r_format.h"

#include <fmt/format.h>

#include <algorithm>

namespace clr {
namespace {

constexpr std::uint32_t filter_flag = 1;
// Clauses of 64-bit code; those of ReadyToRun images hold no pointer. The last word is the filter's offset.
struct ClauseForm {
  std::uint32_t size, filter_at;
};
constexpr ClauseForm jitted_form{32, 24}, r2r_form{24, 20};
constexpr Address jitted_clauses_at = 8; // behind the section's header; the count is the word before it
constexpr std::uint32_t r2r_entry_size = 8;

} // namespace

std::vector<std::uint32_t> FilterFunclets::filters_in(Address clauses, std::uint64_t count, CodeKind kind) {
  if (count > max_clauses) throw_corrupt(clauses, fmt::format("a method with {} exception clauses", count));
  if (count > max_all_clauses - clauses_)
    throw_corrupt(clauses, fmt::format("methods with more than {} exception clauses", max_all_clauses));
  clauses_ += count;
  const Target& target = code_->target();
  const ClauseForm& form = kind == CodeKind::ready_to_run ? r2r_form : jitted_form;
  std::vector<std::byte> raw(static_cast<std::size_t>(count) * form.size);
  target.read_bytes(clauses, raw);
  const ByteOrder byte_order = target.platform().byte_order;
  std::vector<std::uint32_t> filters;
  for (std::size_t at = 0; at < raw.size(); at += form.size) {
    const std::span<const std::byte> clause = std::span(raw).subspan(at);
    if ((load<std::uint32_t>(clause, byte_order) & filter_flag) != 0)
      filters.push_back(load<std::uint32_t>(clause.subspan(form.filter_at), byte_order));
  }
  std::ranges::sort(filters);
  return filters;
}

std::vector<std::uint32_t> FilterFunclets::jitted_filters(const CodeBlock& block) {
  const Target& target = code_->target();
  if (block.code_header == 0)
    throw Error(ErrorKind::unsupported_contract, "the exception clauses of jitted code are not known");
  const Address clauses = target.read_pointer(
      target.platform().wrap(target.field_address(block.code_header, "RealCodeHeader", "EHInfo")));
  if (clauses == 0) return {};
  const std::uint64_t count = target.read_pointer(clauses - target.pointer_size());
  return filters_in(clauses + jitted_clauses_at, count, block.kind);
}

std::vector<std::uint32_t> FilterFunclets::r2r_filters(const CodeBlock& block) {
  const Target& target = code_->target();
  const ExecutionManager::R2RImage image = code_->r2r_image(block.section);
  MappedR2RImage bytes(target.memory(), image.base);
  const auto section = read_r2r_header(bytes, static_cast<std::uint32_t>(image.header - image.base))
                           .find(R2RSection::exception_info);
  if (!section) return {};
  const Address table = image.base + section->rva;
  const auto entry = [&](std::uint32_t index, std::uint32_t word) {
    return target.read_u32(table + Address{index} * r2r_entry_size + word);
  };
  // Sorted by the RVA of the method; the last entry only ends the clauses before it.
  const auto rva = static_cast<std::uint32_t>(block.start - image.base);
  std::uint32_t low = 0, high = section->size / r2r_entry_size;
  if (high != 0) --high;
  while (low < high) {
    const std::uint32_t middle = low + (high - low) / 2;
    const std::uint32_t at = entry(middle, 0);
    if (at == rva) {
      const std::uint32_t begin = entry(middle, 4), end = entry(middle + 1, 4);
      if (end < begin) throw_corrupt(table, "exception clauses that end before they begin");
      return filters_in(image.base + begin, (end - begin) / r2r_form.size, block.kind);
    }
    if (at < rva)
      low = middle + 1;
    else
      high = middle;
  }
  return {};
}

std::vector<std::uint32_t> FilterFunclets::filters_of(const CodeBlock& block) {
  return block.kind == CodeKind::ready_to_run ? r2r_filters(block) : jitted_filters(block);
}

bool FilterFunclets::is_filter(const CodeBlock& block) {
  if (!code_->is_funclet(block)) return false;
  auto known = filters_.find(block.start);
  if (known == filters_.end()) {
    std::vector<std::uint32_t> filters = filters_of(block);
    if (filters_.size() >= max_kept_filters || kept_offsets_ >= max_kept_offsets) {
      filters_.clear();
      kept_offsets_ = 0;
    }
    kept_offsets_ += filters.size();
    known = filters_.emplace(block.start, std::move(filters)).first;
  }
  if (known->second.empty()) return false;
  CodeBlock funclet = block;
  const CodeLookup found = code_->find(code_->funclet_start(block));
  if (const auto* at = std::get_if<CodeBlock>(&found)) funclet = *at;
  return std::ranges::binary_search(known->second, code_->relative_offset(funclet));
}

} // namespace clr
