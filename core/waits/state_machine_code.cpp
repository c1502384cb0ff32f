#include "core/waits/state_machine_code.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

namespace clr {
namespace {

constexpr std::size_t constant_distance = 5; // instructions from a state's number to its store
constexpr std::size_t awaiter_distance = 12; // from there to the awaiter's store
constexpr std::size_t call_distance = 24;    // from there back to the calls that made the awaiter

class Finder {
public:
  Finder(const Metadata& metadata, std::span<const std::byte> il)
      : metadata_(metadata), code_(il_instructions(il)) {}

  std::map<std::int32_t, AwaitSite> find() {
    std::map<std::int32_t, AwaitSite> sites;
    for (std::size_t i = 0; i < code_.size(); ++i) {
      const bool fsharp = stores(i, "ResumptionPoint");
      if (!fsharp && !stores(i, "<>1__state") && !stores(i, "$State")) continue;
      const auto state = constant_before(i);
      if (!state || *state < 0 || *state > max_await_states || sites.contains(*state)) continue;
      AwaitSite site{.yield_offset = code_[i].next};
      fsharp ? add_fsharp_awaiter(site, i) : add_awaiter(site, i);
      add_dispose(site, i);
      sites.emplace(*state, std::move(site));
    }
    note_loops(sites);
    return sites;
  }

private:
  static bool is_call(const IlInstruction& instruction) {
    return instruction.opcode == il::call || instruction.opcode == il::callvirt;
  }

  // The name of a method or field; "" for a token of neither, and for a name of over max_await_name bytes:
  // nobody wrote it, and a method may have a million tokens.
  const std::string& name(std::uint32_t token) {
    const auto [entry, added] = names_.try_emplace(token);
    if (!added || !metadata_.valid(token)) return entry->second;
    const std::uint32_t rid = token & 0xff'ffff;
    const auto take = [&](std::uint32_t text) {
      std::string found = metadata_.string(text);
      if (found.size() <= max_await_name) entry->second = std::move(found);
    };
    switch (token >> 24) {
    case 0x04:
      take(metadata_.field(rid).name);
      break;
    case 0x06:
      take(metadata_.method_def(rid).name);
      break;
    case 0x0a:
      take(metadata_.member_ref(rid).name);
      break;
    case 0x2b: {
      const std::uint32_t method = metadata_.method_spec(rid).method;
      if (method >> 24 != 0x2b) {
        std::string found = name(method);
        return names_[token] = std::move(found);
      }
      break;
    }
    default:
      break;
    }
    return entry->second;
  }

  const SharedText& shared_name(std::uint32_t token) {
    SharedText& text = awaiters_[token];
    if (text.empty()) text = name(token);
    return text;
  }

  bool stores(std::size_t index, std::string_view field) {
    return code_[index].opcode == il::stfld && name(code_[index].token()) == field;
  }

  std::optional<std::int32_t> constant_before(std::size_t index) const {
    for (std::size_t i = 1; i <= constant_distance && i <= index; ++i)
      if (const auto constant = pushed_constant(code_[index - i])) return constant;
    return std::nullopt;
  }

  void add_awaiter(AwaitSite& site, std::size_t index) {
    for (std::size_t i = index + 1; i < code_.size() && i <= index + awaiter_distance; ++i) {
      if (code_[i].opcode != il::stfld) continue;
      const std::string& field = name(code_[i].token());
      if (!field.starts_with("<>u__") && !field.starts_with("$A")) continue;
      site.awaiter = shared_name(code_[i].token());
      return;
    }
  }

  // F# keeps the awaiter first, and asks whether it is done: ldflda awaiter; call get_IsCompleted.
  void add_fsharp_awaiter(AwaitSite& site, std::size_t index) {
    for (std::size_t i = index; i-- > 1 && index - i <= call_distance;) {
      if (!is_call(code_[i]) || name(code_[i].token()) != "get_IsCompleted") continue;
      if (code_[i - 1].opcode == il::ldflda) site.awaiter = shared_name(code_[i - 1].token());
      return;
    }
  }

