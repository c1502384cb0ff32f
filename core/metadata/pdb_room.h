// How much of the PDBs that a target itself holds is expanded: those in assemblies and in minimal cores are
// compressed, and half a megabyte of a core can stand for half a gigabyte.
#pragma once

#include <cstdint>

namespace clr {

class PdbRoom {
public:
  // Of all PDBs together no more than `most` bytes are kept, and no more than max_wasted times as many are
  // expanded in vain, because they are damaged or of another build: each byte takes time, kept or not.
  explicit PdbRoom(std::uint64_t most) : most_(most) {}

  static constexpr std::uint64_t max_wasted = 4;

  // Whether a PDB that says it has `size` bytes may be expanded. Asked before that is done.
  bool has(std::uint64_t size) const { return size <= most_ - kept_ && size <= most_ * max_wasted - wasted_; }
  std::uint64_t most() const { return most_; }

  void keep(std::uint64_t size) { kept_ += size; }
  void waste(std::uint64_t size) { wasted_ += size; }

private:
  std::uint64_t most_, kept_ = 0, wasted_ = 0; // bytes
};

} // namespace clr
