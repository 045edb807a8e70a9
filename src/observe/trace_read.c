/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The trace reader. Nothing in the file is trusted.
 */
#include "observe/trace_read.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct trace_reader {
	FILE *f;
	char *name;
	char *json;
	int64_t realtime_offset;
	size_t record_bytes;
	uint64_t records; /* read so far */
	bool truncated;
};

static int read_header(struct trace_reader *r, struct cr_trace_header *h,
		       struct cr_err *e)
{
	if (fread(h, sizeof(*h), 1, r->f) != 1 ||
	    memcmp(h->magic, CR_TRACE_MAGIC, sizeof(h->magic)))
		return cr_fail(e, -EPROTO,
			       "%s: not a trace file (it does not begin with "
			       "%s)",
			       r->name, CR_TRACE_MAGIC);
	if (h->record_bytes != sizeof(union cr_trace_record) &&
	    h->record_bytes != CR_TRACE_OLD_BYTES)
		return cr_fail(e, -EPROTO,
			       "%s: records of %" PRIu32
			       " bytes, this version reads %zu",
			       r->name, h->record_bytes,
			       sizeof(union cr_trace_record));
	if (h->json_bytes > TRACE_JSON_MAX)
		return cr_fail(e, -EPROTO,
			       "%s: a header of %" PRIu32
			       " bytes is longer than any writer makes",
			       r->name, h->json_bytes);
	r->realtime_offset = h->realtime_offset;
	r->record_bytes = h->record_bytes;
	return 0;
}

static int read_json(struct trace_reader *r, size_t size, struct cr_err *e)
{
	r->json = malloc(size + 1);
	if (!r->json)
		return cr_fail(e, -ENOMEM, "%s: no memory", r->name);
	if (fread(r->json, 1, size, r->f) != size)
		return cr_fail(e, -EPROTO, "%s: ends inside its header",
			       r->name);
	/* analyzer: size is not 0, so one less is no large number */
	while (size && r->json[size - 1] == ' ') /* which pad it */
		size--;
	r->json[size] = '\0';
	if (size < 2 || strlen(r->json) != size || r->json[0] != '{' ||
	    r->json[size - 1] != '}')
		return cr_fail(e, -EPROTO, "%s: header is no JSON object",
			       r->name);
	return 0;
}

int trace_reader_open_stream(struct trace_reader **out, FILE *f,
			     const char *name, struct cr_err *e)
{
	struct trace_reader *r = calloc(1, sizeof(*r));
	struct cr_trace_header h;
	int rc;

	if (!r) {
		(void)fclose(f);
		return cr_fail(e, -ENOMEM, "%s: no memory", name);
	}
	r->f = f;
	r->name = strdup(name);
	rc = r->name ? read_header(r, &h, e) : -ENOMEM;
	if (!rc)
		rc = read_json(r, h.json_bytes, e);
	if (rc)
		trace_reader_close(r);
	else
		*out = r;
	return rc;
}

int trace_reader_open(struct trace_reader **r, const char *path,
		      struct cr_err *e)
{
	FILE *f = fopen(path, "rbe");
	int err = errno;

	if (!f)
		return cr_fail(e, -err, "%s: %s", path, strerror(err));
	return trace_reader_open_stream(r, f, path, e);
}

void trace_reader_close(struct trace_reader *r)
{
	if (!r)
		return;
	free(r->json);
	(void)fclose(r->f);
	free(r->name);
	free(r);
}

const char *trace_reader_header(const struct trace_reader *r)
{
	return r->json;
}

int64_t trace_reader_realtime_offset(const struct trace_reader *r)
{
	return r->realtime_offset;
}

bool trace_reader_truncated(const struct trace_reader *r)
{
	return r->truncated;
}

static bool ends(const char *text, size_t size)
{
	return memchr(text, '\0', size) != NULL;
}

/* What is wrong with @rec, or NULL. */
static const char *complaint(const union cr_trace_record *rec)
{
	const struct cr_trace_call *c = &rec->call;

	switch (rec->kind) {
	case CR_TRACE_JOB:
		return rec->job.outcome < CR_NOUTCOMES ? NULL
						       : "unknown outcome";
	case CR_TRACE_CALL:
		if (!ends(c->codec_in, sizeof(c->codec_in)) ||
		    !ends(c->codec_out, sizeof(c->codec_out)) ||
		    !ends(c->mode_in, sizeof(c->mode_in)) ||
		    !ends(c->mode_out, sizeof(c->mode_out)))
			return "a name does not end";
		return NULL;
	case CR_TRACE_NOTE:
		return ends(rec->note.text, sizeof(rec->note.text))
			       ? NULL
			       : "the text does not end";
	default:
		return "unknown kind";
	}
}

int trace_reader_next(struct trace_reader *r, union cr_trace_record *out,
		      struct cr_err *e)
{
	union cr_trace_record rec;
	const char *wrong;
	size_t n;

	memset(&rec, 0, sizeof(rec));
	n = fread(&rec, 1, r->record_bytes, r->f);
	if (n < r->record_bytes) {
		if (ferror(r->f))
			return cr_fail(e, -EIO, "%s: cannot be read", r->name);
		r->truncated = r->truncated || n;
		return 0;
	}
	wrong = complaint(&rec);
	if (wrong)
		return cr_fail(e, -EPROTO, "%s: record %" PRIu64 ": %s",
			       r->name, r->records, wrong);
	r->records++;
	*out = rec;
	return 1;
}
