/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists that codec-runner prints instead of serving: schedulers, the cost of
 * codecs on this machine, and how many calls of a mix this machine carries.
 *
 * For the latter two things are measured, each in every round, so that the
 * rounds differ as the machine's speed does: the parts of the calls' costs, as
 * admission has them, and what a packet costs receivers and workers beside its
 * codec. That on loopback through a node that is configured as the daemon would
 * be, but with one worker, and as busy as that worker is going to be: threads
 * that sleep between packets pay two to four times as much for each. Its calls'
 * codec takes what those of the mix take. Then it is arithmetic.
 */
#define _GNU_SOURCE
#include "app/runner/capacity_plan.h"

#include <errno.h>
#include <event2/event.h>
#include <event2/thread.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <urcu.h>

#include "app/runner/cost_table.h"
#include "app/runner/options.h"
#include "base/address.h"
#include "base/clock.h"
#include "base/descriptors.h"
#include "base/field.h"
#include "base/rcu.h"
#include "base/topology.h"
#include "engine/scheduler.h"
#include "node/call_check.h"
#include "node/costs.h"
#include "node/node_call.h"
#include "node/node.h"
#include "protocol/field_json.h"
#include "protocol/results.h"
#include "protocol/tables/call_fields.h"
#include "rtp/rtp.h"
#include "udp/socket.h"

/* Print @o and free it; NULL is no memory. 0, or 1: it could not. */
static int runner_print_json(FILE *out, json_t *o)
{
	int bad = !o || json_dumpf(o, out, JSON_INDENT(2)) ||
		  fputc('\n', out) == EOF;

	json_decref(o);
	return bad;
}

/* "quantum=TIME  a turn (...)" in two columns: "admits by" and "quantum=TIME"
 * are of one width for all policies. */
static void show_row(const char *left, const char *right, FILE *out)
{
	(void)fprintf(out, "  %-18s %s\n", left, right);
}

static void show_scheduler(const struct scheduler *s, FILE *out)
{
	const struct cr_opt *o = scheduler_opts(s);
	struct scheduler_info info;

	describe_scheduler(s, &info);
	(void)fprintf(out, "%-20s %s\n", info.name, info.help);
	for (; o && o->name; o++) {
		char line[256];
		char *gap;

		option_describe(o, line, sizeof(line));
		gap = strstr(line, "  ");
		/* analyzer: two spaces are always between them */
		*gap = '\0';
		show_row(line, gap + 2, out);
	}
	show_row("admits by", info.admission, out);
	(void)fputc('\n', out);
}

static json_t *scheduler_json(const struct scheduler *s)
{
	struct scheduler_info info;

	describe_scheduler(s, &info);
	return field_write(scheduler_info_fields, &info);
}

/* --scheduler names a plug-in. */
static bool find_plugin(const struct runner_options *o, struct scheduler *s)
{
	const char *spec = o->service.node.scheduler;

	return strchr(spec, '/') && !scheduler_find(spec, s, NULL);
}

/* The text's rows: those of hello, and the kernel's, marked. */
static json_t *all_schedulers(const struct runner_options *o)
{
	json_t *list = json_array();
	struct scheduler plugin;

	if (find_plugin(o, &plugin))
		(void)json_array_append_new(list, scheduler_json(&plugin));
	for (unsigned i = 0; cr_schedulers[i]; i++) {
		const struct scheduler s = { .policy = cr_schedulers[i] };

		(void)json_array_append_new(list, scheduler_json(&s));
	}
	for (unsigned i = 0; kernel_scheds[i]; i++) {
		const struct scheduler s = { .kernel = kernel_scheds[i] };
		json_t *row = scheduler_json(&s);

		(void)json_object_set_new(row, "baseline", json_true());
		(void)json_array_append_new(list, row);
	}
	return list;
}

int runner_show_schedulers(FILE *out, const struct runner_options *o)
{
	struct scheduler plugin;

	if (o->json)
		return runner_print_json(out, all_schedulers(o));
	if (find_plugin(o, &plugin))
		show_scheduler(&plugin, out);
	for (unsigned i = 0; cr_schedulers[i]; i++)
		show_scheduler(
			&(struct scheduler){ .policy = cr_schedulers[i] }, out);
	(void)fputs("Baselines: the kernel decides. Only from the start to the "
		    "end of a codec-runner.\n\n",
		    out);
	for (unsigned i = 0; kernel_scheds[i]; i++)
		show_scheduler(
			&(struct scheduler){ .kernel = kernel_scheds[i] }, out);
	return 0;
}

