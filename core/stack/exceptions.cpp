#include "core/stack/exceptions.h"

#include "core/stack/threads.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

namespace clr {
namespace {

constexpr std::size_t max_base_types = 64;                  // depth of a chain of base classes
constexpr std::size_t max_message_units = 65536;            // UTF-16 units shown of a message
constexpr std::uint32_t contains_gc_pointers = 0x0100'0000; // MethodTable.MTFlags

// StackTraceArrayHeader and StackTraceElement; published by name after .NET 10 only. [rt] vm/clrex.h
struct TraceLayout {
  explicit TraceLayout(const Target& target) {
    const Address word = target.pointer_size();
    if (target.descriptor().version == descriptor_format_integers) {
      header = 8 + word; // u32 count, u32 keep-alive count, Thread*
      sp = word;
      method_desc = 2 * word;
      flags = 3 * word;
      stride = 4 * word;
      return;
    }
    header = target.size_of("StackTraceArrayHeader");
    stride = target.size_of("StackTraceElement");
    const auto field = [&](std::string_view type, std::string_view name) {
      return static_cast<Address>(target.offset(type, name));
    };
    count = field("StackTraceArrayHeader", "Size");
    ip = field("StackTraceElement", "Ip");
    method_desc = field("StackTraceElement", "MethodDesc");
    flags = field("StackTraceElement", "Flags");
    // The stack pointer stands in no published field. It is the one word that is left of four.
    if (stride == 4 * word && ip == 0 && method_desc == 2 * word && flags == 3 * word) sp = word;
  }
  Address header = 0, count = 0, ip = 0, method_desc = 0, flags = 0, stride = 0;
  std::optional<Address> sp;
};

template<typename Read>
void attempt(std::string& fault, const Read& read) {
  try {
    read();
  } catch (const Error& error) {
    if (fault.empty()) fault = error.what();
  }
}

Address method_table_of(const Target& target, Address object) {
  const Address mask = target.find_global("ObjectToMethodTableUnmask").value_or(7);
  return target.read_pointer(target.field_address(object, "Object", "m_pMethTab")) & ~mask;
}

// True when `object` looks like an instance of System.Exception or a class derived from it.
bool is_exception(const Target& target, Address object) {
  if (object == 0 || object % target.pointer_size() != 0) return false;
  try {
    const Address exception = target.read_pointer(target.global("ExceptionMethodTable"));
    Address table = method_table_of(target, object);
    for (std::size_t depth = 0; table != 0 && depth < max_base_types; ++depth) {
      if (table == exception) return true;
      table = target.read_pointer(target.field_address(table, "MethodTable", "ParentMethodTable"));
    }
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::unsupported_contract) throw;
    // Not readable as an object: it is none.
  }
  return false;
}

// What is beyond `max_units` is cut, and " ..." tells it.
std::optional<std::string> read_string(const Target& target, Address object, std::size_t max_units) {
  if (object == 0) return std::nullopt;
  const std::uint32_t units = target.read_u32(target.field_address(object, "String", "m_StringLength"));
  const auto shown = std::min<std::size_t>(units, max_units);
  std::string text = target.read_utf16_units(target.field_address(object, "String", "m_FirstChar"), shown);
  if (shown < units) text += " ...";
  return text;
}

Address exception_field(const Target& target, Address object, std::string_view field) {
  return target.read_pointer(target.field_address(object, "Exception", field));
}

// The byte array that holds the trace; 0 when the exception was never thrown. Since .NET 9 the field may hold
// an object[] instead, whose first element is that array and whose others keep collectible methods alive.
Address trace_array(const Target& target, Address object) {
  const Address array = exception_field(target, object, "_stackTrace");
  if (array == 0) return 0;
  const std::uint32_t flags =
      target.read_u32(target.field_address(method_table_of(target, array), "MethodTable", "MTFlags"));
  return (flags & contains_gc_pointers) == 0 ? array : target.read_pointer(array + target.size_of("Array"));
}

// Sets the trace, of which no more than `max_elements` are wanted.
void read_trace(const Target& target, Address array, std::size_t max_elements, ManagedException& exception) {
  const TraceLayout layout(target);
  if (layout.stride == 0) throw_corrupt(array, "stack trace elements of no size");
  const std::uint32_t bytes = target.read_u32(target.field_address(array, "Array", "m_NumComponents"));
  const Address data = array + target.size_of("Array");
  const std::uint32_t count = bytes < layout.header ? 0 : target.read_u32(data + layout.count);
  // The array is allocated with room to spare, so its length bounds the count.
  if (count > ExceptionReader::max_trace || (count != 0 && count > (bytes - layout.header) / layout.stride))
    throw_corrupt(data, fmt::format("a stack trace array of {} bytes claims {} frames", bytes, count));
  const std::size_t wanted = std::min<std::size_t>(count, max_elements);
  std::vector<TraceElement> trace;
  trace.reserve(wanted);
  for (std::size_t i = 0; i < wanted; ++i) {
    const Address element = data + layout.header + i * layout.stride;
    trace.push_back(
        {.ip = target.read_pointer(element + layout.ip),
         .sp = layout.sp ? std::optional(target.read_pointer(element + *layout.sp)) : std::nullopt,
         .method_desc = target.read_pointer(element + layout.method_desc),
         .flags = target.read_u32(element + layout.flags)});
  }
  exception.trace = std::move(trace);
  exception.trace_left_out = count - wanted;
}

} // namespace

