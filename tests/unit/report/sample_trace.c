/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a small trace through the C writer: every member of every record has
 * a value of its own, so that a reader that mistakes one for another shows.
 */
#include <string.h>

#include "observe/trace_file.h"

static void put_call(struct trace_file *f)
{
	union cr_trace_record r;

	memset(&r, 0, sizeof(r));
	r.task = (struct cr_trace_task){
		.kind = CR_TRACE_TASK,
		.cls = 1,
		.ptime_us_div_250 = 80,
		.task = 5,
		.start = 11,
		.rel_deadline = 12,
		.codec_in = "pcmu",
		.mode_in = "64k",
		.codec_out = "amr",
		.mode_out = "12.2",
		.weight = 13,
		.nice = -14,
		.cost_mean = 15,
		.cost_p99 = 16,
	};
	trace_file_put(f, &r);
}

static void put_job(struct trace_file *f)
{
	union cr_trace_record r;

	memset(&r, 0, sizeof(r));
	r.job = (struct cr_trace_job){
		.kind = CR_TRACE_JOB,
		.outcome = CR_OUT_DONE,
		.worker = 3,
		.task = 5,
		.seq = 17,
		.bytes_in = 160,
		.bytes_out = 32,
		.arrival = 1000000,
		.release = 2000000,
		.pick = 3000000,
		.start = 4000000,
		.end = 5000000,
		.sent = 6000000,
		.deadline = 7000000,
		.rtp_ts = 4294967295,
		.codec_ns = 900000,
		.away = 14,
		.buffered_ns = 15,
		.importance = 16,
	};
	trace_file_put(f, &r);
}

static void put_note(struct trace_file *f)
{
	union cr_trace_record r;

	memset(&r, 0, sizeof(r));
	r.note = (struct cr_trace_note){
		.kind = CR_TRACE_NOTE,
		.code = 2,
		.worker = 4,
		.count = 19,
		.at = 21,
		.text = "drained",
	};
	trace_file_put(f, &r);
}

int main(int argc, char **argv)
{
	struct trace_file f;
	struct cr_err e = { "" };
	static const char header[] = "{\"scheduler\":\"edf\",\"workers\":4}";

	if (argc != 2 ||
	    trace_file_create(&f, argv[1], TRACE_OVER_NOTHING, &e) ||
	    trace_file_header(&f, header, 23, &e)) {
		(void)fprintf(stderr, "%s\n", e.text);
		return 1;
	}
	put_call(&f);
	put_job(&f);
	put_note(&f);
	trace_file_close(&f);
	return f.error != 0;
}
