// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plugins/shared/store/sqlite/file/database.h"

namespace atalaya::store {

// Adds the writer's SQL functions on texts of rows (block.h): `has_sample(text, entity)`, and `count_samples(text)`. In a
// damaged row they use the samples before the damage.
void add_row_functions(Database &database);

}  // namespace atalaya::store
