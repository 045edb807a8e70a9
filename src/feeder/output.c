/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run.json, streams.csv and the dumps; the table for people.
 */
#include "feeder/output.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/units.h"
#include "feeder/dump.h"
#include "feeder/feeder_call.h"
#include "run/run.h"

/* --- the account of two-way calls: as JSON, and its faults for people --- */

bool output_balanced(const struct output *o)
{
	return o->result->total->faults == 0;
}

static json_t *heard_json(const struct heard *h)
{
	json_t *o = json_object(), *digits = json_array();

#define PUT(name, help) run_put_int(o, #name, (int64_t)h->count.name);
	HEARD_COUNTS(PUT)
#undef PUT
	run_put_int(o, "gaps", (int64_t)rtp_source_lost(&h->source));
	for (unsigned i = 0; i < h->ndigits; i++) {
		const struct heard_digit *d = &h->digits[i];
		const char code[] = { heard_digit_key(d), 0 };

		(void)json_array_append_new(
			digits, json_pack("{s:s,s:I,s:I,s:I}", "digit", code,
					  "rtp_ticks", (json_int_t)d->duration,
					  "packets", (json_int_t)d->packets,
					  "ends", (json_int_t)d->ends));
	}
	run_put(o, "digits", digits);
	return o;
}

/* The account of side @i of @c: sent, counted by the daemon, received. */
static json_t *call_side_json(const struct feeder_call *c, unsigned i)
{
	const struct feeder_stream *st = c->side[i];
	const struct balance *b = &c->balance[i];
	json_t *faults = json_array(), *sent = json_object();

#define PUT(name, help)                                                        \
	run_put_int(sent, #name, (int64_t)st->phone->count.name);
	PHONE_COUNTS(PUT)
#undef PUT
	for (unsigned k = 0; k < b->count; k++)
		(void)json_array_append_new(faults, json_string(b->faults[k]));
	return json_pack("{s:I,s:o,s:O?,s:o,s:I,s:I,s:O?,s:o}", "stream",
			 (json_int_t)st->id, "sent", sent, "daemon", st->counts,
			 "heard", heard_json(st->heard), "digits_sent",
			 (json_int_t)b->digits_sent, "digits_right",
			 (json_int_t)b->digits_right, "party",
			 json_object_get(c->reported, i ? "b" : "a"), "faults",
			 faults);
}

/* The list "two_way_calls" of run.json, owned by the caller; NULL: the plan has
 * none. */
static json_t *two_way_calls_json(const struct session_result *r)
{
	json_t *list = NULL;

	for (size_t i = 0; i < r->ncalls; i++) {
		const struct feeder_call *c = &r->calls[i];

		if (c->side[1] && !list)
			list = json_array();
		if (!two_way_began(c))
			continue;
		(void)json_array_append_new(
			list,
			json_pack("{s:s,s:I,s:b,s:o,s:o}", "flow",
				  flow_title(c->side[0]->flow), "index",
				  (json_int_t)c->side[0]->plan->index, "relay",
				  (int)c->relay, "a", call_side_json(c, 0), "b",
				  call_side_json(c, 1)));
	}
	return list;
}

static void print_faults_of_side(const struct output *o,
				 const struct feeder_call *c, unsigned i,
				 FILE *f)
{
	const struct feeder_stream *st = c->side[i];

	for (unsigned k = 0; k < c->balance[i].count; k++)
		(void)fprintf(f, "UNACCOUNTED %s:%u: %s-%u, from %c: %s\n",
			      o->cfg->campaign->path, st->flow->line,
			      flow_title(st->flow), st->plan->index,
			      i ? 'b' : 'a', c->balance[i].faults[k]);
}

static void print_two_way_faults(const struct output *o, FILE *f)
{
	const struct session_result *r = o->result;
	size_t began = 0;

	for (size_t i = 0; i < r->ncalls; i++) {
		const struct feeder_call *c = &r->calls[i];

		if (!two_way_began(c))
			continue;
		began++;
		print_faults_of_side(o, c, 0, f);
		print_faults_of_side(o, c, 1, f);
	}
	if (!began)
		return;
	(void)fprintf(f, "two-way calls  %zu; ", began);
	if (output_balanced(o))
		(void)fprintf(f, "every packet accounted for");
	else
		(void)fprintf(f, "%" PRIu64 " faults in their balance",
			      r->total->faults);
	(void)fprintf(f, "; digits: %" PRIu64 " of %" PRIu64 " right\n",
		      r->total->digits_right, r->total->digits_sent);
}

/* --- run.json, streams.csv and the dumps --- */

/* A metric of @t, ppm or ns. */
static int64_t tally_metric(const struct tally *t, enum campaign_metric m)
{
	const struct run_counts c = {
		.lost = { t->lost, t->expected },
		.late = { t->late, t->received },
		.missed = { t->lost + t->late, t->expected },
		.admitted = { t->admitted, t->planned },
		.digits = { t->digits_right, t->digits_sent },
		.delay = &t->delay,
		.jitter = &t->jitter,
	};

	return run_metric(&c, m);
}

/* Counts, shares and histograms. */
static json_t *tally_json(const struct tally *t)
{
	json_t *o = json_object();

#define PUT(name, help) run_put_int(o, #name, (int64_t)t->name);
	TALLY_COUNTS(PUT)
#undef PUT
	run_put(o, "loss",
		json_real((double)tally_metric(t, METRIC_LOSS) / 1e6));
	run_put(o, "late_share",
		json_real((double)tally_metric(t, METRIC_LATE) / 1e6));
	run_put(o, "delay", run_histogram_json(&t->delay));
	run_put(o, "jitter", run_histogram_json(&t->jitter));
	return o;
}

static int64_t feeder_metric(const void *arg, int flow, enum campaign_metric m)
{
	const struct session_result *r = arg;
	struct conversions_sum sum;

	if (flow == VERDICT_CONVERSIONS) {
		conversions_sum(r->conversions, &sum);
		return conversions_metric(&sum, m);
	}
	return tally_metric(
		flow == VERDICT_WHOLE_RUN ? r->total : &r->flows[flow], m);
}

int output_judge(struct output *o, struct cr_err *e)
{
	return verdicts_judge(o->cfg->campaign, feeder_metric, o->result,
			      &o->verdicts, e);
}

static json_t *machine_json(void)
{
	struct utsname u;
	char cpu[128] = "", line[256];
	FILE *f = fopen("/proc/cpuinfo", "r");
	json_t *o = json_object();

	while (f && !cpu[0] && fgets(line, sizeof(line), f))
		if (strncmp(line, "model name", 10) == 0 && strchr(line, ':'))
			(void)snprintf(
				cpu, sizeof(cpu), "%.*s",
				(int)strcspn(strchr(line, ':') + 2, "\n"),
				strchr(line, ':') + 2);
	if (f)
		(void)fclose(f);
	run_put_text(o, "cpu", cpu);
	run_put_int(o, "cpus", sysconf(_SC_NPROCESSORS_ONLN));
	if (uname(&u) == 0) {
		run_put_text(o, "system", u.sysname);
		run_put_text(o, "kernel", u.release);
		run_put_text(o, "version", u.version);
		run_put_text(o, "arch", u.machine);
	}
	return o;
}

static json_t *flows_json(const struct output *o)
{
	const struct campaign *c = o->cfg->campaign;
	json_t *list = json_array();

	for (unsigned i = 0; i < c->flow_count; i++) {
		const struct campaign_flow *f = &c->flows[i];
		json_t *t = tally_json(&o->result->flows[i]);

		run_put_text(t, "flow", f->name);
		run_put_int(t, "calls", (int64_t)o->result->counts[i]);
		run_put_text(t, "codec_in", f->in.codec->name);
		run_put_text(t, "codec_out", f->out.codec->name);
		(void)json_array_append_new(list, t);
	}
	return list;
}

/* The feeder's own CPU time, per frame sent and, mostly, received: it shares
 * the machine with the daemon. */
static json_t *feeder_json(const struct output *o)
{
	const struct session_result *r = o->result;
	uint64_t frames = r->pacer.packets;

	return json_pack("{s:s,s:s,s:I,s:I,s:I,s:f,s:I,s:I,s:I,s:I,s:I,s:I,"
			 "s:I,s:I,s:I,s:I,s:I}",
			 "ports", campaign_ports_names[o->cfg->ports],
			 "daemon_ports",
			 campaign_ports_names[o->cfg->daemon_ports], "cpu_ns",
			 (json_int_t)r->cpu, "pacer_cpu_ns",
			 (json_int_t)r->pacer.cpu, "receiver_cpu_ns",
			 (json_int_t)r->receiver.cpu, "cpu_us_per_frame",
			 frames ? (double)r->cpu / 1e3 / (double)frames : 0.0,
			 "packets_sent", (json_int_t)r->pacer.packets,
			 "batches_sent", (json_int_t)r->pacer.batches,
			 "send_failed", (json_int_t)r->pacer.failed,
			 "late_max_ns", (json_int_t)r->pacer.late_max,
			 "packets_received", (json_int_t)r->receiver.packets,
			 "unknown_ssrc", (json_int_t)r->receiver.unknown_ssrc,
			 "misdirected", (json_int_t)r->receiver.misdirected,
			 "rtcp", (json_int_t)r->receiver.rtcp, "foreign",
			 (json_int_t)r->receiver.foreign, "asymmetric",
			 (json_int_t)r->receiver.asymmetric, "socket_drops",
			 (json_int_t)r->drops);
}

json_t *output_json(const struct output *o)
{
	const struct session_result *r = o->result;
	const struct session_cfg *cfg = o->cfg;
	json_t *two_way = two_way_calls_json(r);
	json_t *scheduler = json_object_get(r->stats, "scheduler");
	/* what that did that it must not */
	const json_t *fault = json_object_get(r->stats, "scheduler_faults");
	json_t *j = run_head_json(&(struct run_head){
		.program = "codec-feeder",
		.campaign = o->cfg->campaign,
		.seed = o->cfg->seed,
		.duration = o->cfg->duration,
		.argc = o->argc,
		.argv = o->argv,
	});

	run_put_int(j, "begin_realtime_ns", r->epoch_realtime);
	run_put(j, "interrupted", json_boolean(r->interrupted));
	run_put_text(j, "failure", o->failure);
	run_put_text(j, "refusal", r->refusal[0] ? r->refusal : NULL);
	run_put(j, "machine", machine_json());
	run_put(j, "scheduler",
		json_is_string(scheduler) ? json_incref(scheduler)
					  : json_null());
	run_put(j, "scheduler_fault",
		json_integer_value(json_object_get(fault, "count"))
			? json_incref(json_object_get(fault, "last"))
			: json_null());
	run_put(j, "flows", flows_json(o));
	run_put(j, "total", tally_json(r->total));
	if (r->conversions)
		run_put(j, "conversions", conversions_json(r->conversions));
	if (two_way)
		run_put(j, "two_way_calls", two_way);
	run_put(j, "expectations", verdicts_json(&o->verdicts));
	run_put(j, "feeder", feeder_json(o));
	if (cfg->ng)
		run_put(j, "peer",
			json_pack("{s:s,s:s,s:O?}", "name",
				  cfg->peer ? cfg->peer : cfg->ng, "ng",
				  cfg->ng, "statistics", r->stats));
	else
		run_put(j, "daemon",
			json_pack("{s:O?,s:O?}", "hello", r->hello, "stats",
				  r->stats));
	return j;
}

static double as_ms(cr_ns t)
{
	return (double)t / 1e6;
}

/* The daemon's own counters; nothing, if it has reported none. */
static void write_counts(FILE *f, const json_t *counts)
{
	static const char *const keys[] = { "packets_in",  "done",
					    "overwritten", "expired",
					    "shed",	   "concealed",
					    "cancelled",   "packets_out" };

	for (unsigned i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (counts)
			(void)fprintf(f, ",%" JSON_INTEGER_FORMAT,
				      json_integer_value(json_object_get(
					      counts, keys[i])));
		else
			(void)fputc(',', f);
	(void)fputc('\n', f);
}

static const char *mode_of(const struct codec_use *endpoint)
{
	return endpoint->codec->modes[endpoint->cfg.mode].name;
}

static void write_stream(FILE *f, const struct feeder_stream *st)
{
	const struct match *m = st->match;
	const struct histogram *d = &m->delay, *j = &m->jitter;

	(void)fprintf(f,
		      "%" PRId64 ",%s,%u,%s,%s,%s,%s,%.3f,%" PRId64 ",%" PRIu64
		      ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64
		      ",%" PRIu64 ",%" PRIu64 ",%" PRIu64,
		      st->id, st->flow->name, st->plan->index,
		      st->flow->in.codec->name, st->flow->out.codec->name,
		      mode_of(&st->flow->in), mode_of(&st->flow->out),
		      (double)st->plan->start / 1e9, st->plan->drift,
		      counter_read(&m->sent), counter_read(&m->received),
		      match_lost(m), counter_read(&m->late),
		      counter_read(&m->duplicates), counter_read(&m->reordered),
		      counter_read(&m->withheld), counter_read(&m->missed));
	(void)fprintf(
		f, ",%.4f,%.4f,%.4f,%.4f,%.4f,%.4f,%.4f",
		as_ms(histogram_mean(d)), as_ms(histogram_quantile(d, 500000)),
		as_ms(histogram_quantile(d, 990000)),
		as_ms(histogram_quantile(d, 999000)), as_ms(histogram_max(d)),
		as_ms(histogram_mean(j)), as_ms(histogram_quantile(j, 990000)));
	write_counts(f, st->counts);
}

int output_run(const struct output *o, const char *dir, struct cr_err *e)
{
	json_t *j = output_json(o);
	int rc = run_folder_write(dir, j, e);
	struct run_file file;

	json_decref(j);
	if (rc)
		return rc;
	rc = run_file_open(&file, dir, "streams.csv", e);
	if (rc)
		return rc;
	(void)fprintf(file.f,
		      "stream,flow,index,codec_in,codec_out,mode_in,mode_out,"
		      "start_s,drift_ppm,"
		      "sent,received,"
		      "lost,late,duplicates,reordered,withheld,missed,"
		      "delay_mean_ms,delay_p50_ms,delay_p99_ms,delay_p999_ms,"
		      "delay_max_ms,jitter_mean_ms,jitter_p99_ms,"
		      "daemon_packets_in,daemon_done,daemon_overwritten,"
		      "daemon_expired,daemon_shed,daemon_concealed,"
		      "daemon_cancelled,daemon_packets_out\n");
	for (size_t i = 0; i < o->result->plan->count; i++)
		if (o->result->streams[i].match)
			write_stream(file.f, &o->result->streams[i]);
	return run_file_close(&file, e);
}

int output_frames(const struct output *o, const char *dir, struct cr_err *e)
{
	struct run_file file;
	int rc = run_file_open(&file, dir, "frames.bin", e);

	if (rc)
		return rc;
	times_write_header(file.f, clock_read(CLOCK_REALTIME) - clock_now());
	for (size_t i = 0; i < o->result->plan->count; i++) {
		const struct feeder_stream *st = &o->result->streams[i];

		if (st->match && st->match->times)
			times_write(st->match->times, file.f, (uint32_t)st->id,
				    st->ts_first, st->ts_ticks);
	}
	return run_file_close(&file, e);
}

/* The speech of the call in full: with frames that the network model loses,
 * without the talker's pauses. */
static struct dump *call_said(const struct output *o,
			      const struct feeder_stream *st)
{
	const struct codec_use *in = &st->flow->in;
	unsigned rate = codec_use_rate(in);
	struct dump *d =
		dump_new(in, (unsigned)(st->flow->ptime * rate / CR_SEC));
	struct plan_stream stream;
	struct plan_packet p;

	if (!d)
		return NULL;
	plan_stream_init(&stream, o->result->plan, st->plan);
	stream.silent = source_silent;
	stream.silent_arg = &st->voice;
	while (plan_stream_next(&stream, &p)) {
		size_t bytes;
		const uint8_t *payload;

		if (p.kind != PLAN_SPEECH)
			continue;
		payload = source_payload(&st->voice, p.frame, &bytes);
		dump_put(d, p.frame, payload, bytes);
	}
	return d;
}

static int dump_call(const struct output *o, const struct feeder_stream *st,
		     const char *dir, struct cr_err *e)
{
	char name[96];
	struct dump *source = call_said(o, st);
	int rc;

	(void)snprintf(name, sizeof(name), "%s-%u.src", st->flow->name,
		       st->plan->index);
	if (!source)
		return cr_fail(e, -ENOMEM, "out of memory for %s", name);
	rc = dump_write_speech(source, dir, name, e);
	dump_free(source);
	(void)snprintf(name, sizeof(name), "%s-%u", st->flow->name,
		       st->plan->index);
	if (!rc)
		rc = dump_write(st->dump, dir, name, e);
	if (rc || !dump_coded(st->dump))
		return rc;
	(void)snprintf(name, sizeof(name), "%s-%u.heard", st->flow->name,
		       st->plan->index);
	return dump_write_speech(st->dump, dir, name, e);
}

int output_dump(const struct output *o, const char *dir, struct cr_err *e)
{
	int rc = run_folder_make(dir, e);

	for (size_t i = 0; i < o->result->plan->count && !rc; i++)
		if (o->result->streams[i].dump)
			rc = dump_call(o, &o->result->streams[i], dir, e);
	return rc;
}

/* --- the summary for people --- */

static void print_delays(FILE *f, const struct tally *t)
{
	static const enum campaign_metric all[] = {
		METRIC_P50_DELAY, METRIC_P99_DELAY, METRIC_P999_DELAY,
		METRIC_MAX_DELAY, METRIC_P99_JITTER
	};

	/* not known of two-way calls: RTP does not show them */
	for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (histogram_count(&t->delay))
			(void)fprintf(f, " %8.2f",
				      (double)tally_metric(t, all[i]) / 1e6);
		else
			(void)fprintf(f, " %8s", "-");
	(void)fputc('\n', f);
}

static void print_flow_line(FILE *f, const char *name, const struct tally *t)
{
	char loss[UNITS_TEXT], late[UNITS_TEXT];

	(void)fprintf(f,
		      "%-14s %7" PRIu64 " %6" PRIu64 " %9" PRIu64 " %9" PRIu64
		      " %8s %8s",
		      name, t->admitted, t->refused, t->sent, t->received,
		      units_format_ppm(tally_metric(t, METRIC_LOSS), loss,
				       sizeof(loss)),
		      units_format_ppm(tally_metric(t, METRIC_LATE), late,
				       sizeof(late)));
	print_delays(f, t);
}

static double in_seconds(cr_ns t)
{
	return (double)t / 1e9;
}

static void print_conversions(const struct conversions *v, FILE *f)
{
	struct conversions_sum s;

	conversions_sum(v, &s);
	(void)fprintf(f,
		      "conversions    %lld of %lld done, turnaround mean %.2f "
		      "s, p50 %.2f s, max %.2f s; %.1f x real time",
		      (long long)s.done, (long long)s.count, in_seconds(s.mean),
		      in_seconds(s.p50), in_seconds(s.max),
		      conversions_speed(&s));
	if (s.unfinished)
		(void)fprintf(f, "; %lld unfinished", (long long)s.unfinished);
	if (s.failed + s.refused)
		(void)fprintf(f, "; %lld failed, %lld refused: %s",
			      (long long)s.failed, (long long)s.refused, s.why);
	(void)fputc('\n', f);
}

void output_table(const struct output *o, FILE *f)
{
	const struct session_result *r = o->result;
	const struct campaign *c = o->cfg->campaign;

	(void)fprintf(f, "%-14s %7s %6s %9s %9s %8s %8s %8s %8s %8s %8s %8s\n",
		      "flow", "streams", "refus.", "sent", "received", "lost",
		      "late", "p50 ms", "p99 ms", "p99.9", "max ms",
		      "jit. p99");
	for (unsigned i = 0; i < c->flow_count; i++)
		print_flow_line(f, c->flows[i].name, &r->flows[i]);
	if (c->flow_count > 1)
		print_flow_line(f, "all", r->total);
	if (r->conversions)
		print_conversions(r->conversions, f);
	print_two_way_faults(o, f);
	verdicts_print(&o->verdicts, c->path, f);
	/* Things that spoil a measurement, and whose fault they are. */
	if (r->refusal[0])
		(void)fprintf(f, "refused: %s\n", r->refusal);
	if (r->total->missed)
		(void)fprintf(f,
			      "%" PRIu64 " frames not sent: the daemon took "
			      "more than a second to start their calls\n",
			      r->total->missed);
	if (r->receiver.misdirected)
		(void)fprintf(f,
			      "%" PRIu64 " packets came to the port of another "
			      "call\n",
			      r->receiver.misdirected);
	if (r->drops)
		(void)fprintf(f,
			      "%" PRIu64 " packets dropped in the feeder's own "
			      "sockets; raise net.core.rmem_max\n",
			      r->drops);
	if (r->pacer.failed)
		(void)fprintf(f,
			      "%" PRIu64 " packets refused by the feeder's own "
			      "socket\n",
			      r->pacer.failed);
}
