/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From what is asked for to a call's configuration: one side, packet time, and
 * all of it.
 */
#include "node/call_check.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "codecs/registry.h"
#include "media/endpoint.h"
#include "node/requests.h"

#define FIRST_DYNAMIC_PT 96

static int check_codec(struct codec_use *u, const char *path, struct cr_err *e)
{
	struct cr_err why;

	if (!u->name)
		return cr_fail(e, -EINVAL, "%scodec: is missing", path);
	if (!strcmp(u->name, cr_codec_relayed.name))
		u->codec = &cr_codec_relayed;
	else if (codec_named(&u->codec, u->name, &why))
		return cr_fail(e, -EINVAL, "%scodec: %.400s", path, why.text);
	u->name = u->codec->name;
	return 0;
}

int call_check_mode(unsigned *mode, const struct cr_codec *codec,
		    const char *name, const char *path, struct cr_err *e)
{
	struct cr_err why;

	if (!codec_mode_named(mode, codec, name, &why))
		return 0;
	return cr_fail(e, -EINVAL, "%smode: %.400s", path, why.text);
}

/* The best of @set that is not better than @mode; the least one if all are. */
static unsigned best_mode_of(unsigned set, unsigned mode)
{
	while (mode && !(set >> mode & 1u))
		mode--;
	return set >> mode & 1u ? mode : (unsigned)__builtin_ctz(set);
}

/** Is the mode of @u among its mode_set? 0, or -EINVAL with @e; @path as above.
 */
static int check_in_set(const struct codec_use *u, const char *path,
			struct cr_err *e)
{
	if (!u->amr.mode_set || u->amr.mode_set >> u->cfg.mode & 1u)
		return 0;
	return cr_fail(e, -EINVAL, "%smode: %s is not in mode_set", path,
		       u->codec->modes[u->cfg.mode].name);
}

static int check_mode_set(struct codec_use *u, const char *path,
			  struct cr_err *e)
{
	const struct cr_codec *codec = u->codec;
	const struct fmtp_amr *amr = &u->amr;

	if (!amr->mode_set && !amr->mode_second && !amr->mode_next)
		return 0;
	if (u->kind != PAYLOAD_AMR && u->kind != PAYLOAD_AMR_WB)
		return cr_fail(e, -EINVAL, "%s%s: codec %s has none", path,
			       amr->mode_set	  ? "mode_set"
			       : amr->mode_second ? "mode_second"
						  : "mode_next",
			       codec->name);
	if (amr->mode_set >> codec->nmodes)
		return cr_fail(e, -EINVAL,
			       "%smode_set: %s has %u modes, so its bits are 0 "
			       "to %u",
			       path, codec->name, codec->nmodes,
			       codec->nmodes - 1);
	if (amr->mode_set && !u->mode)
		u->cfg.mode = best_mode_of(amr->mode_set, u->cfg.mode);
	return check_in_set(u, path, e);
}

int codec_use_check(struct codec_use *u, const char *path, struct cr_err *e)
{
	const struct cr_codec *codec;
	char text[80];

	if (check_codec(u, path, e))
		return -EINVAL;
	codec = u->codec;
	if (call_check_mode(&u->cfg.mode, codec, u->mode, path, e))
		return -EINVAL;
	if (u->mode)
		u->mode = codec->modes[u->cfg.mode].name;
	if (u->cfg.sample_rate && !cr_codec_has_rate(codec, u->cfg.sample_rate))
		return cr_fail(e, -EINVAL, "%srate: %s runs at %s Hz", path,
			       codec->name,
			       cr_codec_rates_text(codec, text, sizeof(text)));
	if (!codec->tunable && (u->cfg.complexity || u->cfg.fec))
		return cr_fail(e, -EINVAL, "%s%s: codec %s has none", path,
			       u->cfg.fec ? "fec" : "complexity", codec->name);
	if (u->pt == CODEC_PT_UNSAID)
		u->pt = (uint8_t)(codec->static_pt >= 0 ? codec->static_pt
							: FIRST_DYNAMIC_PT);
	if (payload_format_find(u))
		return cr_fail(e, -EINVAL, "%scodec: %s has no payload format",
			       path, codec->name);
	return check_mode_set(u, path, e);
}

