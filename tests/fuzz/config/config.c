/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a file of options: what is taken from a line can be written as
 * one that says the same; lines are counted.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "config/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void reads_back(const char *name, const char *value)
{
	char text[2 * CONFIG_LINE], *name_again, *value_again;
	const char *mark = config_needs_quotes(value) ? "\"" : "";
	struct config_lines l = { .text = text };
	struct cr_err e;
	int n;

	if (!config_can_hold(value))
		return;
	n = snprintf(text, sizeof(text), "%.40s=%s%s%s", "name", mark, value,
		     mark);
	CR_ASSERT(n > 0 && (size_t)n < sizeof(text));
	CR_ASSERT(*name && strcspn(name, "=\n") == strlen(name));
	l.size = (size_t)n;
	CR_ASSERT(config_lines_next(&l, &name_again, &value_again, &e) == 1);
	CR_ASSERT(!strcmp(name_again, "name") && !strcmp(value_again, value));
	CR_ASSERT(!config_lines_next(&l, &name_again, &value_again, &e));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1), *name, *value;
	struct config_lines l = { .text = text, .size = size };
	struct cr_err e = { "" };
	unsigned line = 0;
	int got;

	CR_ASSERT(text);
	if (size)
		memcpy(text, data, size);
	text[size] = '\0';
	while ((got = config_lines_next(&l, &name, &value, &e))) {
		CR_ASSERT(l.line > line);
		line = l.line;
		if (got > 0)
			reads_back(name, value);
		else
			CR_ASSERT(*e.text);
	}
	free(text);
	return 0;
}
