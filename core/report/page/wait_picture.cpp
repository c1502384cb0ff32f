#include "core/report/page/wait_picture.h"

#include "core/memory/count_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <compare>
#include <map>
#include <set>

namespace clr {
namespace {

struct PictureKey {
  PictureBox::Kind kind = PictureBox::Kind::thread;
  std::uint64_t id = 0; // of a thread its kernel id, of an object its address, of a chain its number
  bool pulse = false;   // of a condition, which is another thing to wait for than the lock of its object
  friend auto operator<=>(const PictureKey&, const PictureKey&) = default;
};

bool is_waited_like_a_lock(AwaitedKind kind) {
  return kind == AwaitedKind::semaphore || kind == AwaitedKind::channel ||
         kind == AwaitedKind::completion_source;
}

class PictureMaker {
public:
  PictureMaker(LockReporter& locks, const AsyncReport* chains) : locks_(locks), chains_(chains) {}

  WaitPicture make(const HeapWalkOptions& options) {
    const std::vector<Deadlock>& deadlocks = locks_.deadlocks(options);
    add_edges(locks_.edges(options));
    add_locks(locks_.table(options));
    for (const Deadlock& deadlock : deadlocks) redden(deadlock);
    add_chains();
    merge_threads();
    return picture();
  }

private:
  struct Member {
    WaitedObject object; // of a lock or task
    bool red = false;
    std::vector<std::uint64_t> threads; // that one box stands for
    std::size_t count = 1;              // threads or chains
    double weight = 0;                  // how many wait for it, in the end
  };

  PictureKey thread(std::uint64_t os_id) {
    const PictureKey key{PictureBox::Kind::thread, os_id};
    members_[key].threads = {os_id};
    return key;
  }

  PictureKey object(const WaitedObject& object) {
    const bool task = object.kind == LockKind::task;
    const PictureKey key{task ? PictureBox::Kind::task : PictureBox::Kind::lock, object.object,
                         object.kind == LockKind::condition};
    Member& member = members_[key];
    if (member.object.object == 0) member.object = object;
    return key;
  }

  PictureKey key_of(const WaitGraph::Node& node) {
    return node.kind == WaitGraph::Kind::thread ? thread(node.id) : object({node.id, LockKind::task});
  }

  void connect(const PictureKey& from, const PictureKey& to) { arrows_.insert({from, to}); }

  void add_edges(const WaitEdges& edges) {
    for (const WaitGraph::Edge& edge : edges.graph.edges()) {
      const PictureKey from = key_of(edges.graph.nodes()[edge.from]);
      const PictureKey to = key_of(edges.graph.nodes()[edge.to]);
      const WaitedObject& why = edges.reasons[edge.why].object;
      // Of a thread that is joined and of a task the object is what stands at the other end, or at this one.
      if (why.object == 0 || is_of_thread(why.kind) || why.object == from.id || why.object == to.id) {
        connect(from, to);
        continue;
      }
      const PictureKey between = object(why);
      connect(from, between);
      connect(between, to);
    }
  }

  void add_locks(const LockTable& table) {
    for (const LockRow& row : table.locks) {
      if (row.waiters.empty() || is_of_thread(row.state.kind)) continue;
      const PictureKey lock = object({row.state.object, row.state.kind});
      rows_[lock] = &row;
      for (const std::size_t i : row.waiters) connect(thread(table.waits[i].os_id), lock);
      if (row.owner && row.owner->os_id) connect(lock, thread(*row.owner->os_id));
      for (const LockHolder& reader : row.readers)
        if (reader.os_id) connect(lock, thread(*reader.os_id));
    }
  }

  void redden(const Deadlock& deadlock) {
    for (const DeadlockMember& member : deadlock.members) {
      members_[key_of(member.node)].red = true;
      if (!is_of_thread(member.waits_for.object.kind) && member.waits_for.object.object != 0)
        members_[object(member.waits_for.object)].red = true;
      for (const WaitedObject& held : member.holds) members_[object(held)].red = true;
    }
  }

