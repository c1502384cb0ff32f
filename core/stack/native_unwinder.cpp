#include "core/stack/native_unwinder.h"

#include "core/stack/cfi_module.h"
#include "core/stack/signal_frame.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <unordered_map>

namespace clr {
namespace {

// Rows are kept for a stop; a process with more distinct return addresses than this starts over.
constexpr std::size_t max_rows = 100'000;
constexpr unsigned pointer_size = 8;
// A function without a frame and without call frame information is short: a PLT entry, a routine in assembly.
constexpr Address max_frameless_function = 4096;

// The frame is the pair {caller's frame pointer, return address} at the frame pointer, on x64 and arm64
// alike.
FrameLayout frame_pointer_layout(const RegisterRoles& roles) {
  FrameLayout layout;
  layout.cfa = {roles.fp, 2 * pointer_size};
  layout.save(roles.fp, {roles.fp, 0});
  layout.save(roles.return_address, {roles.fp, pointer_size});
  return layout;
}

bool interrupts(const CfiRow& row) {
  return std::visit([](const auto& rules) { return rules.interrupted; }, row);
}

FrameLayout frameless_layout(const Architecture& architecture) {
  const RegisterRoles& roles = architecture.roles;
  FrameLayout layout;
  layout.cfa = {roles.sp, 0};
  if (architecture.returns_by_stack()) {
    layout.cfa.offset = pointer_size;
    layout.save(roles.pc, {roles.sp, 0});
  }
  return layout;
}

// The ends of modules that are sorted by where they begin, in a tree of maxima: the last of the first ones
// that ends beyond an address is found in as many steps as the tree is high.
class ModuleEnds {
public:
  void assign(std::size_t count) {
    leaves_ = std::bit_ceil(count + 1);
    most_.assign(2 * leaves_, 0);
  }
  void set(std::size_t index, Address end) {
    std::size_t node = leaves_ + index;
    most_[node] = end;
    while (node /= 2) most_[node] = std::max(most_[2 * node], most_[2 * node + 1]);
  }
  // The last of the first `count` modules that ends beyond `address`.
  std::optional<std::size_t> last_beyond(Address address, std::size_t count) const {
    // Upward, until a tree that lies before all that was passed holds one; then down to its last.
    std::size_t node = leaves_ + count;
    while (node % 2 == 0 || most_[node - 1] <= address) {
      node /= 2;
      if (node <= 1) return std::nullopt;
    }
    for (--node; node < leaves_;) node = 2 * node + (most_[2 * node + 1] > address ? 1 : 0);
    return node - leaves_;
  }

private:
  std::size_t leaves_ = 1;
  std::vector<Address> most_{0, 0}; // node n has the children 2n and 2n + 1
};

// Where a module of known size ends.
Address end_of(const LoadedModule& module) {
  return module.size > ~Address{0} - module.base ? ~Address{0} : module.base + module.size;
}

} // namespace

struct NativeUnwinder::Impl {
  struct Module {
    LoadedModule loaded;
    std::unique_ptr<CfiModule> cfi; // opened on first use

    CfiModule& open(Impl& of) {
      if (!cfi) cfi = std::make_unique<CfiModule>(*of.memory, of.platform, loaded.base, of.room);
      return *cfi;
    }
  };

  CfiRoom room; // of `modules`
  MemoryReader* memory;
  Platform platform;
  const Architecture* architecture;         // of the platform
  std::vector<LoadedModule> public_modules; // sorted by base, as `modules`
  std::vector<Module> modules;
  ModuleEnds ends; // of `modules`; of one whose size is not known the end of memory, until it was opened
  struct KnownRow {
    std::optional<CfiRow> row;
    std::string why; // there is none
  };
  std::unordered_map<Address, KnownRow> rows; // by the address looked up, where there is a module

  Module* module_at(Address address) {
    const auto next =
        std::ranges::upper_bound(modules, address, {}, [](const Module& m) { return m.loaded.base; });
    for (;;) {
      const auto index = ends.last_beyond(address, static_cast<std::size_t>(next - modules.begin()));
      if (!index) return nullptr;
      Module& module = modules[*index];
      if (module.loaded.size != 0 || module.cfi) return &module;
      ends.set(*index, module.open(*this).end());
    }
  }

