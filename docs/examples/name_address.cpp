// Names the method that owns an address of a core file:  name_address CORE ADDRESS
#include <core/runtime/core_session.h>

#include <iostream>
#include <stdexcept>
#include <string>

int main(int count, char** words) try {
  if (count != 3) throw std::runtime_error("usage: name_address CORE ADDRESS");
  const auto session = clr::CoreSession::open(words[1], {});
  clr::runtime::Answer answer = session->runtime().resolve(std::stoull(words[2], nullptr, 16));
  session->runtime().add_source(answer);
  if (const auto* method = std::get_if<clr::MethodAnswer>(&answer.result))
    std::cout << method_and_offset(method->method, method->code) << source_position(method->source) << '\n';
  else if (const auto* miss = std::get_if<clr::MissAnswer>(&answer.result))
    std::cout << "no managed method: " << miss->text << '\n';
  else
    std::cout << "cannot tell: " << std::get<clr::FaultAnswer>(answer.result).text << '\n';
  return 0;
} catch (const std::exception& error) {
  std::cerr << "error: " << error.what() << '\n';
  return 1;
}
