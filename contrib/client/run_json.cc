// SPDX-License-Identifier: GPL-2.0-or-later
#include "contrib/client/run_json.h"

#include <nlohmann/json.hpp>

#include "contrib/client/fields.h"
#include "core/util/slurm_time.h"

namespace market::client {
namespace {

using Json = nlohmann::ordered_json;

Json value_of(const Field& field, const ledger::Segment& run) {
  if (field.type == Type::kTime) {
    const Time time = field.time(run);
    return time == 0 ? Json() : Json(format_time_with_offset(time));
  }
  const std::string text = field.text(run);
  switch (field.type) {
    case Type::kInteger:
      return std::stoll(text);
    case Type::kNumber:
      return std::stod(text);
    case Type::kText:
    case Type::kTime:
      break;
  }
  return text;
}

}  // namespace

Json json_of(const ledger::Segment& run) {
  Json job;
  for (const Field& field : all_fields()) job[std::string(field.json_name)] = value_of(field, run);
  return job;
}

}  // namespace market::client
