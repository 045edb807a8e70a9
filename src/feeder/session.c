/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The course of a run:
 *
 *   encode speech -> connect, hello -> loads into counts -> plan
 *     -> threads, epoch -> every 10 ms: ask for calls that are near, stop
 *        those that are through -> bye -> sums
 */
#include "feeder/session_control.h"
#include "feeder/session_ng.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "feeder/dump.h"

#define TICK (10 * CR_MS)

void session_fail(struct session *s, int code, const char *fmt, ...)
{
	va_list ap;

	if (!s->failed) {
		va_start(ap, fmt);
		(void)vsnprintf(s->why.text, sizeof(s->why.text), fmt, ap);
		va_end(ap);
		s->failed = code;
	}
	(void)event_base_loopbreak(s->base);
}

void session_show(struct session *s, const struct session_progress *p)
{
	if (s->cfg.progress)
		s->cfg.progress(s->cfg.arg, p);
}

static void close_sources(struct session *s)
{
	for (unsigned f = 0; s->sources && f < s->cfg.campaign->flow_count;
	     f++) {
		bool shared = false;

		for (unsigned k = 0; k < f; k++)
			shared |= s->sources[k] == s->sources[f];
		if (!shared)
			source_close(s->sources[f]);
	}
	free(s->sources);
}

static void on_speakers(void *arg, cr_ns now, const char *line)
{
	struct session *s = arg;

	s->cfg.speakers(s->cfg.arg, now, line);
}

static void on_end(void *arg)
{
	struct session *s = arg;

	s->ended = !s->interrupted;
	s->interrupted = true;
	pacer_stop(s->pacer);
}

static void on_wrong_speakers(void *arg, int err, const char *why)
{
	session_fail(arg, err, "%s", why);
}

/* Whether there is memory for them. */
static bool make_speakers(struct session *s)
{
	const struct speakers_cfg cfg = { .campaign = s->cfg.campaign,
					  .fd = STDIN_FILENO,
					  .set = on_speakers,
					  .end = on_end,
					  .failed = on_wrong_speakers,
					  .arg = s };

	if (!s->cfg.speakers)
		return true;
	s->speakers = speakers_new(&cfg);
	return s->speakers != NULL;
}

static struct session *session_new(const struct session_cfg *cfg)
{
	struct session *s = calloc(1, sizeof(*s));
	unsigned n = cfg->campaign->flow_count;

	if (!s)
		return NULL;
	s->cfg = *cfg;
	s->peer = cfg->ng ? &session_ng : &session_control;
	s->ports.common.fd = -1;
	s->base = event_base_new();
	s->sources = calloc(n, sizeof(struct source *));
	s->counts = calloc(n, sizeof(*s->counts));
	s->flows = calloc(n, sizeof(*s->flows));
	s->total = calloc(1, sizeof(*s->total));
	if (s->base && s->sources && s->counts && s->flows && s->total &&
	    make_speakers(s))
		return s;
	session_close(s);
	return NULL;
}

int session_check(const struct session_cfg *cfg, struct cr_err *e)
{
	return cfg->ng ? session_ng_check(cfg, e) : 0;
}

int session_open(struct session **out, const struct session_cfg *cfg,
		 struct cr_err *e)
{
	struct session *s = session_new(cfg);
	int rc;

	if (!s)
		return cr_fail(e, -ENOMEM, "out of memory");
	rc = session_prepare(s, e);
	if (rc) {
		session_close(s);
		return rc;
	}
	*out = s;
	return 0;
}

int session_counts(const struct session_cfg *cfg, uint64_t *counts,
		   struct cr_err *e)
{
	struct session *s = session_new(cfg);
	int rc;

	if (!s)
		return cr_fail(e, -ENOMEM, "out of memory");
	rc = session_size(s, e);
	if (!rc)
		memcpy(counts, s->counts,
		       cfg->campaign->flow_count * sizeof(*counts));
	session_close(s);
	return rc;
}

/* ---- while it runs ---- */

static void on_signal(evutil_socket_t number, short what, void *arg)
{
	struct session *s = arg;

	(void)number, (void)what;
	if (s->interrupted) { /* a second one means at once */
		session_fail(s, -EINTR, "interrupted twice");
		return;
	}
	s->interrupted = true;
	pacer_stop(s->pacer);
}

