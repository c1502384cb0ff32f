#include "core/isa/arm64/packed_unwind.h"

#include <algorithm>

namespace clr {
namespace {

constexpr unsigned max_generals = 10; // x19 to x28
constexpr unsigned lr_from_x19 = 11;  // lr counted from x19
constexpr std::uint32_t slot = 8, parameter_area = 64, max_pre_indexed = 512;
// The largest multiple of 16 that one sub instruction takes off the stack pointer.
constexpr std::uint32_t max_alloc_step = 4080;

// One unwind code: at most two bytes, the first in the high byte when there are two.
struct Code {
  unsigned bytes = 0;
  unsigned size = 1;
};

constexpr Code set_fp{0xE1}, nop{0xE3}, end{0xE4}, end_c{0xE5}, pac_sign_lr{0xFC}, save_fplr{0x40};

Code save_fplr_x(std::uint32_t size) {
  return {0x80 | (size / slot - 1)};
}
Code alloc(std::uint32_t size) {
  return size < max_pre_indexed ? Code{size / 16} : Code{0xC000 | size / 16, 2};
}
// `first` counts from x19 or d8.
Code save_pair(unsigned first, std::uint32_t offset) {
  return {0xC800 | first << 6 | offset / slot, 2};
}
Code save_pair_x(unsigned first, std::uint32_t size) {
  return {0xCC00 | first << 6 | (size / slot - 1), 2};
}
Code save_one(unsigned first, std::uint32_t offset) {
  return {0xD000 | first << 6 | offset / slot, 2};
}
Code save_one_x(unsigned first, std::uint32_t size) {
  return {0xD400 | first << 5 | (size / slot - 1), 2};
}
Code save_with_lr(unsigned first, std::uint32_t offset) {
  return {0xD600 | first / 2 << 6 | offset / slot, 2};
}
Code save_vector_pair(unsigned first, std::uint32_t offset) {
  return {0xD800 | first << 6 | offset / slot, 2};
}
Code save_vector_pair_x(unsigned first, std::uint32_t size) {
  return {0xDA00 | first << 6 | (size / slot - 1), 2};
}
Code save_vector(unsigned first, std::uint32_t offset) {
  return {0xDC00 | first << 6 | offset / slot, 2};
}

// The canonical prologue, in the order of its instructions. The first save makes room for all of them.
class Prologue {
public:
  Prologue(const Arm64PackedUnwindData& data, std::uint32_t save_area) : data_(data), save_area_(save_area) {
    using enum Arm64PackedUnwindData::Chain;
    if (data.chain == chained_signed) codes.push_back(pac_sign_lr);
    save_generals();
    for (unsigned n = 0; n + 1 < data.vectors; n += 2)
      add(save_vector_pair_x(n, save_area_), save_vector_pair(n, used_), 2);
    if (data.vectors % 2 != 0) add({}, save_vector(data.vectors - 1, used_), 1);
  }

  // The rest of the frame. `first_parameter_store` tells where the stores of the parameters are.
  void finish(std::uint32_t locals) {
    using enum Arm64PackedUnwindData::Chain;
    if (data_.homes_parameters && save_area_ != 0) {
      first_parameter_store = codes.size();
      codes.insert(codes.end(), parameter_stores, nop);
    }
    const bool chained_frame = data_.chain == chained || data_.chain == chained_signed;
    if (chained_frame && locals <= max_pre_indexed) {
      codes.push_back(save_fplr_x(locals));
    } else {
      for (std::uint32_t rest = locals; rest != 0; rest -= std::min(rest, max_alloc_step))
        codes.push_back(alloc(std::min(rest, max_alloc_step)));
      if (chained_frame) codes.push_back(save_fplr);
    }
    if (chained_frame) codes.push_back(set_fp);
  }