const char *const call_class_names[] = { CALL_CLASS_NAMES };

/* --- its two sides --- */

/* A codec that runs at many rates spares a conversion. */
static void follow_side_rate(struct codec_use *s, const struct codec_use *other)
{
	unsigned rate = codec_use_rate(other);

	if (s->codec->rate_follows && !s->cfg.sample_rate &&
	    cr_codec_has_rate(s->codec, rate))
		s->cfg.sample_rate = rate;
}

/* An address that was given is binding (strict), unless asked otherwise; the
 * party of a call of two streams may be behind a NAT. */
static int check_hears(struct learn_terms *hears, const struct call_spec *r,
		       unsigned i, const struct end_names names[2],
		       struct cr_err *e)
{
	const struct endpoint_spec *from = &r->end[i];
	bool signalled = from->address.ss_family != 0;

	*hears = (struct learn_terms){
		.mode = from->learn >= 0 ? (enum learn_mode)from->learn
			: !signalled	 ? LEARN_IMMEDIATE
			: r->port == CALL_PORT_EACH ? LEARN_DELAYED
						    : LEARN_STRICT,
		.signalled = from->address,
		.ssrc_signalled = from->ssrc != 0,
		.ssrc = from->ssrc,
	};
	if (hears->mode == LEARN_STRICT && !signalled)
		return cr_fail(e, -EINVAL,
			       "%slearn: strict hears %s only, which is "
			       "missing",
			       names[i].path, names[i].address);
	return 0;
}

static int check_sides(struct stream_cfg *cfg, const struct call_spec *r,
		       unsigned i, const struct end_names names[2],
		       struct cr_err *e)
{
	struct codec_use *in = &cfg->media.in, *out = &cfg->media.out;

	*in = r->end[i].side;
	if (codec_use_check(in, names[i].path, e))
		return -EINVAL;
	cfg->source = r->end[i].address;
	if (check_hears(&cfg->hears, r, i, names, e))
		return -EINVAL;
	cfg->ts_first_known = r->ts_first >= 0;
	cfg->ts_first = cfg->ts_first_known ? (uint32_t)r->ts_first : 0;
	*out = r->end[!i].side;
	if (codec_use_check(out, names[!i].path, e))
		return -EINVAL;
	follow_side_rate(in, out);
	follow_side_rate(out, in);
	in->cfg.sample_rate = codec_use_rate(in);
	out->cfg.sample_rate = codec_use_rate(out);
	cfg->to = r->end[!i].address;
	cfg->ssrc_out = r->end[!i].out_ssrc;
	return 0;
}

/* --- time --- */

static unsigned samples_in(const struct codec_use *s, cr_ns t)
{
	return (unsigned)(t * codec_use_rate(s) / CR_SEC);
}

static cr_ns natural_ptime(const struct stream_cfg *cfg)
{
	const struct codec_use *in = &cfg->media.in, *out = &cfg->media.out;

	if (!in->codec->any_length)
		return cr_codec_frame_ns(in->codec, &in->cfg);
	return out->codec->any_length
		       ? 20 * CR_MS
		       : cr_codec_frame_ns(out->codec, &out->cfg);
}

/* Does PCM of @ptime fit a packet? */
static int check_pcm(const struct codec_use *s, cr_ns ptime, struct cr_err *e)
{
	if (!s->codec->any_length || samples_in(s, ptime) <= CR_PCM_SAMPLES_MAX)
		return 0;
	return cr_fail(e, -EINVAL,
		       "ptime: %g ms are too much for a packet of %s",
		       (double)ptime / 1e6, s->codec->name);
}

/* Can the input come in packets of @ptime? */
static int check_input(const struct codec_use *in, cr_ns ptime,
		       struct cr_err *e)
{
	bool pcm = in->codec->any_length;
	const struct cr_codec_cfg cfg = { .sample_rate = in->cfg.sample_rate };
	cr_ns frame = cr_codec_frame_ns(in->codec, &cfg);