/* Calls are asked for in order of their start, a little before it. */
static void start_calls(struct session *s, cr_ns now)
{
	while (!s->interrupted && !s->failed && s->next_start < s->plan.count) {
		struct feeder_call *c = &s->calls[s->next_start];

		if (s->epoch + c->plan->start - SESSION_LEAD > now)
			break;
		s->next_start++;
		if (!c->talk)
			session_call_start(s, c);
		else if (c->state == CALL_PLANNED) /* else with the other */
			session_talk_start(s, c->talk);
	}
}

static void stop_calls(struct session *s, cr_ns now)
{
	for (size_t i = 0; i < s->next_start && !s->failed; i++) {
		struct feeder_call *c = &s->calls[i];

		if (c->state != CALL_ACTIVE || c->talk)
			continue;
		if (!s->interrupted &&
		    !atomic_load_explicit(&c->done, memory_order_acquire))
			continue;
		if (!c->stop_at)
			c->stop_at = now + SESSION_DRAIN;
		if (c->stop_at <= now)
			session_call_stop(s, c);
	}
}

/* Those that are not done by the campaign's end have had their time. */
static void convert(struct session *s, cr_ns now)
{
	struct conversions *v = s->conversions;

	if (!v || s->failed)
		return;
	if (!s->converting && !s->interrupted &&
	    s->epoch + s->cfg.campaign->conversions.at <= now) {
		s->converting = true;
		conversions_submit(v, s->rpc, now);
	}
	if (s->interrupted || s->epoch + s->cfg.duration <= now)
		conversions_cancel(v);
}

static void count_frames(const struct session *s, struct session_progress *p)
{
	for (size_t i = 0; i < s->next_start; i++) {
		const struct match *m = s->calls[i].match;

		if (!m)
			continue;
		p->sent += atomic_load_explicit(&m->sent, memory_order_relaxed);
		p->received += atomic_load_explicit(&m->received,
						    memory_order_relaxed);
		p->lost += match_lost(m);
	}
}

static void report_progress(struct session *s, cr_ns now)
{
	struct session_progress p = { .phase = "calling",
				      .up = s->active,
				      .refused = s->refused };

	if (!s->cfg.progress)
		return;
	p.left = cr_ns_max(s->epoch + s->cfg.duration - now, 0);
	count_frames(s, &p);
	session_show(s, &p);
}

static bool is_over(const struct session *s)
{
	return !s->open && (s->interrupted || s->next_start == s->plan.count) &&
	       (!s->conversions || conversions_over(s->conversions));
}

static void on_tick(evutil_socket_t fd, short what, void *arg)
{
	struct session *s = arg;
	cr_ns now = clock_now();

	(void)fd, (void)what;
	start_calls(s, now);
	stop_calls(s, now);
	session_talks_go_on(s, now);
	ports_tidy(&s->ports);
	convert(s, now);
	report_progress(s, now);
	if (is_over(s))
		(void)event_base_loopbreak(s->base);
}

static int add_events(struct session *s, struct cr_err *e)
{
	const struct timeval tick = { .tv_usec = TICK / CR_US };

	s->tick = event_new(s->base, -1, EV_PERSIST, on_tick, s);
	s->sigint = evsignal_new(s->base, SIGINT, on_signal, s);
	s->sigterm = evsignal_new(s->base, SIGTERM, on_signal, s);
	if (!s->tick || !s->sigint || !s->sigterm ||
	    event_add(s->tick, &tick) || event_add(s->sigint, NULL) ||
	    event_add(s->sigterm, NULL))
		return cr_fail(e, -ENOMEM, "out of memory for events");
	return s->speakers ? speakers_read(s->speakers, s->base, e) : 0;
}

static void free_events(struct session *s)
{
	struct event **all[] = { &s->tick, &s->sigint, &s->sigterm };

	for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		if (*all[i])
			event_free(*all[i]);
		*all[i] = NULL;
	}
}