  std::optional<Unwound> by_code(const RegisterContext& context, bool leaf, std::string& why) {
    const auto pc = context.pc();
    if (!pc || *pc == 0) return std::nullopt;
    const CfiRow* row = row_at(leaf ? *pc : *pc - 1, why);
    const Architecture& of_context = context.architecture();
    if (row == nullptr || (of_context.signal_frame.before_cfi && interrupts(*row)))
      if (const auto layout = signal_frame_layout(*memory, of_context, *pc))
        return apply_layout(*memory, *layout, context, FoundBy::cfi);
    if (row != nullptr) return apply_cfi_row(*memory, *row, context);
    if (!leaf || module_at(*pc) == nullptr) return std::nullopt;
    // A PLT entry or a routine in assembly. The word at the stack pointer may be anything: it is believed
    // when it is behind a call to just here.
    try {
      Unwound step = apply_layout(*memory, frameless_layout(context.architecture()), context, FoundBy::stub);
      if (called_here(step, *pc)) return step;
    } catch (const Error&) {
      // Memory that is missing tells nothing.
    }
    return std::nullopt;
  }

  // True when the caller of `step` called a function that begins at `pc` or a little before it.
  bool called_here(const Unwound& step, Address pc) {
    if (architecture->direct_call_target == nullptr) return false;
    const auto target = architecture->direct_call_target(*memory, step.caller.pc().value_or(0));
    return target && *target <= pc && pc - *target < max_frameless_function;
  }

  // The row for the instruction at `lookup`; null when there is none, with the reason in `why`.
  const CfiRow* row_at(Address lookup, std::string& why) {
    auto known = rows.find(lookup);
    if (known == rows.end()) {
      Module* module = module_at(lookup);
      if (module == nullptr) {
        why = fmt::format("{:#x} is in no module", lookup);
        return nullptr;
      }
      if (rows.size() >= max_rows) rows.clear();
      // What fails is kept, too: to ask again would take from the room, and give the same answer.
      known = rows.emplace(lookup, read_row(module->open(*this), lookup)).first;
    }
    if (known->second.row) return &*known->second.row;
    why = known->second.why;
    return nullptr;
  }

