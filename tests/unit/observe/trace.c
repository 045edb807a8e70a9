/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traces: what is put is in the file, in order, or is counted as lost; files
 * that are no traces give errors.
 */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmocka_cr.h"
#include "observe/trace_writer.h"
#include "observe/trace_file.h"
#include "scratch.h"

enum { PRODUCERS = 4, PUTS = 200000 };

#define HEADER "{\"scheduler\":\"edf\",\"seed\":7}"

/* calloc() of so many members fails. */
static size_t none_of;

void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);

void *__wrap_calloc(size_t n, size_t size)
{
	return n && n == none_of ? NULL : __real_calloc(n, size);
}

struct fixture {
	char path[SCRATCH_MAX + 8]; /* in a folder of its own */
	char *header;
	struct cr_err e;
};

static struct fixture fx;

static int set_up(void **state)
{
	char dir[SCRATCH_MAX];

	(void)snprintf(fx.path, sizeof(fx.path), "%s/t.bin",
		       scratch_folder(dir));
	fx.header = strdup(HEADER);
	fx.e.text[0] = '\0';
	return fx.header ? 0 : -1;
}

static int tear_down(void **state)
{
	free(fx.header);
	return 0;
}

static union cr_trace_record job(uint32_t task, uint32_t seq)
{
	union cr_trace_record r;

	memset(&r, 0, sizeof(r));
	r.job = (struct cr_trace_job){ .kind = CR_TRACE_JOB,
				       .outcome = CR_OUT_EXPIRED,
				       .task = task,
				       .seq = seq,
				       .arrival = (int64_t)seq * 3,
				       .away = INT64_MAX };
	return r;
}

static void records_come_back_as_they_were_put(void **state)
{
	union cr_trace_record put = job(9, 1), got, note;
	struct trace_reader *r = NULL;
	struct trace_totals totals;
	struct trace *t = NULL;

	memset(&note, 0, sizeof(note));
	note.note = (struct cr_trace_note){ .kind = CR_TRACE_NOTE,
					    .code = 1,
					    .text = "rr" };
	assert_int_equal(trace_open(&t, 1, 16), 0);
	trace_put(trace_ring(t, 0), &note); /* off: goes nowhere */
	assert_int_equal(trace_start(t, fx.path, fx.header, &fx.e), 0);
	trace_put(trace_ring(t, 0), &put);
	trace_put(trace_ring(t, 0), &note);
	assert_int_equal(trace_stop(t, &totals), 0);
	trace_put(trace_ring(t, 0), &note); /* off again */
	trace_close(t);

	assert_int_equal(totals.written, 2);
	assert_int_equal(totals.lost + totals.unwritten + totals.notes, 0);
	assert_int_equal(trace_reader_open(&r, fx.path, &fx.e), 0);
	assert_string_equal(trace_reader_header(r), HEADER);
	assert_int_equal(trace_reader_next(r, &got, &fx.e), 1);
	assert_memory_equal(&got, &put, sizeof(got));
	assert_int_equal(trace_reader_next(r, &got, &fx.e), 1);
	assert_memory_equal(&got, &note, sizeof(got));
	assert_int_equal(trace_reader_next(r, &got, &fx.e), 0);
	trace_reader_close(r);
}

static void *produce(void *arg)
{
	struct trace_ring *ring = arg;
	uint32_t call = (uint32_t)(ring->slot[0].job.task);

	for (uint32_t i = 0; i < PUTS; i++) {
		union cr_trace_record r = job(call, i);

		trace_put(ring, &r);
		/* Let the drain thread in, so that rings wrap many times. */
		if (!(i % 8))
			(void)sched_yield();
	}
	return NULL;
}

/* Counts what the file holds: jobs by producer, in rising order, and the sum
 * of the losses noted. */
static void count_file(uint64_t jobs[PRODUCERS], uint64_t *noted)
{
	uint32_t next[PRODUCERS] = { 0 };
	union cr_trace_record rec;
	struct trace_reader *r = NULL;

	assert_int_equal(trace_reader_open(&r, fx.path, &fx.e), 0);
	while (trace_reader_next(r, &rec, &fx.e) > 0) {
		if (rec.kind == CR_TRACE_NOTE) {
			assert_int_equal(rec.note.code, 0);
			*noted += rec.note.count;
			continue;
		}
		assert_in_range(rec.job.task, 0, PRODUCERS - 1);
		assert_true(rec.job.seq >= next[rec.job.task]);
		next[rec.job.task] = rec.job.seq + 1;
		jobs[rec.job.task]++;
	}
	trace_reader_close(r);
}

