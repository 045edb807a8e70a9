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

static void check_format(const struct sdp_format *f)
{
	CR_ASSERT(f->pt < 128 && f->channels > 0 && f->name && f->fmtp);
	for (const char *c = f->name; *c; c++)
		CR_ASSERT(*c > ' ' && *c < 0x7f && *c != '/');
	for (const char *c = f->fmtp; *c; c++)
		CR_ASSERT((unsigned char)*c >= ' ' || *c == '\t');
}

static void check_read(const struct sdp *s)
{
	CR_ASSERT(sdp_lines(s) <= SDP_LINES_MAX);
	for (unsigned i = 0; i < sdp_lines(s); i++) {
		const struct sdp_line *l = sdp_line(s, i);

		CR_ASSERT(l->nformats <= SDP_FORMATS_MAX);
		CR_ASSERT(l->ptime <= 1000 && l->maxptime <= 1000);
		for (unsigned k = 0; k < l->nformats; k++)
			check_format(&l->formats[k]);
	}
}

static void check_ours(const struct sdp_line *l, const struct sdp_line_out *out)
{
	CR_ASSERT(l->refused == out->refused);
	if (l->refused)
		return;
	CR_ASSERT(address_equal(&l->rtp, &out->rtp));
	CR_ASSERT(l->nformats == out->nformats);
	for (unsigned i = 0; i < l->nformats; i++) {
		const struct sdp_format *a = &l->formats[i];
		const struct sdp_format *b = &out->formats[i];

		CR_ASSERT(a->pt == b->pt);
		if (out->formats != formats)
			continue;
		CR_ASSERT(!strcmp(a->name, b->name) && a->rate == b->rate);
		CR_ASSERT(!strcmp(a->fmtp, b->fmtp));
	}
	CR_ASSERT(l->mode == out->mode && l->ptime == out->ptime);
	CR_ASSERT(!l->ice);
}

static void check_again(const char *text, long n,
			const struct sdp_line_out *lines, unsigned nlines)
{
	struct cr_err e;
	struct sdp *s;

	/* what is almost too long may have become so */
	if (n > SDP_BYTES_MAX / 4)
		return;
	CR_ASSERT(!sdp_read(&s, text, (size_t)n, &e));
	CR_ASSERT(sdp_lines(s) == nlines);
	check_read(s);
	for (unsigned i = 0; i < nlines; i++)
		check_ours(sdp_line(s, i), &lines[i]);
	sdp_free(s);
}

/* Ours with @own, or what the line itself had. */
static struct sdp_line_out answer(const struct sdp_line *l, bool own)
{
	struct sdp_line_out out = {
		.refused = l->transport > SDP_RTP_FB || l->refused ||
			   (own ? !l->audio : !l->nformats),
		.proto = own ? "RTP/AVP" : l->proto,
		.mode = own ? SDP_SENDRECV : l->mode,
		.ptime = own ? 20 : l->ptime,
		.formats = own ? formats : l->formats,
		.nformats = own ? 2 : l->nformats,
	};

	(void)address_parse("[2001:db8::5]:30000", &out.rtp);
	return out;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char text[2 * SDP_BYTES_MAX];
	struct sdp_line_out lines[SDP_LINES_MAX];
	struct cr_err e = { "" };
	struct sdp *s;

	if (sdp_read(&s, (const char *)data, size, &e)) {
		CR_ASSERT(e.text[0]);
		return 0;
	}
	check_read(s);
	for (unsigned own = 0; own < 2; own++) {
		const struct sdp_out out = { .lines = lines,
					     .origin = true,
					     .connection = size % 2 };
		long n;

		for (unsigned i = 0; i < sdp_lines(s); i++)
			lines[i] = answer(sdp_line(s, i), own);
		n = sdp_write(s, &out, text, sizeof(text), &e);
		CR_ASSERT(n > 0 || size > SDP_BYTES_MAX / 4);
		if (n > 0)
			check_again(text, n, lines, sdp_lines(s));
	}
	sdp_free(s);
	return 0;
}