int runner_show_codecs(FILE *out, const struct runner_options *o)
{
	struct cost_table *t;
	struct cr_err e = { "" };
	int err;

	if (!o->json)
		(void)fprintf(stderr,
			      "measuring every codec and mode, %.0f s ...\n",
			      (double)o->seconds / 1e9);
	err = cost_table_open(&t, (double)o->seconds / 1e9, &e);
	if (err) {
		(void)fprintf(stderr, "codec-runner: %s\n", e.text);
		return 1;
	}
	if (o->json)
		err = runner_print_json(out, costs_json(t));
	else
		costs_print(out, t);
	cost_table_close(t);
	return err;
}

enum {
	KINDS = 16,
	ROUNDS = 5,
	/** Calls of the node that shows what a packet costs, 50 packets a
	 * second each: no more than one sender keeps up with. */
	PROBES_LEAST = 50,
	PROBES = 2500,
	PROBE_BYTES = 160
};
#define PROBE_PTIME (20 * CR_MS)
#define PROBE_ROUND (500 * CR_MS)
/* The load that the codecs alone put on its worker. */
#define PROBE_LOAD 0.7
/* Until something comes through: others may have the CPUs for a round. */
#define PROBE_PATIENCE (10 * CR_SEC)

/* One direction of a call. */
struct planned_stream {
	struct pipeline_cfg media;
	cr_ns period; /* between two packets */
};

/* Calls with the same codecs. */
struct kind {
	char text[64]; /* "pcma<->amr-wb" */
	double share;  /* of all calls; 0: of what the others leave */
	struct planned_stream stream[2];
	unsigned nstreams;
	double codec[ROUNDS]; /* CPUs that its codecs take */
	double packets;	      /* a second */
};

struct plan {
	struct kind kind[KINDS];
	unsigned nkinds;
	double worker[ROUNDS], receiver[ROUNDS]; /* s a packet, beside codecs */
	double calls[ROUNDS];
	unsigned workers, receivers;
	unsigned cpus; /* that both have; 0: each has CPUs of its own */
	double bound;  /* of a worker */
};

/* --- the mix --- */

/* Of "amr/12.2". */
static json_t *side_json(const char *text)
{
	const char *mode = strchr(text, '/');
	size_t name = mode ? (size_t)(mode - text) : strlen(text);

	return json_pack("{s:s%, s:s*}", "codec", text, name, "mode",
			 mode ? mode + 1 : NULL);
}

/* The stream from @from to @to, as call.start would have it. */
static int find_stream(struct planned_stream *s, const char *from,
		       const char *to, struct cr_err *e)
{
	json_t *out = side_json(to), *params = NULL;
	struct call_spec spec;
	struct stream_cfg cfg;
	int err = -ENOMEM;

	if (out &&
	    !json_object_set_new(out, "address", json_string("127.0.0.1:9")))
		params = json_pack("{s:o, s:O}", "in", side_json(from), "out",
				   out);
	if (params)
		err = call_params(&spec, params, e);
	if (!err)
		err = call_check(&cfg, &spec, e);
	if (!err)
		*s = (struct planned_stream){ .media = cfg.media,
					      .period = cfg.release.period };
	json_decref(out);
	json_decref(params);
	return err;
}

/* ":30%" at the end of @text, which is cut off. */
static int take_share(char *text, double *share, struct cr_err *e)
{
	char *colon = strchr(text, ':'), *end;

	*share = 0;
	if (!colon)
		return 0;
	*share = strtod(colon + 1, &end) / 100;
	if (end == colon + 1 || strcmp(end, "%") || !(*share > 0) || *share > 1)
		return cr_fail(e, -EINVAL,
			       "%s: a share is written \":30%%\", above 0 and "
			       "up to 100 %%",
			       colon + 1);
	*colon = '\0';
	return 0;
}

