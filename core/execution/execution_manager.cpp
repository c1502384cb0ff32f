#include "core/execution/execution_manager.h"

#include "core/execution/execution_manager_impl.h"

#include <fmt/format.h>

#include <algorithm>

namespace clr {
namespace {

execution::Miss miss(MissReason reason, std::string text) {
  return {.reason = reason, .text = std::move(text)};
}

} // namespace

const CodePointers& ExecutionManager::Impl::pointers() {
  if (!code_pointers) code_pointers = read_code_pointers(target);
  return *code_pointers;
}

bool ExecutionManager::Impl::is_prestub(Address pc) {
  if (!prestub) {
    prestub = 0;
    try {
      if (const auto variable = target.find_global("ThePreStub"))
        prestub = pointers().address(target.read_pointer(*variable));
    } catch (const Error&) {
      // Then the address is only native code.
    }
  }
  return *prestub != 0 && *prestub == pc;
}

ReadyToRunImage& ExecutionManager::Impl::image_of(const RangeSection& section) {
  if (section.r2r_module == 0)
    throw Error(ErrorKind::invalid_argument,
                fmt::format("the range section at {:#x} is no ReadyToRun image", section.address));
  if (!r2r_layout) r2r_layout.emplace(target);
  auto& image = images[section.address];
  if (!image) image = std::make_unique<ReadyToRunImage>(target, functions, *r2r_layout, section);
  return *image;
}

const RangeSection* ExecutionManager::Impl::section_of(Address pc) {
  if (last_met != nullptr && pc >= last_met->begin && pc < last_met->end) return last_met;
  if (const auto after = met.upper_bound(pc); after != met.begin())
    if (const RangeSection& before = std::prev(after)->second; pc < before.end) return last_met = &before;
  const auto section = map.find(pc);
  if (!section) return nullptr;
  if (section->being_deleted) return &deleted.emplace(*section);
  return last_met = &met.insert_or_assign(section->begin, *section).first->second;
}

KnownBody& ExecutionManager::Impl::add_jitted(const RangeSection& section, Address start,
                                              const CodeHeader& header, std::uint64_t length) {
  return bodies.add({.start = start,
                     .method_desc = header.method_desc,
                     .code_header = header.address,
                     .kind = CodeKind::jitted,
                     .one_function = header.unwind_count == 1 && header.first_function.has_value(),
                     .gc_info = header.gc_info,
                     .unwind_table = header.unwind_table,
                     .unwind_count = header.unwind_count,
                     .regions = {.hot_start = start, .hot_size = length}},
                    section);
}

Address ExecutionManager::Impl::interpreted_method(Address header) const {
  const Address method =
      target.read_pointer(target.field_address(header, "InterpreterRealCodeHeader", "MethodDesc"));
  if (method == 0) throw_corrupt(header, "a code header without a method");
  return method;
}

std::uint64_t ExecutionManager::Impl::jitted_length(const RangeSection& section, Address start,
                                                    const CodeHeader& header) {
  const std::uint64_t length = jitted.length(header, section);
  if (length == 0) return length;
  bool overlaps = false;
  try {
    overlaps = heaps.start_at(section, target.platform().wrap(start + length - 1)) != start;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::memory_missing) throw; // a part of the map that is missing denies nothing
  }
  if (overlaps) throw_corrupt(header.address, "a code header whose code would reach into other code");
  return length;
}

CodeLookup ExecutionManager::Impl::find_jitted(const RangeSection& section, Address pc) {
  const CodeHeaps::Found found = heaps.block_at(section, pc);
  if (!found.block) return miss(MissReason::no_method, std::string(found.why_not));
  const HeapBlock& at = *found.block;
  if (at.start > pc) throw_corrupt(section.heap_list, "a nibble map that points forward, of the heap");
  if (at.stub) {
    execution::Miss result = miss(MissReason::stub, std::string(to_string(*at.stub)));
    result.stub = at.stub;
    result.block_start = at.start;
    return result;
  }
  if (at.header == 0)
    return miss(MissReason::no_method, "in a block of a code heap whose header is not written yet");
  if ((section.flags & RangeSection::interpreter) != 0)
    return CodeBlock{.ip = pc,
                     .start = at.start,
                     .method_desc = interpreted_method(at.header),
                     .kind = CodeKind::interpreted,
                     .section = section,
                     .code_header = at.header};
  const CodeHeader header = jitted.read_header_of(at.start, at.header, section);
  if (header.method_desc == 0) throw_corrupt(at.header, "a code header without a method");
  const std::uint64_t length = jitted_length(section, at.start, header);
  if (pc - at.start >= length) {
    execution::Miss result =
        miss(MissReason::gap,
             fmt::format("in a code heap, {} bytes behind the end of a method", pc - at.start - length));
    result.method_desc = header.method_desc;
    result.block_start = at.start;
    return result;
  }
  return add_jitted(section, at.start, header, length).seen_from(pc);
}

