/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any octets as a message of NG: what is read can be written, and is read again
 * as the same.
 */
#include <stdint.h>
#include <string.h>

#include "base/assert.h"
#include "ng/message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char text[8 * NG_BYTES_MAX];
	struct ng_message m, again;
	struct cr_err e;
	long n;

	if (ng_message_read(&m, (const char *)data, size, &e)) {
		CR_ASSERT(!m.body && e.text[0]);
		return 0;
	}
	n = ng_message_write(&m, m.body, text, sizeof(text));
	if (n > 0 && n <= (long)NG_BYTES_MAX) {
		CR_ASSERT(!ng_message_read(&again, text, (size_t)n, &e));
		CR_ASSERT(!strcmp(m.cookie, again.cookie));
		CR_ASSERT(m.encoding == again.encoding);
		/* reals may lose their last digit */
		CR_ASSERT(m.encoding == NG_JSON ||
			  json_equal(m.body, again.body));
		ng_message_free(&again);
	}
	CR_ASSERT(m.encoding == NG_JSON || n > 0);
	ng_message_free(&m);
	return 0;
}