/* "pcma<->amr-wb:30%" */
static int read_kind(struct kind *k, char *text, struct cr_err *e)
{
	int err = take_share(text, &k->share, e);
	char *arrow = strstr(text, "->"), *to;
	bool both;

	if (err)
		return err;
	if (!arrow)
		return cr_fail(e, -EINVAL,
			       "%s: write A<->B for a call of both directions, "
			       "A->B for one",
			       text);
	(void)snprintf(k->text, sizeof(k->text), "%s", text);
	to = arrow + 2;
	both = arrow > text && arrow[-1] == '<';
	*(both ? arrow - 1 : arrow) = '\0';
	err = find_stream(&k->stream[0], text, to, e);
	if (!err && both)
		err = find_stream(&k->stream[1], to, text, e);
	k->nstreams = both ? 2 : 1;
	for (unsigned i = 0; i < k->nstreams && !err; i++)
		k->packets += 1e9 / (double)k->stream[i].period;
	return err;
}

static int read_mix(struct plan *p, const char *text, struct cr_err *e)
{
	char *copy = strdup(text), *rest = copy, *one;
	int err = copy ? 0 : -ENOMEM;
	double left = 1;
	unsigned open = 0;

	while (!err && (one = strsep(&rest, ","))) {
		one += strspn(one, " ");
		if (p->nkinds == KINDS)
			err = cr_fail(e, -EINVAL, "more than %d kinds of calls",
				      KINDS);
		else
			err = read_kind(&p->kind[p->nkinds++], one, e);
	}
	free(copy);
	if (err)
		return err;
	/* Those without a share have what the others leave, in equal parts. */
	for (unsigned i = 0; i < p->nkinds; i++) {
		left -= p->kind[i].share;
		open += p->kind[i].share == 0;
	}
	if (open ? left <= 0 : fabs(left) > 1e-6)
		return cr_fail(e, -EINVAL, "the shares come to %.4g %%",
			       100 * (1 - left));
	for (unsigned i = 0; i < p->nkinds; i++)
		if (p->kind[i].share == 0)
			p->kind[i].share = left / open;
	return 0;
}

/* --- what codecs cost --- */

/* Ns of CPU time that the codecs take for a packet of @s; parts that @book
 * lacks are measured first. */
static int measure_stream(struct costs *book, const struct planned_stream *s,
			  double *ns, struct cr_err *e)
{
	struct cost_entry *entry;
	struct cost_part missing;
	struct cost_value v;
	int err;

	while ((err = costs_find(book, &s->media, s->period, &entry, &missing,
				 e)) == -EAGAIN) {
		if (!cost_part_declared(&missing, &v))
			err = cost_part_measure(&missing, NULL, &v, e);
		else
			err = 0;
		if (!err)
			err = costs_put(book, &missing, &v);
		if (err)
			return err;
	}
	if (!err)
		*ns = (double)entry->cost.mean -
		      (double)costs_send(book) * (double)s->period /
			      (double)codec_use_packet(&s->media.out);
	return err;
}

static int measure_codecs(struct plan *p, unsigned round, struct cr_err *e)
{
	struct costs *book = costs_new();
	int err = book ? 0 : -ENOMEM;

	for (unsigned i = 0; i < p->nkinds && !err; i++) {
		struct kind *k = &p->kind[i];

		for (unsigned j = 0; j < k->nstreams && !err; j++) {
			double ns = 0;

			err = measure_stream(book, &k->stream[j], &ns, e);
			k->codec[round] += ns / (double)k->stream[j].period;
		}
	}
	costs_free(book);
	return err;
}

/* --- what a packet costs beside --- */

/* A node, and a sender of calls of PCMU to it, whose output takes @spin. */
struct probe {
	struct event_base *base;
	struct node *node;
	int fd;
	struct node_stream *call[PROBES];
	struct sockaddr_storage to[PROBES];
	unsigned calls;
	cr_ns spin;
	uint16_t seq;
	cr_ns next; /* one packet is due to be sent */
	unsigned turn;
	bool known;
	int err;
};

static void note_known(void *arg, int err, const struct cr_err *why)
{
	struct probe *b = arg;

	(void)why;
	b->known = true;
	b->err = err;
}

static void note_ended(void *arg, struct node_stream *nc)
{
	(void)arg, (void)nc;
}

static int start_plan_call(struct probe *b, unsigned i, const char *sink,
			   struct cr_err *e)
{
	struct node_cost_wait w;
	struct node_stream_place place;
	struct call_spec spec;
	struct node_call *c;
	json_t *params =
		json_pack("{s:{s:s}, s:{s:s, s:f, s:s}}", "in", "codec", "pcmu",
			  "out", "codec", "spin", "spin_us",
			  (double)b->spin / CR_US, "address", sink);
	int err = params ? call_params(&spec, params, e) : -ENOMEM;

