// Names of native code without the help of a debugger: from a note of a minimal core, else from the symbol
// tables of files and of target memory, else module and offset.
#pragma once

#include "core/memory/core_writer.h"
#include "core/runtime/stack_rows.h"
#include "core/stack/native_symbols.h"

#include <map>
#include <string>
#include <vector>

namespace clr {

// A note of a minimal core with the names of the native code on its stacks, as the program that wrote the
// core knew them. With it, the binaries whose symbols gave the names are not needed to read the core.
class RecordedNames {
public:
  static constexpr std::uint32_t note_type = 0x434c5201; // "CLR", 1; the owner is own_note_owner
  static constexpr std::size_t max_names = 1u << 20;
  // Bytes of a symbol, those of templates included, and of a module's or position's text: commands keep the
  // rows of stacks of hundreds of thousands of frames, each with its texts. Longer ones are cut.
  static constexpr std::size_t max_symbol = 1'024, max_text = 255;

  RecordedNames() = default;
  // The names in `core`; none when it has no such note. Torn lines of the note are left out. No reads.
  explicit RecordedNames(const ElfCore& core);

  // Keeps module, symbol and position of `row`, cut as above, for its ip. Rows without a symbol are left out.
  void add(const FrameRow& row);
  // Fills module, symbol and position when the ip of `row` is known.
  bool name(FrameRow& row) const;
  bool empty() const { return names_.empty(); }
  CoreNote note() const;

private:
  struct Name {
    std::string module, symbol, position;
  };
  std::map<Address, Name> names_; // by ip
};

class NativeNames {
public:
  // As NativeSymbols. Cost: none before the first name.
  NativeNames(MemoryReader& memory, std::vector<LoadedModule> modules, PathMap paths,
              std::shared_ptr<ByteRoom> whole = nullptr)
      : symbols_(memory, std::move(modules), std::move(paths), std::move(whole)) {}

  // Fills in module, symbol (cut to RecordedNames::max_symbol) and position of a native row from the symbol
  // tables, as far as they are known; `lookup` is the address of the row's call. Cost: that of
  // NativeSymbols::find. Never throws because of target data.
  void name(FrameRow& row, Address lookup);

private:
  NativeSymbols symbols_;
};

} // namespace clr
