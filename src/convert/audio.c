/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Audio files: names, codecs, the AMR storage format; and files in and out.
 *
 * A stored AMR frame is an octet-aligned payload of one frame without its CMR
 * octet. WAV's samples are L16's in the other byte order; the last frame is
 * filled up with silence. The header of a WAV file is written twice: its
 * lengths are known at the end.
 */
#include "convert/audio.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "codecs/registry.h"
#include "speech/wav.h"

enum { SID_BYTES = 5 }; /* 39 and 40 bits */

static const struct {
	const char *name, *magic;
	const struct cr_codec *codec;
	enum payload_kind payload;
} kinds[] = {
	[AUDIO_WAV] = { "wav", "RIFF", &codec_l16, PAYLOAD_L16 },
	[AUDIO_AMR] = { "amr", "#!AMR\n", &codec_amr, PAYLOAD_AMR },
	[AUDIO_AWB] = { "awb", "#!AMR-WB\n", &codec_amr_wb, PAYLOAD_AMR_WB },
};

int audio_kind_of(const char *name, enum audio_kind *kind, struct cr_err *e)
{
	const char *dot = strrchr(name, '.');

	for (unsigned k = AUDIO_WAV; dot && k <= AUDIO_AWB; k++)
		if (!strcmp(dot + 1, kinds[k].name)) {
			*kind = (enum audio_kind)k;
			return 0;
		}
	return cr_fail(e, -EINVAL,
		       "'%s': must end in .wav, .amr or .awb, which says "
		       "what it is",
		       name);
}

const char *audio_kind_name(enum audio_kind kind)
{
	return kinds[kind].name;
}

const struct cr_codec *audio_codec(enum audio_kind kind)
{
	return kinds[kind].codec;
}

void audio_side(struct codec_use *side, const struct audio *a, unsigned mode)
{
	*side = (struct codec_use){
		.codec = kinds[a->kind].codec,
		.cfg = { .mode = mode, .sample_rate = a->rate },
		.amr.octet_align = true,
		.kind = kinds[a->kind].payload,
	};
	if (a->kind == AUDIO_WAV)
		side->cfg.samples = (unsigned)(a->rate * AUDIO_FRAME / CR_SEC);
}

const char *audio_magic(enum audio_kind kind)
{
	return kinds[kind].magic;
}

/** Check the magic line at @p[@n]: its length, or -EINVAL with @e. */
static int audio_magic_check(enum audio_kind kind, const uint8_t *p, size_t n,
			     struct cr_err *e)
{
	const char *magic = kinds[kind].magic;
	size_t bytes = strlen(magic);

	if (n >= bytes && !memcmp(p, magic, bytes))
		return (int)bytes;
	if ((n >= 8 && !memcmp(p, "#!AMR_MC", 8)) ||
	    (n >= 11 && !memcmp(p, "#!AMR-WB_MC", 11)))
		return cr_fail(e, -EINVAL,
			       "several channels; only mono is "
			       "read");
	if (kind == AUDIO_AMR && n >= 9 && !memcmp(p, "#!AMR-WB\n", 9))
		return cr_fail(e, -EINVAL,
			       "is AMR-WB: its name should end in .awb");
	if (kind == AUDIO_AWB && n >= 6 && !memcmp(p, "#!AMR\n", 6))
		return cr_fail(e, -EINVAL,
			       "is AMR narrow-band: its name should end in "
			       ".amr");
	return cr_fail(e, -EINVAL,
		       "does not begin with \"%.*s\" and a new "
		       "line: not an %s file",
		       (int)bytes - 1, magic, kinds[kind].codec->rtp_name);
}

/** Octets of the stored frame with ToC octet @toc, itself included; -EINVAL:
 * no frame type of @kind. */
static int audio_stored_bytes(enum audio_kind kind, uint8_t toc)
{
	const struct cr_codec *c = kinds[kind].codec;
	unsigned type = toc >> 3 & 15;

	if (type < c->nmodes)
		return 1 + c->modes[type].bytes;
	if (type == c->nmodes)
		return 1 + SID_BYTES;
	if (type == PAYLOAD_FT_NO_DATA ||
	    (type == PAYLOAD_FT_LOST && kind == AUDIO_AWB))
		return 1;
	return -EINVAL;
}

#define NO_CMR ((uint8_t)(PAYLOAD_NO_CMR << 4))
#define TOC_BITS 0x7cu /* frame type and quality; the others are padding */

/* Bring @need bytes at r->at into the buffer. Returns how many are there; less
 * only at the file's end; or -errno with @e. What the file has grown by since
 * it was opened is not there: headers were checked against its size then. */
static ssize_t fetch_bytes(struct reader *r, size_t need, struct cr_err *e)
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

static void read_bytes(struct reader *r, size_t bytes)
{
	r->first += bytes;
	r->have -= bytes;
	r->at += bytes;
}

static int open_wav(struct reader *r, struct cr_err *e)
{
	struct wav_info info;
	ssize_t have = fetch_bytes(r, sizeof(r->buf), e);
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
	read_bytes(r, info.offset);
	return 0;
}

static int open_stored(struct reader *r, struct cr_err *e)
{
	ssize_t have = fetch_bytes(r, 16, e);
	int magic = have < 0 ? (int)have
			     : audio_magic_check(r->audio.kind, r->buf,
						 (size_t)have, e);

	if (magic < 0)
		return magic;
	r->audio.rate = audio_codec(r->audio.kind)->sample_rate;
	r->end = r->size;
	read_bytes(r, (size_t)magic);
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
	ssize_t have = fetch_bytes(r, n, e);

	if (have < 0)
		return (int)have;
	if ((size_t)have < n)
		return cr_fail(e, -EIO, "became shorter while it was read");
	memset(payload, 0, frame);
	for (size_t i = 0; i + 1 < n; i += 2) {
		payload[i] = r->buf[r->first + i + 1];
		payload[i + 1] = r->buf[r->first + i];
	}
	read_bytes(r, n);
	return (int)frame;
}

static int next_stored(struct reader *r, uint8_t *payload, struct cr_err *e)
{
	ssize_t have = fetch_bytes(r, 1, e);
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
	have = fetch_bytes(r, (size_t)bytes, e);
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
	read_bytes(r, (size_t)bytes);
	return bytes + 1;
}

int reader_next(struct reader *r, uint8_t *payload, struct cr_err *e)
{
	if (r->at >= r->end)
		return 0;
	return r->audio.kind == AUDIO_WAV ? next_wav(r, payload, e)
					  : next_stored(r, payload, e);
}

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