static void put_equals_written_plus_lost_with(unsigned ring_records)
{
	uint64_t jobs[PRODUCERS] = { 0 }, noted = 0, sum = 0;
	pthread_t thread[PRODUCERS];
	struct trace_totals totals;
	struct trace *t = NULL;

	assert_int_equal(trace_open(&t, PRODUCERS, ring_records), 0);
	assert_int_equal(trace_start(t, fx.path, fx.header, &fx.e), 0);
	for (unsigned i = 0; i < PRODUCERS; i++) {
		trace_ring(t, i)->slot[0].job.task = i;
		assert_int_equal(pthread_create(&thread[i], NULL, produce,
						trace_ring(t, i)),
				 0);
	}
	for (unsigned i = 0; i < PRODUCERS; i++)
		assert_int_equal(pthread_join(thread[i], NULL), 0);
	assert_int_equal(trace_stop(t, &totals), 0);
	trace_close(t);

	count_file(jobs, &noted);
	for (unsigned i = 0; i < PRODUCERS; i++)
		sum += jobs[i];
	print_message("%u slots: %" PRIu64 " written, %" PRIu64 " lost\n",
		      ring_records, totals.written, totals.lost);
	assert_int_equal(noted, totals.lost);
	assert_int_equal(sum, totals.written - totals.notes);
	assert_int_equal(sum + totals.lost, (uint64_t)PRODUCERS * PUTS);
}

static void put_equals_written_plus_lost(void **state)
{
	put_equals_written_plus_lost_with(64); /* loses most */
	assert_int_equal(unlink(fx.path), 0);
	put_equals_written_plus_lost_with(2048); /* both */
	assert_int_equal(unlink(fx.path), 0);
	put_equals_written_plus_lost_with(2 * PUTS); /* loses nothing */
}

static void starting_again_forgets_the_first_run(void **state)
{
	union cr_trace_record r = job(0, 0);
	struct trace_totals totals;
	struct trace *t = NULL;

	assert_int_equal(trace_open(&t, 2, 2), 0);
	assert_int_equal(trace_stop(t, &totals), -EALREADY);
	for (unsigned run = 0; run < 3; run++) {
		trace_set_over(t, run ? TRACE_OVER_FILE : TRACE_OVER_NOTHING);
		assert_int_equal(trace_start(t, fx.path, fx.header, &fx.e), 0);
		assert_int_equal(trace_start(t, fx.path, fx.header, &fx.e),
				 -EBUSY);
		trace_put(trace_ring(t, 1), &r);
		assert_int_equal(trace_stop(t, &totals), 0);
		assert_int_equal(totals.written, 1);
	}
	trace_close(t);
}

static void a_file_that_exists_is_not_overwritten(void **state)
{
	static const char text[] = "precious";
	char got[sizeof(text)] = "";
	struct trace *t = NULL;
	FILE *f = fopen(fx.path, "w");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(trace_open(&t, 1, 2), 0);
	assert_int_equal(trace_start(t, fx.path, fx.header, &fx.e), -EEXIST);
	assert_non_null(strstr(fx.e.text, fx.path));
	assert_int_equal(trace_start(t, "/nowhere/x", fx.header, &fx.e),
			 -ENOENT);
	trace_close(t);
	f = fopen(fx.path, "r");
	assert_non_null(f);
	assert_non_null(fgets(got, sizeof(got), f));
	assert_int_equal(fclose(f), 0);
	assert_string_equal(got, text);
}

struct reported {
	unsigned times;
	int err;
};

static void note_error(void *arg, int err)
{
	struct reported *reported = arg;

	reported->times++;
	reported->err = err;
}

static void no_room_for_the_header_is_an_error(void **state)
{
	struct trace *t = NULL;

	assert_int_equal(trace_open(&t, 1, 2), 0);
	assert_int_equal(symlink("/dev/full", fx.path), 0);
	trace_set_over(t, TRACE_OVER_ANY);
	assert_int_equal(trace_start(t, fx.path, fx.header, &fx.e), -ENOSPC);
	assert_non_null(strstr(fx.e.text, "No space"));
	trace_close(t);
}

/* Files may grow to @bytes; -1: without limit. */
static void limit_file_size(int64_t bytes)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = bytes < 0 ? limit.rlim_max : (rlim_t)bytes;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void a_full_disk_is_told_once_and_every_record_counted(void **state)
{
	enum { ROOM = 100, N = 10000 };
	uint64_t jobs[PRODUCERS] = { 0 }, noted = 0;
	struct reported reported = { 0 };
	struct trace_totals totals;
	struct trace *t = NULL;

	assert_true(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
	assert_int_equal(trace_open(&t, 1, 2 * N), 0);
	trace_on_error(t, note_error, &reported);
	assert_int_equal(trace_start(t, fx.path, fx.header, &fx.e), 0);
	/* The last record has room for half of it only. */
	limit_file_size((int64_t)sizeof(struct cr_trace_header) + 32 +
			ROOM * 96 + 48);
	for (uint32_t i = 0; i < N; i++) {
		union cr_trace_record r = job(0, i);

		trace_put(trace_ring(t, 0), &r);
	}
	assert_int_equal(trace_stop(t, &totals), 0);
	limit_file_size(-1);
	trace_close(t);

	assert_int_equal(reported.times, 1);
	assert_int_equal(reported.err, EFBIG);
	assert_int_equal(totals.error, EFBIG);
	assert_int_equal(totals.written, ROOM);
	assert_int_equal(totals.unwritten, N - ROOM);
	count_file(jobs, &noted);
	assert_int_equal(jobs[0], ROOM);
}

static void write_bytes(const void *data, size_t size)
{
	FILE *f = fopen(fx.path, "wb");

	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, size, f), size);
	assert_int_equal(fclose(f), 0);
}

