#include "core/waits/resume_points.h"

#include "core/isa/code_instructions.h"
#include "core/isa/code_reference.h"
#include "core/target/supplements.h"

#include <algorithm>
#include <array>
#include <span>

namespace clr {
namespace {

constexpr std::string_view stub_prefix = "IL_STUB_AsyncResume_";
constexpr std::string_view helpers = "System.Runtime.CompilerServices.AsyncHelpers.";
constexpr std::string_view parallel = "System.Threading.Tasks.Parallel+";
constexpr std::size_t cell_size = 9; // ldc.i8 and its number

} // namespace

std::string resumed_name(std::string_view stub) {
  if (!stub.starts_with(stub_prefix)) return {};
  stub.remove_prefix(stub_prefix.size());
  // Behind it stands the tier.
  const std::size_t end = stub.rfind('_');
  return std::string(end == stub.npos || end == 0 ? stub : stub.substr(0, end));
}

const ResumePoint& ResumePoints::by_stub(Address entry) {
  const auto [found, added] = stubs_.try_emplace(entry);
  if (added) {
    try {
      read_stub(found->second, entry);
    } catch (const Error& error) {
      found->second.problem = error.what();
    }
  }
  return found->second;
}

const ResumePoint& ResumePoints::by_info(Address info) {
  const auto [found, added] = infos_.try_emplace(info);
  if (added) {
    try {
      read_info(found->second, info);
    } catch (const Error& error) {
      found->second.problem = error.what();
    }
  }
  return found->second;
}

void ResumePoints::read_info(ResumePoint& point, Address info) {
  const Target& target = names_->code().target();
  const Address place = target.read_pointer(target.field_address(info, "AsyncResumeInfo", "DiagnosticIP"));
  if (place == 0) {
    point.own = true; // made by hand: no method is behind it
    return;
  }
  const CodeLookup found = names_->code().find(place);
  const auto* const block = std::get_if<CodeBlock>(&found);
  if (block == nullptr) throw_corrupt(place, "a continuation goes on where no managed code is");
  point.place = place;
  take(point, block->method_desc, block->start);
}

void ResumePoints::read_stub(ResumePoint& point, Address entry) {
  const auto stub = names_->code().method_desc_of_entry_point(entry);
  if (!stub) throw_corrupt(entry, "a continuation goes on where no managed code is");
  const Method method = names_->describe(*stub);
  if (method.kind != MethodKind::il_stub) {
    // The body itself goes on.
    const CodeLookup found = names_->code().find(entry);
    const auto* const block = std::get_if<CodeBlock>(&found);
    take(point, *stub, block != nullptr ? block->start : 0);
    return;
  }
  const std::size_t begin = method.name.find(stub_prefix);
  if (begin == method.name.npos) throw_corrupt(*stub, "a continuation goes on in a stub of another kind");
  point.name = resumed_name(std::string_view(method.name).substr(begin));
  if (take_il(point, *stub) || take_code(point, entry)) return;
  point.problem = "the stub that goes on with it does not say which method of that name it is";
}

bool ResumePoints::take_il(ResumePoint& point, Address stub) {
  const Target& target = names_->code().target();
  const auto resolver = supplement_offset(target, "DynamicMethodDesc", "Resolver"),
             state = supplement_offset(target, "ILStubResolver", "CompileTimeState"),
             size = supplement_offset(target, "ILStubCompileTimeState", "CodeSize"),
             code = supplement_offset(target, "ILStubCompileTimeState", "Code");
  if (!resolver || !state || !size || !code) return false;
  try {
    const Address compile_time = target.read_pointer(
        target.read_pointer(stub + static_cast<Address>(*resolver)) + static_cast<Address>(*state));
    if (compile_time <= 1) return false; // it was compiled, and its IL is gone
    const std::uint32_t length = target.read_u32(compile_time + static_cast<Address>(*size));
    if (length > max_stub_il || length < cell_size) return false;
    std::vector<std::byte> il(length);
    target.read_bytes(target.read_pointer(compile_time + static_cast<Address>(*code)), il);
    // ldc.i8 CELL; ldind.i; calli
    constexpr auto load_number = std::byte{0x21}, load_cell = std::byte{0x4d};
    for (std::size_t at = 0; at + cell_size < il.size(); ++at)
      if (il[at] == load_number && il[at + cell_size] == load_cell &&
          take_cell(point, load<std::uint64_t>(std::span<const std::byte>(il).subspan(at + 1, 8),
                                               target.platform().byte_order)))
        return true;
  } catch (const Error&) {
    // Then its code may tell.
  }
  return false;
}

bool ResumePoints::take_code(ResumePoint& point, Address entry) {
  ExecutionManager& code = names_->code();
  const auto stub = code.method_desc_of_entry_point(entry);
  const auto slot =
      stub ? MethodDescs(code.target()).native_code_slot(names_->method_desc(*stub)) : std::nullopt;
  try {
    const Address start = slot ? code.target().read_pointer(*slot) : entry;
    const CodeLookup found = code.find(start);
    const auto* const block = std::get_if<CodeBlock>(&found);
    if (block == nullptr) return false;
    const std::uint64_t size = std::min<std::uint64_t>(code.regions(*block).hot_size, max_stub_code);
    const std::array<std::uint32_t, 1> begin{0};
    const CodeInstructions instructions(code.target().memory(), code.target().platform().cpu, block->start,
                                        static_cast<std::uint32_t>(size), begin);
    CodeReferences references(code.target().platform().cpu);
    const auto starts = instructions.between(0, static_cast<std::uint32_t>(size));
    for (std::size_t i = 0; i < starts.size(); ++i) {
      const std::size_t end = i + 1 < starts.size() ? starts[i + 1] : size;
      const auto named =
          references.next(block->start + starts[i], instructions.from(starts[i]).first(end - starts[i]));
      if (named && named->kind != CodeReference::Kind::branch && take_cell(point, named->address))
        return true;
    }
  } catch (const Error&) {
    // Nothing tells, then.
  }
  return false;
}

bool ResumePoints::take_cell(ResumePoint& point, Address cell) {
  ExecutionManager& code = names_->code();
  try {
    const Address start = code.target().read_pointer(cell);
    const CodeLookup found = code.find(start);
    const auto* const block = std::get_if<CodeBlock>(&found);
    if (block == nullptr || block->start != start || block->method_desc == 0) return false;
    const Method method = names_->describe(block->method_desc);
    if (!method.qualified || method.qualified->method != point.name) return false;
    take(point, block->method_desc, block->start);
    return true;
  } catch (const Error&) {
    return false;
  }
}

void ResumePoints::take(ResumePoint& point, Address method_desc, Address body) {
  const Method method = names_->describe(method_desc);
  point.method_desc = method_desc;
  point.body = body;
  // A method that is not async has returned by the time that somebody waits.
  point.own = method.kind == MethodKind::async_thunk || method.kind == MethodKind::il_stub ||
              method.converted_to_async || method.name.starts_with(helpers);
  point.worker =
      method.name.starts_with(parallel) && (method.name.find("<ForEachAsync>") != method.name.npos ||
                                            method.name.find("<ForAsync>") != method.name.npos);
}

} // namespace clr
