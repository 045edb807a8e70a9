/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loading recordings.
 */
#include "speech/speech.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "resample/resample.h"
#include "speech/find.h"
#include "speech/wav.h"

#ifdef CR_HAVE_AVCODEC
#include "speech/g722.h"
static const unsigned g722_rate = 16000;
/* No recordings of this rate are installed: those of 16 kHz are converted. */
static const unsigned full_rate = 48000;
static const unsigned wide_rate = 16000;
#else
static const unsigned g722_rate = 0; /* none can be read */
#endif

enum {
	/* Clips below this mean magnitude (-50 dB of full scale) are silent. */
	SILENT_MEAN = 100,
	FILE_MAX = 1 << 28, /* bytes; more is not a clip */
};

/* The recordings that Debian packages install. */
struct source {
	unsigned rate;
	const char *path, *package;
};

static const struct source defaults[] = {
	{ 8000, "/usr/share/asterisk/sounds/en_US_f_Allison",
	  "asterisk-core-sounds-en-wav" },
#ifdef CR_HAVE_AVCODEC
	{ 16000, "/usr/share/asterisk/sounds/en_US_f_Allison",
	  "asterisk-core-sounds-en-g722" },
#endif
	{ 16000, "/usr/share/pocketsphinx/test/data", "pocketsphinx-testdata" },
};

struct speech_corpus {
	unsigned rate;
	uint64_t samples;
	struct speech_clip *clips; /* owns path and pcm of each */
	size_t n;
};

/* A file's PCM before it is known whether it is kept. */
struct sound {
	unsigned rate;
	int16_t *pcm;
	size_t n;
};