static void expect_no_trace(const char *want, const void *data, size_t size)
{
	struct trace_reader *r = NULL;

	write_bytes(data, size);
	assert_int_equal(trace_reader_open(&r, fx.path, &fx.e), -EPROTO);
	if (!strstr(fx.e.text, want))
		fail_msg("\"%s\" is not in \"%s\"", want, fx.e.text);
}

static void what_is_no_trace_is_refused_with_the_reason(void **state)
{
	unsigned char file[sizeof(struct cr_trace_header) + 8];
	struct cr_trace_header h = { .record_bytes = 96, .json_bytes = 8 };
	struct trace_reader *r = NULL;

	memcpy(h.magic, CR_TRACE_MAGIC, sizeof(h.magic));
	memcpy(file, &h, sizeof(h));
	memcpy(file + sizeof(h), "[1,2,3] ", 8);
	expect_no_trace("no JSON object", file, sizeof(file));
	memcpy(file + sizeof(h), "{\"a\": 1", 8);
	expect_no_trace("no JSON object", file, sizeof(file));
	expect_no_trace("ends inside its header", file, sizeof(file) - 1);
	expect_no_trace("not a trace", file, sizeof(h) - 1);
	expect_no_trace("not a trace", "RIFF", 4);
	expect_no_trace("not a trace", "", 0);
	h.json_bytes = UINT32_MAX;
	expect_no_trace("longer than any", &h, sizeof(h));
	h.record_bytes = 80;
	expect_no_trace("records of 80 bytes", &h, sizeof(h));
	assert_int_equal(trace_reader_open(&r, "/nowhere/x", &fx.e), -ENOENT);
}

static void write_one_record(const union cr_trace_record *rec)
{
	struct trace_file f;

	assert_int_equal(trace_file_create(&f, fx.path, TRACE_OVER_ANY, &fx.e),
			 0);
	assert_int_equal(trace_file_header(&f, fx.header, 0, &fx.e), 0);
	trace_file_put(&f, rec);
	trace_file_close(&f);
	assert_int_equal(f.error, 0);
}

static void a_bad_record_is_an_error_and_a_cut_one_the_end(void **state)
{
	union cr_trace_record rec = job(1, 2), out = job(7, 7);
	struct trace_reader *r = NULL;

	for (unsigned i = 0; i < 3; i++) {
		rec.kind = i == 0 ? 77 : i == 1 ? CR_TRACE_JOB : CR_TRACE_NOTE;
		if (i == 1)
			rec.job.outcome = CR_NOUTCOMES;
		else if (i == 2)
			memset(rec.note.text, 'x', sizeof(rec.note.text));
		write_one_record(&rec);
		assert_int_equal(trace_reader_open(&r, fx.path, &fx.e), 0);
		assert_int_equal(trace_reader_next(r, &out, &fx.e), -EPROTO);
		assert_int_equal(out.job.task, 7);
		trace_reader_close(r);
	}
	rec = job(1, 2);
	write_one_record(&rec);
	assert_int_equal(truncate(fx.path, 24 + 32 + 87), 0);
	assert_int_equal(trace_reader_open(&r, fx.path, &fx.e), 0);
	assert_int_equal(trace_reader_next(r, &out, &fx.e), 0);
	trace_reader_close(r);
}

static void without_memory_no_file_is_touched(void **state)
{
	static const enum trace_over over[] = { TRACE_OVER_NOTHING,
						TRACE_OVER_FILE };
	const union cr_trace_record rec = job(1, 2);
	struct trace_file f;
	struct stat st;

	for (unsigned there = 0; there < 2; there++) {
		none_of = TRACE_FILE_BUFFER;
		assert_int_equal(
			trace_file_create(&f, fx.path, over[there], &fx.e),
			-ENOMEM);
		none_of = 0;
		assert_int_equal(stat(fx.path, &st), there ? 0 : -1);
		assert_true(!there || st.st_size > 0);
		write_one_record(&rec);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			records_come_back_as_they_were_put, set_up, tear_down),
		cmocka_unit_test_setup_teardown(put_equals_written_plus_lost,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			starting_again_forgets_the_first_run, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(
			a_file_that_exists_is_not_overwritten, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(
			without_memory_no_file_is_touched, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			no_room_for_the_header_is_an_error, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			what_is_no_trace_is_refused_with_the_reason, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(
			a_bad_record_is_an_error_and_a_cut_one_the_end, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(
			a_full_disk_is_told_once_and_every_record_counted,
			set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
