/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The conversions of a campaign, as the daemon does them, of WAV files of
 * recorded speech in its spool folder.
 */
#include "feeder/conversion_requests.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "feeder/source.h"
#include "run/run.h"
#include "speech/wav.h"

#define BLOCK 1600u /* samples */
/* Calls' speech is numbered from 0: theirs shall be another. */
#define FIRST_READER (UINT64_C(1) << 32)

/* Longest name of a file in the spool folder, with its NUL. */
#define CONVERSION_NAME 64u
/* Speech in a frame of an input. */
#define FRAME (20 * CR_MS)

enum state { PLANNED, ASKED, RUNNING, REFUSED, DONE, FAILED, UNFINISHED };

struct conversion {
	struct conversions *set;
	enum state state;
	json_int_t id; /* the daemon's number */
	uint64_t frames;
	cr_ns turnaround;
};

struct conversions {
	struct conversions_config cfg;
	const struct campaign_conversions *asked; /* the campaign's */
	char tag[32]; /* how all names begin: no other run's do */
	int64_t made; /* files */
	struct rpc_client *rpc;
	struct conversion *item; /* [count] */
	int64_t count, over;
	bool cancelled;
	cr_ns submitted, last;
	char why[256];
};

/* --- the files --- */

static const char *conversion_file(const struct conversions *v, int64_t i,
				   const char *ending, char *name)
{
	(void)snprintf(name, CONVERSION_NAME, "%s-%lld.%s", v->tag,
		       (long long)i, ending);
	return name;
}

static int file_path_of(const struct conversions *v, int64_t i, char *path)
{
	char name[CONVERSION_NAME];
	int n = snprintf(path, RUN_PATH_MAX, "%s/%s", v->cfg.spool,
			 conversion_file(v, i, "wav", name));

	return n < (int)RUN_PATH_MAX ? 0 : -ENAMETOOLONG;
}

/* A new file: never another's. */
static int make_one(const char *path, struct speech_reader *r, unsigned rate,
		    uint64_t samples)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	FILE *out = fd < 0 ? NULL : fdopen(fd, "wb");
	uint8_t header[WAV_HEADER_BYTES];
	int16_t pcm[BLOCK];
	bool bad;

	if (!out) {
		int err = -errno;

		if (fd >= 0)
			(void)close(fd);
		return err;
	}
	errno = 0;
	wav_header(header, rate, samples);
	(void)fwrite(header, sizeof(header), 1, out);
	while (samples && !ferror(out)) {
		size_t n = samples < BLOCK ? (size_t)samples : BLOCK;

		speech_read(r, pcm, n);
		wav_put(out, pcm, n);
		samples -= n;
	}
	bad = ferror(out);
	bad |= fclose(out) != 0;
	return !bad ? 0 : errno ? -errno : -EIO;
}

/* Make the files; conversions_close() removes them, also if this fails. */
static int make_files(struct conversions *v, struct cr_err *e)
{
	unsigned rate = v->asked->out.codec->sample_rate;
	uint64_t samples = (uint64_t)(v->asked->length / CR_MS) * rate / 1000;
	struct speech_corpus *corpus = NULL;
	int rc = recordings_open(&corpus, v->cfg.campaign->path,
				 &v->asked->input, rate, e);
	char path[RUN_PATH_MAX];

	(void)snprintf(v->tag, sizeof(v->tag), "feeder-%llx-%lx",
		       (unsigned long long)(clock_read(CLOCK_REALTIME) / CR_MS),
		       (unsigned long)getpid());
	while (v->made < v->count && !rc) {
		struct speech_reader r;

		speech_reader_init(&r, corpus, v->cfg.seed,
				   FIRST_READER + (uint64_t)v->made);
		rc = file_path_of(v, v->made, path);
		if (!rc)
			rc = make_one(path, &r, rate, samples);
		if (rc) {
			rc = cr_fail(e, rc, "--spool: %s: %s", path,
				     strerror(-rc));
			break;
		}
		v->made++;
		if (v->cfg.progress)
			v->cfg.progress(v->cfg.arg,
					"recordings to convert: files",
					(unsigned)v->made, (unsigned)v->count);
	}
	speech_close(corpus);
	return rc;
}