	if (ptime < CALL_PTIME_MIN || ptime > CALL_PTIME_MAX)
		return cr_fail(
			e, -EINVAL, "ptime: %g ms is not within %g..%g ms",
			(double)ptime / 1e6, (double)CALL_PTIME_MIN / 1e6,
			(double)CALL_PTIME_MAX / 1e6);
	if (in->codec->lengths ? !cr_codec_has_length(in->codec, ptime)
			       : ptime % (pcm ? 5 * CR_MS : frame) != 0)
		return cr_fail(e, -EINVAL, "ptime: %s comes in frames of %g ms",
			       in->codec->name,
			       pcm ? 5.0 : (double)frame / 1e6);
	return check_pcm(in, ptime, e);
}

/* Packets come every ptime: what the input's frames allow, and PCM follows the
 * other side's frames when nothing was said. Those of the output last as long,
 * or a frame. */
static int check_call_ptime(struct stream_cfg *cfg, cr_ns asked,
			    struct cr_err *e)
{
	struct codec_use *in = &cfg->media.in, *out = &cfg->media.out;
	cr_ns ptime = asked ? asked : natural_ptime(cfg);

	if (check_input(in, ptime, e) || check_pcm(out, ptime, e))
		return -EINVAL;
	cfg->release.period = ptime;
	if (in->codec->any_length)
		in->cfg.samples = samples_in(in, ptime);
	packet_time_follow(out, ptime);
	return 0;
}

static int check_times(struct stream_cfg *cfg, const struct call_spec *r,
		       unsigned i, const struct end_names names[2],
		       struct cr_err *e)
{
	const struct endpoint_spec *from = &r->end[i], *to = &r->end[!i];
	int err = check_call_ptime(
		cfg, from->in_ptime ? from->in_ptime : r->ptime, e);

	if (err || !to->ptime)
		return err;
	return packet_time_set(&cfg->media.out, to->ptime, names[!i].path, e);
}

static int check_release(struct stream_cfg *cfg, const struct release_spec *r,
			 const struct contract *said, struct cr_err *e)
{
	struct release_cfg *to = &cfg->release;

	cfg->release_named = r->model >= 0;
	to->kind =
		r->model >= 0 ? (enum release_kind)r->model : RELEASE_SPORADIC;
	to->x = r->x;
	to->y = r->y ? r->y : to->period * r->x;
	to->burst = r->burst >= 0 ? (unsigned)r->burst : 1;
	if (r->burst >= 0 && said->burst)
		return cr_fail(e, -EINVAL,
			       "contract.burst: release.burst says it "
			       "already: leave one of them out");
	return 0;
}

/* --- terms --- */

static int check_call_terms(struct stream_cfg *cfg,
			    const struct task_terms *asked, struct cr_err *e)
{
	const struct release_cfg *release = &cfg->release;
	struct contract_flaw flaw;

	cfg->terms = *asked;
	if (!cfg->terms.deadline)
		cfg->terms.deadline = release->period;
	if (!contract_check(&cfg->terms, release->period, release->kind, &flaw))
		return 0;
	return cr_fail(e, -EINVAL, "contract.%s: %s", flaw.member, flaw.text);
}

/* --- what is beside the speech --- */

bool call_says_reception(const struct reception_spec *r)
{
	return r->loss != CALL_LOSS_NUMBER || r->jitter || r->jitter_min ||
	       r->jitter_max || r->fill >= 0;
}

static int check_jitter(struct receive_stage_terms *to,
			const struct reception_spec *r, const char *path,
			struct cr_err *e)
{
	to->jitter = (enum jitter_kind)r->jitter;
	if (to->jitter == JITTER_OFF) {
		if (!r->jitter_min && !r->jitter_max)
			return 0;
		return cr_fail(e, -EINVAL,
			       "%sjitter_%s: goes with a jitter buffer: say "
			       "%sjitter, fixed or adaptive",
			       path, r->jitter_min ? "min" : "max", path);
	}
	to->most = r->jitter_max		? r->jitter_max
		   : to->jitter == JITTER_FIXED ? CALL_JITTER_FIXED
						: CALL_JITTER_MOST;
	to->least = r->jitter_min;
	if (to->least <= to->most)
		return 0;
	return cr_fail(e, -EINVAL,
		       "%sjitter_min: is more than jitter_max, %g ms", path,
		       (double)to->most / 1e6);
}

