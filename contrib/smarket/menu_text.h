// SPDX-License-Identifier: GPL-2.0-or-later
// A menu of (completion, price) for people: as a table and as a picture.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "core/words/bid.h"

namespace market::smarket {

/// The table with bars that show how long each row takes, and how to take one.
std::string menu_text(const nlohmann::json& menu, Time now);

/// A table of the classes that menus are made for.
std::string classes_text(const nlohmann::json& answer);

/// Price over completion as steps, SVG.
std::string menu_svg(const nlohmann::json& menu, Time now);

}  // namespace market::smarket