int conversions_open(struct conversions **out,
		     const struct conversions_config *cfg, struct cr_err *e)
{
	struct conversions *v = calloc(1, sizeof(*v));
	int rc;

	if (!v)
		return cr_fail(e, -ENOMEM, "out of memory for conversions");
	v->cfg = *cfg;
	v->asked = &cfg->campaign->conversions;
	v->count = v->asked->count;
	v->item = calloc((size_t)v->count, sizeof(*v->item));
	for (int64_t i = 0; v->item && i < v->count; i++)
		v->item[i].set = v;
	rc = v->item ? make_files(v, e)
		     : cr_fail(e, -ENOMEM, "out of memory for conversions");
	if (rc) {
		conversions_close(v);
		return rc;
	}
	*out = v;
	return 0;
}

void conversions_close(struct conversions *v)
{
	char path[RUN_PATH_MAX];

	if (!v)
		return;
	/* one more: half of it may be there; no tag: none is made */
	for (int64_t i = 0; *v->tag && i <= v->made; i++)
		if (!file_path_of(v, i, path))
			(void)unlink(path);
	free(v->item);
	free(v);
}

/* --- requests and their replies --- */

static const char *member_text(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s ? s : "";
}

static void end_conversion(struct conversion *c, enum state how,
			   const char *why)
{
	struct conversions *v = c->set;

	c->state = how;
	v->over++;
	if ((how == FAILED || how == REFUSED) && !v->why[0])
		(void)snprintf(v->why, sizeof(v->why), "%.250s",
			       *why ? why : "no reason given");
}

static void fail_conversions(struct conversions *v, int err, const char *why)
{
	v->cfg.failed(v->cfg.arg, err, why);
}

/* It has ended already: as good. */
static void on_cancelled(void *arg, const json_t *result, const json_t *error)
{
	(void)arg, (void)result, (void)error;
}

static void cancel_conversion(struct conversion *c)
{
	struct conversions *v = c->set;
	int rc = rpc_client_call(v->rpc, "convert.cancel",
				 json_pack("{s:I}", "conversion", c->id),
				 on_cancelled, NULL);

	if (rc)
		fail_conversions(v, rc, "convert.cancel cannot be sent");
}

/* A full or leaving daemon is a result; whatever else is wrong will be with all
 * of them. */
static void conversion_refused(struct conversion *c, const json_t *error)
{
	json_int_t code = json_integer_value(json_object_get(error, "code"));
	const char *why = member_text(error, "message");
	char all[400];
	int n;

	end_conversion(c, REFUSED, why);
	if (code == RPC_NO_CAPACITY || code == RPC_DRAINING ||
	    code == RPC_CONNECTION_LOST)
		return;
	n = snprintf(all, sizeof(all), "convert.start: %.250s", why);
	if (code == RPC_BAD_FILE)
		(void)snprintf(all + n, sizeof(all) - (size_t)n,
			       "; is %.60s (--spool) the daemon's spool "
			       "folder?",
			       c->set->cfg.spool);
	fail_conversions(c->set, -EPROTO, all);
}

static void on_submitted(void *arg, const json_t *result, const json_t *error)
{
	struct conversion *c = arg;

	if (!result) {
		conversion_refused(c, error);
		return;
	}
	c->id = json_integer_value(json_object_get(result, "conversion"));
	c->state = RUNNING;
	if (c->set->cancelled)
		cancel_conversion(c);
}

void conversions_submit(struct conversions *v, struct rpc_client *rpc,
			cr_ns now)
{
	const struct codec_use *endpoint = &v->asked->out;
	const char *ending =
		strcmp(endpoint->codec->name, "amr") ? "awb" : "amr";
	char in[CONVERSION_NAME], out[CONVERSION_NAME];
	int rc = 0;

	v->rpc = rpc;
	v->submitted = v->last = now;
	for (int64_t i = 0; i < v->count && !rc; i++) {
		v->item[i].state = ASKED;
		rc = rpc_client_call(
			rpc, "convert.start",
			json_pack(
				"{s:s,s:s,s:s,s:b}", "in",
				conversion_file(v, i, "wav", in), "out",
				conversion_file(v, i, ending, out), "mode",
				endpoint->codec->modes[endpoint->cfg.mode].name,
				"dtx", (int)endpoint->cfg.dtx),
			on_submitted, &v->item[i]);
	}
	if (rc)
		fail_conversions(v, rc, "convert.start cannot be sent");
}

