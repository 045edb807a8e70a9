/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trace files: the writer (a buffer, a file descriptor and what went wrong) and
 * the reader, which trusts nothing in the file.
 */
#include "observe/trace_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cr/error.h"
#include "cr/trace.h"

/* Returns 0 or -errno; *@done says how much was written either way. */
static int write_all(int fd, const void *data, size_t size, size_t *done)
{
	const char *at = data;
	ssize_t n;

	for (*done = 0; *done < size; *done += (size_t)n) {
		n = write(fd, at + *done, size - *done);
		if (n < 0 && errno == EINTR)
			n = 0;
		else if (n < 0)
			return -errno;
	}
	return 0;
}

static int no_file(const char *path, const char *what, struct cr_err *e)
{
	return cr_fail(e, -ENXIO, "%s: is %s; traces go to files only", path,
		       what);
}

/* Check the open file, not the one that was there a moment ago. */
static int check_trace_file(int fd, const char *path, enum trace_over over,
			    struct cr_err *e)
{
	struct stat st;

	if (fstat(fd, &st))
		return cr_fail(e, -errno, "%s: cannot create: %s", path,
			       strerror(errno));
	if (S_ISFIFO(st.st_mode) && over != TRACE_OVER_PIPE)
		return no_file(path, "a pipe", e);
	if (!S_ISREG(st.st_mode) && over == TRACE_OVER_FILE)
		return no_file(path, "a device", e);
	return 0;
}

/* A descriptor, or -errno with @e. A pipe without a reader, and a socket, is
 * ENXIO at once. */
static int create(const char *path, enum trace_over over, struct cr_err *e)
{
	static const int how[] = {
		[TRACE_OVER_NOTHING] = O_EXCL,
		[TRACE_OVER_FILE] = O_TRUNC | O_NOFOLLOW,
		[TRACE_OVER_ANY] = O_TRUNC,
		[TRACE_OVER_PIPE] = O_TRUNC,
	};
	int wait = over == TRACE_OVER_PIPE ? 0 : O_NONBLOCK;
	int fd = open(path,
		      O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY | wait |
			      how[over],
		      0644);
	int err = errno;

	if (fd >= 0) {
		err = check_trace_file(fd, path, over, e);
		if (!err)
			return fd;
		(void)close(fd);
		return err;
	}
	if (err == ENXIO)
		return no_file(path, "a pipe or a socket", e);
	if (err == ELOOP && over == TRACE_OVER_FILE)
		return cr_fail(
			e, -err,
			"%s: is a symbolic link; traces go to files only",
			path);
	if (err == EEXIST)
		return cr_fail(e, -err,
			       "%s: exists; move it away, choose another name, "
			       "or ask for it to be overwritten",
			       path);
	return cr_fail(e, -err, "%s: cannot create: %s", path, strerror(err));
}

int trace_file_create(struct trace_file *f, const char *path,
		      enum trace_over over, struct cr_err *e)
{
	memset(f, 0, sizeof(*f));
	f->buf = calloc(TRACE_FILE_BUFFER, sizeof(*f->buf));
	if (!f->buf)
		return cr_fail(e, -ENOMEM, "no memory for the trace buffer");
	f->fd = create(path, over, e);
	if (f->fd >= 0)
		return 0;
	free(f->buf);
	f->buf = NULL;
	return f->fd;
}

int trace_file_header(struct trace_file *f, const char *json,
		      cr_ns realtime_offset, struct cr_err *e)
{
	struct cr_trace_header h = {
		.record_bytes = sizeof(union cr_trace_record),
		.realtime_offset = realtime_offset,
	};
	/* padded with spaces to a multiple of 8 */
	size_t len = json ? strlen(json) : 0, size = (len + 7) / 8 * 8, done;
	char *text = json ? malloc(size + 1) : NULL;
	int rc;

	if (!text)
		return cr_fail(e, -ENOMEM, "no memory for the trace header");
	if (size > UINT32_MAX) {
		free(text);
		return cr_fail(e, -EINVAL, "the trace header is too long");
	}
	memset(text, ' ', size);
	memcpy(text, json, len);
	memcpy(h.magic, CR_TRACE_MAGIC, sizeof(h.magic));
	h.json_bytes = (uint32_t)size;
	rc = write_all(f->fd, &h, sizeof(h), &done);
	if (!rc)
		rc = write_all(f->fd, text, size, &done);
	free(text);
	if (rc)
		return cr_fail(e, rc, "cannot write the trace header: %s",
			       strerror(-rc));
	f->bytes = (int64_t)(sizeof(h) + size);
	return 0;
}