  void add_chains() {
    if (chains_ == nullptr) return;
    std::set<PictureKey> leaving;
    for (const auto& [from, to] : arrows_) leaving.insert(from);
    for (std::size_t i = 0; i < chains_->stacks.size(); ++i) {
      const AsyncStack& stack = chains_->stacks[i];
      if (stack.plumbing || stack.frames.empty()) continue;
      for (const AsyncFrame& frame : stack.frames) methods_.try_emplace(frame.box, frame.position.get());
      const PictureKey own{PictureBox::Kind::task, stack.frames.back().box};
      const bool waited_for = members_.contains(own);
      const Address address = stack.waits_for.object;
      const bool as_lock = address != 0 && members_.contains({PictureBox::Kind::lock, address});
      const bool as_task = address != 0 && members_.contains({PictureBox::Kind::task, address});
      if (!waited_for && !as_lock && !as_task &&
          !(address != 0 && is_waited_like_a_lock(stack.waits_for.kind)))
        continue;
      // The waits of its tasks stand in the picture already.
      if (std::ranges::any_of(stack.frames, [&](const AsyncFrame& frame) {
            return leaving.contains({PictureBox::Kind::task, frame.box});
          }))
        continue;
      const PictureKey key{PictureBox::Kind::chain, i};
      members_[key].count = stack.count();
      if (waited_for) connect(own, key);
      if (address == 0) continue;
      const PictureKey awaited{as_task ? PictureBox::Kind::task : PictureBox::Kind::lock, address};
      if (!as_lock && !as_task) {
        members_[awaited].object = {address, LockKind::semaphore};
        texts_[awaited] = stack.waits_for.text;
      }
      connect(key, awaited);
    }
  }

  // Threads for which nobody waits, and that wait for the same at the same place.
  void merge_threads() {
    std::map<PictureKey, std::vector<PictureKey>> out;
    std::set<PictureKey> reached;
    for (const auto& [from, to] : arrows_) {
      out[from].push_back(to);
      reached.insert(to);
    }
    std::map<std::pair<PictureKey, std::string>, PictureKey> first;
    std::vector<PictureKey> merged;
    for (auto& [key, member] : members_) {
      if (key.kind != PictureBox::Kind::thread || member.red || reached.contains(key)) continue;
      const auto to = out.find(key);
      if (to == out.end() || to->second.size() != 1) continue;
      const ThreadWait* const wait = locks_.wait_of(key.id);
      const std::string place = wait == nullptr ? "" : locks_.place_text(*wait);
      const auto [known, added] = first.try_emplace({to->second.front(), place}, key);
      if (added) continue;
      Member& whole = members_.at(known->second);
      whole.threads.push_back(key.id);
      ++whole.count;
      merged.push_back(key);
    }
    for (const PictureKey& key : merged) {
      members_.erase(key);
      arrows_.erase({key, out.at(key).front()});
    }
  }

  // How many wait for each box, in the end; cycles make it larger than it is, which does no harm.
  void weigh() {
    constexpr unsigned rounds = 6;
    for (auto& [key, member] : members_) member.weight = static_cast<double>(member.count);
    for (unsigned i = 0; i < rounds; ++i) {
      std::map<PictureKey, double> sums;
      for (const auto& [from, to] : arrows_) sums[to] += members_.at(from).weight;
      for (auto& [key, member] : members_) {
        const auto sum = sums.find(key);
        member.weight = static_cast<double>(member.count) + (sum == sums.end() ? 0 : sum->second);
      }
    }
  }

  // The boxes that arrows connect with each other, the deadlocked ones first, then those for which most wait;
  // in the same order the boxes of each.
  std::vector<std::vector<PictureKey>> parts() const {
    std::map<PictureKey, std::vector<PictureKey>> beside;
    for (const auto& [from, to] : arrows_) {
      beside[from].push_back(to);
      beside[to].push_back(from);
    }
    std::vector<PictureKey> order;
    for (const auto& [key, member] : members_) order.push_back(key);
    std::ranges::stable_sort(order, [&](const PictureKey& a, const PictureKey& b) {
      const Member &one = members_.at(a), &other = members_.at(b);
      return one.red != other.red ? one.red : one.weight > other.weight;
    });
    std::map<PictureKey, std::size_t> part_of;
    std::size_t count = 0;
    for (const PictureKey& start : order) {
      if (!part_of.try_emplace(start, count).second) continue;
      std::vector<PictureKey> todo{start};
      while (!todo.empty()) {
        const PictureKey key = todo.back();
        todo.pop_back();
        for (const PictureKey& next : beside[key])
          if (part_of.try_emplace(next, count).second) todo.push_back(next);
      }
      ++count;
    }
    std::vector<std::vector<PictureKey>> found(count);
    for (const PictureKey& key : order) found[part_of.at(key)].push_back(key);
    return found;
  }

