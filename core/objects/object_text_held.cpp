// The part of ObjectText for what stands for something else: delegates for methods, lazy values, weak
// references, bits, structures for the elements of which they are made.
#include "core/objects/object_text.h"
#include "core/types/metadata_names.h"

#include <fmt/format.h>

#include <algorithm>

namespace clr {
namespace {

constexpr std::uint64_t max_shown_methods = 4; // of a delegate with several

} // namespace

void ObjectText::repeated(const Instance& what) {
  const FieldLayout* const only = what.layout.declared_fields().front();
  items(*only->type, what.layout.size / what.layout.repeats, what.fields, what.layout.repeats);
}

// Source: src/libraries/System.Private.CoreLib/src/System/{Lazy,WeakReference.T}.cs and
// System/Collections/BitArray.cs.
bool ObjectText::held(const std::string& name, const Instance& what) {
  if (name == "System.Collections.BitArray") return bits(what), true;
  if (name == "System.Lazy`1") {
    if (instances_.reference(what, "_state") != 0)
      return add(fmt::format("{{{}: no value yet}}", what.layout.text)), true;
    const FieldPlace made = instances_.field(what, "_value");
    add(fmt::format("{{{}: ", what.layout.text));
    ++depth_;
    value(*made.field->type, made.at);
    --depth_;
    add("}");
    return true;
  }
  if (name == "System.WeakReference`1" || name == "System.WeakReference") {
    // The handle that the collector clears; the lowest bits say what kind it is.
    const Address handle = instances_.reference(what, "_taggedHandle") & ~Address{3};
    add(fmt::format("{{{} -> ", what.layout.text));
    if (handle == 0) {
      add("null");
    } else {
      ++depth_;
      object(target().read_pointer(handle));
      --depth_;
    }
    add("}");
    return true;
  }
  return false;
}

void ObjectText::bits(const Instance& what) {
  const bool bytes = instances_.find(what, "_array").has_value(); // int[] m_array before .NET 10
  const auto count = static_cast<std::uint32_t>(instances_.integer(what, bytes ? "_bitLength" : "m_length"));
  const InstanceReader::Vector words =
      instances_.vector(instances_.reference(what, bytes ? "_array" : "m_array"));
  const std::uint32_t width = bytes ? 8 : 32;
  if (count > std::uint64_t{words.count} * width) throw_corrupt(words.data, "more bits than their array has");
  add(fmt::format("Count = {}", count));
  for (std::uint32_t i = 0; i < count; ++i) {
    add(i == 0 ? " {" : ", ");
    if (i >= limits_.elements || full()) {
      add("...");
      break;
    }
    const std::uint32_t word =
        bytes ? target().read_u8(words.at(i / width)) : target().read_u32(words.at(i / width));
    add((word >> (i % width) & 1) != 0 ? "true" : "false");
  }
  if (count != 0) add("}");
}

void ObjectText::delegate(const TypeLayout& layout, Address object) {
  const Instance what{layout, object + target().pointer_size()};
  std::string methods;
  const auto list = instances_.find(what, "_invocationList");
  const Address several = list ? target().read_pointer(list->at) : 0;
  const TypeLayout* const held = several != 0 ? &layouts_->of(reader_->method_table_of(several)) : nullptr;
  if (held != nullptr && held->kind == TypeLayout::Kind::array) {
    const auto count = instances_.integer(what, "_invocationCount");
    const InstanceReader::Vector all = instances_.vector(several);
    for (std::uint64_t i = 0; i < std::min<std::uint64_t>({count, all.count, max_shown_methods}); ++i) {
      const Address one = target().read_pointer(all.at(i));
      if (one == 0) break;
      const std::string name = delegate_target(instances_.of_object(one));
      methods += fmt::format("{}{}", methods.empty() ? "" : ", ", name.empty() ? "?" : name);
    }
    if (std::min<std::uint64_t>(count, all.count) > max_shown_methods)
      methods += fmt::format(", ... ({} methods)", count);
  } else {
    methods = delegate_target(what);
  }
  add(methods.empty() ? fmt::format("{{{}}}", layout.text)
                      : fmt::format("{{{} -> {}}}", layout.text, methods));
}

// The method that a delegate with one calls; empty: not known.
std::string ObjectText::delegate_target(const Instance& what) {
  // A delegate for a static method calls it through a thunk.
  const Address behind_thunk = instances_.reference(what, "_methodPtrAux");
  return code_name(behind_thunk != 0 ? behind_thunk : instances_.reference(what, "_methodPtr"));
}

std::string ObjectText::code_name(Address code) {
  MethodNames& names = layouts_->finder().names();
  const CodeLookup found = names.code().find(code);
  Address method_desc = 0;
  if (const auto* block = std::get_if<CodeBlock>(&found))
    method_desc = block->method_desc;
  else
    method_desc = std::get<execution::Miss>(found).method_desc.value_or(0);
  if (method_desc == 0) return {};
  Method method = names.describe(method_desc);
  names.add_user_method(method);
  return method.shown_name();
}

} // namespace clr