static int read_open_file(FILE *f, uint8_t **data, size_t *size)
{
	struct stat st;

	if (fstat(fileno(f), &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_size > FILE_MAX)
		return -EFBIG;
	*data = malloc((size_t)st.st_size + 1);
	if (!*data)
		return -ENOMEM;
	*size = fread(*data, 1, (size_t)st.st_size, f);
	return ferror(f) ? -EIO : 0;
}

static int read_file(const char *path, uint8_t **data, size_t *size,
		     struct cr_err *e)
{
	FILE *f = fopen(path, "rb");
	int ret = f ? read_open_file(f, data, size) : -errno;

	if (f)
		(void)fclose(f);
	if (ret)
		(void)cr_fail(e, ret, "speech: %s: %s", path, strerror(-ret));
	return ret;
}

static int wav_sound(const uint8_t *data, size_t size, struct sound *s,
		     struct cr_err *e)
{
	struct wav_info info;
	int ret = wav_parse(data, size, &info, e);

	if (ret)
		return ret;
	s->pcm = malloc((info.samples + 1) * sizeof(*s->pcm));
	if (!s->pcm)
		return cr_fail(e, -ENOMEM, "out of memory");
	wav_copy(data + info.offset, info.samples, s->pcm);
	s->rate = info.sample_rate;
	s->n = info.samples;
	return 0;
}

static int g722_sound(const uint8_t *data, size_t size, struct sound *s,
		      struct cr_err *e)
{
#ifdef CR_HAVE_AVCODEC
	s->pcm = malloc((2 * size + 1) * sizeof(*s->pcm));
	if (!s->pcm)
		return cr_fail(e, -ENOMEM, "out of memory");
	s->rate = g722_rate;
	s->n = 2 * size;
	return speech_g722_decode(data, size, s->pcm, e);
#else
	(void)data;
	(void)size;
	(void)s;
	return cr_fail(e, -EINVAL, "built without libavcodec: no G.722");
#endif
}

/* On failure s->pcm may be set all the same; the caller frees it. */
static int load(const char *path, struct sound *s, struct cr_err *e)
{
	struct cr_err why = { 0 };
	uint8_t *data = NULL;
	size_t size = 0;
	int ret = read_file(path, &data, &size, e);

	if (!ret) {
		ret = find_suffix(path, ".g722")
			      ? g722_sound(data, size, s, &why)
			      : wav_sound(data, size, s, &why);
		if (ret)
			(void)cr_fail(e, ret, "speech: %s: %s", path, why.text);
	}
	free(data);
	return ret;
}

static bool worth_keeping(const struct sound *s)
{
	uint64_t sum = 0;

	if (s->n < s->rate / 2)
		return false;
	for (size_t i = 0; i < s->n; i++)
		sum += (uint64_t)abs(s->pcm[i]);
	return sum / s->n >= SILENT_MEAN;
}

/* Take @s over. */
static int keep(struct speech_corpus *corpus, const char *path, struct sound *s,
		struct cr_err *e)
{
	struct speech_clip *clip = &corpus->clips[corpus->n];

	clip->path = strdup(path);
	if (!clip->path)
		return cr_fail(e, -ENOMEM, "speech: out of memory");
	clip->pcm = s->pcm;
	clip->n = s->n;
	s->pcm = NULL;
	corpus->n++;
	corpus->samples += clip->n;
	return 0;
}

/* The rate of the recordings that speech of @rate is made of. */
static unsigned recorded_rate(unsigned rate)
{
	return rate == full_rate ? wide_rate : rate;
}

/* From wide_rate to full_rate. */
static int widen(struct sound *s, struct cr_err *e)
{
	size_t n = s->n * (full_rate / wide_rate);
	int16_t *pcm = malloc((n + 1) * sizeof(*pcm));
	struct resample *r = NULL;
	int ret = pcm ? 0 : cr_fail(e, -ENOMEM, "speech: out of memory");

	if (!ret)
		ret = resample_open(&r, wide_rate, full_rate, e);
	if (ret) {
		free(pcm);
		return ret;
	}
	(void)resample_run(r, s->pcm, (unsigned)s->n, pcm, (unsigned)n);
	resample_close(r);
	free(s->pcm);
	*s = (struct sound){ .pcm = pcm, .n = n, .rate = full_rate };
	return 0;
}

static int load_one(struct speech_corpus *corpus, const struct find_file *file,
		    struct cr_err *e)
{
	struct sound s = { 0 };
	int ret;

	if (!file->named && find_suffix(file->path, ".g722") &&
	    recorded_rate(corpus->rate) != g722_rate)
		return 0;
	ret = load(file->path, &s, e);
	if (!ret && s.rate == wide_rate && corpus->rate == full_rate)
		ret = widen(&s, e);
	if (!ret && s.rate != corpus->rate && file->named)
		ret = cr_fail(e, -EINVAL, "speech: %s: %u Hz; %u Hz are needed",
			      file->path, s.rate, corpus->rate);
	if (!ret && s.rate == corpus->rate && worth_keeping(&s))
		ret = keep(corpus, file->path, &s, e);
	free(s.pcm);
	return ret;
}

static int load_all(struct speech_corpus *corpus, const struct find_list *list,
		    struct cr_err *e)
{
	int ret = 0;

	corpus->clips = calloc(list->n + 1, sizeof(*corpus->clips));
	if (!corpus->clips)
		return cr_fail(e, -ENOMEM, "speech: out of memory");
	for (size_t i = 0; !ret && i < list->n; i++)
		ret = load_one(corpus, &list->files[i], e);
	return ret;
}

static int find_named(struct find_list *list, const char *const *patterns,
		      struct cr_err *e)
{
	int ret = 0;

	for (; !ret && *patterns; patterns++)
		ret = find_add(list, *patterns, e);
	return ret;
}

/* A default that is not installed is no error while another one is. */
static int find_defaults(struct find_list *list, unsigned rate,
			 struct cr_err *e)
{
	int ret = 0;

	for (size_t i = 0; i < sizeof(defaults) / sizeof(*defaults); i++) {
		if (defaults[i].rate != recorded_rate(rate))
			continue;
		ret = find_add(list, defaults[i].path, e);
		if (ret && ret != -ENOENT)
			return ret;
	}
	return 0;
}

static int nothing_found(unsigned rate, const char *const *patterns,
			 struct cr_err *e)
{
	char packages[256] = "";
	size_t len = 0;

	if (patterns)
		return cr_fail(e, -ENOENT,
			       "speech: %s%s: no clip of %u Hz, 0.5 s or more "
			       "and not silent",
			       patterns[0] ? patterns[0] : "(nothing named)",
			       patterns[0] && patterns[1] ? ", ..." : "", rate);
	for (size_t i = 0; i < sizeof(defaults) / sizeof(*defaults); i++) {
		if (defaults[i].rate != recorded_rate(rate) ||
		    len >= sizeof(packages))
			continue;
		len += (size_t)snprintf(packages + len, sizeof(packages) - len,
					"%s%s", len ? " or " : "",
					defaults[i].package);
	}
	return cr_fail(e, -ENOENT,
		       "speech: no recordings at %u Hz are installed; install "
		       "the Debian package %s, or name files",
		       rate, packages);
}

int speech_open(struct speech_corpus **corpus, unsigned rate,
		const char *const *patterns, struct cr_err *e)
{
	struct find_list list = { 0 };
	struct speech_corpus *c;
	int ret;

	if (rate != 8000 && rate != 16000 && rate != full_rate)
		return cr_fail(e, -EINVAL,
			       "speech: %u Hz; use 8000, 16000 or 48000", rate);
	c = calloc(1, sizeof(*c));
	if (!c)
		return cr_fail(e, -ENOMEM, "speech: out of memory");
	c->rate = rate;
	ret = patterns ? find_named(&list, patterns, e)
		       : find_defaults(&list, rate, e);
	find_sort(&list);
	if (!ret)
		ret = load_all(c, &list, e);
	if (!ret && !c->n)
		ret = nothing_found(rate, patterns, e);
	find_fini(&list);
	if (ret) {
		speech_close(c);
		return ret;
	}
	*corpus = c;
	return 0;
}

void speech_close(struct speech_corpus *corpus)
{
	if (!corpus)
		return;
	for (size_t i = 0; i < corpus->n; i++) {
		free((void *)(uintptr_t)corpus->clips[i].path);
		free((void *)(uintptr_t)corpus->clips[i].pcm);
	}
	free(corpus->clips);
	free(corpus);
}

size_t speech_count(const struct speech_corpus *corpus)
{
	return corpus->n;
}

const struct speech_clip *speech_clip(const struct speech_corpus *corpus,
				      size_t i)
{
	return &corpus->clips[i];
}

unsigned speech_rate(const struct speech_corpus *corpus)
{
	return corpus->rate;
}

uint64_t speech_samples(const struct speech_corpus *corpus)
{
	return corpus->samples;
}
