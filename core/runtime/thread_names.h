// Names of the runtime's threads, read by the metadata of System.Threading.Thread.
#pragma once

#include "core/runtime/runtime.h"
#include "core/stack/threads.h"

#include <vector>

namespace clr {

// Gives each thread the name of its managed Thread object, where it has none yet. Never throws: a thread
// whose name cannot be read has none. Cost: the layout of one type, then 4 reads a thread.
void add_thread_names(Runtime& runtime, std::vector<RuntimeThread>& threads);

} // namespace clr
