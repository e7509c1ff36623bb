#include "platform/memory_limits.h"

#include <pthread.h>
#include <sys/resource.h>

#include "platform/peak_memory.h"

namespace hearth {
namespace {

std::size_t LimitOf(__rlimit_resource resource) {
  struct rlimit limit{};
  if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
    return kNoMemoryLimit;
  }
  return static_cast<std::size_t>(limit.rlim_cur);
}

std::size_t DefaultStackBytes() {
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) {
    return 0;
  }
  std::size_t stack = 0;
  std::size_t guard = 0;
  pthread_attr_getstacksize(&attributes, &stack);
  pthread_attr_getguardsize(&attributes, &guard);
  pthread_attr_destroy(&attributes);
  return stack + guard;
}

}  // namespace

MemoryLimits ReadMemoryLimits() {
  return {PhysicalMemoryBytes(), LimitOf(RLIMIT_DATA), LimitOf(RLIMIT_AS), DefaultStackBytes()};
}

}  // namespace hearth
