/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Formats of SDP and the codecs of this node: which is which, how a call uses a
 * codec that SDP describes, and the format parameters of an answer: what who
 * offered a codec is told of it. Pure; texts are the arguments' or static.
 */
#include "ng/codec_map.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "ng/codec_list.h"
#include "sdp/fmtp.h"
#include "sdp/sdp.h"

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

const char *codec_fmtp_own(const struct sdp_format *a)
{
	struct fmtp_opus opus;

	if (strcasecmp(a->name, "opus"))
		return a->fmtp;
	/* Parameters of Opus are about who says them (RFC 7587, 7): those of
	 * who offered, said by us, would limit or promise what they do not
	 * mean. We speak and hear one channel, and hear redundancy. */
	fmtp_opus_read(&opus, a->fmtp);
	return opus.fec ? "useinbandfec=1" : "";
}

/* --- which is which --- */

/* RFC 7587, 4.1: always said to have two channels; the speech is one's. */
static unsigned codec_channels(const struct cr_codec *c)
{
	return !strcasecmp(c->rtp_name, "opus") ? 2 : 1;
}

static bool runs_at(const struct cr_codec *c, unsigned clock, unsigned *rate)
{
	*rate = 0;
	if (!c->clock_is_rate)
		return clock == cr_codec_clock(c, 0);
	if (!cr_codec_has_rate(c, clock))
		return false;
	*rate = clock;
	return true;
}

/* By @name, and @clock if that is said. */
static const struct cr_codec *find_rtp_codec(const char *name, unsigned clock,
					     unsigned *rate)
{
	*rate = 0;
	for (unsigned i = 0; cr_codecs[i]; i++) {
		const struct cr_codec *c = cr_codecs[i];

		if (c->encoder_open && c->decoder_open &&
		    !strcasecmp(c->rtp_name, name) &&
		    (!clock || runs_at(c, clock, rate)))
			return c;
	}
	return NULL;
}

const struct cr_codec *codec_map_find(const struct sdp_format *f,
				      unsigned *rate)
{
	const struct cr_codec *c = find_rtp_codec(f->name, f->rate, rate);

	return c && f->channels == codec_channels(c) ? c : NULL;
}

static bool amr_is_able(const struct fmtp_amr *amr)
{
	return !amr->crc && !amr->robust_sorting && !amr->interleaving;
}

static bool able(const struct sdp_format *f)
{
	const struct cr_codec *c;
	struct fmtp_amr amr;
	unsigned rate;

	if (format_kind(f) != FORMAT_SPEECH)
		return true;
	c = codec_map_find(f, &rate);
	return c && (!format_is_amr(f) ||
		     (!fmtp_amr_read(&amr, f->fmtp, c->nmodes, NULL) &&
		      amr_is_able(&amr)));
}

/* Formats that speak of other payload types, which get other numbers. */
static bool is_about_others(const char *name)
{
	static const char *const names[] = { "RED", "rtx", "ulpfec",
					     "parityfec", "flexfec" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcasecmp(name, names[i]))
			return true;
	return false;
}

/* Of a codec that is here, it is of a kind that is not. */
static bool passes_format(const struct sdp_format *f)
{
	unsigned rate;

	return *f->name && !codec_map_find(f, &rate) &&
	       !is_about_others(f->name) &&
	       cr_codec_has_rate(&cr_codec_relayed, f->rate);
}

static bool resolve(const struct codec_spec *spec, struct sdp_format *f,
		    int *pt)
{
	unsigned rate;
	const struct cr_codec *c =
		find_rtp_codec(spec->name, spec->rate, &rate);

	if (!c || (spec->channels && spec->channels != codec_channels(c)))
		return false;
	*f = (struct sdp_format){
		.name = c->rtp_name,
		.rate = cr_codec_clock(c, rate),
		.channels = codec_channels(c),
		.fmtp = spec->fmtp,
	};
	*pt = c->static_pt;
	return true;
}

const struct codec_abilities codec_map_abilities = { able, passes_format,
						     resolve };

/* --- how it is used --- */

/* The best of @set (0: all) that @bit_rate pays for; the least if none is. */
static unsigned best_mode(const struct cr_codec *c, unsigned set,
			  unsigned bit_rate)
{
	unsigned least = c->nmodes, best = c->nmodes;

	for (unsigned i = 0; i < c->nmodes; i++) {
		uint32_t rate = c->modes[i].bit_rate;

		if (set && !(set >> i & 1u))
			continue;
		if (least == c->nmodes || rate < c->modes[least].bit_rate)
			least = i;
		if (rate <= bit_rate &&
		    (best == c->nmodes || rate >= c->modes[best].bit_rate))
			best = i;
	}
	return best < c->nmodes ? best : least;
}

static int use_amr(struct call_side_request *out, const struct cr_codec *c,
		   const struct sdp_format *f, unsigned bit_rate,
		   struct cr_err *e)
{
	struct fmtp_amr amr;
	int err = fmtp_amr_read(&amr, f->fmtp, c->nmodes, e);

	if (err)
		return err;
	if (!amr_is_able(&amr))
		return cr_fail(e, -EINVAL,
			       "%s: crc, robust-sorting and interleaving are "
			       "not known here",
			       c->rtp_name);
	out->octet_align = amr.octet_align;
	out->mode_set = amr.mode_set;
	out->mode_second = amr.mode_change_period == 2;
	out->mode_next = amr.mode_change_neighbor;
	out->mode = c->modes[best_mode(c, amr.mode_set, bit_rate)].name;
	return 0;
}

static void use_opus(struct call_side_request *out, const struct cr_codec *c,
		     const struct sdp_format *f, unsigned bit_rate)
{
	struct fmtp_opus opus;

	fmtp_opus_read(&opus, f->fmtp);
	if (opus.max_bit_rate && opus.max_bit_rate < bit_rate)
		bit_rate = opus.max_bit_rate;
	out->mode = c->modes[best_mode(c, 0, bit_rate)].name;
	out->dtx = opus.dtx;
	out->fec = opus.fec ? 10 : 0; /* of loss, which nobody knows yet */
	if (opus.max_rate < 48000)
		out->rate = opus.max_rate < 16000 ? 8000 : 16000;
}

int codec_map_side(struct call_side_request *out, const struct sdp_format *f,
		   unsigned bit_rate, struct cr_err *e)
{
	unsigned rate;
	const struct cr_codec *c = codec_map_find(f, &rate);

	if (!c && passes_format(f)) {
		*out = (struct call_side_request){
			.codec = cr_codec_relayed.name,
			.pt = f->pt,
			.rate = f->rate,
			.complexity = -1,
		};
		return 0;
	}
	if (!c)
		return cr_fail(e, -EINVAL, "%.40s/%u: there is no such codec",
			       f->name, f->rate);
	*out = (struct call_side_request){
		.codec = c->name,
		.pt = f->pt,
		.rate = rate,
		.complexity = -1,
	};
	if (!bit_rate)
		bit_rate = c->modes[c->default_mode].bit_rate;
	if (!strcasecmp(c->rtp_name, "AMR") ||
	    !strcasecmp(c->rtp_name, "AMR-WB"))
		return use_amr(out, c, f, bit_rate, e);
	out->mode = c->modes[best_mode(c, 0, bit_rate)].name;
	if (!strcasecmp(c->rtp_name, "opus"))
		use_opus(out, c, f, bit_rate);
	return 0;
}
