// SPDX-License-Identifier: GPL-2.0-or-later
// From shares to the tasks that start next.
#pragma once

#include <cstddef>
#include <random>
#include <span>
#include <vector>

namespace market::abacus {

/// Uniform in (0, 1), the same on every machine: the upper 53 bits of one draw, at the middle of
/// their step.
double uniform(std::mt19937_64& random);

/// Draws up to `count` of the waiting jobs, each at most once, as if one after the other with
/// probabilities in proportion to the shares of those still left (Abacus, section 3: a free
/// resource goes to a job with its share as the probability). `shares`: of one resource, one for
/// each waiting job, >= 0 in any scale; a job without a share is never drawn. Indices in the order
/// drawn. One draw of `random` for each positive share (keys of Efraimidis and Spirakis, 2006); O(n
/// + count·log count).
std::vector<std::size_t> draw_jobs(std::span<const double> shares, std::size_t count,
                                   std::mt19937_64& random);

}  // namespace market::abacus
