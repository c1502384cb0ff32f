// Who keeps an object beyond the turn in which it got it.
#pragma once

#include <memory>

namespace clr::lldb_plugin {

// Counts these apart from all who use the object only within their turn.
template<typename T>
class Lent {
public:
  // `object`, for such a one.
  std::shared_ptr<T> lend(const std::shared_ptr<T>& object) {
    std::shared_ptr<T> lent = last_.lock();
    if (lent != object) {
      lent = {std::make_shared<std::shared_ptr<T>>(object), object.get()};
      last_ = lent;
    }
    return lent;
  }
  // Somebody has it. Of the object that was lent last; false of all others.
  bool is_lent(const std::shared_ptr<T>& object) const { return object && last_.lock() == object; }

private:
  std::weak_ptr<T> last_;
};

} // namespace clr::lldb_plugin
