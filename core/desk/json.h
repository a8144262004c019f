// SPDX-License-Identifier: GPL-2.0-or-later
// Reading questions and writing answers in JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace market {

using Json = nlohmann::ordered_json;

/// {"ok":false,"error":why}, printable.
Json failure(const std::string& why);
/// In one line; bytes that are not UTF-8 are replaced.
std::string line_of(const Json& json);
/// The text, or the number above zero, under a key; "" and 0 when there is none.
std::string text_of(const Json& object, const char* key);
std::uint64_t number_of(const Json& object, const char* key);

}  // namespace market
