// Code by the name that a user types for a method or for its source file, before anybody has asked for all.
#pragma once

#include "core/runtime/runtime.h"

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace clr {

// Where to look: the tens of thousands of methods of the framework's images take most of the time.
enum class SearchedCode : std::uint8_t { all, jitted };

// Starts of all bodies, jitted and of ReadyToRun images, whose method one of `names` may mean: those where
// the method's own name or a type that declares it contains the last part of the name. (Compilers give the
// parts of a user's method types and names that contain it.) A method whose name is not known may be meant,
// too. Nothing when such a search cannot tell: a name without a last part, more than max_named_code bodies
// or methods of images than an ImageWalk looks at, memory is missing that leads to the methods of an image or
// to the place of a body; and when `stop`, which is asked now and then, is true. Never throws because of the
// target. Cost: about half of that of Runtime::for_each_method, because no name is written.
std::optional<std::vector<Address>> code_named(Runtime& runtime, std::span<const std::string> names,
                                               const std::function<bool()>& stop,
                                               SearchedCode where = SearchedCode::all);

// Starts of all bodies whose method has code of one of `files` by the symbols of its module. Of paths only
// the last parts are compared, because directories may be mapped to others. Nothing when it is not certain:
// symbols are damaged, or as above. Never throws because of the target. Cost: that of code_named; of symbols
// that name such a file all sequence points are read.
std::optional<std::vector<Address>> code_in_files(Runtime& runtime, std::span<const std::string> files,
                                                  const std::function<bool()>& stop,
                                                  SearchedCode where = SearchedCode::all);

constexpr std::size_t max_named_code = 10'000;

} // namespace clr
