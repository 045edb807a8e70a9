/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A node's conversions: from what is asked for to a configuration, how they
 * join the engine beside calls, and what it tells about them.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "convert/conversion.h"
#include "node/call_check.h"
#include "node/requests.h"
#include "node/node_impl.h"

static int check_name(char *to, const char *name, const char *member,
		      struct cr_err *e)
{
	if (!name)
		return cr_fail(e, -EINVAL, "%s: is missing: %s", member,
			       CONVERT_WHICH_FILE);
	if (snprintf(to, SPOOL_NAME, "%s", name) >= (int)SPOOL_NAME)
		return cr_fail(e, -EINVAL, "%s: is longer than %u octets",
			       member, SPOOL_NAME - 1);
	return 0;
}

/* Refuse options that the format does not have: they would be ignored. */
static int check_options(struct conversion_cfg *cfg,
			 const struct convert_request *r, struct cr_err *e)
{
	bool wav = cfg->to.kind == AUDIO_WAV;

	if (r->rate && r->rate != 8000 && r->rate != 16000)
		return cr_fail(e, -EINVAL, "rate: must be 8000 or 16000");
	if (r->rate && !wav)
		return cr_fail(e, -EINVAL, "rate: is for WAV output only");
	if (wav && r->mode)
		return cr_fail(e, -EINVAL, "mode: WAV output has none");
	if (wav && r->dtx)
		return cr_fail(e, -EINVAL, "dtx: WAV output has none");
	cfg->to.rate = r->rate;
	cfg->dtx = r->dtx;
	cfg->overwrite = r->overwrite;
	return call_check_mode(&cfg->mode, audio_codec(cfg->to.kind), r->mode,
			       "", e);
}

int convert_check(struct conversion_cfg *out, const struct convert_request *r,
		  struct cr_err *e)
{
	struct conversion_cfg cfg = { 0 };

	if (check_name(cfg.in, r->in, "in", e) ||
	    check_name(cfg.out, r->out, "out", e) ||
	    audio_kind_of(cfg.out, &cfg.to.kind, e) ||
	    check_options(&cfg, r, e))
		return -EINVAL;
	*out = cfg;
	return 0;
}

/* A conversion that waits until its cost is known. */
struct pricing {
	struct node *node;
	struct conversion *cv;
	struct node_cost_wait wait;
};

static void on_conversion_priced(void *arg, int err, const struct cr_err *why)
{
	struct pricing *p = arg;

	converter_priced(p->node->converter, p->cv, err, why);
	free(p);
}

/* -EAGAIN, and @cv waits; or -ENOMEM. */
static int begin_pricing(struct node *n, struct conversion *cv,
			 const struct pipeline_cfg *media, struct cr_err *e)
{
	struct pricing *p = malloc(sizeof(*p));

	if (!p)
		return cr_fail(e, -ENOMEM, "out of memory");
	*p = (struct pricing){
		.node = n,
		.cv = cv,
		.wait = { .done = on_conversion_priced, .arg = p, .n = 1 }
	};
	p->wait.need[0].media = *media;
	p->wait.need[0].period = AUDIO_FRAME;
	if (measuring_begin(n->measuring, &p->wait, e)) {
		free(p);
		return -ENOMEM;
	}
	cv->pricing = p;
	return cr_fail(e, -EAGAIN, "its cost is being measured");
}

static int price_conversion(void *arg, struct conversion *cv, struct cr_err *e)
{
	struct node *n = arg;
	struct pipeline_cfg media = { .pt_noise = 0 };
	struct cost_part missing;
	struct cost_entry *cost;
	int err;

	audio_side(&media.in, &cv->cfg.from, 0);
	audio_side(&media.out, &cv->cfg.to, cv->cfg.mode);
	media.out.cfg.dtx = cv->cfg.dtx;
	err = costs_find(n->costs, &media, AUDIO_FRAME, &cost, &missing, e);
	if (err == -EAGAIN)
		return begin_pricing(n, cv, &media, e);
	if (!err)
		cv->cfg.cost = cost->cost;
	return err;
}

static void unprice_conversion(void *arg, struct conversion *cv)
{
	struct pricing *p = cv->pricing;

	node_cost_forget(arg, &p->wait);
	free(p);
}

static void set_text(char *to, size_t size, const char *text)
{
	(void)snprintf(to, size, "%s", text);
}

static void on_conversion_started(void *arg, const struct conversion *cv)
{
	struct node *n = arg;
	const struct cr_codec *in = audio_codec(cv->cfg.from.kind);
	const struct cr_codec *out = audio_codec(cv->cfg.to.kind);
	union cr_trace_record r = {
		.task = {
			.kind = CR_TRACE_TASK,
			.cls = (uint8_t)cv->lt.core.task.cls,
			.ptime_us_div_250 = AUDIO_FRAME / (250 * CR_US),
			.task = cv->cfg.id,
			.start = cv->started,
			.rel_deadline = cv->lt.core.task.rel_deadline,
			.weight = cv->lt.core.task.weight,
		},
	};

	set_text(r.task.codec_in, sizeof(r.task.codec_in), in->name);
	set_text(r.task.codec_out, sizeof(r.task.codec_out), out->name);
	set_text(r.task.mode_out, sizeof(r.task.mode_out),
		 out->modes[cv->cfg.mode].name);
	trace_put(trace_ring(n->trace, node_ring_control(n)), &r);
}

