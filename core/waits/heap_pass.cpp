#include "core/waits/heap_pass.h"

#include "core/objects/instance_reader.h"

#include <algorithm>
#include <memory>
#include <stdexcept>

namespace clr {
namespace {

// Which predicates want a type: a bit for each.
using Mask = std::uint32_t;
constexpr Mask unknown_mask = ~Mask{0};

// Types are judged once, whichever thread meets them first.
class Judge {
public:
  Judge(const HeapMap& map, HeapTypes& types, TypeLineages& lineages, std::span<const HeapPass::Wants> wants)
      : map_(map), types_(types), lineages_(lineages), wants_(wants) {}

  Mask mask(std::uint32_t type) {
    const std::lock_guard lock(types_.reading());
    if (type >= masks_.size()) masks_.resize(std::max<std::size_t>(type + 1, types_.count()), unknown_mask);
    Mask& mask = masks_[type];
    if (mask != unknown_mask) return mask;
    mask = 0;
    if (types_.at(type).method_table == map_.free_object) return mask;
    const TypeLineage& lineage = lineages_.of(types_.at(type).method_table);
    for (std::size_t i = 0; i < wants_.size(); ++i)
      if (wanted(wants_[i], lineage)) mask |= Mask{1} << i;
    return mask;
  }

private:
  static bool wanted(const HeapPass::Wants& wants, const TypeLineage& lineage) {
    try {
      return wants(lineage);
    } catch (const Error&) {
      return false; // a type that cannot be read is none that is known
    }
  }

  const HeapMap& map_;
  HeapTypes& types_;
  TypeLineages& lineages_;
  std::span<const HeapPass::Wants> wants_;
  std::vector<Mask> masks_; // by the number of the type
};

class Collector final : public HeapSink {
public:
  Collector(HeapTypes& types, Judge& judge, std::size_t wants, const HeapPass::WantsHeader& wants_header)
      : types_(types), judge_(judge), wants_header_(wants_header), bytes_(types), found_(wants) {}

  void begin(std::size_t) override {}

  void add(std::span<const HeapObject> objects) override {
    for (const HeapObject& object : objects) {
      if (object.type >= masks_.size()) masks_.resize(object.type + 1, unknown_mask);
      Mask& mask = masks_[object.type];
      if (mask == unknown_mask) mask = judge_.mask(object.type);
      if (mask != 0) keep(object, mask);
      if (wants_header_) look_at_header(object);
    }
  }

  std::vector<FoundObject>& by_header() { return by_header_; }
  std::vector<FoundObject>& found(std::size_t index) { return found_[index]; }
  bool left_out() const { return left_out_; }

private:
  static constexpr std::size_t header_size = 4;

  void look_at_header(const HeapObject& object) {
    const auto bytes = bytes_.from(object.address - header_size, header_size, object.address + object.size);
    if (bytes.size() < header_size) return;
    if (!wants_header_(load<std::uint32_t>(bytes, types_.target().platform().byte_order))) return;
    if (by_header_.size() < HeapPass::max_found)
      by_header_.push_back({object.address, types_.at(object.type).method_table});
    else
      left_out_ = true;
  }

  void keep(const HeapObject& object, Mask mask) {
    const Address table = types_.at(object.type).method_table;
    for (std::size_t i = 0; i < found_.size(); ++i) {
      if ((mask >> i & 1) == 0) continue;
      if (found_[i].size() < HeapPass::max_found)
        found_[i].push_back({object.address, table});
      else
        left_out_ = true;
    }
  }

  HeapTypes& types_;
  Judge& judge_;
  const HeapPass::WantsHeader& wants_header_;
  HeapBytes bytes_;
  std::vector<Mask> masks_;
  std::vector<std::vector<FoundObject>> found_;
  std::vector<FoundObject> by_header_;
  bool left_out_ = false;
};

// What HeapPass is a walk for.
class Collecting final : public HeapWork {
public:
  Collecting(HeapTypes& types, Judge& judge, std::size_t wants, const HeapPass::WantsHeader& wants_header)
      : types_(types), judge_(judge), wants_(wants), wants_header_(wants_header) {}

  std::unique_ptr<HeapSink> sink() override {
    return std::make_unique<Collector>(types_, judge_, wants_, wants_header_);
  }

