/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any text as a session description: what is read can be written with ours in
 * it, and is read again as what was written.
 */
#include <stdint.h>
#include <string.h>

#include "base/address.h"
#include "base/assert.h"
#include "sdp/sdp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct sdp_format formats[] = {
	{ 96, "AMR", 8000, 1, "mode-set=7" },
	{ 8, "PCMA", 8000, 1, "" },
};

static void check_read(const struct sdp *s)
{
	CR_ASSERT(sdp_lines(s) <= SDP_LINES_MAX);
	for (unsigned i = 0; i < sdp_lines(s); i++) {
		const struct sdp_line *l = sdp_line(s, i);

		CR_ASSERT(l->nformats <= SDP_FORMATS_MAX);
		CR_ASSERT(l->ptime <= 1000 && l->maxptime <= 1000);
		for (unsigned k = 0; k < l->nformats; k++)
			CR_ASSERT(l->formats[k].pt < 128 &&
				  l->formats[k].channels > 0 &&
				  l->formats[k].name && l->formats[k].fmtp);
	}
}

static void check_again(const char *text, long n,
			const struct sdp_line_out *lines, unsigned nlines)
{
	struct cr_err e;
	struct sdp *s;

	CR_ASSERT(!sdp_read(&s, text, (size_t)n, &e));
	CR_ASSERT(sdp_lines(s) == nlines);
	for (unsigned i = 0; i < nlines; i++) {
		const struct sdp_line *l = sdp_line(s, i);

		CR_ASSERT(l->refused == lines[i].refused);
		if (l->refused)
			continue;
		CR_ASSERT(address_equal(&l->rtp, &lines[i].rtp));
		CR_ASSERT(l->nformats == 2 && l->formats[0].pt == 96);
		CR_ASSERT(!strcmp(l->formats[0].fmtp, "mode-set=7"));
		CR_ASSERT(l->mode == SDP_SENDRECV && l->ptime == 20);
		CR_ASSERT(!l->ice);
	}
	sdp_free(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char text[2 * SDP_BYTES_MAX];
	struct sdp_line_out lines[SDP_LINES_MAX];
	struct cr_err e;
	struct sdp *s;
	long n;

	if (sdp_read(&s, (const char *)data, size, &e))
		return 0;
	check_read(s);
	for (unsigned i = 0; i < sdp_lines(s); i++) {
		const struct sdp_line *l = sdp_line(s, i);

		lines[i] = (struct sdp_line_out){
			.refused = !l->audio || l->transport > SDP_RTP_FB,
			.proto = "RTP/AVP",
			.mode = SDP_SENDRECV,
			.ptime = 20,
			.formats = formats,
			.nformats = 2,
		};
		(void)address_parse("[2001:db8::5]:30000", &lines[i].rtp);
	}
	n = sdp_write(s,
		      &(struct sdp_out){ .lines = lines,
					 .origin = true,
					 .connection = size % 2 },
		      text, sizeof(text), &e);
	if (n >= 0)
		check_again(text, n, lines, sdp_lines(s));
	sdp_free(s);
	return 0;
}
