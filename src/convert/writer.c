/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Audio files out. The header of a WAV file is written twice: its lengths are
 * known at the end.
 */
#include "convert/writer.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "speech/wav.h"

static int write_at(struct writer *w, const void *data, size_t n, uint64_t at,
		    struct cr_err *e)
{
	const uint8_t *p = data;

	while (n) {
		ssize_t done = pwrite(w->fd, p, n, (off_t)at);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return cr_fail(e, done ? -errno : -EIO,
				       "cannot be written: %s",
				       strerror(done ? errno : EIO));
		p += done;
		at += (uint64_t)done;
		n -= (size_t)done;
	}
	return 0;
}

static size_t header(const struct writer *w, uint8_t *buf)
{
	const char *magic = audio_magic(w->audio.kind);

	if (w->audio.kind == AUDIO_WAV) {
		wav_header(buf, w->audio.rate, w->bytes / 2);
		return WAV_HEADER_BYTES;
	}
	/* Octets of a file.
	 * NOLINTNEXTLINE(bugprone-not-null-terminated-result) */
	memcpy(buf, magic, strlen(magic));
	return strlen(magic);
}

int writer_open(struct writer *w, int fd, const struct audio *a,
		struct cr_err *e)
{
	uint8_t head[WAV_HEADER_BYTES];

	*w = (struct writer){ .fd = fd, .audio = *a };
	return write_at(w, head, header(w, head), 0, e);
}

int writer_put(struct writer *w, const uint8_t *frames, size_t n,
	       struct cr_err *e)
{
	uint8_t head[WAV_HEADER_BYTES];
	int err;

	if (w->audio.kind == AUDIO_WAV && (w->bytes + n) / 2 > WAV_SAMPLES_MAX)
		return cr_fail(e, -EFBIG,
			       "would be longer than 4 GiB, which is the most "
			       "that WAV can tell: cut the input");
	err = write_at(w, frames, n, header(w, head) + w->bytes, e);
	if (!err)
		w->bytes += n;
	return err;
}

int writer_finish(struct writer *w, struct cr_err *e)
{
	uint8_t head[WAV_HEADER_BYTES];

	return write_at(w, head, header(w, head), 0, e);
}

size_t writer_frame(enum audio_kind kind, const uint8_t *payload, size_t n,
		    uint8_t *frame)
{
	if (kind != AUDIO_WAV) {
		CR_ASSERT(n > 1 && n <= AUDIO_FRAME_MAX);
		memcpy(frame, payload + 1, n - 1); /* without the CMR */
		return n - 1;
	}
	CR_ASSERT(n <= AUDIO_FRAME_MAX && n % 2 == 0);
	for (size_t i = 0; i < n; i += 2) {
		frame[i] = payload[i + 1];
		frame[i + 1] = payload[i];
	}
	return n;
}
