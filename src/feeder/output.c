/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run.json, calls.csv and the dumps.
 */
#include "feeder/output.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "feeder/dump.h"

static void put(json_t *o, const char *key, json_t *value)
{
	(void)json_object_set_new(o, key, value);
}

/* Text from outside may be no UTF-8: then it is left out. */
static json_t *text(const char *s)
{
	json_t *v = json_string(s);

	return v ? v : json_null();
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
	put(o, "cpu", text(cpu));
	put(o, "cpus", json_integer(sysconf(_SC_NPROCESSORS_ONLN)));
	if (uname(&u) == 0) {
		put(o, "system", text(u.sysname));
		put(o, "kernel", text(u.release));
		put(o, "version", text(u.version));
		put(o, "arch", text(u.machine));
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

		put(t, "flow", text(f->name));
		put(t, "calls", json_integer((json_int_t)o->result->counts[i]));
		put(t, "codec_in", text(f->in.codec->name));
		put(t, "codec_out", text(f->out.codec->name));
		(void)json_array_append_new(list, t);
	}
	return list;
}

static json_t *verdicts_json(const struct output *o)
{
	json_t *list = json_array();

	for (int i = 0; i < o->nverdicts; i++) {
		const struct verdict *v = &o->verdicts[i];

		(void)json_array_append_new(
			list,
			json_pack("{s:s?,s:s,s:s,s:s,s:I,s:b}", "flow", v->flow,
				  "metric", campaign_metric_name(v->metric),
				  "expect", v->expect->text, "unit",
				  campaign_metric_is_time(v->metric) ? "ns"
								     : "ppm",
				  "value", (json_int_t)v->value, "met",
				  (int)v->met));
	}
	return list;
}

/* What the feeder itself took, per frame sent and, mostly, received: it shares
 * the machine with the daemon. */
static json_t *feeder_json(const struct session_result *r)
{
	uint64_t frames = r->pacer.packets;

	return json_pack("{s:I,s:I,s:I,s:f,s:I,s:I,s:I,s:I,s:I,s:I,s:I}",
			 "cpu_ns", (json_int_t)r->cpu, "pacer_cpu_ns",
			 (json_int_t)r->pacer.cpu, "receiver_cpu_ns",
			 (json_int_t)r->receiver.cpu, "cpu_us_per_frame",
			 frames ? (double)r->cpu / 1e3 / (double)frames : 0.0,
			 "packets_sent", (json_int_t)r->pacer.packets,
			 "batches_sent", (json_int_t)r->pacer.batches,
			 "send_failed", (json_int_t)r->pacer.failed,
			 "late_max_ns", (json_int_t)r->pacer.late_max,
			 "packets_received", (json_int_t)r->receiver.packets,
			 "unknown_ssrc", (json_int_t)r->receiver.unknown_ssrc,
			 "socket_drops", (json_int_t)r->receiver.kernel_drops);
}

static json_t *command_json(const struct output *o)
{
	json_t *list = json_array();

	for (int i = 0; i < o->argc; i++)
		(void)json_array_append_new(list, text(o->argv[i]));
	return list;
}

json_t *output_json(const struct output *o)
{
	const struct campaign *c = o->cfg->campaign;
	const struct session_result *r = o->result;
	json_t *j = json_object();
	json_t *scheduler = json_object_get(r->stats, "scheduler");

	put(j, "program", text("codec-feeder"));
	put(j, "version", text(CR_VERSION));
	put(j, "command", command_json(o));
	put(j, "campaign",
	    json_pack("{s:o,s:o}", "path", text(c->path), "text",
		      text(c->text)));
	put(j, "seed", json_integer((json_int_t)o->cfg->seed));
	put(j, "duration_ns", json_integer(o->cfg->duration));
	put(j, "begin_realtime_ns", json_integer(r->epoch_realtime));
	put(j, "interrupted", json_boolean(r->interrupted));
	put(j, "failure", o->failure ? text(o->failure) : json_null());
	put(j, "refusal", r->refusal[0] ? text(r->refusal) : json_null());
	put(j, "machine", machine_json());
	put(j, "scheduler",
	    json_is_string(scheduler) ? json_incref(scheduler) : json_null());
	put(j, "flows", flows_json(o));
	put(j, "total", tally_json(r->total));
	put(j, "expectations", verdicts_json(o));
	put(j, "feeder", feeder_json(r));
	put(j, "daemon",
	    json_pack("{s:O?,s:O?}", "hello", r->hello, "stats", r->stats));
	return j;
}

