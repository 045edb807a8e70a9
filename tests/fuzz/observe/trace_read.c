/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a trace file: checked records or an error, and it ends.
 */
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "observe/trace_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_all(struct trace_reader *r, size_t size)
{
	union cr_trace_record rec;
	struct cr_err e;
	size_t n = 0;

	CR_ASSERT(trace_reader_header(r)[0] == '{');
	while (trace_reader_next(r, &rec, &e) > 0) {
		CR_ASSERT(++n * sizeof(rec) <= size);
		if (rec.kind == CR_TRACE_JOB)
			CR_ASSERT(rec.job.outcome < CR_NOUTCOMES);
		else if (rec.kind == CR_TRACE_TASK)
			CR_ASSERT(strlen(rec.task.codec_in) <
				  sizeof(rec.task.codec_in));
		else
			CR_ASSERT(strlen(rec.note.text) <
				  sizeof(rec.note.text));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* fmemopen() only reads, but does not say so; and takes no 0. */
	FILE *f = size ? fmemopen((void *)(uintptr_t)data, size, "rb") : NULL;
	struct trace_reader *r = NULL;
	struct cr_err e = { "" };

	if (!f)
		return 0;
	if (trace_reader_open_stream(&r, f, "fuzz", &e)) {
		CR_ASSERT(e.text[0]);
		return 0;
	}
	read_all(r, size);
	trace_reader_close(r);
	return 0;
}