static void on_conversion_ended(void *arg, const struct conversion *cv)
{
	struct node *n = arg;

	if (n->cfg.conversion_ended)
		n->cfg.conversion_ended(n->cfg.arg, cv);
}

/* The calls' packets do not wait for a frame that no call waits for. */
static void run_conversion(struct transcode_worker *w, struct live_task *lt,
			   const struct live_run *run)
{
	union cr_trace_record record;

	transcode_flush(w);
	memset(&record, 0, sizeof(record));
	transcode_enter_codec(w);
	conversion_run(conversion_of(lt), &w->scratch, run, &record);
	if (transcode_leave_codec(w))
		trace_put(w->trace, &record);
}

static void conversion_gone(void *arg, struct live_task *lt)
{
	(void)arg;
	converter_gone(conversion_of(lt));
}

static void conversion_returned(void *arg, struct live_task *lt)
{
	(void)arg;
	converter_back(conversion_of(lt));
}

static void conversion_hung(void *arg, struct live_task *lt)
{
	const struct node *n = arg;

	converter_hung(n->converter, conversion_of(lt));
}

/* Its frames are never too old, and those of a cancelled one are nobody's
 * loss. */
static const struct node_task_kind conversion_kind = {
	.name = "conversion",
	.peek = conversion_peek,
	.claim = conversion_claim,
	.run = run_conversion,
	.gone = conversion_gone,
	.returned = conversion_returned,
	.hung = conversion_hung,
};

int node_open_converter(struct node *n, struct cr_err *e)
{
	const struct node_convert *c = &n->cfg.convert;
	const struct converter_config cfg = {
		.base = n->cfg.base,
		.live = n->live,
		.kind = &conversion_kind,
		.dir = c->dir,
		.max_bytes = c->max_bytes,
		.max = c->max,
		.running = c->running,
		.floor = c->floor,
		.price = price_conversion,
		.unprice = unprice_conversion,
		.started = on_conversion_started,
		.ended = on_conversion_ended,
		.arg = n,
	};

	return c->dir ? converter_open(&n->converter, &cfg, e) : 0;
}

int node_conversion_submit(struct node *n, const struct conversion_cfg *cfg,
			   const char *owner,
			   const struct conversion_asker *asker,
			   struct cr_err *e)
{
	struct conversion_cfg numbered = *cfg;
	int err = node_refuse_short(n, e);

	if (err)
		return err;
	if (!n->converter)
		return cr_fail(e, -ENOTSUP,
			       "this node was started without --spool, so it "
			       "converts no files");
	numbered.id = node_next_id(n);
	return converter_submit(n->converter, &numbered, owner, asker, e);
}

struct converter *node_converter(const struct node *n)
{
	return n->converter;
}

/* "amr/12.2", "wav/16000". */
static void format_text(const struct audio *a,
			const struct conversion_cfg *mode, char *buf,
			size_t size)
{
	const char *name = audio_kind_name(a->kind);

	if (a->kind == AUDIO_WAV)
		(void)snprintf(buf, size, "%s/%u", name, a->rate);
	else if (mode)
		(void)snprintf(buf, size, "%s/%s", name,
			       audio_codec(a->kind)->modes[mode->mode].name);
	else
		(void)snprintf(buf, size, "%s", name);
}

/* Of the input, read; what is read ahead is at most two seconds. */
static double progress(const struct conversion *cv)
{
	unsigned long long read =
		atomic_load_explicit(&cv->read, memory_order_relaxed);

	if (cv->state == CONVERSION_DONE)
		return 1;
	return read < cv->bytes ? (double)read / (double)cv->bytes : 1;
}

void node_conversion_info(const struct conversion *cv,
			  struct node_conversion_info *out)
{
	cr_ns until = conversion_is_over(cv->state) ? cv->ended : clock_now();
	bool has_why = conversion_is_over(cv->state) ||
		       cv->state == CONVERSION_WAITING;

	*out = (struct node_conversion_info){
		.id = cv->cfg.id,
		.state = conversion_state_name(cv->state),
		.in = cv->cfg.in,
		.out = cv->cfg.out,
		.frames =
			atomic_load_explicit(&cv->frames, memory_order_relaxed),
		.progress = progress(cv),
		.age = until - cv->submitted,
		.running = cv->started ? until - cv->started : 0,
		.why = has_why ? cv->why.text : "",
	};
	format_text(&cv->cfg.from, NULL, out->from, sizeof(out->from));
	format_text(&cv->cfg.to, &cv->cfg, out->to, sizeof(out->to));
}
