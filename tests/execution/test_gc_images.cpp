// The GC info of every body of real ReadyToRun images, x64 and arm64. A blob states no size, but the compiler
// wrote the next unwind record right behind it: a decoder that takes one bit too many or too few does not end
// there. The recorded images are always tested; CLR_R2R_IMAGES names a folder with more.
#include "core/execution/execution_manager.h"
#include "core/execution/gc_decoder.h"
#include "core/execution/runtime_functions.h"
#include "tests/support/more_images.h"
#include "tests/support/r2r_image_target.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include <iostream>
#include <set>

using namespace clr;
using namespace clr::test;
namespace fs = std::filesystem;

namespace {

struct Counts {
  std::size_t bodies = 0, safe_points = 0, ranges = 0, slots = 0;
  std::size_t last = 0; // blobs without a record behind them
  std::size_t wrong = 0;
  std::string first_wrong;
};

// Why the blob of `block` does not end where the next of `records` begins; empty when it does.
std::string check_body(ExecutionManager& manager, const CodeBlock& block, const std::set<Address>& records,
                       Counts& counts) {
  const GcInfoLocation at = manager.gc_info(block);
  try {
    GcDecoder decoder(manager.target(), at.address, at.version);
    const Address end = at.address + decoder.measure();
    ++counts.bodies;
    counts.safe_points += decoder.safe_points().size();
    counts.ranges += decoder.ranges().size();
    counts.slots += decoder.slots().slots.size();
    const auto next = records.lower_bound(end);
    if (next == records.end()) {
      ++counts.last;
      return {};
    }
    if (*next - end > 3) return fmt::format("ends {} bytes before the next record", *next - end);
    for (Address byte = end; byte != *next; ++byte)
      if (manager.target().read_u8(byte) != 0) return "has bytes behind its end";
    return {};
  } catch (const Error& error) {
    return error.what();
  }
}

Counts check_image(const fs::path& file) {
  R2RImageTarget image(file);
  Counts counts;
  if (image.platform().cpu != Cpu::x64 && image.platform().cpu != Cpu::arm64) return counts;
  image.register_methods({});
  const Target target = image.target();
  ExecutionManager manager(target);
  const RangeSection section = *manager.section_at(image.base());
  const ExecutionManager::R2RImage tables = manager.r2r_image(section);
  const RuntimeFunctions functions(target);
  std::set<Address> records;
  for (std::uint32_t i = 0; i < tables.function_count; ++i)
    records.insert(image.base() + functions.unwind_data(tables.functions, i));
  std::set<Address> blobs;
  for (std::uint32_t i = 0; i < tables.function_count; ++i) {
    const CodeBlock block = manager.r2r_block(section, i);
    if (block.method_index != i || !blobs.insert(manager.gc_info(block).address).second) continue;
    const std::string wrong = check_body(manager, block, records, counts);
    if (wrong.empty()) continue;
    ++counts.wrong;
    if (counts.first_wrong.empty())
      counts.first_wrong = fmt::format("{:#x}: the GC info at {:#x} {}", block.start - image.base(),
                                       manager.gc_info(block).address - image.base(), wrong);
  }
  return counts;
}

void check_and_tell(const fs::path& file) {
  const Counts counts = check_image(file);
  if (counts.bodies == 0 && counts.wrong == 0) return;
  INFO(file.string() << " " << counts.first_wrong);
  CHECK(counts.wrong == 0);
  CHECK(counts.last <= 1);
  std::cout << fmt::format("  {}: GC info of {} bodies, {} safe points, {} ranges, {} slots; {} wrong\n",
                           file.parent_path().filename().string() + "/" + file.filename().string(),
                           counts.bodies, counts.safe_points, counts.ranges, counts.slots, counts.wrong);
}

} // namespace

TEST_CASE("the GC info of recorded ReadyToRun images ends where the next record begins") {
  const fs::path data = fs::path(CLR_TEST_DATA);
  for (const char* name : {"names-x64.dll", "names-arm64.dll", "composite.r2r.dll"})
    check_and_tell(data / "metadata/data" / name);
  check_and_tell(data / "execution/data/cold-x64.dll");
}

TEST_CASE("the GC info of more ReadyToRun images ends where the next record begins") {
  const auto images = more_r2r_images("execution: GC info of more ReadyToRun images");
  if (!images) return;
  for (const fs::path& image : *images)
    if (fs::exists(compilers_map(image))) check_and_tell(image);
}