int output_folder(const char *dir, struct cr_err *e)
{
	if (mkdir(dir, 0777) && errno != EEXIST)
		return cr_fail(e, -errno, "%s: %s", dir, strerror(errno));
	return 0;
}

static int open_in(const char *dir, const char *name, FILE **f,
		   struct cr_err *e)
{
	char path[4096];

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	*f = fopen(path, "w");
	return *f ? 0 : cr_fail(e, -errno, "%s: %s", path, strerror(errno));
}

static int close_in(FILE *f, const char *dir, const char *name,
		    struct cr_err *e)
{
	int bad = ferror(f);

	if (fclose(f) || bad)
		return cr_fail(e, -EIO, "%s/%s: cannot be written (disk full?)",
			       dir, name);
	return 0;
}

static double ms(cr_ns t)
{
	return (double)t / 1e6;
}

static json_int_t daemon_count(const struct feeder_call *c, const char *key)
{
	return json_integer_value(json_object_get(c->counts, key));
}

static uint64_t get(const atomic_uint_fast64_t *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

static void write_call(FILE *f, const struct feeder_call *c)
{
	const struct match *m = c->match;
	const struct histogram *d = &m->delay, *j = &m->jitter;

	(void)fprintf(
		f,
		"%" PRId64 ",%s,%u,%s,%s,%.3f,%" PRIu64 ",%" PRIu64 ",%" PRIu64
		",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64,
		c->id, c->flow->name, c->plan->index, c->flow->in.codec->name,
		c->flow->out.codec->name, (double)c->plan->start / 1e9,
		get(&m->sent), get(&m->received), match_lost(m), get(&m->late),
		get(&m->duplicates), get(&m->reordered), get(&m->withheld),
		get(&m->missed));
	(void)fprintf(f, ",%.4f,%.4f,%.4f,%.4f,%.4f,%.4f,%.4f",
		      ms(histogram_mean(d)), ms(histogram_quantile(d, 500000)),
		      ms(histogram_quantile(d, 990000)),
		      ms(histogram_quantile(d, 999000)), ms(histogram_max(d)),
		      ms(histogram_mean(j)), ms(histogram_quantile(j, 990000)));
	(void)fprintf(f, ",%lld,%lld,%lld,%lld,%lld\n",
		      (long long)daemon_count(c, "packets_in"),
		      (long long)daemon_count(c, "done"),
		      (long long)daemon_count(c, "overwritten"),
		      (long long)daemon_count(c, "stale"),
		      (long long)daemon_count(c, "packets_out"));
}

static int write_calls(const struct output *o, const char *dir,
		       struct cr_err *e)
{
	FILE *f;
	int rc = open_in(dir, "calls.csv", &f, e);

	if (rc)
		return rc;
	(void)fprintf(
		f, "call,flow,index,codec_in,codec_out,start_s,sent,received,"
		   "lost,late,duplicates,reordered,withheld,missed,"
		   "delay_mean_ms,delay_p50_ms,delay_p99_ms,delay_p999_ms,"
		   "delay_max_ms,jitter_mean_ms,jitter_p99_ms,"
		   "daemon_packets_in,daemon_done,daemon_overwritten,"
		   "daemon_stale,daemon_packets_out\n");
	for (size_t i = 0; i < o->result->plan->count; i++)
		if (o->result->calls[i].match)
			write_call(f, &o->result->calls[i]);
	return close_in(f, dir, "calls.csv", e);
}

int output_run(const struct output *o, const char *dir, struct cr_err *e)
{
	json_t *j = output_json(o);
	FILE *f;
	int rc = open_in(dir, "run.json", &f, e);

	if (!rc) {
		(void)json_dumpf(j, f, JSON_INDENT(1));
		(void)fputc('\n', f);
		rc = close_in(f, dir, "run.json", e);
	}
	json_decref(j);
	return rc ? rc : write_calls(o, dir, e);
}

int output_dump(const struct output *o, const char *dir, struct cr_err *e)
{
	char name[96];
	int rc = output_folder(dir, e);

	for (size_t i = 0; i < o->result->plan->count && !rc; i++) {
		const struct feeder_call *c = &o->result->calls[i];

		if (!c->dump)
			continue;
		(void)snprintf(name, sizeof(name), "%s-%u", c->flow->name,
			       c->plan->index);
		rc = dump_write(c->dump, dir, name, e);
	}
	return rc;
}
