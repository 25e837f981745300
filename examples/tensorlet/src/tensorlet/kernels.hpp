// The loops of tensorlet. They know nothing of Python and check nothing: the callers do.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace tensorlet {

using Row = std::vector<double>;

// `a` and `b` have the same length.
inline Row add(const Row& a, const Row& b) {
    Row result(a.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
        result[i] = a[i] + b[i];
    }
    return result;
}

inline Row scale(const Row& a, double factor) {
    Row result(a.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
        result[i] = a[i] * factor;
    }
    return result;
}

// `low` is not above `high`.
inline Row clip(const Row& a, double low, double high) {
    Row result(a.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
        result[i] = std::clamp(a[i], low, high);
    }
    return result;
}

// `a` and `b` have the same length.
inline double dot(const Row& a, const Row& b) {
    double sum = 0.0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        sum += a[i] * b[i];
    }
    return sum;
}

}  // namespace tensorlet