ExceptionReader::ExceptionReader(const Target& target, TypeNamer type_name)
    : target_(&target), type_name_(std::move(type_name)) {}

ManagedException ExceptionReader::summary(Address object) const {
  ManagedException exception;
  exception.object = object;
  read_parts(exception, max_summary_units);
  return exception;
}

void ExceptionReader::read_parts(ManagedException& exception, std::size_t max_units) const {
  const Target& target = *target_;
  const Address object = exception.object;
  exception.method_table = method_table_of(target, object);
  if (!is_exception(target, object)) throw_corrupt(object, "no managed exception object");
  std::string& fault = exception.fault;
  attempt(fault, [&] { exception.type = type_name_(exception.method_table); });
  attempt(fault, [&] {
    exception.message = read_string(target, exception_field(target, object, "_message"), max_units);
  });
  attempt(fault, [&] {
    exception.hresult = target.read_i32(target.field_address(object, "Exception", "_HResult"));
  });
  attempt(fault, [&] { exception.inner = exception_field(target, object, "_innerException"); });
}

ManagedException ExceptionReader::read(Address object) const {
  return read(object, max_trace, max_message_units);
}

ManagedException ExceptionReader::read(Address object, std::size_t max_elements,
                                       std::size_t max_units) const {
  const Target& target = *target_;
  ManagedException exception;
  exception.object = object;
  max_units = std::min(max_units, max_message_units);
  read_parts(exception, max_units);
  std::string& fault = exception.fault;
  attempt(fault, [&] {
    if (const Address array = trace_array(target, object)) read_trace(target, array, max_elements, exception);
  });
  attempt(fault, [&] {
    exception.remote_trace =
        read_string(target, exception_field(target, object, "_remoteStackTraceString"), max_units)
            .value_or(std::string());
  });
  return exception;
}

ExceptionReader::InFlight ExceptionReader::in_flight(Address exception_tracker) {
  const Target& target = *target_;
  InFlight result;
  std::unordered_set<Address> seen;
  attempt(result.problem, [&] {
    for (Address info = exception_tracker; info != 0;) {
      if (!seen.insert(info).second)
        throw_corrupt(info, "the chain of exceptions in flight comes back to the record");
      if (seen.size() > max_nested)
        throw_corrupt(info, fmt::format("more than {} nested exceptions", max_nested));
      // Each thread has its own on its stack, but threads that lie could all have the same.
      if (nested_ == max_shared_nested)
        throw_corrupt(info,
                      fmt::format("more than {} exceptions in flight on all threads", max_shared_nested));
      ++nested_;
      const Address thrown = target.read_pointer(target.field_address(info, "ExceptionInfo", "ThrownObject"));
      // .NET 9 and 10 store an object handle, later releases the object itself. No field tells them apart;
      // the objects do.
      if (is_exception(target, thrown))
        result.objects.push_back(thrown);
      else if (const Address behind = object_of_handle(target, thrown); is_exception(target, behind))
        result.objects.push_back(behind);
      info = target.read_pointer(target.field_address(info, "ExceptionInfo", "PreviousNestedInfo"));
    }
  });
  return result;
}

} // namespace clr