	spec.port = CALL_PORT_OWN;
	if (!err)
		err = node_call_start(b->node, &spec, &w, &c, e);
	if (err == -EAGAIN) {
		b->known = false;
		w.done = note_known;
		w.arg = b;
		err = node_cost_wait(b->node, &w, e);
		while (!err && !b->known)
			(void)event_base_loop(b->base, EVLOOP_ONCE);
		if (!err)
			err = b->err;
		if (!err)
			err = node_call_start(b->node, &spec, &w, &c, e);
	}
	json_decref(params);
	if (err)
		return err;
	b->call[i] = node_call_stream(c, 0);
	node_stream_place(b->call[i], &place);
	return address_parse(place.rtp, &b->to[i]);
}

/* Set the number of calls, and the time of their codec: as those of @p. */
static void load_probe(struct probe *b, const struct plan *p)
{
	double codec = 0, packets = 0, calls;

	for (unsigned i = 0; i < p->nkinds; i++) {
		codec += p->kind[i].share * p->kind[i].codec[0];
		packets += p->kind[i].share * p->kind[i].packets;
	}
	b->spin = (cr_ns)(1e9 * codec / packets);
	calls = PROBE_LOAD * (double)PROBE_PTIME / (double)b->spin;
	calls = fmin(calls, (double)(descriptors_limit() / 4));
	b->calls = (unsigned)fmin(fmax(calls, PROBES_LEAST), PROBES);
}

static int probe_open(struct probe *b, const struct runner_options *o,
		      struct cr_err *e)
{
	struct node_config cfg = o->service.node;
	struct sockaddr_storage any;
	struct cr_err warn = { "" };
	socklen_t len = sizeof(any);
	char sink[64];
	int err;

	(void)address_parse("127.0.0.1:0", &any);
	b->base = event_base_new();
	b->fd = b->base ? udp_socket(&any, e) : -ENOMEM;
	if (b->fd < 0)
		return b->fd;
	cfg.base = b->base;
	cfg.rtp = any;
	cfg.rtp_advertised = (struct sockaddr_storage){ 0 };
	cfg.ninterfaces = 0;
	cfg.rtp_ports = (struct port_range){ 0 };
	cfg.convert = (struct node_convert){ 0 };
	/* a worker that polls takes all there is */
	cfg.poll = cfg.admission = false;
	cfg.workers = 1;
	cfg.cpus_per_rq = 0;
	cfg.rq_cpus = NULL;
	cfg.nrq = 0;
	cfg.max_calls = PROBES;
	cfg.ended = note_ended;
	cfg.deaf = NULL;
	/* a frame that is late, on a busy machine, costs the same */
	cfg.max_age = 0;
	cfg.send_to = NULL; /* loopback */
	if (getsockname(b->fd, (struct sockaddr *)&any, &len))
		return cr_fail(e, -errno, "no socket on loopback");
	address_text(&any, sink, sizeof(sink));
	err = node_open(&b->node, &cfg, &warn, e);
	if (err)
		return err;
	node_opened_all(b->node, 0);
	for (unsigned i = 0; i < b->calls && !err; i++)
		err = start_plan_call(b, i, sink, e);
	return err;
}

/* Send what is due by @now, each call's packets evenly among the others'. */
static void send_due(struct probe *b, cr_ns now)
{
	uint8_t packet[RTP_HEADER_BYTES + PROBE_BYTES], old[2048];

	for (; b->next <= now; b->next += PROBE_PTIME / b->calls) {
		const struct rtp_packet h = {
			.seq = b->seq,
			.ts = b->seq * (uint32_t)PROBE_BYTES,
			.ssrc = b->turn + 1,
		};
		size_t head = rtp_build(packet, &h);

		memset(packet + head, 0xff, PROBE_BYTES); /* silence */
		(void)sendto(b->fd, packet, head + PROBE_BYTES, 0,
			     (const struct sockaddr *)&b->to[b->turn],
			     address_length(&b->to[b->turn]));
		b->turn = (b->turn + 1) % b->calls;
		b->seq = (uint16_t)(b->seq + !b->turn);
	}
	while (recv(b->fd, old, sizeof(old), MSG_DONTWAIT) > 0)
		;
}