void conversions_ended(struct conversions *v, const json_t *ended, cr_ns now)
{
	json_int_t id =
		json_integer_value(json_object_get(ended, "conversion"));
	const char *state = member_text(ended, "state");
	struct conversion *c = v->item, *end = v->item + v->count;

	while (c < end && (c->state != RUNNING || c->id != id))
		c++;
	if (c == end)
		return;
	c->frames =
		(uint64_t)json_integer_value(json_object_get(ended, "frames"));
	c->turnaround =
		(cr_ns)(json_number_value(json_object_get(ended, "age_s")) *
			(double)CR_SEC);
	v->last = now;
	if (!strcmp(state, "done"))
		end_conversion(c, DONE, "");
	else if (!strcmp(state, "cancelled"))
		end_conversion(c, UNFINISHED, "");
	else
		end_conversion(c, FAILED, member_text(ended, "why"));
}

void conversions_cancel(struct conversions *v)
{
	if (v->cancelled)
		return;
	v->cancelled = true;
	for (int64_t i = 0; i < v->count; i++) {
		if (v->item[i].state == RUNNING)
			cancel_conversion(&v->item[i]);
		else if (v->item[i].state == PLANNED)
			end_conversion(&v->item[i], UNFINISHED, "");
	}
}

bool conversions_over(const struct conversions *v)
{
	return v->over == v->count;
}

/* --- what they came to --- */

static int by_length(const void *a, const void *b)
{
	const cr_ns *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Without memory they stay 0. */
static void sum_turnarounds(const struct conversions *v,
			    struct conversions_sum *sum)
{
	cr_ns *sorted = calloc((size_t)v->count, sizeof(*sorted)), total = 0;
	size_t n = 0;

	for (int64_t i = 0; sorted && i < v->count; i++)
		if (v->item[i].state == DONE) {
			sorted[n++] = v->item[i].turnaround;
			total += v->item[i].turnaround;
		}
	if (n) {
		qsort(sorted, n, sizeof(*sorted), by_length);
		sum->mean = total / (cr_ns)n;
		sum->p50 = sorted[(n - 1) / 2];
		sum->max = sorted[n - 1];
	}
	free(sorted);
}

void conversions_sum(const struct conversions *v, struct conversions_sum *sum)
{
	*sum = (struct conversions_sum){ .count = v->count,
					 .span = v->last - v->submitted };
	(void)snprintf(sum->why, sizeof(sum->why), "%s", v->why);
	for (int64_t i = 0; i < v->count; i++) {
		const struct conversion *c = &v->item[i];

		sum->done += c->state == DONE;
		sum->failed += c->state == FAILED;
		sum->refused += c->state == REFUSED;
		sum->frames += c->frames;
	}
	/* and those without a reported end: the daemon is gone */
	sum->unfinished = sum->count - sum->done - sum->failed - sum->refused;
	sum_turnarounds(v, sum);
}

double conversions_speed(const struct conversions_sum *sum)
{
	return sum->span
		       ? (double)sum->frames * (double)FRAME / (double)sum->span
		       : 0;
}

int64_t conversions_metric(const struct conversions_sum *sum,
			   enum campaign_metric m)
{
	switch (m) {
	case METRIC_FINISHED:
		return sum->count ? sum->done * CR_PPM / sum->count : 0;
	case METRIC_MEAN_TURNAROUND:
		return sum->mean;
	case METRIC_MAX_TURNAROUND:
		return sum->max;
	default: /* of calls */
		abort();
	}
}

json_t *conversions_json(const struct conversions *v)
{
	struct conversions_sum s;
	json_t *o = json_object(), *ids = json_array();

	conversions_sum(v, &s);
	for (int64_t i = 0; i < v->count; i++)
		if (v->item[i].id)
			(void)json_array_append_new(
				ids, json_integer(v->item[i].id));
	run_put_int(o, "count", s.count);
	run_put_int(o, "done", s.done);
	run_put_int(o, "failed", s.failed);
	run_put_int(o, "unfinished", s.unfinished);
	run_put_int(o, "refused", s.refused);
	run_put_text(o, "why", s.why[0] ? s.why : NULL);
	run_put_int(o, "frames", (int64_t)s.frames);
	run_put_int(o, "turnaround_mean_ns", s.mean);
	run_put_int(o, "turnaround_p50_ns", s.p50);
	run_put_int(o, "turnaround_max_ns", s.max);
	run_put_int(o, "span_ns", s.span);
	run_put(o, "times_real_time", json_real(conversions_speed(&s)));
	run_put(o, "ids", ids);
	return o;
}
