/* SPDX-License-Identifier: Apache-2.0 */
/*
 * WAV files of recorded speech in a spool folder.
 */
#include "feeder/conversion_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "feeder/recordings.h"
#include "run/folder.h"
#include "speech/wav.h"

#define BLOCK 1600u /* samples */
/* Calls' speech is numbered from 0: theirs shall be another. */
#define FIRST_READER (UINT64_C(1) << 32)

const char *conversion_file(const struct conversion_files *f, int64_t i,
			    const char *ending, char *name)
{
	(void)snprintf(name, CONVERSION_NAME, "%s-%lld.%s", f->tag,
		       (long long)i, ending);
	return name;
}

static int path_of(const struct conversion_files *f, int64_t i, char *path)
{
	char name[CONVERSION_NAME];
	int n = snprintf(path, RUN_PATH_MAX, "%s/%s", f->spool,
			 conversion_file(f, i, "wav", name));

	return n < (int)RUN_PATH_MAX ? 0 : -ENAMETOOLONG;
}

static bool put_samples(FILE *out, const int16_t *pcm, size_t n)
{
	uint8_t bytes[2 * BLOCK];

	for (size_t i = 0; i < n; i++) {
		bytes[2 * i] = (uint8_t)((uint16_t)pcm[i] & 0xff);
		bytes[2 * i + 1] = (uint8_t)((uint16_t)pcm[i] >> 8);
	}
	return fwrite(bytes, 2, n, out) == n;
}

static bool put_speech(FILE *out, struct speech_reader *r, unsigned rate,
		       uint64_t samples)
{
	uint8_t header[WAV_HEADER_BYTES];
	int16_t pcm[BLOCK];
	bool ok;

	wav_header(header, rate, samples);
	ok = fwrite(header, sizeof(header), 1, out) == 1;
	while (ok && samples) {
		size_t n = samples < BLOCK ? (size_t)samples : BLOCK;

		speech_read(r, pcm, n);
		ok = put_samples(out, pcm, n);
		samples -= n;
	}
	return ok;
}

/* A new file: never another's. */
static int make_one(const char *path, struct speech_reader *r, unsigned rate,
		    uint64_t samples)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	FILE *out = fd < 0 ? NULL : fdopen(fd, "wb");
	bool ok;

	if (!out) {
		int err = -errno;

		if (fd >= 0)
			(void)close(fd);
		return err;
	}
	errno = 0;
	ok = put_speech(out, r, rate, samples);
	ok &= !fclose(out);
	return ok ? 0 : errno ? -errno : -EIO;
}

static int make_all(struct conversion_files *f,
		    const struct conversion_speech *from,
		    const struct speech_corpus *corpus, struct cr_err *e)
{
	const struct campaign_conversions *v = &from->campaign->conversions;
	unsigned rate = speech_rate(corpus);
	uint64_t samples = (uint64_t)(v->length / CR_MS) * rate / 1000;
	char path[RUN_PATH_MAX];
	int rc = 0;

	while (f->count < v->count && !rc) {
		struct speech_reader r;

		speech_reader_init(&r, corpus, from->seed,
				   FIRST_READER + (uint64_t)f->count);
		rc = path_of(f, f->count, path);
		if (!rc)
			rc = make_one(path, &r, rate, samples);
		if (rc)
			return cr_fail(e, rc, "--spool: %s: %s", path,
				       strerror(-rc));
		f->count++;
		if (from->progress)
			from->progress(from->arg, (unsigned)f->count,
				       (unsigned)v->count);
	}
	return rc;
}

int conversion_files_make(struct conversion_files *f, const char *spool,
			  const struct conversion_speech *from,
			  struct cr_err *e)
{
	const struct campaign *c = from->campaign;
	const struct campaign_conversions *v = &c->conversions;
	const struct recordings said = { c->path, v->input, v->input_count };
	struct speech_corpus *corpus = NULL;
	int rc = recordings_open(&corpus, &said, v->out.codec->sample_rate, e);

	*f = (struct conversion_files){ .spool = spool };
	(void)snprintf(f->tag, sizeof(f->tag), "feeder-%llx-%lx",
		       (unsigned long long)(clock_read(CLOCK_REALTIME) / CR_MS),
		       (unsigned long)getpid());
	if (!rc)
		rc = make_all(f, from, corpus, e);
	speech_close(corpus);
	return rc;
}

void conversion_files_remove(struct conversion_files *f)
{
	char path[RUN_PATH_MAX];

	/* one more: half of it may be there */
	for (int64_t i = 0; f->spool && i <= f->count; i++)
		if (!path_of(f, i, path))
			(void)unlink(path);
	f->spool = NULL;
}
