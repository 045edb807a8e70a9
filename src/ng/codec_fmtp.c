/* SPDX-License-Identifier: Apache-2.0 */
#include "ng/codec_fmtp.h"

#include <strings.h>

#include "ng/codec_list.h"
#include "sdp/fmtp.h"

static unsigned modes_of(const struct sdp_format *f)
{
	struct fmtp_amr amr;

	return fmtp_amr_read(&amr, f->fmtp, 16, NULL) ? 0 : amr.mode_set;
}

bool codec_modes_agree(const struct sdp_format *a, const struct sdp_format *b)
{
	unsigned offered, answered;

	if (!format_is_amr(a) || !format_is_amr(b))
		return true;
	offered = modes_of(a);
	answered = modes_of(b);
	/* who says nothing has taken what was offered */
	return !offered || !answered || offered == answered;
}

/* Has it a silence descriptor that either side can do without (RFC 7261)? */
static bool has_annex(const struct sdp_format *f)
{
	return !strcasecmp(f->name, "G729") || !strcasecmp(f->name, "G723");
}

static bool wants_no_annex(const struct sdp_format *f)
{
	return !strcasecmp(f->name, "G729") ? !fmtp_g729_annexb(f->fmtp)
					    : !fmtp_g723_annexa(f->fmtp);
}

const char *codec_fmtp_passed(const struct sdp_format *a,
			      const struct sdp_format *b)
{
	if (format_is_amr(a) && modes_of(a) && modes_of(a) != modes_of(b))
		return a->fmtp;
	if (has_annex(a) && wants_no_annex(a))
		return a->fmtp; /* a no is not to be overruled */
	return b->fmtp;
}

/* Parameters of Opus are about who says them (RFC 7587, 7): those of who
 * offered, said by us, would limit or promise what they do not mean. We speak
 * and hear one channel, and hear redundancy. */
static const char *own_opus(const struct sdp_format *a)
{
	struct fmtp_opus opus;

	fmtp_opus_read(&opus, a->fmtp);
	return opus.fec ? "useinbandfec=1" : "";
}

const char *codec_fmtp_own(const struct sdp_format *a)
{
	return strcasecmp(a->name, "opus") ? a->fmtp : own_opus(a);
}
