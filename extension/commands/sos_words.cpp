#include "extension/commands/sos_words.h"

#include "core/memory/error.h"

#include <fmt/format.h>

#include <cctype>

namespace clr::lldb_plugin {

namespace {
// "-stat" is "--stat"; "-n" and "-3" stay.
std::string with_two_dashes(std::string word) {
  const bool long_name =
      word.size() > 2 && word[0] == '-' && std::isalpha(static_cast<unsigned char>(word[1])) != 0;
  return long_name ? "-" + word : word;
}
} // namespace

MeantCommand words_of_dumpheap(std::vector<std::string> words) {
  bool counts = false, strings = false, free = false;
  std::vector<std::string> others;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string word = with_two_dashes(words[i]);
    const auto value = [&] {
      if (i + 1 == words.size())
        throw Error(ErrorKind::invalid_argument, fmt::format("{} needs a value", words[i]));
      return words[++i];
    };
    if (word == "--stat")
      counts = true;
    else if (word == "--live" || word == "--dead") {
      counts = true; // objects are not listed by that
      others.push_back(word);
    } else if (word == "--strings")
      strings = true;
    else if (word == "--type") {
      const std::string type = value();
      free = free || type == "Free";
      if (type != "Free")
        others.push_back(type.find_first_of("*?") == std::string::npos ? "*" + type + "*" : type);
    } else if (word == "--mt")
      others.insert(others.end(), {"--method-table", value()});
    else
      others.push_back(word);
  }
  const char* const command = strings ? "strings" : free || counts ? "heap" : "objects";
  if (strings)
    others.insert(others.begin(), "--duplicates");
  else if (free)
    others.insert(others.begin(), "--free");
  else if (counts)
    others.insert(others.begin(), "--stat");
  return {command, std::move(others)};
}

MeantCommand words_of_eeheap(std::vector<std::string> words) {
  std::erase(words, "-gc");
  return {"heap", std::move(words)};
}

} // namespace clr::lldb_plugin
