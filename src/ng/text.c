/* SPDX-License-Identifier: Apache-2.0 */
#include "ng/text.h"

#include <stdlib.h>
#include <string.h>

json_t *ng_text(const char *text)
{
	json_t *as_it_is = json_string(text), *ascii;
	char *copy = as_it_is ? NULL : strdup(text);

	if (!copy)
		return as_it_is;
	for (char *p = copy; *p; p++)
		if ((unsigned char)*p >= 0x80)
			*p = '?';
	ascii = json_string(copy);
	free(copy);
	return ascii;
}

json_t *ng_result(const char *result, const char *key, const char *text)
{
	return json_pack("{s:s, s:o}", "result", result, key, ng_text(text));
}
