/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --codec taken at its word.
 */
#include "app/codec_option.h"
#include "codecs/registry.h"

#include <stdio.h>
#include <stdlib.h>

void codec_option_use(const char *program, const struct field_texts *list)
{
	struct cr_err e;

	for (unsigned i = 0; i < list->count; i++) {
		if (!codec_plugin_load(list->item[i], &e))
			continue;
		(void)fprintf(stderr, "%s: --codec: %s\n", program, e.text);
		exit(2);
	}
}
