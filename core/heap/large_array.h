// Arrays of hundreds of megabytes of which single elements are read here and there: in large pages of the
// host, so that finding an element's page takes no time of its own, and with hints to the processor. What is
// added by resize() without a value has none until it is written.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <new>
#include <utility>
#include <vector>

namespace clr {

template<typename T>
struct LargePages {
  using value_type = T;
  LargePages() = default;
  template<typename Other>
  explicit LargePages(const LargePages<Other>&) {}

  T* allocate(std::size_t count) {
    if (count > ~std::size_t{0} / 2 / sizeof(T)) throw std::bad_alloc();
    const std::size_t bytes = (count * sizeof(T) + page - 1) / page * page;
    if (count * sizeof(T) < least) return static_cast<T*>(::operator new(count * sizeof(T)));
    void* const at = std::aligned_alloc(page, bytes);
    if (at == nullptr) throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
    madvise(at, bytes, MADV_HUGEPAGE); // no more than a wish
#endif
    return static_cast<T*>(at);
  }
  void deallocate(T* at, std::size_t count) {
    if (count * sizeof(T) < least)
      ::operator delete(at);
    else
      std::free(at);
  }
  // Elements that nobody gives a value have none: all are written before they are read.
  template<typename Element>
  void construct(Element* at) {
    ::new (static_cast<void*>(at)) Element;
  }
  template<typename Element, typename... Arguments>
  void construct(Element* at, Arguments&&... arguments) {
    ::new (static_cast<void*>(at)) Element(std::forward<Arguments>(arguments)...);
  }
  template<typename Other>
  bool operator==(const LargePages<Other>&) const {
    return true;
  }

private:
  static constexpr std::size_t page = 2 << 20, least = 2 * page;
};

template<typename T>
using LargeArray = std::vector<T, LargePages<T>>;

// Tells the processor that the element will be needed soon. It need not exist.
template<typename T>
void will_need(const T* element) {
  __builtin_prefetch(element);
}

} // namespace clr
