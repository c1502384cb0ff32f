#include "core/execution/execution_manager.h"

#include "core/execution/body_table.h"
#include "core/execution/code_heap.h"
#include "core/execution/code_pointer.h"
#include "core/execution/gc_info.h"
#include "core/execution/precode.h"
#include "core/execution/range_section_map.h"
#include "core/execution/ready_to_run.h"
#include "core/execution/stub_kind.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

namespace clr {
namespace {

// Funclets and fragments of one method; a table with more is corrupt.
constexpr std::uint32_t max_unwind_infos = 1 << 20;

NibbleMapVersion nibble_map_version(const Target& target) {
  const auto version = target.contract_version("ExecutionManager");
  if (!version)
    throw Error(ErrorKind::unsupported_contract, "the runtime publishes no contract ExecutionManager");
  switch (*version) {
  case 1:
    return NibbleMapVersion::linear;
  case 2:
    return NibbleMapVersion::constant_time;
  default:
    throw Error(ErrorKind::unsupported_contract,
                fmt::format("contract ExecutionManager version {} is not supported", *version));
  }
}

Miss miss(MissReason reason, std::string text) {
  return {.reason = reason, .text = std::move(text)};
}

} // namespace

struct ExecutionManager::Impl {
  explicit Impl(const Target& t)
      : target(t), map(t), heaps(t, nibble_map_version(t)), functions(t), precodes(t) {}

  CodeLookup find_jitted(const RangeSection& section, Address pc);
  CodeLookup find_r2r(const RangeSection& section, Address pc);
  Miss find_stub(const RangeSection& section, Address pc);
  // The function that begins the method that function `index` (hot) is part of, and its MethodDesc or 0.
  std::pair<std::uint32_t, Address> method_of(const RangeSection& section, const ReadyToRunImage& image,
                                              std::uint32_t index);
  MethodRegions r2r_regions(const ReadyToRunImage& image, std::uint32_t method_index);
  ReadyToRunImage& image_of(const RangeSection& section);
  const CodePointers& pointers();
  std::uint64_t code_length(Address header);
  // Index of the unwind entry of a jitted body that covers its ip, with the table's address.
  struct UnwindEntry {
    Address table = 0;
    std::uint32_t index = 0;
  };
  std::optional<UnwindEntry> jitted_unwind(const CodeBlock& block);
  void enumerate();

  const Target& target;
  RangeSectionMap map;
  CodeHeaps heaps;
  RuntimeFunctions functions;
  Precodes precodes;
  std::optional<CodePointers> code_pointers;
  std::unordered_map<Address, std::unique_ptr<ReadyToRunImage>> images; // by section
  R2REntries r2r_entries;

