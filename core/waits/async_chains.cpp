#include "core/waits/async_chains.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace clr {
namespace {

// False when nothing is left.
bool take_one(std::size_t& left) {
  if (left == 0) return false;
  --left;
  return true;
}

class Builder {
public:
  explicit Builder(AsyncGraph& graph)
      : graph_(graph),
        most_frames_(std::min(max_chain_frames, max_shared_frames + for_each_method * graph.boxes().size())),
        between_left_(max_shared_between + for_each_method * graph.boxes().size()) {}

  AsyncChains build() {
    std::vector<const AsyncBox*> first;
    for (const AsyncBox& box : graph_.boxes())
      if (box.waits ? !waits_for_box(box) : box.runs() && !next_of(&box).empty()) first.push_back(&box);
    for (const AsyncBox* const box : first) cover(box);
    for (const AsyncBox* const box : first) begin(*box, false);
    // Methods that wait for each other have no first one.
    for (const AsyncBox& box : graph_.boxes()) {
      if (!box.waits || covered_.contains(&box)) continue;
      cover(&box);
      begin(box, true);
    }
    return std::move(result_);
  }

  AsyncChains build_from(const AsyncBox& box) {
    begin(box, false);
    return std::move(result_);
  }

private:
  // Whether a method that has not ended leads to `box`, directly or by tasks.
  bool waits_for_box(const AsyncBox& box) {
    std::vector<Address> open{box.object};
    std::unordered_set<Address> seen{box.object};
    while (!open.empty()) {
      const Address object = open.back();
      open.pop_back();
      for (const AsyncEdge& edge : graph_.awaited(object)) {
        if (graph_.box(edge.to) != nullptr) return true;
        if (!take_one(between_left_)) return false;
        if (seen.size() < max_between && seen.insert(edge.to).second) open.push_back(edge.to);
      }
    }
    return false;
  }

  using Next = std::vector<std::pair<Address, const AsyncBox*>>;

  const Next& next_of(const AsyncBox* box) {
    const auto [entry, added] = next_.try_emplace(box);
    if (added)
      for_each_next(graph_, box->object, between_left_, [&](Address next, const AsyncBox* next_box) {
        entry->second.emplace_back(next, next_box);
      });
    if (between_left_ == 0) result_.left_out = true;
    return entry->second;
  }

  // Notes which boxes are part of a chain that begins with `box`.
  void cover(const AsyncBox* box) {
    std::vector<const AsyncBox*> open{box};
    while (!open.empty()) {
      const AsyncBox* const at = open.back();
      open.pop_back();
      if (at == nullptr || !covered_.insert(at).second) continue;
      for (const auto& [next, next_box] : next_of(at)) open.push_back(next_box);
    }
  }

  void begin(const AsyncBox& box, bool no_beginning) {
    if (result_.chains.size() >= max_chains || frames_ >= most_frames_) {
      result_.left_out = true;
      return;
    }
    const std::size_t before = result_.chains.size();
    // Depth first, without recursion: chains may be thousands of methods long.
    struct Step {
      const AsyncBox* box;
      const Next* next;
      std::size_t at = 0;
    };
    std::vector<Step> path;
    std::unordered_set<const AsyncBox*> on_path;
    const auto finish = [&](AsyncChain::End end, Address blocker) {
      AsyncChain chain{.end = end, .blocker = blocker, .no_beginning = no_beginning};
      chain.boxes.reserve(path.size());
      for (const Step& step : path) chain.boxes.push_back(step.box);
      frames_ += path.size();
      result_.chains.push_back(std::move(chain));
    };
    const auto enter = [&](const AsyncBox* entered) {
      on_path.insert(entered);
      path.push_back({entered, &next_of(entered)});
      if (!path.back().next->empty()) return;
      finish(entered->shape->is_void ? AsyncChain::End::async_void : AsyncChain::End::nobody, 0);
    };
    enter(&box);
    while (!path.empty()) {
      Step& top = path.back();
      const bool many = result_.chains.size() - before >= max_chains_of_one || frames_ >= most_frames_;
      if (many && top.at < top.next->size()) result_.left_out = true;
      if (many || top.at >= top.next->size()) {
        on_path.erase(top.box);
        path.pop_back();
        continue;
      }
      const auto [next, next_box] = (*top.next)[top.at++];
      if (next_box == nullptr)
        finish(AsyncChain::End::thread, next);
      else if (on_path.contains(next_box))
        finish(AsyncChain::End::loops, 0);
      else if (path.size() >= max_chain)
        finish(AsyncChain::End::limit, 0);
      else
        enter(next_box);
    }
  }

  AsyncGraph& graph_;
  AsyncChains result_;
  static constexpr std::size_t for_each_method = 64;
  std::size_t frames_ = 0, most_frames_ = 0, between_left_ = 0;
  std::unordered_set<const AsyncBox*> covered_;
  std::unordered_map<const AsyncBox*, Next> next_; // by box
};

} // namespace

void for_each_next(AsyncGraph& graph, Address object, std::size_t& left,
                   const std::function<void(Address, const AsyncBox*)>& visit) {
  std::vector<Address> open{object};
  std::unordered_set<Address> seen;
  while (!open.empty()) {
    const Address at = open.back();
    open.pop_back();
    for (const AsyncEdge& edge : graph.waiters(at)) {
      if (!take_one(left)) return;
      if (seen.size() >= max_between || !seen.insert(edge.to).second) continue;
      if (const AsyncBox* const box = graph.box(edge.to)) {
        visit(edge.to, box);
        continue;
      }
      if (graph.is_blocker(edge.to))
        visit(edge.to, nullptr);
      else
        open.push_back(edge.to);
    }
  }
}

AsyncChains async_chains(AsyncGraph& graph) {
  return Builder(graph).build();
}

AsyncChains async_chains_from(AsyncGraph& graph, const AsyncBox& box) {
  return Builder(graph).build_from(box);
}

} // namespace clr