/* Types of events by which the side sends, the first of which it is sent. */
static int check_events(struct telephone_event_types *to,
			const struct codec_use *side, const struct aux_spec *r,
			const char *path, struct cr_err *e)
{
	*to = (struct telephone_event_types){ 0 };
	if (!r->events)
		return 0;
	to->one[to->n].pt = (uint8_t)r->events;
	to->one[to->n++].clock =
		r->events_clock ? r->events_clock : codec_use_clock(side);
	if (!telephone_event_is_clock(to->one[0].clock))
		return cr_fail(e, -EINVAL,
			       "%sevents_clock: %u Hz: events are known at "
			       "8000, 16000, ... 48000",
			       path, to->one[0].clock);
	for (unsigned i = 0; i < r->more.n && to->n < TELEPHONE_EVENT_TYPES;
	     i++)
		if (telephone_event_is_clock(r->more.one[i].clock))
			to->one[to->n++] = r->more.one[i];
	return 0;
}

static int check_types(const struct codec_use *side, const struct aux_spec *r,
		       const char *path, struct cr_err *e)
{
	const char *twice = NULL;

	if (r->events && (r->events == side->pt || r->events == r->noise))
		twice = "events";
	else if (r->noise && r->noise == side->pt)
		twice = "noise";
	else if (r->events_clock && !r->events)
		return cr_fail(e, -EINVAL, "%sevents_clock: goes with events",
			       path);
	if (!twice)
		return 0;
	return cr_fail(e, -EINVAL,
		       "%s%s: payload type %u stands for something else "
		       "already",
		       path, twice,
		       (unsigned)(r->events == side->pt ? side->pt : r->noise));
}

static int check_aux(struct stream_cfg *cfg, const struct call_spec *r,
		     unsigned i, const struct end_names names[2],
		     struct cr_err *e)
{
	const struct aux_spec *from = &r->end[i].types, *to = &r->end[!i].types;
	const struct reception_spec *in = &r->end[i].reception;
	struct telephone_event_types sent;
	enum receive_stage_fill fill = (enum receive_stage_fill)in->fill;

	cfg->conceal = in->loss == CALL_LOSS_CONCEAL;
	if (in->fill < 0)
		fill = r->port == CALL_PORT_EACH ? RECEIVE_STAGE_FILL_SIGNALLED
						 : RECEIVE_STAGE_FILL_NEVER;
	/* whoever cannot tell of silence never does */
	if (fill == RECEIVE_STAGE_FILL_SIGNALLED && !from->noise &&
	    !cfg->media.in.codec->dtx)
		fill = RECEIVE_STAGE_FILL_NEVER;
	cfg->receive_stage.fill = fill;
	cfg->receive_stage.pt_noise = (uint8_t)from->noise;
	cfg->media.pt_noise = (uint8_t)to->noise;
	if (check_jitter(&cfg->receive_stage, in, names[i].path, e) ||
	    check_types(&cfg->media.in, from, names[i].path, e) ||
	    check_events(&cfg->receive_stage.events, &cfg->media.in, from,
			 names[i].path, e) ||
	    check_types(&cfg->media.out, to, names[!i].path, e) ||
	    check_events(&sent, &cfg->media.out, to, names[!i].path, e))
		return -EINVAL;
	cfg->event_out = sent.one[0];
	/* All of it needs an endpoint, which has a timer. */
	if (r->port != CALL_PORT_SHARED ||
	    !receive_stage_needed(&cfg->receive_stage))
		return 0;
	return cr_fail(e, -EINVAL, "%s%s: goes with port \"own\"",
		       names[i].path,
		       cfg->receive_stage.jitter != JITTER_OFF ? "jitter"
		       : cfg->receive_stage.fill	       ? "fill"
		       : cfg->receive_stage.events.n	       ? "events"
							       : "noise");
}