static void send_for(struct probe *b, cr_ns time)
{
	cr_ns now = clock_now(), end = now + time;

	for (b->next = now; now < end; now = clock_now()) {
		send_due(b, now);
		(void)event_base_loop(b->base, EVLOOP_NONBLOCK);
		(void)usleep(500);
	}
}

/* The time spent between two looks at a node. */
struct spent {
	double worker, codec, jobs, receiver, packets; /* ns, and how many */
};

static int measure_packets(struct plan *p, struct probe *b, unsigned round,
			   struct cr_err *e)
{
	static struct node_stats before, after;
	cr_ns end = clock_now() + PROBE_PATIENCE;
	struct spent s;

	node_stats(b->node, &before);
	do {
		send_for(b, PROBE_ROUND);
		node_stats(b->node, &after);
		s = (struct spent){
			.worker = (double)(after.workers[0].cpu -
					   before.workers[0].cpu),
			.codec = (double)(after.totals.codec_ns -
					  before.totals.codec_ns),
			.jobs = (double)(after.workers[0].jobs -
					 before.workers[0].jobs),
			.receiver = (double)(after.rx.cpu - before.rx.cpu),
			.packets =
				(double)(after.rx.packets - before.rx.packets),
		};
	} while ((!(s.jobs > 0) || !(s.packets > 0)) && clock_now() < end);
	if (!(s.jobs > 0) || !(s.packets > 0))
		return cr_fail(e, -EIO,
			       "no packet came through on loopback: is the "
			       "machine busy, or a firewall in the way?");
	p->worker[round] = fmax(0, s.worker - s.codec) / s.jobs / 1e9;
	p->receiver[round] = s.receiver / s.packets / 1e9;
	return 0;
}

/* --- the answer --- */

/* CPUs that a call of the mix takes of workers, and of receivers. */
static double worker_cpus(const struct plan *p, unsigned round)
{
	double sum = 0;

	for (unsigned i = 0; i < p->nkinds; i++)
		sum += p->kind[i].share *
		       (p->kind[i].codec[round] +
			p->kind[i].packets * p->worker[round]);
	return sum;
}

static double receiver_cpus(const struct plan *p, unsigned round)
{
	double sum = 0;

	for (unsigned i = 0; i < p->nkinds; i++)
		sum += p->kind[i].share * p->kind[i].packets *
		       p->receiver[round];
	return sum;
}

static double calls_carried(const struct plan *p, unsigned round)
{
	double worker = worker_cpus(p, round),
	       receiver = receiver_cpus(p, round);
	double calls = p->bound * p->workers / worker;

	return p->cpus ? fmin(calls, p->bound * p->cpus / (worker + receiver))
		       : fmin(calls, p->receivers / receiver);
}

/* Count the CPUs: receivers may share those of the workers. */
static void count_cpus(struct plan *p, const struct runner_options *o)
{
	const struct placement *at = &o->placement;
	struct cpu_list allowed;
	bool apart = at->pin.count > 0;
	unsigned n = at->pin.count;

	p->workers = at->workers;
	p->receivers = at->receivers;
	p->bound = (double)o->service.node.capacity_ppm / 1e6;
	for (unsigned r = 0; r < at->receivers; r++) {
		bool shared = at->rx_cpu[r] < 0;

		for (unsigned i = 0; i < at->pin.count; i++)
			shared |= (int)at->pin.cpu[i] == at->rx_cpu[r];
		apart &= !shared;
		n += !shared;
	}
	cpu_list_allowed(&allowed);
	if (!apart)
		p->cpus = at->pin.count ? n : allowed.count;
}