  BodyTable bodies;
  std::unordered_map<Address, MethodRegions> regions; // by start
  bool enumerated = false;
  std::vector<RangeSection> sections;
  std::vector<EnumerationHole> holes;
};

const CodePointers& ExecutionManager::Impl::pointers() {
  if (!code_pointers) code_pointers = read_code_pointers(target);
  return *code_pointers;
}

ReadyToRunImage& ExecutionManager::Impl::image_of(const RangeSection& section) {
  auto& image = images[section.address];
  if (!image) image = std::make_unique<ReadyToRunImage>(target, functions, section);
  return *image;
}

std::uint64_t ExecutionManager::Impl::code_length(Address header) {
  const Address gc_info = target.read_pointer(target.field_address(header, "RealCodeHeader", "GCInfo"));
  return read_code_length(target, gc_info,
                          static_cast<unsigned>(target.find_global("GCInfoVersion").value_or(4)));
}

CodeLookup ExecutionManager::Impl::find_jitted(const RangeSection& section, Address pc) {
  const auto found = heaps.block_at(section, pc);
  if (!found) return miss(MissReason::no_method, "in a code heap, before its first method");
  if (found->stub) {
    Miss result = miss(MissReason::stub, std::string(to_string(*found->stub)));
    result.stub = found->stub;
    result.block_start = found->start;
    return result;
  }
  CodeBlock block{
      .ip = pc,
      .start = found->start,
      .method_desc = target.read_pointer(target.field_address(found->header, "RealCodeHeader", "MethodDesc")),
      .kind = (section.flags & RangeSection::interpreter) != 0 ? CodeKind::interpreted : CodeKind::jitted,
      .section = section,
      .code_header = found->header};
  const std::uint64_t length = code_length(found->header);
  if (pc - found->start >= length) {
    Miss result = miss(MissReason::gap, fmt::format("in a code heap, {} bytes behind the end of a method",
                                                    pc - found->start - length));
    result.method_desc = block.method_desc;
    result.block_start = found->start;
    return result;
  }
  if (block.method_desc == 0) throw_corrupt(found->header, "a code header without a method");
  bodies.add(block.start, block.start + length, block);
  regions.emplace(block.start, MethodRegions{.hot_start = block.start, .hot_size = length});
  return block;
}

std::pair<std::uint32_t, Address> ExecutionManager::Impl::method_of(const RangeSection& section,
                                                                    const ReadyToRunImage& image,
                                                                    std::uint32_t index) {
  if (const auto method = image.method_at(index)) return {index, *method};
  // Not registered: a funclet, or a method that the runtime never prepared. The image's own table of entry
  // points tells which; going back to a registered method, as the runtime does for code that runs, would name
  // a stranger.
  if (r2r_entries)
    if (const std::vector<std::uint32_t>* entries = r2r_entries(section)) {
      const auto after = std::ranges::upper_bound(*entries, index);
      if (after != entries->begin()) {
        const std::uint32_t entry = *(after - 1);
        return {entry, image.method_at(entry).value_or(0)};
      }
    }
  for (std::uint32_t i = index; i-- > 0;)
    if (const auto method = image.method_at(i)) return {i, *method};
  return {index, 0};
}

MethodRegions ExecutionManager::Impl::r2r_regions(const ReadyToRunImage& image, std::uint32_t method_index) {
  MethodRegions result{.hot_start = image.start_of(method_index)};
  result.hot_size = read_code_length(target, image.gc_info_of(method_index), image.gc_info_version());
  if (const auto cold = image.hot_cold().cold_range(method_index)) {
    result.cold_start = image.start_of(cold->first);
    result.cold_size = image.start_of(cold->last) + image.length_of(cold->last) - result.cold_start;
    if (result.cold_size > result.hot_size)
      throw_corrupt(result.cold_start, "a cold part larger than its method");
    result.hot_size -= result.cold_size;
  }
  return result;
}

CodeLookup ExecutionManager::Impl::find_r2r(const RangeSection& section, Address pc) {
  ReadyToRunImage& image = image_of(section);
  const std::uint64_t rva = pc - section.begin;
  if (image.is_thunk(rva)) {
    Miss result = miss(MissReason::thunk, "delay-load method call thunk of a ReadyToRun image");
    result.stub = StubKind::method_call_thunk;
    return result;
  }
  const auto raw = image.function_at(rva);
  if (!raw) return miss(MissReason::no_method, "in a ReadyToRun image, but in none of its functions");
  const std::uint32_t hot = image.hot_cold().hot_index(*raw);
  const auto [method_index, method] = method_of(section, image, hot);
  const CodeBlock block{.ip = pc,
                        .start = image.start_of(method_index),
                        .method_desc = method,
                        .kind = CodeKind::ready_to_run,
                        .section = section,
                        .function_index = *raw,
                        .method_index = method_index};
  const Address begin = image.start_of(*raw);
  bodies.add(begin, begin + image.length_of(*raw), block);
  return block;
}

Miss ExecutionManager::Impl::find_stub(const RangeSection& section, Address pc) {
  StubKind kind = StubKind::unknown;
  if (section.range_list != 0 && target.find_offset("CodeRangeMapRangeList", "RangeListType"))
    kind = stub_kind_of(target, target.read_u32(target.field_address(
                                    section.range_list, "CodeRangeMapRangeList", "RangeListType")));
  Miss result = miss(MissReason::stub, std::string(to_string(kind)));
  result.stub = kind;
  if (kind != StubKind::stub_precode && kind != StubKind::fixup_precode && kind != StubKind::unknown)
    return result;
  try {
    const Precodes::Precode precode = precodes.containing(pc);
    if (precode.kind == PrecodeKind::invalid) return result;
    result.block_start = precode.entry;
    if (!precode.method_desc) return result;
    result.reason = MissReason::precode;
    result.text = to_string(precode.kind);
    result.method_desc = precode.method_desc;
  } catch (const Error& error) {
    // Which precode it is stays unknown; that it is one does not.
    result.text += fmt::format(" ({})", error.what());
  }
  return result;
}

std::optional<ExecutionManager::Impl::UnwindEntry>
ExecutionManager::Impl::jitted_unwind(const CodeBlock& block) {
  const std::uint32_t count =
      target.read_u32(target.field_address(block.code_header, "RealCodeHeader", "NumUnwindInfos"));
  if (count == 0) return std::nullopt;
  if (count > max_unwind_infos)
    throw_corrupt(block.code_header, fmt::format("a method with {} unwind entries", count));
  const Address table = target.field_address(block.code_header, "RealCodeHeader", "UnwindInfos");
  const auto rva = static_cast<std::uint32_t>(block.ip - block.section.begin);
  const auto index = functions.find(table, count, rva);
  if (!index) return std::nullopt;
  return UnwindEntry{.table = table, .index = *index};
}

void ExecutionManager::Impl::enumerate() {
  if (enumerated) return;
  map.for_each([&](const RangeSection& section) { sections.push_back(section); },
               [&](Address at, const std::string& what) { holes.push_back({.address = at, .what = what}); });
  std::ranges::sort(sections, {}, &RangeSection::begin);
  enumerated = true;
}

ExecutionManager::ExecutionManager(const Target& target) : impl_(std::make_unique<Impl>(target)) {}

ExecutionManager::~ExecutionManager() = default;

const Target& ExecutionManager::target() const {
  return impl_->target;
}

void ExecutionManager::set_r2r_entries(R2REntries entries) {
  impl_->r2r_entries = std::move(entries);
}

CodeLookup ExecutionManager::find(Address ip) {
  Impl& impl = *impl_;
  const Address pc = impl.pointers().address(impl.target.platform().wrap(ip));
  if (const CodeBlock* known = impl.bodies.find(pc)) {
    CodeBlock block = *known;
    block.ip = pc;
    return block;
  }
  const auto section = impl.map.find(pc);
  if (!section) return miss(MissReason::outside, "outside every range of managed code");
  if (section->being_deleted) return miss(MissReason::being_deleted, "in a code range that is being deleted");
  if (section->r2r_module != 0) return impl.find_r2r(*section, pc);
  if ((section->flags & RangeSection::range_list_flag) != 0) return impl.find_stub(*section, pc);
  if ((section->flags & RangeSection::code_heap) != 0) return impl.find_jitted(*section, pc);
  return miss(MissReason::no_method, "in a code range of unknown kind");
}

MethodRegions ExecutionManager::regions(const CodeBlock& block) {
  Impl& impl = *impl_;
  if (const auto known = impl.regions.find(block.start); known != impl.regions.end()) return known->second;
  const MethodRegions regions =
      block.kind == CodeKind::ready_to_run
          ? impl.r2r_regions(impl.image_of(block.section), block.method_index)
          : MethodRegions{.hot_start = block.start, .hot_size = impl.code_length(block.code_header)};
  impl.regions.emplace(block.start, regions);
  return regions;
}

std::uint64_t ExecutionManager::relative_offset(const CodeBlock& block) {
  if (block.kind == CodeKind::ready_to_run) {
    const MethodRegions regions = this->regions(block);
    if (regions.cold_size != 0 && block.ip >= regions.cold_start)
      return regions.hot_size + (block.ip - regions.cold_start);
  }
  return block.ip - block.start;
}

Address ExecutionManager::unwind_info(const CodeBlock& block) {
  switch (block.kind) {
  case CodeKind::interpreted:
    return 0;
  case CodeKind::ready_to_run:
    return impl_->image_of(block.section).runtime_function(block.function_index);
  case CodeKind::jitted:
    break;
  }
  const auto entry = impl_->jitted_unwind(block);
  return entry ? impl_->functions.entry(entry->table, entry->index) : 0;
}

Address ExecutionManager::unwind_info_base(const CodeBlock& block) {
  return block.section.begin;
}

Address ExecutionManager::funclet_start(const CodeBlock& block) {
  Impl& impl = *impl_;
  const auto& pointers = impl.pointers();
  switch (block.kind) {
  case CodeKind::interpreted:
    return block.start;
  case CodeKind::ready_to_run: {
    ReadyToRunImage& image = impl.image_of(block.section);
    return image.start_of(image.first_fragment(block.function_index));
  }
  case CodeKind::jitted:
    break;
  }
  auto entry = impl.jitted_unwind(block);
  if (!entry) throw_corrupt(block.code_header, "a method without unwind data");
  while (entry->index > 0 && impl.functions.is_fragment(entry->table, entry->index, block.section.begin))
    --entry->index;
  return pointers.address(block.section.begin + impl.functions.begin(entry->table, entry->index));
}

bool ExecutionManager::is_funclet(const CodeBlock& block) {
  if (block.kind == CodeKind::interpreted) return false;
  const Address start = funclet_start(block);
  if (start == block.start) return false;
  // The main body's cold part is no funclet.
  if (block.kind == CodeKind::ready_to_run) {
    const MethodRegions regions = this->regions(block);
    if (regions.cold_size != 0 && start == regions.cold_start) return false;
  }
  return true;
}

DebugInfoLocation ExecutionManager::debug_info(const CodeBlock& block) {
  Impl& impl = *impl_;
  const Target& target = impl.target;
  if (block.kind == CodeKind::ready_to_run)
    return {.address = impl.image_of(block.section).debug_info_of(block.method_index),
            .has_flag_byte = false};
  DebugInfoLocation location{
      .address = target.read_pointer(target.field_address(block.code_header, "RealCodeHeader", "DebugInfo"))};
  if (block.kind == CodeKind::interpreted) return location;
  // On-stack replacement is compiled in on these CPUs; a later descriptor says so itself.
  const bool osr =
      target.find_global("FeatureOnStackReplacement")
          .value_or(target.platform().cpu == Cpu::x64 || target.platform().cpu == Cpu::arm64) != 0;
  location.has_flag_byte = osr;
  if (!osr && target.find_offset("EEJitManager", "StoreRichDebugInfo"))
    location.has_flag_byte = target.read_u8(target.field_address(block.section.jit_manager, "EEJitManager",
                                                                 "StoreRichDebugInfo")) != 0;
  return location;
}

GcInfoLocation ExecutionManager::gc_info(const CodeBlock& block) {
  Impl& impl = *impl_;
  const Target& target = impl.target;
  if (block.kind == CodeKind::ready_to_run) {
    const ReadyToRunImage& image = impl.image_of(block.section);
    return {.address = image.gc_info_of(block.method_index), .version = image.gc_info_version()};
  }
  return {.address = target.read_pointer(target.field_address(block.code_header, "RealCodeHeader", "GCInfo")),
          .version = static_cast<unsigned>(target.find_global("GCInfoVersion").value_or(4))};
}

unsigned ExecutionManager::jit_type(const CodeBlock& block) const {
  switch (block.kind) {
  case CodeKind::jitted:
    return 1;
  case CodeKind::ready_to_run:
    return 2;
  case CodeKind::interpreted:
    return 3;
  }
  return 0;
}

std::optional<Address> ExecutionManager::method_desc_of_entry_point(Address entry) {
  Impl& impl = *impl_;
  const Target& target = impl.target;
  if (target.find_global("FeaturePortableEntrypoints").value_or(0) != 0) {
    const Address method =
        target.read_pointer(target.field_address(entry, "PortableEntryPoint", "MethodDesc"));
    return method != 0 ? std::optional(method) : std::nullopt;
  }
  const Address pc = impl.pointers().address(target.platform().wrap(entry));
  const auto section = impl.map.find(pc);
  if (!section || section->being_deleted) return std::nullopt;
  if ((section->flags & RangeSection::range_list_flag) != 0) return impl.precodes.at_entry(entry).method_desc;
  const CodeLookup found = find(entry);
  const auto* block = std::get_if<CodeBlock>(&found);
  return block != nullptr && block->method_desc != 0 ? std::optional(block->method_desc) : std::nullopt;
}

const std::vector<RangeSection>& ExecutionManager::sections() {
  impl_->enumerate();
  return impl_->sections;
}

const RangeSection* ExecutionManager::section_at(Address address) {
  const auto& all = sections();
  auto after = std::ranges::upper_bound(all, address, {}, &RangeSection::begin);
  if (after == all.begin()) return nullptr;
  --after;
  return address < after->end ? &*after : nullptr;
}

void ExecutionManager::for_each_jitted(const std::function<bool(const JittedBody&)>& visit) {
  Impl& impl = *impl_;
  const auto hole = [&](Address at, const std::string& what) {
    impl.holes.push_back({.address = at, .what = what});
  };
  for (const RangeSection& section : sections()) {
    if ((section.flags & RangeSection::code_heap) == 0 || section.r2r_module != 0 || section.being_deleted)
      continue;
    bool go_on = true;
    try {
      go_on = impl.heaps.for_each_block(
          section,
          [&](const HeapBlock& block) {
            if (block.stub) return true;
            return visit({.start = block.start,
                          .method_desc = impl.target.read_pointer(
                              impl.target.field_address(block.header, "RealCodeHeader", "MethodDesc")),
                          .code_header = block.header,
                          .section = section});
          },
          hole);
    } catch (const Error& error) {
      hole(error.address().value_or(section.begin), error.what());
    }
    if (!go_on) return;
  }
}

const std::vector<EnumerationHole>& ExecutionManager::holes() const {
  return impl_->holes;
}

ExecutionManager::R2RImage ExecutionManager::r2r_image(const RangeSection& section) {
  const ReadyToRunImage& image = impl_->image_of(section);
  return {.module = image.module(),
          .info = image.info(),
          .composite_info = image.composite_info(),
          .base = image.base(),
          .header = image.header(),
          .functions = image.functions(),
          .function_count = image.function_count()};
}

CodeBlock ExecutionManager::r2r_block(const RangeSection& section, std::uint32_t index) {
  const ReadyToRunImage& image = impl_->image_of(section);
  if (index >= image.function_count())
    throw Error(ErrorKind::invalid_argument,
                fmt::format("runtime function {} of {}", index, image.function_count()));
  const Address start = image.start_of(index);
  return {.ip = start,
          .start = start,
          .method_desc = image.method_at(index).value_or(0),
          .kind = CodeKind::ready_to_run,
          .section = section,
          .function_index = index,
          .method_index = index};
}

} // namespace clr