int call_check_stream(struct stream_cfg *out, const struct call_spec *r,
		      unsigned i, const struct end_names names[2],
		      struct cr_err *e)
{
	struct stream_cfg cfg = { 0 };

	if (check_sides(&cfg, r, i, names, e) ||
	    check_aux(&cfg, r, i, names, e) ||
	    check_times(&cfg, r, i, names, e) ||
	    check_release(&cfg, &r->release, &r->terms.contract, e) ||
	    check_call_terms(&cfg, &r->terms, e))
		return -EINVAL;
	/* what is learned names the stream of a call of two streams nowhere */
	cfg.may_change = r->port == CALL_PORT_EACH;
	cfg.ssrc_in = cfg.may_change ? 0 : r->end[i].ssrc;
	cfg.pair = r->pair;
	*out = cfg;
	return 0;
}

int call_check(struct stream_cfg *out, const struct call_spec *r,
	       struct cr_err *e)
{
	static const struct end_names names[2] = {
		{ .path = "in.", .address = "in.source" },
		{ .path = "out.", .address = "out.address" },
	};
	bool own = r->port == CALL_PORT_OWN;
	int err;

	if (r->end[0].interface && !own)
		return cr_fail(e, -EINVAL,
			       "interface: goes with port \"own\"; the shared "
			       "port has one address");
	if (r->end[0].rtcp > ENDPOINT_RTCP_OFF && !own)
		return cr_fail(e, -EINVAL,
			       "rtcp: goes with port \"own\"; there is none at "
			       "the shared port");
	err = call_check_stream(out, r, 0, names, e);
	if (!err && !out->to.ss_family)
		err = cr_fail(e, -EINVAL,
			      "out.address: is missing: where shall the "
			      "frames go to?");
	if (!err && (out->media.in.codec == &cr_codec_relayed ||
		     out->media.out.codec == &cr_codec_relayed))
		err = cr_fail(
			e, -EINVAL,
			"codec %s: only the parties of a call of two streams "
			"can have it",
			cr_codec_relayed.name);
	return err;
}

/* --- changes --- */

/* Put what the change @to says into @terms. */
static void change_terms(struct task_terms *terms, const struct task_terms *to)
{
	const struct contract *said = &to->contract;
	struct contract *c = &terms->contract;

	if (to->cls != (enum cr_class) - 1)
		terms->cls = to->cls;
	if (to->deadline >= 0)
		terms->deadline = to->deadline;
	if (to->nice != INT_MIN)
		terms->nice = to->nice;
	if (to->weight)
		terms->weight = to->weight;
	if (said->rate_ppm >= 0)
		c->rate_ppm = said->rate_ppm;
	if (said->burst >= 0)
		c->burst = said->burst;
	if (said->peak_ppm >= 0)
		c->peak_ppm = said->peak_ppm;
	if (said->mean >= 0)
		c->mean = said->mean;
	if (said->p99 >= 0)
		c->p99 = said->p99;
	if (said->worst >= 0)
		c->worst = said->worst;
}

/* Keep the packet length if it is unchanged. */
static int check_packet_length(struct stream_cfg *cfg, cr_ns asked,
			       struct cr_err *e)
{
	struct codec_use *out = &cfg->media.out;

	if (asked < 0 || asked == codec_use_packet(out))
		return 0;
	if (asked)
		return packet_time_set(out, asked, "out.", e);
	packet_time_follow(out, cfg->release.period);
	return 0;
}

/* The input's packets last @asked. A deadline at the end of the period stays
 * there, unless another one is asked for. What the decoder takes at a time is
 * not changed by it. */
static int change_period(struct stream_cfg *cfg, cr_ns asked,
			 struct task_terms *terms, struct cr_err *e)
{
	cr_ns was = cfg->release.period;
	cr_ns ptime = asked < 0 ? was : asked ? asked : natural_ptime(cfg);

	if (check_input(&cfg->media.in, ptime, e))
		return -EINVAL;
	cfg->release.period = ptime;
	if (terms->deadline == was)
		terms->deadline = ptime;
	return 0;
}