  static KnownRow read_row(const CfiModule& cfi, Address lookup) {
    try {
      if (auto row = cfi.row(lookup)) return {std::move(row), {}};
      return {std::nullopt, cfi.problem().empty() ? fmt::format("no call frame information for {:#x}", lookup)
                                                  : cfi.problem()};
    } catch (const Error& error) {
      return {std::nullopt, error.what()};
    }
  }
};

NativeUnwinder::NativeUnwinder(MemoryReader& memory, Platform platform, std::vector<LoadedModule> modules)
    : impl_(std::make_unique<Impl>()) {
  impl_->memory = &memory;
  impl_->platform = platform;
  impl_->architecture = &architecture_of(platform.cpu);
  std::ranges::sort(modules, {}, &LoadedModule::base);
  impl_->public_modules = modules;
  impl_->ends.assign(modules.size());
  for (LoadedModule& module : modules) {
    impl_->ends.set(impl_->modules.size(), module.size != 0 ? end_of(module) : ~Address{0});
    impl_->modules.push_back({std::move(module), nullptr});
  }
}

NativeUnwinder::~NativeUnwinder() = default;

const std::vector<LoadedModule>& NativeUnwinder::modules() const {
  return impl_->public_modules;
}

const LoadedModule* NativeUnwinder::module_at(Address address) {
  const Impl::Module* module = impl_->module_at(address);
  return module == nullptr ? nullptr
                           : &impl_->public_modules[static_cast<std::size_t>(module - impl_->modules.data())];
}

std::optional<FrameLayout> NativeUnwinder::layout(Address pc) {
  std::string why;
  const CfiRow* row = impl_->row_at(pc, why);
  if (row == nullptr || !std::holds_alternative<FrameLayout>(*row)) return std::nullopt;
  return std::get<FrameLayout>(*row);
}

std::optional<FrameLayout> NativeUnwinder::layout(Address pc, bool leaf, FoundBy found_by) {
  std::string why;
  const CfiRow* const row = impl_->row_at(leaf || pc == 0 ? pc : pc - 1, why);
  if (row == nullptr || interrupts(*row))
    if (const auto trampoline = signal_frame_layout(*impl_->memory, *impl_->architecture, pc))
      return trampoline;
  if (row != nullptr) {
    if (const auto* const layout = std::get_if<FrameLayout>(row)) return *layout;
    return std::nullopt;
  }
  if (found_by == FoundBy::stub) return frameless_layout(*impl_->architecture);
  if (found_by == FoundBy::frame_pointer) return frame_pointer_layout(impl_->architecture->roles);
  return std::nullopt;
}

std::optional<Address> NativeUnwinder::function_start(Address pc) {
  Impl::Module* const module = impl_->module_at(pc);
  if (module == nullptr) return std::nullopt;
  return module->open(*impl_).function_start(pc);
}

std::optional<Unwound> NativeUnwinder::by_code(const RegisterContext& context, bool leaf) {
  std::string why;
  return impl_->by_code(context, leaf, why);
}

Unwound NativeUnwinder::frameless(const RegisterContext& context) {
  return apply_layout(*impl_->memory, frameless_layout(context.architecture()), context, FoundBy::stub);
}

Unwound NativeUnwinder::by_frame_pointer(const RegisterContext& context) {
  const RegisterRoles& roles = context.architecture().roles;
  const Address fp = context.get(roles.fp);
  if (fp == 0) { // the ABIs' mark of the outermost frame
    Unwound bottom;
    bottom.found_by = FoundBy::frame_pointer;
    bottom.outermost = true;
    return bottom;
  }
  const auto sp = context.sp();
  if (fp % pointer_size != 0 || (sp && fp < *sp))
    throw_corrupt(fp, "the frame pointer does not lead to a caller: it points");
  Unwound result = apply_layout(*impl_->memory, frame_pointer_layout(roles), context, FoundBy::frame_pointer);
  // It is not known which other registers the function saved, so the caller's are not known either.
  for (unsigned reg = 0; reg < roles.count; ++reg)
    if (reg != roles.pc && reg != roles.sp && reg != roles.fp) result.caller.forget(reg);
  return result;
}

std::optional<bool> NativeUnwinder::follows_call(Address return_address) {
  const auto follows_call = impl_->architecture->follows_call;
  return follows_call == nullptr ? std::nullopt : follows_call(*impl_->memory, return_address);
}

Unwound NativeUnwinder::unwind(const RegisterContext& context, bool leaf) {
  const auto pc = context.pc();
  if (!pc) throw Error(ErrorKind::register_unknown, "the program counter is not known");
  if (!leaf && *pc == 0) {
    Unwound bottom;
    bottom.found_by = FoundBy::frame_pointer;
    bottom.outermost = true;
    return bottom;
  }
  std::string why;
  try {
    if (auto step = impl_->by_code(context, leaf, why)) return *std::move(step);
  } catch (const Error& error) {
    // Without its stack memory a frame has no caller that could be believed. A register that an earlier frame
    // left unknown is another matter: the frame pointer may still lead on.
    if (error.address()) throw;
    why = error.what();
  }
  const auto plausible = [&](const Unwound& step) {
    if (step.outermost) return true;
    const Address target = step.caller.pc().value_or(0);
    return follows_call(target).value_or(impl_->module_at(target) != nullptr);
  };
  if (leaf && impl_->module_at(*pc) == nullptr) {
    try {
      const Unwound step = frameless(context);
      if (plausible(step)) return step;
    } catch (const Error&) {
      // The frame pointer remains.
    }
  }
  try {
    const Unwound step = by_frame_pointer(context);
    if (plausible(step)) return step;
    why += fmt::format(", and the frame pointer leads to {:#x}, which is no return address",
                       step.caller.pc().value_or(0));
  } catch (const Error& error) {
    why += fmt::format(", and {}", error.what());
  }
  throw Error(ErrorKind::corrupt, *pc, why);
}

} // namespace clr