  // A site is in a loop when a jump behind it leads to it or to what is in front of it. Both may be many, so
  // they are gone through together, from the last instruction to the first.
  void note_loops(std::map<std::int32_t, AwaitSite>& sites) const {
    std::vector<AwaitSite*> last_first;
    for (auto& [state, site] : sites) last_first.push_back(&site);
    std::ranges::sort(last_first, std::ranges::greater{}, &AwaitSite::yield_offset);
    auto jump = code_.rbegin();
    std::int64_t first_target = std::numeric_limits<std::int64_t>::max(); // of all jumps behind a site
    for (AwaitSite* const site : last_first) {
      for (; jump != code_.rend() && jump->offset >= site->yield_offset; ++jump)
        if (il::is_jump(jump->opcode) && jump->operand < 0)
          first_target = std::min(first_target, std::int64_t{jump->next} + jump->operand);
      site->in_loop = first_target <= site->yield_offset;
    }
  }

  // Backwards: get_IsCompleted, GetAwaiter, perhaps ConfigureAwait, and what they are called on.
  void add_dispose(AwaitSite& site, std::size_t index) {
    for (std::size_t i = index; i-- > 0 && index - i <= call_distance;) {
      if (!is_call(code_[i])) continue;
      const std::string& called = name(code_[i].token());
      if (called == "get_IsCompleted" || called == "GetAwaiter" || called == "ConfigureAwait") continue;
      if (called != "DisposeAsync") return;
      site.dispose_call = code_[i].offset;
      add_dispose_store(site, i);
      return;
    }
  }

  void add_dispose_store(AwaitSite& site, std::size_t call) {
    for (std::size_t i = call; i-- > 0 && call - i <= 3;) {
      // What is not used behind an await is kept in a variable, where optimised.
      if (const auto variable = loaded_variable(code_[i])) {
        const auto store = last_store(*variable, i);
        if (!store) return;
        site.dispose_store = code_[*store].offset;
        // It may be a copy of the field, made for the call.
        if (*store != 0 && code_[*store - 1].opcode == il::ldfld) take_first_store(site, *store - 1);
        return;
      }
      if (code_[i].opcode != il::ldfld && code_[i].opcode != il::ldflda) continue;
      if (take_first_store(site, i)) return;
    }
  }

  // Of the field that the instruction at `index` loads.
  bool take_first_store(AwaitSite& site, std::size_t index) {
    const std::string& field = name(code_[index].token());
    const auto store = field.empty() ? std::nullopt : first_store(field);
    if (!store || *store >= index) return false;
    site.dispose_store = code_[*store].offset;
    return true;
  }

  // The number of the first instruction that stores to a field of this name.
  std::optional<std::size_t> first_store(const std::string& field) {
    if (!stores_noted_) {
      stores_noted_ = true;
      for (std::size_t i = 0; i < code_.size(); ++i)
        if (code_[i].opcode == il::stfld) first_stores_.try_emplace(name(code_[i].token()), i);
    }
    const auto found = first_stores_.find(field);
    return found == first_stores_.end() ? std::nullopt : std::optional(found->second);
  }

  // The number of the last instruction in front of `index` that sets a local variable.
  std::optional<std::size_t> last_store(std::uint32_t variable, std::size_t index) {
    if (!settings_noted_) {
      settings_noted_ = true;
      for (std::size_t i = 0; i < code_.size(); ++i)
        if (const auto stored = stored_variable(code_[i])) settings_[*stored].push_back(i);
    }
    const std::vector<std::size_t>& all = settings_[variable];
    const auto behind = std::ranges::lower_bound(all, index);
    return behind == all.begin() ? std::nullopt : std::optional(*(behind - 1));
  }

  const Metadata& metadata_;
  std::vector<IlInstruction> code_;
  std::unordered_map<std::uint32_t, std::string> names_;   // by token
  std::unordered_map<std::uint32_t, SharedText> awaiters_; // likewise
  bool stores_noted_ = false;
  std::unordered_map<std::string, std::size_t> first_stores_;
  bool settings_noted_ = false;
  std::unordered_map<std::uint32_t, std::vector<std::size_t>> settings_; // by variable
};

} // namespace

std::map<std::int32_t, AwaitSite> await_sites(const Metadata& metadata, std::span<const std::byte> il) {
  return Finder(metadata, il).find();
}

} // namespace clr
