/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a campaign file: loaded or refused with a message that begins
 * with file and line, and nothing leaks.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "campaign/campaign.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct campaign *c = NULL;
	struct cr_err e = { "" };

	if (campaign_parse((const char *)data, size, "f.yaml", NULL, &c, &e) ==
	    0)
		campaign_free(c);
	else if (strncmp(e.text, "f.yaml:", 7) != 0)
		abort();
	return 0;
}
