/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any text as format parameters: values lie in it.
 */
#include <stdint.h>
#include <string.h>

#include "base/assert.h"
#include "sdp/fmtp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char text[512] = "";
	struct fmtp_opus opus;
	struct fmtp_amr amr;
	const char *value;
	struct cr_err e;
	size_t bytes;

	if (size >= sizeof(text))
		return 0;
	if (size)
		memcpy(text, data, size);
	value = fmtp_find(text, "mode-set", &bytes);
	if (value)
		CR_ASSERT(value >= text &&
			  value + bytes <= text + strlen(text));
	if (!fmtp_amr_read(&amr, text, 9, &e))
		CR_ASSERT(amr.mode_set < 0x200);
	fmtp_opus_read(&opus, text);
	(void)fmtp_says_no(text, "annexb");
	return 0;
}
