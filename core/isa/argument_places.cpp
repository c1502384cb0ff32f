#include "core/isa/argument_places.h"

#include "core/isa/registers.h"

#include <algorithm>

namespace clr {
namespace {

constexpr std::uint32_t word = 8;
// A structure of more bytes is not passed in registers for integers.
constexpr std::uint32_t largest_in_registers = 2 * word;

std::uint32_t words_of(std::uint32_t size) {
  return size / word + (size % word != 0 ? 1 : 0);
}

// The registers and the stack, as the arguments use them up.
class Places {
public:
  Places(const ArgumentForm& form, std::int64_t registers, std::int64_t stack)
      : form_(form), registers_(registers), stack_(stack) {}

  // The offsets of the words of an argument; empty for one that holds no reference where it lies.
  std::vector<std::int64_t> take(const ArgumentShape& shape) {
    const std::uint32_t words = std::max(words_of(shape.size), 1u);
    if (shape.kind != ArgumentShape::Kind::structure)
      return take_words(1, shape.kind == ArgumentShape::Kind::real ? 1 : 0, false);
    if (!form_.words_apart && shape.equal_reals != 0) {
      if (take_reals(shape.equal_reals)) return {};
      return on_stack(words);
    }
    if (shape.size > largest_in_registers || shape.memory_only) return on_stack(words);
    return take_words(words, form_.words_apart ? shape.real_words : 0, true);
  }

private:
  bool take_reals(unsigned count) {
    if (reals_ + count <= form_.real_registers) {
      reals_ += count;
      return true;
    }
    if (form_.in_order) reals_ = form_.real_registers;
    return false;
  }

  std::vector<std::int64_t> on_stack(std::uint32_t words) {
    std::vector<std::int64_t> offsets;
    for (std::uint32_t i = 0; i < std::min(words, max_words); ++i)
      offsets.push_back(stack_ + std::int64_t{word} * i);
    stack_ += std::int64_t{word} * words;
    return offsets;
  }

  std::vector<std::int64_t> take_words(std::uint32_t words, unsigned real_words, bool whole) {
    unsigned reals = 0;
    for (std::uint32_t i = 0; i < words; ++i) reals += real_words >> i & 1;
    const unsigned integers = words - reals;
    // A structure is never split.
    const bool fits =
        integers_ + integers <= form_.integer_registers && reals_ + reals <= form_.real_registers;
    if (!fits) {
      if (form_.in_order && (whole || reals == 0)) integers_ = form_.integer_registers;
      if (form_.in_order && !whole && reals != 0) reals_ = form_.real_registers;
      return on_stack(words);
    }
    std::vector<std::int64_t> offsets;
    for (std::uint32_t i = 0; i < words; ++i) {
      const bool real = (real_words >> i & 1) != 0;
      offsets.push_back(real ? 0 : registers_ + std::int64_t{word} * integers_);
      ++(real ? reals_ : integers_);
    }
    return offsets;
  }

  // Behind these words of one argument no reference is looked for.
  static constexpr std::uint32_t max_words = 1u << 20;

  const ArgumentForm& form_;
  std::int64_t registers_, stack_;
  unsigned integers_ = 0, reals_ = 0;
};

} // namespace

std::optional<unsigned> first_argument_register(const Architecture& architecture) {
  switch (architecture.cpu) {
  case Cpu::x64:
    return x64_register::rdi;
  case Cpu::arm64:
    return arm64_register::x0;
  default:
    return std::nullopt;
  }
}

bool returned_in_buffer(const Architecture& architecture, const ArgumentShape& shape) {
  // Where large values go by reference, a register of its own names the memory of a returned one.
  return !architecture.arguments.large_by_reference && shape.kind == ArgumentShape::Kind::structure &&
         (shape.size > largest_in_registers || shape.memory_only);
}

std::vector<ArgumentReference> place_references(const Architecture& architecture,
                                                std::span<const ArgumentShape> arguments,
                                                std::int64_t registers, std::int64_t stack) {
  const ArgumentForm& form = architecture.arguments;
  if (form.integer_registers == 0) return {};
  Places places(form, registers, stack);
  std::vector<ArgumentReference> found;
  for (std::uint32_t i = 0; i < arguments.size(); ++i) {
    const ArgumentShape& shape = arguments[i];
    const bool by_reference = form.large_by_reference && shape.kind == ArgumentShape::Kind::structure &&
                              shape.size > largest_in_registers && shape.equal_reals == 0;
    if (by_reference) {
      found.push_back({.argument = i, .offset = places.take({.size = word}).front(), .interior = true});
      continue;
    }
    const std::vector<std::int64_t> words = places.take(shape);
    for (const ArgumentShape::Reference& reference : shape.references)
      if (reference.offset / word < words.size())
        found.push_back(
            {.argument = i, .offset = words[reference.offset / word], .interior = reference.interior});
  }
  return found;
}

} // namespace clr