KnownBody ExecutionManager::Impl::r2r_body(const RangeSection& section, ReadyToRunImage& image,
                                           std::uint32_t index) {
  return image.body_of(index, [&] { return r2r_entries ? r2r_entries(section) : nullptr; });
}

CodeLookup ExecutionManager::Impl::find_r2r(const RangeSection& section, Address pc) {
  ReadyToRunImage& image = image_of(section);
  const std::uint64_t rva = pc - section.begin;
  if (image.is_thunk(rva)) {
    execution::Miss result = miss(MissReason::thunk, "delay-load method call thunk of a ReadyToRun image");
    result.stub = StubKind::method_call_thunk;
    return result;
  }
  const auto index = image.function_at(rva);
  if (!index) return miss(MissReason::no_method, "in a ReadyToRun image, before its first function");
  // Data behind the code belongs to no function, but the search still returns the last function before it.
  const Address begin = image.start_of(*index);
  if (const std::uint64_t length = image.length_of(*index); pc - begin >= length) {
    execution::Miss result =
        miss(MissReason::gap, fmt::format("in a ReadyToRun image, {} bytes behind the end of a function",
                                          pc - begin - length));
    result.block_start = begin;
    return result;
  }
  KnownBody found = r2r_body(section, image, *index);
  if (!found.contains(pc)) throw_corrupt(begin, "a runtime function outside the method that it is part of,");
  CodeBlock block = bodies.add(std::move(found), section).seen_from(pc);
  block.function_index = *index;
  return block;
}

KnownBody& ExecutionManager::Impl::body_of(const CodeBlock& block) {
  if (KnownBody* latest = bodies.latest();
      latest != nullptr && latest->start == block.start && latest->contains(block.ip))
    return *latest;
  if (KnownBody* known = bodies.find(block.ip); known != nullptr && known->start == block.start)
    return *known;
  if (block.kind == CodeKind::ready_to_run)
    return bodies.add(r2r_body(block.section, image_of(block.section), block.method_index), block.section);
  const CodeHeader header = jitted.read_header_of(block.start, block.code_header, block.section);
  return add_jitted(block.section, block.start, header, jitted_length(block.section, block.start, header));
}

ExecutionManager::ExecutionManager(const Target& target) : impl_(std::make_unique<Impl>(target)) {}

ExecutionManager::~ExecutionManager() = default;

void ExecutionManager::forget() {
  auto fresh = std::make_unique<Impl>(impl_->target);
  fresh->r2r_entries = std::move(impl_->r2r_entries);
  impl_ = std::move(fresh);
}

const Target& ExecutionManager::target() const {
  return impl_->target;
}

void ExecutionManager::set_r2r_entries(R2REntries entries) {
  impl_->r2r_entries = std::move(entries);
  impl_->images.clear(); // they keep what the source before told them
}

CodeLookup ExecutionManager::find(Address ip) {
  Impl& impl = *impl_;
  const Address pc = impl.pointers().address(impl.target.platform().wrap(ip));
  if (const KnownBody* known = impl.bodies.find(pc)) return known->seen_from(pc);
  const RangeSection* section = impl.section_of(pc);
  if (section == nullptr && impl.is_prestub(pc)) {
    execution::Miss result = miss(MissReason::stub, std::string(to_string(StubKind::prestub)));
    result.stub = StubKind::prestub;
    result.block_start = pc;
    return result;
  }
  if (section == nullptr) return miss(MissReason::outside, "outside every range of managed code");
  if (section->being_deleted) return miss(MissReason::being_deleted, "in a code range that is being deleted");
  if (section->r2r_module != 0) return impl.find_r2r(*section, pc);
  if ((section->flags & RangeSection::range_list_flag) != 0) return impl.stub_ranges.at(*section, pc);
  if ((section->flags & RangeSection::code_heap) != 0) return impl.find_jitted(*section, pc);
  return miss(MissReason::no_method, "in a code range of unknown kind");
}