  void end(std::span<const std::unique_ptr<HeapSink>> sinks, const HeapWalkResult& walked) override {
    result.gaps = walked.gaps;
    result.interrupted = walked.interrupted;
    result.found.resize(wants_);
    for (const auto& sink : sinks) {
      auto& collector = static_cast<Collector&>(*sink);
      result.left_out = result.left_out || collector.left_out();
      result.by_header.insert(result.by_header.end(), collector.by_header().begin(),
                              collector.by_header().end());
      for (std::size_t i = 0; i < wants_; ++i) {
        auto& all = result.found[i];
        const auto& some = collector.found(i);
        all.insert(all.end(), some.begin(), some.end());
      }
    }
    std::ranges::sort(result.by_header, {}, &FoundObject::address);
    for (auto& all : result.found) {
      std::ranges::sort(all, {}, &FoundObject::address);
      if (all.size() > HeapPass::max_found) {
        all.resize(HeapPass::max_found);
        result.left_out = true;
      }
    }
  }

  HeapPassResult result;

private:
  HeapTypes& types_;
  Judge& judge_;
  std::size_t wants_;
  const HeapPass::WantsHeader& wants_header_;
};

} // namespace

bool is_machine_name(const TypeName& name) {
  const TypeName* type = &name;
  while ((type->shape == TypeShape::instance || type->shape == TypeShape::variable) && type->element)
    type = type->element.get();
  if (type->shape != TypeShape::definition || type->chain.empty()) return false;
  const std::string& last = type->chain.back();
  return (last.starts_with('<') && last.find(">d") != std::string::npos) ||
         last.starts_with("VB$StateMachine_");
}

bool TypeLineage::derives_from(std::string_view full_name) const {
  return any_name([&](const std::string& one) { return one == full_name; });
}

TypeLineage& TypeLineages::read(Address method_table, Address& parent) {
  TypeLineage lineage{.method_table = method_table};
  parent = 0;
  try {
    const RuntimeType& type = types_->type(method_table);
    lineage.fault = type.fault;
    if (type.name) {
      lineage.of_machine = is_machine_name(*type.name) ||
                           std::ranges::any_of(type.name->arguments, [](const TypeNamePtr& argument) {
                             return argument && is_machine_name(*argument);
                           });
      const SharedText name(framework_type_name(*type.name));
      lineage.name = texts_.try_emplace(name.str(), name).first->second;
    }
    parent = type.table.parent;
    lineage.known = true;
  } catch (const Error& error) {
    lineage.fault = error.what();
  }
  return known_.emplace(method_table, std::move(lineage)).first->second;
}

TypeLineage& TypeLineages::known(Address method_table) {
  TypeLineage* first = nullptr;
  TypeLineage* derived = nullptr;
  // Base types may lead back to types derived from them: who follows them counts, and no more are read.
  Address table = method_table;
  for (unsigned i = 0; i < TypeLineage::max_base_types && table != 0; ++i) {
    const auto known = known_.find(table);
    Address parent = 0;
    TypeLineage& lineage = known != known_.end() ? known->second : read(table, parent);
    if (first == nullptr) first = &lineage;
    if (derived != nullptr) derived->base = &lineage;
    if (known != known_.end()) break;
    derived = &lineage;
    table = parent;
  }
  return *first;
}

const TypeLineage& TypeLineages::of(Address method_table) {
  const TypeLineage& lineage = known(method_table);
  if (!asked_.insert(method_table).second) return lineage;
  const TypeLineage* type = &lineage;
  for (unsigned i = 0; i < TypeLineage::max_base_types && type != nullptr; ++i, type = type->base) {
    if (type->fault.empty()) continue;
    if (++unreadable_ == 1) first_fault_ = type->fault;
    break;
  }
  return lineage;
}

std::size_t HeapPass::want(Wants wants) {
  if (wants_.size() >= max_wants - 1) throw std::logic_error("a pass has too many predicates");
  wants_.push_back(std::move(wants));
  return wants_.size() - 1;
}

HeapPassResult HeapPass::run(const HeapWalkOptions& options, unsigned threads,
                             std::span<HeapWork* const> others) {
  Judge judge(*map_, *types_, *lineages_, wants_);
  Collecting collecting(*types_, judge, wants_.size(), wants_header_);
  std::vector<HeapWork*> works{&collecting};
  works.insert(works.end(), others.begin(), others.end());
  walk_heap(*map_, *types_, works, options, threads);
  if (collecting.failure) std::rethrow_exception(collecting.failure);
  return std::move(collecting.result);
}

} // namespace clr
