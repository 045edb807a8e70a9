/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading WAV files, and the header to write one. The image comes from
 * anywhere: no length in it is believed.
 */
#include "speech/wav.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

enum {
	RIFF_HEADER = 12, /* "RIFF", size, "WAVE" */
	CHUNK_HEADER = 8, /* tag, size            */
	FMT_BYTES = 16,	  /* of the PCM form      */
	FORMAT_PCM = 1,
	FORMAT_EXTENSIBLE = 0xfffe,
};

struct chunk {
	const uint8_t *tag;
	size_t offset; /* of the content            */
	uint64_t size; /* as claimed                */
	uint64_t room; /* from offset to file's end */
};

/* A file of which only the beginning is at hand. */
struct image {
	const uint8_t *data;
	size_t have;
	uint64_t size;
};

static unsigned get16(const uint8_t *p)
{
	return (unsigned)p[0] | (unsigned)p[1] << 8;
}

static uint32_t get32(const uint8_t *p)
{
	return (uint32_t)get16(p) | (uint32_t)get16(p + 2) << 16;
}

/* The chunk at *@at; moves *@at behind it. False: no room for a header. */
static bool next_chunk(const struct image *im, uint64_t *at, struct chunk *c)
{
	if (*at > im->have || im->have - *at < CHUNK_HEADER)
		return false;
	c->tag = im->data + *at;
	c->size = get32(c->tag + 4);
	c->offset = (size_t)*at + CHUNK_HEADER;
	c->room = im->size - c->offset;
	/* Chunks are padded to even lengths. */
	*at = c->size >= c->room ? im->size
				 : c->offset + c->size + (c->size & 1);
	return true;
}

static int check_format(const uint8_t *fmt, unsigned *rate, struct cr_err *e)
{
	unsigned format = get16(fmt), channels = get16(fmt + 2);
	unsigned bits = get16(fmt + 14);
	uint32_t hz = get32(fmt + 4);

	if (format != FORMAT_PCM && format != FORMAT_EXTENSIBLE)
		return cr_fail(e, -EINVAL,
			       "WAV format %u; only PCM (1) is read", format);
	if (channels != 1)
		return cr_fail(e, -EINVAL, "%u channels; only mono is read",
			       channels);
	if (bits != 16)
		return cr_fail(e, -EINVAL,
			       "%u bits per sample; only 16 are read", bits);
	if (hz < 1000 || hz > 384000)
		return cr_fail(e, -EINVAL, "impossible sample rate %lu Hz",
			       (unsigned long)hz);
	*rate = hz;
	return 0;
}

int wav_parse_head(const uint8_t *data, size_t have, uint64_t size,
		   struct wav_info *info, struct cr_err *e)
{
	const struct image im = { data, have, size };
	struct wav_info found = { 0 };
	uint64_t at = RIFF_HEADER;
	struct chunk c;
	bool streamed;
	int ret;

	if (have < RIFF_HEADER || memcmp(data, "RIFF", 4) != 0 ||
	    memcmp(data + 8, "WAVE", 4) != 0)
		return cr_fail(e, -EINVAL, "not a RIFF/WAVE file");
	while (next_chunk(&im, &at, &c)) {
		if (!memcmp(c.tag, "fmt ", 4)) {
			if (c.size < FMT_BYTES || c.room < FMT_BYTES ||
			    have - c.offset < FMT_BYTES)
				return cr_fail(e, -EINVAL,
					       "fmt chunk too short");
			ret = check_format(data + c.offset, &found.sample_rate,
					   e);
			if (ret)
				return ret;
		} else if (!memcmp(c.tag, "data", 4)) {
			if (!found.sample_rate)
				return cr_fail(e, -EINVAL,
					       "data before the fmt chunk");
			streamed = c.size == 0 || c.size == UINT32_MAX;
			if (!streamed && c.size > c.room)
				return cr_fail(
					e, -EINVAL,
					"cut off: the data chunk claims %llu "
					"bytes, %llu are there",
					(unsigned long long)c.size,
					(unsigned long long)c.room);
			found.offset = c.offset;
			found.samples =
				(size_t)((streamed ? c.room : c.size) / 2);
			*info = found;
			return 0;
		}
	}
	return cr_fail(e, -EINVAL, "no data chunk%s",
		       have < size ? " near the beginning" : "");
}

int wav_parse(const uint8_t *data, size_t size, struct wav_info *info,
	      struct cr_err *e)
{
	return wav_parse_head(data, size, size, info, e);
}

static void put_le(uint8_t *p, uint32_t value, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		p[i] = (uint8_t)(value >> (8 * i));
}

void wav_header(uint8_t h[WAV_HEADER_BYTES], unsigned rate, uint64_t samples)
{
	uint32_t bytes = (uint32_t)(samples * 2);

	/* No string: NOLINTNEXTLINE(bugprone-not-null-terminated-result) */
	memcpy(h, "RIFF....WAVEfmt ", 16);
	put_le(h + 4, bytes + WAV_HEADER_BYTES - 8, 4);
	put_le(h + 16, FMT_BYTES, 4);
	put_le(h + 20, FORMAT_PCM, 2);
	put_le(h + 22, 1, 2); /* mono */
	put_le(h + 24, rate, 4);
	put_le(h + 28, rate * 2, 4);
	put_le(h + 32, 2, 2);
	put_le(h + 34, 16, 2);
	/* No string: NOLINTNEXTLINE(bugprone-not-null-terminated-result) */
	memcpy(h + 36, "data", 4);
	put_le(h + 40, bytes, 4);
}

void wav_copy(const uint8_t *bytes, size_t n, int16_t *pcm)
{
	for (size_t i = 0; i < n; i++)
		pcm[i] = (int16_t)(uint16_t)get16(bytes + 2 * i);
}

void wav_put(FILE *f, const int16_t *pcm, size_t n)
{
	uint8_t bytes[512];
	size_t filled = 0;

	for (size_t i = 0; i < n; i++, filled += 2) {
		if (filled == sizeof(bytes)) {
			(void)fwrite(bytes, filled, 1, f);
			filled = 0;
		}
		put_le(bytes + filled, (uint16_t)pcm[i], 2);
	}
	(void)fwrite(bytes, filled, 1, f);
}
