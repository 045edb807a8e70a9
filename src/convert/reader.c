/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Audio files in.
 *
 * A stored AMR frame is an octet-aligned payload of one frame without its CMR
 * octet. WAV's samples are L16's in the other byte order; the last frame is
 * filled up with silence.
 */
#include "convert/reader.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "speech/wav.h"

#define NO_CMR ((uint8_t)(PAYLOAD_NO_CMR << 4))
#define TOC_BITS 0x7cu /* frame type and quality; the others are padding */

/* Bring @need bytes at r->at into the buffer. Returns how many are there; less
 * only at the file's end; or -errno with @e. What the file has grown by since
 * it was opened is not there: headers were checked against its size then. */
static ssize_t fetch(struct reader *r, size_t need, struct cr_err *e)
{
	if (r->have >= need)
		return (ssize_t)r->have;
	memmove(r->buf, r->buf + r->first, r->have);
	r->first = 0;
	while (r->have < need) {
		uint64_t left = r->size - (r->at + r->have);
		size_t room = sizeof(r->buf) - r->have;
		ssize_t n = pread(r->fd, r->buf + r->have,
				  left < room ? (size_t)left : room,
				  (off_t)(r->at + r->have));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return cr_fail(e, -errno, "cannot be read: %s",
				       strerror(errno));
		if (!n)
			break;
		r->have += (size_t)n;
	}
	return (ssize_t)r->have;
}

static void take(struct reader *r, size_t bytes)
{
	r->first += bytes;
	r->have -= bytes;
	r->at += bytes;
}

static int open_wav(struct reader *r, struct cr_err *e)
{
	struct wav_info info;
	ssize_t have = fetch(r, sizeof(r->buf), e);
	int err = have < 0 ? (int)have
			   : wav_parse_head(r->buf, (size_t)have, r->size,
					    &info, e);

	if (err)
		return err;
	if (info.sample_rate != 8000 && info.sample_rate != 16000)
		return cr_fail(e, -EINVAL,
			       "%u Hz; only 8000 and 16000 are read: resample "
			       "it first",
			       info.sample_rate);
	r->audio.rate = info.sample_rate;
	r->end = info.offset + 2 * (uint64_t)info.samples;
	take(r, info.offset);
	return 0;
}

static int open_stored(struct reader *r, struct cr_err *e)
{
	ssize_t have = fetch(r, 16, e);
	int magic = have < 0 ? (int)have
			     : audio_magic_check(r->audio.kind, r->buf,
						 (size_t)have, e);

	if (magic < 0)
		return magic;
	r->audio.rate = audio_codec(r->audio.kind)->sample_rate;
	r->end = r->size;
	take(r, (size_t)magic);
	return 0;
}

int reader_open(struct reader *r, int fd, enum audio_kind kind, uint64_t size,
		struct cr_err *e)
{
	int err;

	*r = (struct reader){ .fd = fd, .audio.kind = kind, .size = size };
	err = kind == AUDIO_WAV ? open_wav(r, e) : open_stored(r, e);
	if (!err && r->at >= r->end)
		return cr_fail(e, -EINVAL, "has no speech in it");
	return err;
}

static int next_wav(struct reader *r, uint8_t *payload, struct cr_err *e)
{
	size_t frame = 2 * (size_t)(r->audio.rate * AUDIO_FRAME / CR_SEC);
	size_t n = r->end - r->at < frame ? (size_t)(r->end - r->at) : frame;
	ssize_t have = fetch(r, n, e);

	if (have < 0)
		return (int)have;
	if ((size_t)have < n)
		return cr_fail(e, -EIO, "became shorter while it was read");
	memset(payload, 0, frame);
	for (size_t i = 0; i + 1 < n; i += 2) {
		payload[i] = r->buf[r->first + i + 1];
		payload[i + 1] = r->buf[r->first + i];
	}
	take(r, n);
	return (int)frame;
}

static int next_stored(struct reader *r, uint8_t *payload, struct cr_err *e)
{
	ssize_t have = fetch(r, 1, e);
	uint8_t toc = r->buf[r->first];
	int bytes;

	if (have < 1)
		return have < 0 ? (int)have
				: cr_fail(e, -EIO,
					  "became shorter while it "
					  "was read");
	bytes = audio_stored_bytes(r->audio.kind, toc);
	if (bytes < 0)
		return cr_fail(e, -EINVAL,
			       "broken at byte %" PRIu64
			       ": %s has no frame type %u",
			       r->at, audio_codec(r->audio.kind)->rtp_name,
			       toc >> 3 & 15);
	have = fetch(r, (size_t)bytes, e);
	if (have < 0)
		return (int)have;
	if (have < bytes)
		return cr_fail(e, -EINVAL,
			       "cut off: the frame at byte %" PRIu64
			       " has %d bytes, %zd are there",
			       r->at, bytes, have);
	payload[0] = NO_CMR;
	payload[1] = toc & TOC_BITS;
	memcpy(payload + 2, r->buf + r->first + 1, (size_t)bytes - 1);
	take(r, (size_t)bytes);
	return bytes + 1;
}

int reader_next(struct reader *r, uint8_t *payload, struct cr_err *e)
{
	if (r->at >= r->end)
		return 0;
	return r->audio.kind == AUDIO_WAV ? next_wav(r, payload, e)
					  : next_stored(r, payload, e);
}
