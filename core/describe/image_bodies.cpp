#include "core/describe/image_bodies.h"

#include "core/isa/architecture.h"

#include <algorithm>

namespace clr {
namespace {

// Runtime functions that one method is believed to have.
constexpr std::size_t max_functions_of_method = 65536;

class ImageBodies {
public:
  ImageBodies(Runtime& runtime, const RangeSection& section)
      : code_(*runtime.code()), section_(section), functions_(code_.r2r_functions(section)) {}

  // The body whose functions are [first, next) of the table.
  // Sets all but the method.
  void find(std::uint32_t first, std::uint32_t next, FoundBody& found) {
    CodeBlock& block = found.block = {};
    found.functions.clear();
    block.kind = CodeKind::ready_to_run;
    block.section = section_;
    block.method_index = block.function_index = first;
    block.start = block.ip = functions_.at(first).begin;
    std::uint32_t last = first;
    found.functions.push_back({block.start, functions_[first].entry});
    for (std::uint32_t index = first + 1; index < next && index - first < max_functions_of_method; ++index) {
      // Debug info is a method's: code that the image's tables do not name, not a funclet.
      CodeBlock other = block;
      other.method_index = index;
      if (code_.debug_info(other).address != 0 || functions_[index].begin <= functions_[last].begin) break;
      found.functions.push_back({functions_[index].begin, functions_[index].entry});
      last = index;
    }
    const Address end = end_of(last);
    if (end <= block.start)
      throw_corrupt(functions_[last].entry, "a runtime function that ends before it begins,");
    found.regions = {.hot_start = block.start, .hot_size = end - block.start};
  }

  std::uint32_t count() const { return static_cast<std::uint32_t>(functions_.size()); }

private:
  Address end_of(std::uint32_t index) const {
    const ExecutionManager::R2RFunction& function = functions_[index];
    if (function.end != 0) return function.end;
    const auto length = architecture_with_stacks(code_.target().platform().cpu).function_length;
    return function.begin + length(code_.target().memory(), function.entry, section_.begin);
  }

  ExecutionManager& code_;
  RangeSection section_;
  std::vector<ExecutionManager::R2RFunction> functions_;
};

} // namespace

void for_each_image_body(Runtime& runtime, const RangeSection& section,
                         const std::function<bool(FoundBody&)>& visit,
                         const std::function<void(Method&, const std::string&)>& hole, Spelling spelling) {
  ExecutionManager& code = *runtime.code();
  const ExecutionManager::R2RImage image = code.r2r_image(section);
  // Cold parts are found method by method.
  const bool in_bulk = image.hot_count == image.function_count;
  std::optional<ImageBodies> bodies;
  if (in_bulk) bodies.emplace(runtime, section);
  // A method ends where the next one begins. One value for all of them: its vectors keep their memory.
  FoundBody body;
  std::optional<std::uint32_t> pending; // function index of body.method
  const auto flush = [&](std::uint32_t next) {
    if (!pending) return true;
    const std::uint32_t index = *pending;
    pending.reset();
    try {
      if (bodies) {
        bodies->find(index, next, body);
      } else {
        const CodeBlock block = code.r2r_block(section, index);
        body.block = block;
        body.regions = code.regions(block);
        body.functions = code.functions(block);
      }
    } catch (const std::exception& error) {
      hole(body.method, error.what());
      return true;
    }
    return visit(body);
  };
  bool going = true;
  runtime.names()->for_each_r2r_method(
      section,
      [&](MethodNames::R2RMethod& found) {
        if (found.function_index >= image.hot_count) return true;
        going = flush(found.function_index);
        pending = found.function_index;
        body.method = std::move(found.method);
        return going;
      },
      spelling);
  if (going) flush(image.hot_count);
}

} // namespace clr
