/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Option text of any bytes: parsed values are within their bounds, and what is
 * written of them reads back the same.
 */
#include <string.h>

#include "base/assert.h"
#include "base/field.h"
#include "cr/time.h"

struct vals {
	int64_t v[5];
};

static const char *const names[] = { "one", "two", NULL };

static const struct cr_opt table[] = {
	{ "int", "", CR_OPT_INT, 0, INT64_MIN / 2, INT64_MAX / 2, 0, NULL },
	{ "time", "", CR_OPT_TIME, 8, -CR_SEC, CR_NEVER, 0, NULL },
	{ "ppm", "", CR_OPT_PPM, 16, 0, 1000000, 0, NULL },
	{ "bool", "", CR_OPT_BOOL, 24, 0, 1, 0, NULL },
	{ "enum", "", CR_OPT_ENUM, 32, 0, 1, 0, names },
	{ .name = NULL },
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char text[512], again[512];
	struct vals a, b;
	struct cr_err e;

	if (size >= sizeof(text))
		return 0;
	if (size)
		memcpy(text, data, size);
	text[size] = '\0';
	options_defaults(table, &a);
	if (options_parse(table, &a, text, &e))
		return 0;
	for (unsigned i = 0; table[i].name; i++) {
		CR_ASSERT(a.v[i] >= table[i].min);
		CR_ASSERT(a.v[i] <= table[i].max);
	}
	options_format(table, &a, again, sizeof(again));
	options_defaults(table, &b);
	CR_ASSERT(options_parse(table, &b, again, &e) == 0);
	CR_ASSERT(memcmp(&a, &b, sizeof(a)) == 0);
	return 0;
}