static int compare_rounds(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Of the rounds: the least, the median, the most. */
struct range {
	double least, median, most;
};

static struct range range_of_rounds(const double value[ROUNDS])
{
	double v[ROUNDS];

	memcpy(v, value, sizeof(v));
	qsort(v, ROUNDS, sizeof(v[0]), compare_rounds);
	return (struct range){ v[0], v[ROUNDS / 2], v[ROUNDS - 1] };
}

static json_t *range_json(const double value[ROUNDS], double scale)
{
	struct range r = range_of_rounds(value);

	return json_pack("{s:f, s:f, s:f}", "least", r.least * scale, "median",
			 r.median * scale, "most", r.most * scale);
}

static int show_json(FILE *out, const struct plan *p)
{
	json_t *kinds = json_array(), *o;

	for (unsigned i = 0; i < p->nkinds; i++) {
		const struct kind *k = &p->kind[i];

		(void)json_array_append_new(kinds,
					    json_pack("{s:s, s:f, s:f, s:o}",
						      "calls", k->text, "share",
						      k->share, "packets_per_s",
						      k->packets, "codec_cpus",
						      range_json(k->codec, 1)));
	}
	o = json_pack("{s:o, s:o, s:o, s:i, s:i, s:i, s:f, s:i, s:o}", "kinds",
		      kinds, "worker_us_per_packet", range_json(p->worker, 1e6),
		      "receiver_us_per_packet", range_json(p->receiver, 1e6),
		      "workers", (int)p->workers, "receivers",
		      (int)p->receivers, "shared_cpus", (int)p->cpus, "bound",
		      p->bound, "rounds", ROUNDS, "calls",
		      range_json(p->calls, 1));
	return runner_print_json(out, o);
}

static void show_text(FILE *out, const struct plan *p)
{
	struct range calls = range_of_rounds(p->calls);
	unsigned round = 0;

	while (p->calls[round] != calls.median)
		round++;
	(void)fprintf(out, "%-32s %6s %10s %16s %12s\n", "calls", "share",
		      "packets/s", "CPU % of codecs", "calls/worker");
	for (unsigned i = 0; i < p->nkinds; i++) {
		const struct kind *k = &p->kind[i];
		double codec = range_of_rounds(k->codec).median;

		(void)fprintf(out, "%-32s %4.0f %% %10.0f %16.3f %12.0f\n",
			      k->text, 100 * k->share, k->packets, 100 * codec,
			      p->bound /
				      (codec + k->packets * p->worker[round]));
	}
	(void)fprintf(out,
		      "\nBeside its codec, a packet takes %.1f us of a worker "
		      "and %.1f us of a receiver.\n"
		      "%u worker%s and %u receiver%s %s.\n\n"
		      "This machine carries %.0f of these calls (%.0f to %.0f "
		      "in %d rounds): then workers are at %.0f %%\n"
		      "and receivers at %.0f %% of a CPU. Delays at that load "
		      "are not predicted: campaigns/run --find-capacity "
		      "measures them.\n",
		      1e6 * range_of_rounds(p->worker).median,
		      1e6 * range_of_rounds(p->receiver).median, p->workers,
		      p->workers == 1 ? "" : "s", p->receivers,
		      p->receivers == 1 ? "" : "s",
		      p->cpus ? "share CPUs" : "have CPUs of their own",
		      floor(calls.median), floor(calls.least),
		      floor(calls.most), ROUNDS,
		      100 * calls.median * worker_cpus(p, round) / p->workers,
		      100 * calls.median * receiver_cpus(p, round));
}

static int measure(struct plan *p, const struct runner_options *o,
		   struct cr_err *e)
{
	struct probe b = { .fd = -1 };
	int err;

	(void)evthread_use_pthreads();
	rcu_register_thread();
	descriptors_raise();
	err = measure_codecs(p, 0, e);
	if (!err) {
		load_probe(&b, p);
		err = probe_open(&b, o, e);
	}
	for (unsigned i = 0; i < ROUNDS && !err; i++) {
		if (i)
			err = measure_codecs(p, i, e);
		if (!err)
			err = measure_packets(p, &b, i, e);
		if (!err)
			p->calls[i] = calls_carried(p, i);
	}
	(void)node_close(b.node);
	if (b.fd >= 0)
		(void)close(b.fd);
	if (b.base)
		event_base_free(b.base);
	rcu_stop();
	rcu_unregister_thread();
	return err;
}

int runner_show_plan(FILE *out, const struct runner_options *o)
{
	static struct plan p;
	struct cr_err e = { "" };
	int err = read_mix(&p, o->plan, &e);

	if (err) {
		(void)fprintf(stderr, "codec-runner: --plan: %s\n", e.text);
		return 2;
	}
	count_cpus(&p, o);
	if (!o->json)
		(void)fprintf(stderr, "measuring, some seconds ...\n");
	err = measure(&p, o, &e);
	if (err) {
		(void)fprintf(stderr, "codec-runner: --plan: %s\n",
			      *e.text ? e.text : strerror(-err));
		return 1;
	}
	if (o->json)
		return show_json(out, &p);
	show_text(out, &p);
	return 0;
}
