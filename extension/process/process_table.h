// The processes of a debugger, each found by its target.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace clr::lldb_plugin {

// When entries are dropped, the one rule: an entry is of one target and of one process. It goes when its
// target goes, which is looked at whenever any entry is asked for (but not when find() finds a process that
// is there: it is asked for each value of a stack); and it is replaced when its process has ended or another
// one stands in its place, which is looked at when the target's entry is asked for. An entry of a target that
// has no process yet becomes that of the process which comes. Who still works with an entry that was dropped
// keeps it, as an object that is told of nothing any more.
//
// `Target` has ==. `Process` has retire(), which lets go what it put into its debugger.
template<typename Target, typename Process>
class ProcessTable {
public:
  struct Questions {
    std::function<bool(Target&)> is_gone;
    // The debugger's unique number of the target's process; 0: there is none, it has ended, or the target is
    // gone.
    std::function<std::uint32_t(Target&)> process_of;
    // `number`: of the target, from 1, as long as it is there. `before`: the entry that is replaced, retired;
    // null: none. What belongs to the target is taken over.
    std::function<std::shared_ptr<Process>(const Target&, std::uint32_t number, Process* before)> make;
  };
  explicit ProcessTable(Questions ask) : ask_(std::move(ask)) {}

  // The entry of the target's process, made when there is none. Null when the target is gone.
  std::shared_ptr<Process> at(Target target) { return look(target, true); }
  // The same, but null when no entry of the target was made before.
  std::shared_ptr<Process> find(Target target) {
    const auto found = entry_of(target);
    if (found != entries_.end() && found->process != 0 && found->process == ask_.process_of(target))
      return found->object;
    return look(target, false);
  }

  // The target of this number; nothing: it is gone, or there was never one.
  std::optional<Target> target_of(std::uint32_t number) {
    drop_gone();
    for (const Entry& entry : entries_)
      if (entry.number == number) return entry.target;
    return std::nullopt;
  }

  // Those that there are, for what concerns all.
  std::vector<std::shared_ptr<Process>> all() {
    drop_gone();
    std::vector<std::shared_ptr<Process>> found;
    for (const Entry& entry : entries_) found.push_back(entry.object);
    return found;
  }

  std::size_t size() const { return entries_.size(); }

private:
  struct Entry {
    Target target;
    std::uint32_t number = 0;
    std::uint32_t process = 0;
    std::shared_ptr<Process> object;
  };

  auto entry_of(Target& target) {
    return std::find_if(entries_.begin(), entries_.end(),
                        [&](Entry& entry) { return entry.target == target; });
  }

  std::shared_ptr<Process> look(Target& target, bool make) {
    drop_gone();
    const auto found = entry_of(target);
    if (found == entries_.end() && ask_.is_gone(target)) return nullptr;
    const std::uint32_t now = ask_.process_of(target);
    if (found == entries_.end()) return make ? add(target, ++numbers_, now, nullptr) : nullptr;
    if (found->process == 0 || found->process == now) {
      found->process = now;
      return found->object;
    }
    const std::uint32_t number = found->number;
    const std::shared_ptr<Process> before = std::move(found->object);
    entries_.erase(found); // what retires does not find itself here
    before->retire();
    return add(target, number, now, before.get());
  }

  std::shared_ptr<Process> add(const Target& target, std::uint32_t number, std::uint32_t process,
                               Process* before) {
    entries_.push_back({target, number, process, ask_.make(target, number, before)});
    return entries_.back().object;
  }

  void drop_gone() {
    std::vector<std::shared_ptr<Process>> gone;
    std::erase_if(entries_, [&](Entry& entry) {
      if (!ask_.is_gone(entry.target)) return false;
      gone.push_back(std::move(entry.object));
      return true;
    });
    for (const std::shared_ptr<Process>& process : gone) process->retire();
  }

  Questions ask_;
  std::vector<Entry> entries_;
  std::uint32_t numbers_ = 0; // that were given
};

} // namespace clr::lldb_plugin
