// Builds a native module in test memory: ELF header, program headers, .eh_frame_hdr and .eh_frame.
#pragma once

#include "tests/support/stack_memory.h"

#include <elf.h>

#include <algorithm>
#include <vector>

namespace clr::test {

using Bytes = std::vector<std::uint8_t>;

struct CfiFunction {
  Address begin = 0;
  std::uint32_t size = 0;
  Bytes instructions;
  bool signal = false;
};

struct CfiImage {
  Address base = 0x40'0000;
  Cpu cpu = Cpu::x64;
  std::uint64_t vaddr = 0; // of the first segment; base lies there
  std::uint32_t size = 0x10000;
  Address hdr() const { return base + 0x1000; }
  Address eh_frame() const { return base + 0x2000; }
  std::vector<CfiFunction> functions; // sorted by begin

  // The usual first rule: CFA = sp + 8 and the return address below it; arm64: CFA = sp.
  Bytes initial() const { return cpu == Cpu::x64 ? Bytes{0x0C, 7, 8, 0x90, 1} : Bytes{0x0C, 31, 0}; }

  void write(StackMemory& memory) const {
    for (Address at = 0; at < 0x3000; at += 8) memory.u64(base + at, 0xCCCC'CCCC'CCCC'CCCC);
    memory.bytes(base, {0x7F, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT});
    memory.u32(base + 16, ET_DYN | (cpu == Cpu::x64 ? EM_X86_64 : EM_AARCH64) << 16);
    memory.u64(base + 32, 64);           // e_phoff
    memory.u32(base + 54, 56 | 2 << 16); // e_phentsize, e_phnum
    program_header(memory, 0, PT_LOAD, vaddr, size);
    program_header(memory, 1, PT_GNU_EH_FRAME, vaddr + 0x1000,
                   static_cast<std::uint32_t>(12 + 8 * functions.size()));

    Address at = eh_frame();
    const Address plain = at;
    at = entry(memory, at, cie(false));
    const Address signal = at;
    at = entry(memory, at, cie(true));
    std::vector<Address> fdes;
    for (const CfiFunction& function : functions) {
      fdes.push_back(at);
      Bytes fde;
      number(fde, static_cast<std::uint32_t>(at + 4 - (function.signal ? signal : plain)));
      number(fde, static_cast<std::uint32_t>(function.begin - (at + 8))); // pc-relative
      number(fde, function.size);
      fde.push_back(0); // no augmentation data
      fde.insert(fde.end(), function.instructions.begin(), function.instructions.end());
      at = entry(memory, at, fde);
    }
    memory.u32(at, 0);

    memory.bytes(hdr(),
                 {1, 0x1B, 0x03, 0x3B}); // sdata4 relative to here; udata4; sdata4 relative to the table
    memory.u32(hdr() + 4, static_cast<std::uint32_t>(eh_frame() - (hdr() + 4)));
    memory.u32(hdr() + 8, static_cast<std::uint32_t>(functions.size()));
    for (std::size_t n = 0; n < functions.size(); ++n) {
      memory.u32(hdr() + 12 + n * 8, static_cast<std::uint32_t>(functions[n].begin - hdr()));
      memory.u32(hdr() + 16 + n * 8, static_cast<std::uint32_t>(fdes[n] - hdr()));
    }
  }

private:
  static void number(Bytes& out, std::uint32_t value) {
    for (unsigned n = 0; n < 4; ++n) out.push_back(static_cast<std::uint8_t>(value >> (8 * n)));
  }

  void program_header(StackMemory& memory, Address index, std::uint32_t type, std::uint64_t address,
                      std::uint64_t bytes) const {
    const Address at = base + 64 + index * 56;
    memory.u32(at, type);
    memory.u32(at + 4, 4);
    memory.words(at + 8, {address - vaddr, address, address, bytes, bytes, 0x1000});
  }

  Bytes cie(bool signal) const {
    Bytes out{0, 0, 0, 0, 1, 'z', 'R'};
    if (signal) out.push_back('S');
    const Bytes rest{0, 1, 0x78, static_cast<std::uint8_t>(cpu == Cpu::x64 ? 16 : 30), 1, 0x1B};
    out.insert(out.end(), rest.begin(), rest.end());
    const Bytes first = initial();
    out.insert(out.end(), first.begin(), first.end());
    return out;
  }

  static Address entry(StackMemory& memory, Address at, Bytes body) {
    while (body.size() % 8 != 4) body.push_back(0); // DW_CFA_nop
    memory.u32(at, static_cast<std::uint32_t>(body.size()));
    memory.block(at + 4, body);
    return at + 4 + body.size();
  }
};

} // namespace clr::test
