// Debug information of managed code as values. A debugger that knows nothing of .NET can name, unwind, step
// and inspect a stretch of code by them; elf_module_writer makes of them a module that such a debugger loads.
#pragma once

#include "core/isa/frame_jump.h"
#include "core/isa/frame_layout.h"
#include "core/isa/registers.h"
#include "core/isa/variable_location.h"
#include "core/memory/platform.h"

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace clr {

// The instruction at which a fault interrupted code, while the handler is still on the stack. A debugger
// comes to it by a frame that the runtime made up, looks at the byte before it as if a call ended there, and
// has the registers of the handler. The rows and places of these two bytes are therefore made of the
// registers that are known here.
struct DebugInterruption {
  std::uint32_t offset = 0;  // bytes from the start of the code
  RegisterContext registers; // pc and sp among them
  // How a debugger tells this frame from others at the same instruction. 0: its stack pointer is that of
  // `registers`. Else the handler runs on another stack, and the stack pointer lies within other_stack_size
  // bytes from this address on.
  Address other_stack = 0;
  std::shared_ptr<const DebugInterruption> next =
      {}; // of another thread, at the same instruction; null: none
};
constexpr std::size_t max_interruptions = 16; // at one instruction
constexpr unsigned other_stack_shift = 17;
constexpr Address other_stack_size = Address{1} << other_stack_shift;

// The layout of the frame before the instruction at `offset`, until the next row.
struct DebugUnwindRow {
  std::uint32_t offset = 0; // bytes from the start of the code
  FrameLayout layout;
  const DebugInterruption* interruption = nullptr; // one of DebugCode::interruptions; null: none
  const FrameJumps* jumps = nullptr; // one of DebugModule::jumps; frames of which `layout` does not hold
};

// The rows of a range. Thousands of functions have the same prologue, and then share one list; a change
// makes a list of its own.
class DebugUnwindRows {
public:
  using List = std::vector<DebugUnwindRow>;

  DebugUnwindRows() = default;
  DebugUnwindRows(List rows) : rows_(std::make_shared<const List>(std::move(rows))) {}
  DebugUnwindRows(std::initializer_list<DebugUnwindRow> rows) : DebugUnwindRows(List(rows)) {}

  const List& list() const {
    static const List none;
    return rows_ ? *rows_ : none;
  }
  List::const_iterator begin() const { return list().begin(); }
  List::const_iterator end() const { return list().end(); }
  std::size_t size() const { return list().size(); }
  bool empty() const { return list().empty(); }
  const DebugUnwindRow& front() const { return list().front(); }
  const DebugUnwindRow& back() const { return list().back(); }
  const DebugUnwindRow& operator[](std::size_t index) const { return list()[index]; }
  void push_back(DebugUnwindRow row) {
    List rows = list();
    rows.push_back(std::move(row));
    *this = std::move(rows);
  }
  void clear() { rows_.reset(); }

private:
  std::shared_ptr<const List> rows_;
};

// The main body, a funclet, a stub: code with an entry of its own. Offsets are bytes from the start of the
// DebugCode.
struct DebugUnwindRange {
  std::uint32_t begin = 0, end = 0;
  DebugUnwindRows rows;     // ascending; the first at `begin`
  bool exact = false;       // epilogues have their rows too
  bool interrupted = false; // a pc in it is exact, never a return address (as of a signal trampoline)
  // Nothing is known of the code: its frames are guessed from the stack (dwarf_guessed_frame). x64; no rows.
  bool guessed = false;
};

struct DebugLineRow {
  std::uint32_t offset = 0; // bytes from the start of the code; an instruction begins there
  std::uint32_t file = 0;   // index into DebugModule::files
  std::uint32_t line = 0;   // 0: code of no line
  std::uint32_t column = 0;
  bool prologue_end = false; // where a breakpoint on the function goes
  bool statement = true;
};

// Index into DebugModule::types.
using DebugTypeIndex = std::uint32_t;
constexpr DebugTypeIndex no_debug_type = 0xFFFF'FFFF;

struct DebugField {
  std::string name;
  DebugTypeIndex type = no_debug_type;
  std::uint32_t offset = 0;              // bytes from the object's (or value's) start
  bool base = false;                     // the base class; has no name
  bool artificial = false;               // the method table of System.Object
  std::optional<Address> static_address; // a static field: where it is; `offset` means nothing
  // A reference to a box lies at static_address; the value begins behind the box's method table pointer.
  bool static_boxed = false;
};

struct DebugEnumerator {
  std::string name;
  std::int64_t value = 0;
};

struct DebugType {
  enum class Kind : std::uint8_t {
    boolean,
    signed_integer,
    unsigned_integer,
    floating,
    character,   // one unit of UTF-16
    structure,   // of a value type; its fields count from the value
    object,      // of a reference type; its fields count from the method table pointer
    reference,   // the value of a variable of a reference type: points to `element`, an object
    pointer,     // unmanaged pointer or byref to `element`; no_debug_type: void
    enumeration, // over the integer type `element`
    array,  // `count` elements of type `element`, within a structure; 0: as many as there are, the last field
    opaque, // has a name and a size; its content is not known
  };
  Kind kind = Kind::opaque;
  std::string name;       // "Ns.Outer+Inner"; empty for references, pointers, arrays
  std::uint32_t size = 0; // bytes; of an object what an instance takes, without array elements
  DebugTypeIndex element = no_debug_type;
  std::uint32_t count = 0;
  std::vector<DebugField> fields;
  std::vector<DebugEnumerator> enumerators;
};

// Where a variable is while the pc is in [begin, end), bytes from the start of the code. Between the ranges
// it is nowhere.
struct DebugVariableRange {
  std::uint32_t begin = 0, end = 0;
  VariableLocation location;
  // Not empty: the variable is a field of something else (a captured variable). `location` holds a pointer
  // then; the variable is where the last step leads: to the pointer the first offset is added, for each
  // further one the pointer that lies there is loaded and the offset added.
  std::vector<std::uint32_t> path = {};
};

struct DebugVariable {
  std::string name;
  DebugTypeIndex type = no_debug_type;
  bool parameter = false;
  bool artificial = false; // `this` above all
  // Where the name means this variable: [begin, end) bytes from the start of the code; 0, 0: everywhere. Two
  // variables of one name have scopes that do not overlap.
  std::uint32_t scope_begin = 0, scope_end = 0;
  std::vector<DebugVariableRange> ranges;
};

// Aliases that are written of one code.
constexpr std::size_t max_aliases = 64;

// One stretch of code but for its names: a method's body (hot part with its funclets), its cold part, or a
// stub.
struct DebugBody {
  Address start = 0;
  std::uint64_t size = 0; // bytes, greater than 0
  bool function = true; // false (stubs, cold parts): named and unwound, but no place for breakpoints by name
  // The byte before the first instruction of the code that follows, which was interrupted: has its variables.
  bool before_entry = false;
  std::vector<DebugUnwindRange> unwind; // ascending, disjoint; empty: not known
  std::vector<DebugLineRow> lines;      // ascending; empty: no symbols
  std::vector<DebugVariable> variables; // parameters in their order, then locals
  std::vector<std::shared_ptr<const DebugInterruption>> interruptions;
  DebugTypeIndex return_type = no_debug_type;
  // Line of the declaration, one of `lines`; 0: that of the first of them.
  std::uint32_t declaration_line = 0;
};

struct DebugNames {
  std::string name;      // "Run"
  std::string full_name; // "Ns.Type.Run(int, string[])", as frames show it
  // Further names that breakpoints may use, the longest first: "Ns.Type.Run", "Type.Run". Without `name`.
  std::vector<std::string> aliases;
  // Groups code whose lines are decoded together: the declaring type. "Ns.Type".
  std::string unit;
};

struct DebugCode : DebugBody, DebugNames {};

// A run of neighbouring code. Its bytes are given where the debugger may have to read them from the module:
// ReadyToRun code that a core lacks. Without them the module has none, and the debugger reads memory.
struct DebugSection {
  Address begin = 0, end = 0;
  std::vector<std::byte> bytes; // end - begin of them, or none
};

// A name of a type in the way of C++, for expressions: LLDB takes no dots there. See alias_tree.h.
struct DebugAlias {
  std::vector<std::string> scope; // "Shop"; empty for a type of no namespace
  std::string name;               // "Circle"
  DebugTypeIndex type = no_debug_type;
};

struct DebugModule {
  std::string file_name; // "app.dll"
  Platform platform;
  std::vector<DebugSection> sections; // ascending, disjoint; hold all code
  std::vector<DebugCode> code;        // ascending, disjoint
  std::vector<std::string> files;     // source files, full paths as the PDB has them
  std::vector<DebugType> types;
  // Variables of no code, at their static_address. One with dots in its name, "Ns.Type.Field", is a member of
  // the variable "Ns" as well, because expressions take no dot for a part of a name; not so one that lies 4
  // GiB or more behind the first of them, because LLDB's offsets have 32 bits.
  std::vector<DebugField> globals = {};
  std::vector<DebugAlias> aliases = {};
  std::vector<std::shared_ptr<const FrameJumps>> jumps = {}; // of rows
  // False: the aliases whose scope is itself a type are left out, because the debugger would take such a name
  // for another type's, as LLDB 14 and 15 do.
  bool names_in_types = true;
  // Part of its build id: of no other module that the debugger has. 0: it gets none, and LLDB makes a
  // checksum of the whole file to tell it from others.
  std::uint64_t identity = 0;
};

} // namespace clr