  static constexpr std::size_t parameter_stores = 4;
  std::vector<Code> codes;
  std::optional<std::size_t> first_parameter_store;

private:
  void save_generals() {
    const bool saves_lr = data_.chain == Arm64PackedUnwindData::Chain::saved, odd = data_.generals % 2 != 0;
    if (data_.generals == 1 && saves_lr) {
      // The pair with lr has no form that makes room.
      codes.push_back(alloc(save_area_));
      made_room_ = true;
    }
    unsigned n = 0;
    for (; n + 1 < data_.generals; n += 2) add(save_pair_x(n, save_area_), save_pair(n, used_), 2);
    if (odd && saves_lr)
      add({}, save_with_lr(n, used_), 2);
    else if (odd)
      add(save_one_x(n, save_area_), save_one(n, used_), 1);
    else if (saves_lr)
      add(save_one_x(lr_from_x19, save_area_), save_one(lr_from_x19, used_), 1);
  }

  void add(Code making_room, Code plain, unsigned registers) {
    codes.push_back(made_room_ ? plain : making_room);
    made_room_ = true;
    used_ += registers * slot;
  }

  const Arm64PackedUnwindData& data_;
  std::uint32_t save_area_, used_ = 0;
  bool made_room_ = false;
};

void append(std::vector<std::uint8_t>& bytes, Code code) {
  if (code.size == 2) bytes.push_back(static_cast<std::uint8_t>(code.bytes >> 8));
  bytes.push_back(static_cast<std::uint8_t>(code.bytes));
}

} // namespace

Arm64PackedUnwindData parse_arm64_packed(std::uint32_t word) {
  const unsigned reg_f = word >> 13 & 7;
  return {.fragment = (word & 3) == 2,
          .function_length = (word >> 2 & 0x7FF) * 4,
          .vectors = reg_f == 0 ? 0 : reg_f + 1,
          .generals = word >> 16 & 15,
          .homes_parameters = (word >> 20 & 1) != 0,
          .chain = static_cast<Arm64PackedUnwindData::Chain>(word >> 21 & 3),
          .frame_size = (word >> 23) * 16};
}

Arm64UnwindInfo expand_arm64_packed(std::uint32_t unwind_data, Address at) {
  using enum Arm64PackedUnwindData::Chain;
  const Arm64PackedUnwindData data = parse_arm64_packed(unwind_data);
  if (data.generals > max_generals)
    throw_corrupt(at, "packed arm64 unwind data that saves more registers than there are");
  const std::uint32_t saves = data.generals + data.vectors + (data.chain == saved ? 1 : 0);
  const std::uint32_t parameters = data.homes_parameters && saves != 0 ? parameter_area : 0;
  const std::uint32_t save_area = (saves * slot + parameters + 15) & ~15u;
  const bool chained_frame = data.chain == chained || data.chain == chained_signed;
  if (data.frame_size < save_area + (chained_frame ? 2 * slot : 0))
    throw_corrupt(at, "packed arm64 unwind data with a frame too small for what it saves");

  Prologue prologue(data, save_area);
  prologue.finish(data.frame_size - save_area);

  Arm64UnwindInfo info;
  info.address = at;
  info.packed = true;
  info.function_length = data.function_length;
  // Unwind codes stand in the opposite order of the prologue that they undo.
  if (data.fragment) append(info.codes, end_c);
  for (auto code = prologue.codes.rbegin(); code != prologue.codes.rend(); ++code) append(info.codes, *code);
  append(info.codes, end);
  if (data.fragment) return info;
  info.single_epilog = true;
  // The epilogue does not set fp.
  const std::size_t epilogue_size = prologue.codes.size() - (chained_frame ? 1 : 0);
  info.epilog_code_index = chained_frame ? 1 : 0;
  if (prologue.first_parameter_store) {
    // Nor does it load the parameters: it has codes of its own.
    info.epilog_code_index = static_cast<std::uint32_t>(info.codes.size());
    for (std::size_t n = epilogue_size; n-- > 0;)
      if (n < *prologue.first_parameter_store ||
          n >= *prologue.first_parameter_store + Prologue::parameter_stores)
        append(info.codes, prologue.codes[n]);
    append(info.codes, end);
  }
  return info;
}

} // namespace clr
