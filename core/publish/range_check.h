// Decides whether a range of addresses may be published as managed code. One changed word in a core makes a
// range of gigabytes, or one that covers libc; a debugger would then take memory for all of it, and name
// libc's functions as stubs.
#pragma once

#include "core/describe/omissions.h"
#include "core/execution/code_block.h"
#include "core/runtime/runtime.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace clr {

// Why a range is not published.
struct RangeRefusal {
  OmissionCause cause = OmissionCause::limit;
  std::string text;
};

class RangeCheck {
public:
  // `runtime` must outlive this. No reads.
  explicit RangeCheck(Runtime& runtime);

  // Nothing from the functions below means that the range may be published. None of them throws an Error.

  // Stubs of a range list: at most max_stubs bytes, outside of all native modules, with a page that can be
  // read. Cost: 1 read, up to max_probes when the first page is missing.
  std::optional<RangeRefusal> of_stubs(Address begin, Address end) const;
  // Thunks of a ReadyToRun image: at most max_stubs bytes, within the image's section, with a page that can
  // be read. Cost: as of_stubs.
  std::optional<RangeRefusal> of_thunks(Address begin, Address end, const RangeSection& section) const;
  // A part of a method's body: at most max_body bytes, within its section, and no native module begins in it.
  // No reads.
  std::optional<RangeRefusal> of_body(Address begin, std::uint64_t size, const RangeSection& section);
  // Memory that nothing describes: outside of all native modules. The caller cuts it to max_unknown. No
  // reads.
  std::optional<RangeRefusal> of_unknown(Address begin, Address end) const;

  static constexpr std::uint64_t max_stubs = std::uint64_t{64}
                                             << 20; // bytes; the runtime takes 64 KiB at once
  static constexpr std::uint64_t max_body = std::uint64_t{64} << 20;     // bytes
  static constexpr std::uint64_t max_unknown = std::uint64_t{256} << 20; // bytes
  static constexpr std::uint64_t max_probes = 64; // pages that are tried for one that can be read

private:
  struct Native {
    Address begin = 0, end = 0;
    const std::string* path = nullptr; // of Runtime::modules()
  };
  // The first native module that meets [begin, end), null if none.
  const Native* native_in(Address begin, Address end) const;
  bool has_readable_page(Address begin, Address end) const;

  Runtime* runtime_;
  std::vector<Native> natives_; // ascending
  // Of the body before: no native module begins in [gap_begin_, gap_end_).
  Address gap_begin_ = 1, gap_end_ = 0;
};

} // namespace clr