void trace_file_flush(struct trace_file *f)
{
	size_t done = 0, whole;

	if (!f->error && f->used)
		f->error = -write_all(f->fd, f->buf, f->used * sizeof(*f->buf),
				      &done);
	whole = done / sizeof(*f->buf);
	f->bytes += (int64_t)(whole * sizeof(*f->buf));
	/* Best effort: without it the reader finds a cut record at the end. */
	if (done % sizeof(*f->buf) && ftruncate(f->fd, f->bytes))
		f->bytes += (int64_t)(done % sizeof(*f->buf));
	f->written += whole;
	f->unwritten += f->used - whole;
	f->used = 0;
}

void trace_file_put(struct trace_file *f, const union cr_trace_record *r)
{
	f->buf[f->used++] = *r;
	if (f->used == TRACE_FILE_BUFFER)
		trace_file_flush(f);
}

void trace_file_close(struct trace_file *f)
{
	if (!f->buf)
		return;
	trace_file_flush(f);
	/* Pipes and /dev/full know no fsync; that is no loss. */
	if (fsync(f->fd) && errno != EINVAL && errno != EROFS && !f->error)
		f->error = errno;
	trace_file_drop(f);
}

void trace_file_drop(struct trace_file *f)
{
	if (!f->buf)
		return;
	if (close(f->fd) && !f->error)
		f->error = errno;
	free(f->buf);
	f->buf = NULL;
}

struct trace_reader {
	FILE *f;
	char *name;
	char *json;
	uint64_t records; /* read so far */
};

static int read_trace_header(struct trace_reader *r, struct cr_trace_header *h,
			     struct cr_err *e)
{
	if (fread(h, sizeof(*h), 1, r->f) != 1 ||
	    memcmp(h->magic, CR_TRACE_MAGIC, sizeof(h->magic)))
		return cr_fail(e, -EPROTO,
			       "%s: not a trace file (it does not begin with "
			       "%s)",
			       r->name, CR_TRACE_MAGIC);
	if (h->record_bytes != sizeof(union cr_trace_record))
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
	rc = r->name ? read_trace_header(r, &h, e) : -ENOMEM;
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

static bool trace_ends(const char *text, size_t size)
{
	return memchr(text, '\0', size) != NULL;
}

/* The fault of @rec, or NULL. */
static const char *complaint(const union cr_trace_record *rec)
{
	const struct cr_trace_task *c = &rec->task;

	switch (rec->kind) {
	case CR_TRACE_JOB:
		return rec->job.outcome < CR_NOUTCOMES ? NULL
						       : "unknown outcome";
	case CR_TRACE_TASK:
		if (!trace_ends(c->codec_in, sizeof(c->codec_in)) ||
		    !trace_ends(c->codec_out, sizeof(c->codec_out)) ||
		    !trace_ends(c->mode_in, sizeof(c->mode_in)) ||
		    !trace_ends(c->mode_out, sizeof(c->mode_out)))
			return "a name does not end";
		return NULL;
	case CR_TRACE_NOTE:
		return trace_ends(rec->note.text, sizeof(rec->note.text))
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

	if (fread(&rec, sizeof(rec), 1, r->f) != 1)
		return ferror(r->f)
			       ? cr_fail(e, -EIO, "%s: cannot be read", r->name)
			       : 0;
	wrong = complaint(&rec);
	if (wrong)
		return cr_fail(e, -EPROTO, "%s: record %" PRIu64 ": %s",
			       r->name, r->records, wrong);
	r->records++;
	*out = rec;
	return 1;
}