MethodRegions ExecutionManager::regions(const CodeBlock& block) {
  if (block.kind == CodeKind::interpreted) return {.hot_start = block.start};
  return impl_->body_of(block).regions;
}

std::uint64_t ExecutionManager::relative_offset(const CodeBlock& block) {
  const MethodRegions regions = this->regions(block);
  if (regions.cold_size != 0 && block.ip >= regions.cold_start)
    return regions.hot_size + (block.ip - regions.cold_start);
  return block.ip - block.start;
}

DebugInfoLocation ExecutionManager::debug_info(const CodeBlock& block) {
  Impl& impl = *impl_;
  const Target& target = impl.target;
  if (block.kind == CodeKind::ready_to_run)
    return {.address = impl.image_of(block.section).debug_info_of(block.method_index).value_or(0)};
  if (block.kind == CodeKind::interpreted)
    return {.address = target.read_pointer(
                target.field_address(block.code_header, "InterpreterRealCodeHeader", "DebugInfo"))};
  if (!impl.jitted.knows_debug_info())
    throw Error(ErrorKind::unsupported_contract,
                "the runtime's descriptor has no field RealCodeHeader.DebugInfo");
  DebugInfoLocation location{.address = impl.jitted.read_header(block.code_header).debug_info};
  // .NET 11's debug info has a header that says what is in it.
  if (target.find_contract_form("DebugInfo") == contract_form::net11) return location;
  location.has_flag_byte = has_on_stack_replacement(target);
  if (!location.has_flag_byte)
    if (const auto offset = target.find_offset("EEJitManager", "StoreRichDebugInfo"))
      location.has_flag_byte = target.read_u8(block.section.jit_manager + static_cast<Address>(*offset)) != 0;
  return location;
}

GcInfoLocation ExecutionManager::gc_info(const CodeBlock& block) {
  Impl& impl = *impl_;
  if (block.kind == CodeKind::interpreted)
    throw Error(ErrorKind::unsupported_contract, "the GC info of interpreted code is not read");
  if (block.kind == CodeKind::ready_to_run) {
    const ReadyToRunImage& image = impl.image_of(block.section);
    const KnownBody& body = impl.body_of(block);
    return {.address = body.gc_info != 0 ? body.gc_info : image.gc_info_of(block.method_index),
            .version = image.gc_info_version()};
  }
  const Address gc_info = impl.body_of(block).gc_info;
  if (gc_info == 0) {
    impl.target.offset("RealCodeHeader", "GCInfo"); // throws where it is not published
    throw_corrupt(block.code_header, "a code header without GC info");
  }
  return {.address = gc_info, .version = impl.jitted.gc_info_version()};
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
  const RangeSection* section = impl.section_of(pc);
  if (section == nullptr || section->being_deleted) return std::nullopt;
  if ((section->flags & RangeSection::range_list_flag) != 0) return impl.precodes.at_entry(entry).method_desc;
  const CodeLookup found = find(entry);
  const auto* block = std::get_if<CodeBlock>(&found);
  return block != nullptr && block->method_desc != 0 ? std::optional(block->method_desc) : std::nullopt;
}

std::optional<Precodes::Part> ExecutionManager::precode_part(Address address) {
  Impl& impl = *impl_;
  const RangeSection* section = impl.section_of(address);
  if (section == nullptr || section->being_deleted || (section->flags & RangeSection::range_list_flag) == 0)
    return std::nullopt;
  const Address begin = section->begin, end = section->end;
  const auto part = impl.precodes.part_at(address);
  return part && part->begin >= begin && part->end <= end ? part : std::nullopt;
}

} // namespace clr