  WaitPicture picture() {
    // What nobody waits for and what waits for nothing is no part of it.
    std::set<PictureKey> joined;
    for (const auto& [from, to] : arrows_) {
      joined.insert(from);
      joined.insert(to);
    }
    std::erase_if(members_, [&](const auto& one) { return !joined.contains(one.first); });
    weigh();
    std::size_t left = joined.size();
    std::vector<PictureKey> order;
    for (std::vector<PictureKey>& part : parts()) {
      part.resize(std::min(part.size(), max_picture_boxes - order.size()));
      // A box alone tells nothing, but that of who waits for itself.
      if (part.empty() || (part.size() == 1 && !arrows_.contains({part.front(), part.front()}))) continue;
      order.insert(order.end(), part.begin(), part.end());
      left -= part.size();
    }
    WaitPicture picture;
    picture.left_out = left;
    std::map<PictureKey, std::size_t> numbers;
    for (const PictureKey& key : order) {
      numbers[key] = picture.boxes.size();
      picture.boxes.push_back({.kind = key.kind, .lines = lines(key), .red = members_.at(key).red});
    }
    for (const auto& [from, to] : arrows_) {
      if (picture.arrows.size() == max_picture_arrows) break;
      if (numbers.contains(from) && numbers.contains(to))
        picture.arrows.push_back({numbers.at(from), numbers.at(to)});
    }
    return picture;
  }

  std::vector<std::string> lines(const PictureKey& key) {
    const Member& member = members_.at(key);
    switch (key.kind) {
    case PictureBox::Kind::thread:
      return thread_lines(key, member);
    case PictureBox::Kind::chain: {
      const AsyncStack& stack = chains_->stacks[key.id];
      std::vector<std::string> found{count_text(stack.count(), "async call")};
      add_place(found, stack.frames.front().position->method->shown_name(),
                stack.frames.front().position->source);
      if (stack.frames.size() > 1)
        found.push_back(fmt::format("up to {}", stack.frames.back().position->method->shown_name()));
      return found;
    }
    case PictureBox::Kind::lock:
    case PictureBox::Kind::task:
      break;
    }
    if (const auto text = texts_.find(key); text != texts_.end())
      return {text->second, fmt::format("{:#x}", key.id)};
    std::vector<std::string> found{locks_.object_text(member.object)};
    if (const std::size_t address = found[0].rfind(" 0x"); address != std::string::npos) {
      found.push_back(found[0].substr(address + 1));
      found[0].resize(address);
    }
    if (const auto method = methods_.find(key.id);
        method != methods_.end() && key.kind == PictureBox::Kind::task)
      add_place(found, method->second->method->shown_name(), method->second->source);
    if (const auto row = rows_.find(key); row != rows_.end())
      if (const std::string owner = locks_.owner_text(*row->second); !owner.empty()) found.push_back(owner);
    return found;
  }

  std::vector<std::string> thread_lines(const PictureKey& key, const Member& member) {
    std::vector<std::string> found;
    if (member.count == 1) {
      found.push_back(locks_.thread_text(key.id));
    } else {
      found.push_back(fmt::format("{} threads", member.count));
      std::string numbers;
      for (const std::uint64_t os_id : member.threads) {
        constexpr std::size_t most = 40; // bytes of a line
        if (numbers.size() > most) {
          numbers += ", ...";
          break;
        }
        const unsigned index = locks_.index_of(os_id);
        // As LockReporter::thread_text() calls them.
        numbers += fmt::format("{}{}{}", numbers.empty() ? "" : ", ", index != 0 ? "#" : "",
                               index != 0 ? index : os_id);
      }
      found.push_back(std::move(numbers));
    }
    const ThreadWait* const wait = locks_.wait_of(key.id);
    if (wait == nullptr) return found;
    if (const auto place = locks_.place_of(*wait))
      add_place(found, place->method.shown_name(), place->source);
    // Where a chain of waits ends, its cause.
    const bool waits = std::ranges::any_of(arrows_, [&](const auto& arrow) { return arrow.first == key; });
    if (!waits) {
      const std::string text = locks_.wait_text(*wait);
      found.push_back(!text.empty() ? text : wait->what == ThreadWait::What::running ? "runs" : "");
      if (found.back().empty()) found.pop_back();
    }
    return found;
  }

  static void add_place(std::vector<std::string>& lines, std::string method,
                        const std::optional<SourceLine>& source) {
    lines.push_back(std::move(method));
    if (const std::string at = source_position(source); !at.empty()) lines.push_back(at.substr(1));
  }

  LockReporter& locks_;
  const AsyncReport* chains_;
  std::map<PictureKey, Member> members_;
  std::set<std::pair<PictureKey, PictureKey>> arrows_;
  std::map<PictureKey, const LockRow*> rows_;
  std::map<PictureKey, std::string> texts_;         // of what only chains wait for
  std::map<Address, const AwaitPosition*> methods_; // by box
};

} // namespace

WaitPicture wait_picture(LockReporter& locks, const AsyncReport* chains, const HeapWalkOptions& options) {
  return PictureMaker(locks, chains).make(options);
}

} // namespace clr
