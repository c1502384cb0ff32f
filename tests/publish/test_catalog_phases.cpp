// The order of the phases of an update is a matter of types: each of these facts, were it otherwise, would
// let a phase be left out or be called twice.
#include "core/publish/catalog_phases.h"
#include "core/publish/code_finder.h"
#include "core/publish/code_publisher.h"

#include <catch2/catch.hpp>

#include <type_traits>

using namespace clr;

namespace {

template<typename... Values>
constexpr bool only_phases_make = (!std::is_default_constructible_v<Values> && ...);
template<typename... Values>
constexpr bool only_moved = ((!std::is_copy_constructible_v<Values> &&
                              std::is_move_constructible_v<Values>)&&...);

static_assert(only_phases_make<FoundCode, CurrentCode, Published>);
static_assert(only_moved<FoundCode, CurrentCode, DescribedBatch, DisjointBatch, GroupedModules, Published>);
// No value of a phase can be made by hand of the next phase's parts.
static_assert(!std::is_constructible_v<DescribedBatch, std::vector<OwnedCode>>);
static_assert(!std::is_constructible_v<DisjointBatch, std::vector<OwnedCode>>);
static_assert(!std::is_constructible_v<DisjointBatch, DescribedBatch>);
static_assert(!std::is_constructible_v<GroupedModules, std::vector<OwnedModule>>);

// Found code is described when the modules that hold it were withdrawn, not before; and it is withdrawn once.
static_assert(std::is_invocable_v<decltype(&CodePublisher::jitted), CodePublisher&, CurrentCode>);
static_assert(!std::is_invocable_v<decltype(&CodePublisher::jitted), CodePublisher&, FoundCode>);
static_assert(!std::is_invocable_v<decltype(&withdraw), UpdateRun&, FoundCode&>);
// Images, stubs, unknown code and the end of it want all before them.
static_assert(!std::is_invocable_v<decltype(&CodePublisher::images), CodePublisher&>);
static_assert(!std::is_invocable_v<decltype(&CodePublisher::stubs), CodePublisher&, CurrentCode>);
static_assert(!std::is_invocable_v<decltype(&CodePublisher::unknown), CodePublisher&, Published&>);
static_assert(!std::is_invocable_v<decltype(&CodePublisher::finish), CodePublisher&>);

} // namespace

TEST_CASE("catalog phases: their order is checked by the compiler") {
  SUCCEED();
}
