// A module of functions that a debugger can be told to see anywhere. Each stands in a section of its own, and
// lies far behind it: wherever a debugger takes such a section to be loaded there is nothing else, and the
// function is at the place that is wanted, within whatever lies there. One breakpoint on all of them has as
// many places as are wanted at a time.
#pragma once

#include "core/dwarf/elf_container.h"
#include "core/memory/platform.h"

#include <cstddef>
#include <functional>
#include <string>

namespace clr {

class MovablePlaces {
public:
  // `identity` tells the names of this module from those of others.
  MovablePlaces(const Platform& platform, std::uint64_t identity);

  // What all names of functions begin with, and no name of the program's.
  const std::string& prefix() const { return prefix_; }
  // Of function `index`: its address and that of its section, as the file has them.
  Address file_address(std::size_t index) const { return section_address(index) + distance_; }
  static Address section_address(std::size_t index) { return 0x1000 + index * spacing; }
  // Of the section that LLDB takes the base of the module from. It holds no function: a place moves, a module
  // does not.
  static constexpr Address base_address = 0x800;
  // Where section `index` is to be loaded so that its function is at `place`. It wraps at 64 bits.
  Address section_for(Address place) const { return place - distance_; }

  // Where no target has anything: the base of the module is loaded there.
  Address unused_address() const { return base_address + distance_; }

  // Calls `use` with the file, as ElfContainer::write does. Only the section of the base has a program header
  // (core/dwarf/elf_module_writer.h tells why there is one).
  void write(const std::function<void(FileParts)>& use) const;

  static constexpr std::size_t count = 256;

private:
  static constexpr Address spacing = 16;

  Platform platform_;
  std::string prefix_;
  Address distance_;
};

} // namespace clr
