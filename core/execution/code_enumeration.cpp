// Walks of ExecutionManager over all sections, code heaps and ReadyToRun images.
#include "core/execution/execution_manager_impl.h"

#include <fmt/format.h>

#include <algorithm>

namespace clr {

void ExecutionManager::Impl::enumerate() {
  if (enumerated) return;
  map.for_each(
      [&](const RangeSection& section) {
        if (!section.being_deleted) sections.push_back(section);
      },
      [&](Address at, const std::string& what) { add_hole(holes, at, what); });
  std::ranges::sort(sections, {}, &RangeSection::begin);
  map_holes = holes.size();
  enumerated = true;
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
  impl_->enumerate();
  impl_->holes.resize(impl_->map_holes);
  WalkLimit limit;
  for (const RangeSection& section : impl_->sections) {
    if ((section.flags & RangeSection::code_heap) == 0 || section.r2r_module != 0) continue;
    if (!for_each_jitted_in(section, limit, visit)) return;
  }
}

bool ExecutionManager::for_each_jitted_in(const RangeSection& section, WalkLimit& limit,
                                          const std::function<bool(const JittedBody&)>& visit,
                                          const std::function<void(const StubBlock&)>& stub) {
  Impl& impl = *impl_;
  const auto hole = [&](Address at, const std::string& what) { impl.add_hole(impl.holes, at, what); };
  const bool interpreted = (section.flags & RangeSection::interpreter) != 0;
  std::optional<StubBlock> open;
  const auto close = [&](Address end, Address least) {
    if (!open || end <= open->start) return;
    open->limit = end;
    open->least_limit = std::clamp(least, open->start, end);
    if (stub) stub(*open);
    open.reset();
  };
  try {
    const bool whole = impl.heaps.for_each_block(
        section,
        [&](const HeapBlock& block) {
          // A block's header is the word before the block.
          const Address before = block.start - impl.target.pointer_size();
          close(before, block.least_end != 0 ? block.least_end : before);
          if (block.stub) {
            open = StubBlock{.start = block.start, .kind = *block.stub};
            return true;
          }
          if (block.header == 0) return true; // nothing is known of it
          return visit({.start = block.start,
                        .method_desc =
                            interpreted
                                ? impl.interpreted_method(block.header)
                                : impl.jitted.read_header_of(block.start, block.header, section).method_desc,
                        .code_header = block.header,
                        .section = section});
        },
        hole, limit);
    if (!whole) return false;
    if (open) close(impl.heaps.used_end(section), open->start);
  } catch (const Error& error) {
    hole(error.address().value_or(section.begin), error.what());
  }
  return true;
}

std::uint64_t ExecutionManager::heap_fingerprint(const RangeSection& section) const {
  return impl_->heaps.fingerprint(section);
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
          .function_count = image.function_count(),
          .hot_count = image.hot_count(),
          .thunks = image.base() + image.thunk_rva(),
          .thunk_bytes = image.thunk_bytes()};
}

std::vector<ExecutionManager::R2RFunction> ExecutionManager::r2r_functions(const RangeSection& section) {
  Impl& impl = *impl_;
  const ReadyToRunImage& image = impl.image_of(section);
  std::vector<R2RFunction> result;
  result.reserve(image.function_count());
  for (const RuntimeFunctions::Extent& extent :
       impl.functions.extents(image.functions(), 0, image.function_count()))
    result.push_back({.begin = image.base() + extent.begin,
                      .end = extent.end == 0 ? 0 : image.base() + extent.end,
                      .entry = image.runtime_function(static_cast<std::uint32_t>(result.size()))});
  return result;
}

CodeBlock ExecutionManager::r2r_block(const RangeSection& section, std::uint32_t index) {
  Impl& impl = *impl_;
  ReadyToRunImage& image = impl.image_of(section);
  if (index >= image.function_count())
    throw Error(ErrorKind::invalid_argument,
                fmt::format("runtime function {} of {}", index, image.function_count()));
  const Address begin = image.start_of(index);
  const KnownBody* body = impl.bodies.find(begin);
  if (body == nullptr) body = &impl.bodies.add(impl.r2r_body(section, image, index), section);
  // As for find(): in a damaged table a function may begin in front of the method whose part it is.
  if (!body->contains(begin))
    throw_corrupt(begin, "a runtime function outside the method that it is part of,");
  CodeBlock block = body->seen_from(begin);
  block.function_index = index;
  return block;
}

} // namespace clr