int call_check_change(struct stream_cfg *cfg, const struct call_spec *r,
		      struct cr_err *e)
{
	struct task_terms terms = cfg->terms;
	struct stream_cfg to = *cfg;
	struct codec_use *out = &to.media.out;
	const char *mode = r->end[1].side.mode;

	if (mode &&
	    (call_check_mode(&out->cfg.mode, out->codec, mode, "out.", e) ||
	     check_in_set(out, "out.", e)))
		return -EINVAL;
	change_terms(&terms, &r->terms);
	if (change_period(&to, r->ptime, &terms, e) ||
	    check_packet_length(&to, r->end[1].ptime, e) ||
	    check_call_terms(&to, &terms, e))
		return -EINVAL;
	*cfg = to;
	return 0;
}

/* All that is asked for is a multiple of it. */
#define STEP (CR_MS / 2)
/* PCM is encoded by so much at a time where a packet time is asked for: packets
 * of any length are whole frames then, and the encoder stays if that changes.
 */
#define PCM_FRAME (10 * CR_MS)
#define PCM_FRAME_MIN (5 * CR_MS)

static void use_frames(struct codec_use *s, cr_ns frame, unsigned frames)
{
	bool has_lengths = s->codec->any_length || s->codec->lengths;

	s->cfg.samples = has_lengths ? samples_in(s, frame) : 0;
	s->frames = frames;
}

/* The frames that make a packet of @time; 0: none do. */
static cr_ns frame_for(const struct codec_use *s, cr_ns time)
{
	const struct cr_codec *c = s->codec;
	const struct cr_codec_cfg natural = { .sample_rate =
						      s->cfg.sample_rate };
	cr_ns frame = cr_codec_frame_ns(c, &natural);

	if (time < CALL_PTIME_MIN || time > CALL_PTIME_MAX)
		return 0;
	if (c->any_length) {
		if (c->declares_cost) /* one of these is a packet's */
			frame = time;
		else
			frame = time % PCM_FRAME ? PCM_FRAME_MIN : PCM_FRAME;
		if (time % PCM_FRAME_MIN ||
		    samples_in(s, time) > CR_PCM_SAMPLES_MAX)
			return 0;
	} else if (cr_codec_has_length(c, time)) {
		frame = time;
	}
	if (time % frame || time / frame > PAYLOAD_FRAMES_MAX ||
	    (s->kind == PAYLOAD_WHOLE && time != frame))
		return 0;
	return frame;
}

/* "30 or 60" */
static const char *possible(const struct codec_use *s, char *buf, size_t size)
{
	cr_ns before = 0;
	size_t n = 0;

	buf[0] = '\0';
	for (cr_ns t = CALL_PTIME_MIN; t <= CALL_PTIME_MAX; t += STEP) {
		if (!frame_for(s, t))
			continue;
		if (before)
			n += (size_t)snprintf(buf + n, size - n, "%s%g",
					      n ? ", " : "",
					      (double)before / 1e6);
		before = t;
	}
	(void)snprintf(buf + n, size - n, "%s%g", n ? " or " : "",
		       (double)before / 1e6);
	return buf;
}

int packet_time_set(struct codec_use *s, cr_ns time, const char *path,
		    struct cr_err *e)
{
	cr_ns frame = frame_for(s, time);
	char list[320];

	if (!frame)
		return cr_fail(
			e, -EINVAL, "%sptime: packets of %s last %s ms, not %g",
			path, s->codec->name, possible(s, list, sizeof(list)),
			(double)time / 1e6);
	use_frames(s, frame, (unsigned)(time / frame));
	return 0;
}

void packet_time_follow(struct codec_use *s, cr_ns time)
{
	const struct cr_codec *c = s->codec;
	const struct cr_codec_cfg natural = { .sample_rate =
						      s->cfg.sample_rate };

	if (c->any_length || (c->lengths && cr_codec_has_length(c, time)))
		use_frames(s, time, 1);
	else
		use_frames(s, cr_codec_frame_ns(c, &natural), 1);
}
