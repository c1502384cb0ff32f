#include "extension/commands/command.h"

#include "core/memory/error.h"
#include "extension/commands/parser.h"

#include <algorithm>
#include <new>
#include <vector>

namespace clr::lldb_plugin {

bool Command::DoExecute(lldb::SBDebugger debugger, char** arguments, lldb::SBCommandReturnObject& result) {
  Output out(debugger, result);
  // Nothing may leave this function as an exception: LLDB is built without them.
  try {
    result.SetStatus(lldb::eReturnStatusSuccessFinishResult);
    Parser parser(spec_);
    std::vector<std::string> words;
    for (char** word = arguments; word != nullptr && *word != nullptr; ++word) words.emplace_back(*word);
    std::reverse(words.begin(), words.end()); // as CLI11 takes them
    try {
      parser.app().parse(std::move(words));
      const SessionStore::Turn turn = sessions_->try_turn();
      if (!turn.owns_lock())
        throw Error(ErrorKind::invalid_argument, "another command of lldb-clr is running");
      Invocation invocation{debugger, *sessions_, *publishing_, *breakpoints_, out};
      parser.run().run(invocation);
    } catch (const CLI::CallForHelp&) {
      out.write(parser.app().help());
    }
  } catch (const std::bad_alloc&) {
    out.error("out of memory");
  } catch (const std::exception& error) {
    out.error(error.what());
  } catch (...) {
    out.error("unknown failure");
  }
  out.flush();
  return result.Succeeded();
}

} // namespace clr::lldb_plugin
