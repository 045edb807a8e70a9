/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names and sums of the counters of counters.h.
 */
#include "observe/counters.h"

#include "base/assert.h"

#define COUNTER_ROW(id, name, help) { name, help },

static const struct {
	const char *name, *help;
} rows[COUNTER_COUNT] = { COUNTER_LIST(COUNTER_ROW) };

const char *counter_name(enum counter_id id)
{
	CR_ASSERT(id < COUNTER_COUNT);
	return rows[id].name;
}

const char *counter_help(enum counter_id id)
{
	CR_ASSERT(id < COUNTER_COUNT);
	return rows[id].help;
}

json_t *counters_json(const struct counters *const *blocks, unsigned n)
{
	json_t *object = json_object();

	for (unsigned id = 0; object && id < COUNTER_COUNT; id++) {
		uint64_t sum = 0;

		for (unsigned i = 0; i < n; i++)
			sum += counter_get(blocks[i], (enum counter_id)id);
		if (json_object_set_new(object, rows[id].name,
					json_integer((json_int_t)sum))) {
			json_decref(object);
			object = NULL;
		}
	}
	return object;
}
