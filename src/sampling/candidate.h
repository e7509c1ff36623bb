// A token that may still be chosen, and the order of preference that every filter and list uses.
#pragma once

#include "hearth/token.h"

namespace hearth {

struct Candidate {
  float logit;
  TokenId token;

  bool operator==(const Candidate&) const = default;
};

// Whether a comes before b: by descending logit, then ascending id, so that the order is total and every sort gives the
// same row. No logit is NaN.
inline bool Before(const Candidate& a, const Candidate& b) {
  return a.logit > b.logit || (a.logit == b.logit && a.token < b.token);
}

}  // namespace hearth