static int start_threads(struct session *s, struct cr_err *e)
{
	struct pacer_cfg cfg = { .cpu = s->cfg.cpu,
				 .io = s->cfg.io,
				 .calls = s->plan.count };
	int rc = receiver_open(&s->receiver, s->plan.count, s->cfg.cpu,
			       s->cfg.io, e);
	cr_ns now = clock_now();

	if (!rc)
		rc = ports_receive(&s->ports, s->receiver, e);
	if (rc)
		return rc;
	s->epoch = now + SESSION_LEAD + TICK;
	s->epoch_realtime = clock_read(CLOCK_REALTIME) + (s->epoch - now);
	s->cpu_before = clock_read(CLOCK_PROCESS_CPUTIME_ID);
	cfg.epoch = s->epoch;
	return pacer_open(&s->pacer, &cfg, e);
}

/* Pacer and receiver have stopped. */
static void close_ports(struct session *s)
{
	for (size_t i = 0; s->calls && i < s->plan.count; i++) {
		struct phone *p = s->calls[i].phone;

		ports_drop(&s->ports, &s->calls[i].port);
		ports_drop(&s->ports, &s->calls[i].caller);
		for (unsigned k = 0; p && k < p->nports; k++)
			ports_drop(&s->ports, &p->ports[k]);
	}
	ports_close(&s->ports);
}

static void sum_up(struct session *s)
{
	session_talks_judge(s);
	for (size_t i = 0; i < s->plan.count; i++)
		tally_call(&s->flows[s->calls[i].plan->flow], &s->calls[i]);
	for (unsigned f = 0; f < s->cfg.campaign->flow_count; f++)
		tally_merge(s->total, &s->flows[f]);
}

int session_play(struct session *s, struct cr_err *e)
{
	int rc = s->peer->begin(s, e);

	if (!rc)
		rc = start_threads(s, e);
	if (!rc)
		rc = add_events(s, e);
	if (!rc)
		(void)event_base_dispatch(s->base);
	free_events(s);
	if (s->pacer)
		pacer_stop(s->pacer);
	if (s->receiver)
		receiver_stop(s->receiver);
	s->cpu = clock_read(CLOCK_PROCESS_CPUTIME_ID) - s->cpu_before;
	close_ports(s);
	sum_up(s);
	if (!rc && !s->failed)
		s->peer->leave(s);
	return s->failed && !rc ? cr_fail(e, s->failed, "%s", s->why.text) : rc;
}

void session_result(struct session *s, struct session_result *out)
{
	*out = (struct session_result){
		.plan = &s->plan,
		.calls = s->calls,
		.flows = s->flows,
		.total = s->total,
		.counts = s->counts,
		.conversions = s->conversions,
		.talks = s->talks,
		.ntalks = s->ntalks,
		.hello = s->hello,
		.stats = s->stats,
		.cpu = s->cpu,
		.epoch_realtime = s->epoch_realtime,
		.drops = s->ports.drops,
		.interrupted = s->interrupted && !s->ended,
	};
	if (s->pacer)
		pacer_stats(s->pacer, &out->pacer);
	if (s->receiver)
		receiver_stats(s->receiver, &out->receiver);
	(void)snprintf(out->refusal, sizeof(out->refusal), "%s", s->refusal);
}

static void free_calls(struct session *s)
{
	for (size_t i = 0; s->calls && i < s->plan.count; i++) {
		json_decref(s->calls[i].counts);
		dump_free(s->calls[i].dump);
		if (s->calls[i].match)
			times_free(s->calls[i].match->times);
		free(s->calls[i].match);
		phone_free(s->calls[i].phone);
		free(s->calls[i].heard);
	}
	for (size_t i = 0; i < s->ntalks; i++)
		json_decref(s->talks[i].told);
	free(s->talks);
	free(s->calls);
}

void session_close(struct session *s)
{
	if (!s)
		return;
	free_events(s);
	pacer_close(s->pacer);
	receiver_close(s->receiver);
	s->failed = s->failed ? s->failed : -ECANCELED; /* late replies */
	s->peer->hang_up(s);
	conversions_close(s->conversions);
	close_ports(s);
	free_calls(s);
	speakers_free(s->speakers);
	plan_fini(&s->plan);
	close_sources(s);
	json_decref(s->hello);
	json_decref(s->stats);
	free(s->counts);
	free(s->flows);
	free(s->total);
	if (s->base)
		event_base_free(s->base);
	free(s);
}
