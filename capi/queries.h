// Producers of rows: one for each clr_query_ function. include/lldb_clr.h describes them.
#pragma once

#include "capi/row_stream.h"
#include "core/runtime/heap_arrays.h"
#include "core/runtime/heap_strings.h"

#include <cstdint>
#include <string>

namespace clr::capi {

RowStream::Producer info_rows(bool counts);
RowStream::Producer address_rows(Address address);
RowStream::Producer method_rows(MethodQuery query);
RowStream::Producer module_rows();
RowStream::Producer thread_rows();
RowStream::Producer frame_rows(std::uint64_t os_id, const StackReporter::Options& options);
RowStream::Producer exception_rows(Address object);
RowStream::Producer object_rows(Address object, std::string path, std::uint64_t items);
RowStream::Producer static_rows(std::string pattern, std::uint64_t os_id);
RowStream::Producer unwind_rows(Address address);
RowStream::Producer gc_info_rows(Address address);
RowStream::Producer root_rows(std::uint64_t os_id);
RowStream::Producer heap_rows();
RowStream::Producer heap_type_rows(HeapQuery query);
// `live`: of objects that roots reach; false: of the others.
RowStream::Producer reached_type_rows(HeapQuery query, bool live);
RowStream::Producer object_rows(HeapQuery query, std::vector<std::string> conditions);
RowStream::Producer string_rows(StringQuery query);
RowStream::Producer duplicate_rows(StringQuery query, std::size_t most);
RowStream::Producer array_rows(ArrayQuery query);
RowStream::Producer free_space_rows();
RowStream::Producer allocation_rows();
RowStream::Producer handle_rows();
RowStream::Producer finalizer_rows();
RowStream::Producer verification_rows();
RowStream::Producer reference_rows(Address object, bool to_it);
RowStream::Producer heap_root_rows();
RowStream::Producer path_rows(Address object, std::size_t most);
RowStream::Producer retained_rows(Address object);
RowStream::Producer retainer_rows(RetainedBy by, std::string pattern, std::size_t most);
RowStream::Producer gcdump_rows(std::string path, bool live);
RowStream::Producer heap_save_rows(std::string path);
RowStream::Producer heap_difference_rows(std::string other);
RowStream::Producer async_rows();
RowStream::Producer analysis_rows();
RowStream::Producer lock_rows();
RowStream::Producer deadlock_rows();
RowStream::Producer wait_rows();
RowStream::Producer version_rows(Address method_desc);
// `flags` of clr_query_small_core.
RowStream::Producer save_core_rows(std::string path, std::uint32_t flags);

// The answer of `clrip2md` for an address, without its source line.
runtime::Answer answer_at(Inspection& inspection, Address address);

} // namespace clr::capi
