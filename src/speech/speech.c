/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loading recordings: which files are meant, and what is kept of them; and
 * endless speech from them.
 */
#include "speech/speech.h"

#include <errno.h>
#include <fts.h>
#include <glob.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/divisor.h"
#include "base/random.h"
#include "cr/error.h"
#include "resample/resample.h"
#include "speech/wav.h"
#ifdef CR_HAVE_AVCODEC
#include "codecs/lav.h"
#endif

struct find_file {
	char *path;
	bool named; /**< by itself, not found in a folder or by a pattern */
};

/** Files found so far. Zero is empty. */
struct find_list {
	struct find_file *files;
	size_t n, room;
};

/* Does @path end in @suffix (".wav"), in either case? Pure. */
static bool find_suffix(const char *path, const char *suffix)
{
	size_t n = strlen(path), m = strlen(suffix);

	return n > m && !strcasecmp(path + n - m, suffix);
}

static int add_file(struct find_list *list, const char *path, bool named,
		    struct cr_err *e)
{
	if (list->n == list->room) {
		size_t room = list->room ? 2 * list->room : 64;
		struct find_file *files =
			realloc(list->files, room * sizeof(*files));

		if (!files)
			return cr_fail(e, -ENOMEM, "speech: out of memory");
		list->files = files;
		list->room = room;
	}
	list->files[list->n].path = strdup(path);
	if (!list->files[list->n].path)
		return cr_fail(e, -ENOMEM, "speech: out of memory");
	list->files[list->n++].named = named;
	return 0;
}

/* The .wav and .g722 files at @path and in all folders below, also by symbolic
 * links, but for what is hidden. */
static int add_below(struct find_list *list, const char *path, struct cr_err *e)
{
	char *const roots[] = { (char *)(uintptr_t)path, NULL };
	FTS *tree = fts_open(roots, FTS_LOGICAL | FTS_NOCHDIR, NULL);
	int ret = tree ? 0
		       : cr_fail(e, -EIO, "speech: %s: %s", path,
				 strerror(errno));
	FTSENT *at;

	while (!ret && (errno = 0, at = fts_read(tree))) {
		if (at->fts_level && at->fts_name[0] == '.')
			(void)fts_set(tree, at, FTS_SKIP);
		else if (at->fts_info == FTS_DNR)
			ret = cr_fail(e, -EIO, "speech: %s: %s", at->fts_path,
				      strerror(at->fts_errno));
		else if (at->fts_info == FTS_F &&
			 (find_suffix(at->fts_path, ".wav") ||
			  find_suffix(at->fts_path, ".g722")))
			ret = add_file(list, at->fts_path, false, e);
	}
	if (!ret && errno)
		ret = cr_fail(e, -EIO, "speech: %s: %s", path, strerror(errno));
	if (tree)
		(void)fts_close(tree);
	return ret;
}

/*
 * Add what @pattern means: a file, a folder (its .wav and .g722 files and those
 * of all folders below), or a glob pattern of both. Returns 0; -ENOENT
 * (nothing there), -EIO, -ENOMEM with @e.
 */
static int find_add(struct find_list *list, const char *pattern,
		    struct cr_err *e)
{
	struct stat st;
	glob_t found;
	int ret;

	if (!stat(pattern, &st))
		return S_ISDIR(st.st_mode) ? add_below(list, pattern, e)
					   : add_file(list, pattern, true, e);
	ret = glob(pattern, 0, NULL, &found);
	if (ret == GLOB_NOMATCH)
		return cr_fail(e, -ENOENT,
			       "speech: %s: no such file, folder or match",
			       pattern);
	if (ret)
		return cr_fail(e, ret == GLOB_NOSPACE ? -ENOMEM : -EIO,
			       "speech: %s: cannot be searched", pattern);
	for (size_t i = 0; !ret && i < found.gl_pathc; i++)
		ret = add_below(list, found.gl_pathv[i], e);
	globfree(&found);
	return ret;
}

static int by_path(const void *a, const void *b)
{
	const struct find_file *x = a, *y = b;

	return strcmp(x->path, y->path);
}

/* Sort by path, octet by octet, and drop files found twice. */
static void find_sort(struct find_list *list)
{
	size_t kept = 0;

	if (list->n)
		qsort(list->files, list->n, sizeof(*list->files), by_path);
	for (size_t i = 0; i < list->n; i++) {
		struct find_file *f = &list->files[i];

		if (kept && !strcmp(list->files[kept - 1].path, f->path)) {
			list->files[kept - 1].named |= f->named;
			free(f->path);
		} else {
			list->files[kept++] = *f;
		}
	}
	list->n = kept;
}

/* --- loading --- */

#ifdef CR_HAVE_AVCODEC

static const unsigned g722_rate = 16000;
/* No recordings of this rate are installed: those of 16 kHz are converted. */
static const unsigned full_rate = 48000;
static const unsigned wide_rate = 16000;

enum {
	G722_PIECE = 8000, /* bytes at once: one second */
};

/* Raw G.722 (64 kbit/s, 16 kHz) in @data[@size] into @pcm[2 * @size]: 0, or
 * -errno with @e (libavcodec lacks G.722, no memory). Every octet sequence is
 * valid. */
static int decode_g722(const uint8_t *data, size_t size, int16_t *pcm,
		       struct cr_err *e)
{
	static const struct lav_spec spec = {
		.name = "g722",
		.sample_rate = 16000,
		.packet_max = G722_PIECE,
	};
	struct lav *lav = NULL;
	int ret = lav_decoder_open(&lav, &spec, e);

	while (!ret && size) {
		size_t part = size < G722_PIECE ? size : G722_PIECE;

		if (lav_decode(lav, data, part, pcm, 2 * part) !=
		    (int)(2 * part))
			ret = cr_fail(e, -EIO, "libavcodec failed on G.722");
		data += part;
		size -= part;
		pcm += 2 * part;
	}
	lav_close(lav);
	return ret;
}
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
	struct speech_clip *clips; /* owns path and pcm of each */
	size_t n;
};

/* A file's PCM before it is known whether it is kept. */
struct sound {
	unsigned rate;
	int16_t *pcm;
	size_t n;
};

static int read_recording(const char *path, uint8_t **data, size_t *size)
{
	FILE *f = fopen(path, "rb");
	struct stat st;
	int ret = 0;

	if (!f || fstat(fileno(f), &st))
		ret = -errno;
	else if (!S_ISREG(st.st_mode) || st.st_size > FILE_MAX)
		ret = -EFBIG;
	else if (!(*data = malloc((size_t)st.st_size + 1)))
		ret = -ENOMEM;
	if (!ret)
		*size = fread(*data, 1, (size_t)st.st_size, f);
	if (!ret && ferror(f))
		ret = -EIO;
	if (f)
		(void)fclose(f);
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
	return decode_g722(data, size, s->pcm, e);
#else
	(void)data;
	(void)size;
	(void)s;
	return cr_fail(e, -EINVAL, "built without libavcodec: no G.722");
#endif
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

/* The rate of the recordings that speech of @rate is made of. */
static unsigned recorded_rate(unsigned rate)
{
	return rate == full_rate ? wide_rate : rate;
}

/* From wide_rate to full_rate. */
static int widen_clip(struct sound *s, struct cr_err *e)
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
	struct speech_clip *clip = &corpus->clips[corpus->n];
	struct sound s = { 0 };
	struct cr_err why = { 0 };
	uint8_t *data = NULL;
	size_t size = 0;
	int ret;

	if (!file->named && find_suffix(file->path, ".g722") &&
	    recorded_rate(corpus->rate) != g722_rate)
		return 0;
	ret = read_recording(file->path, &data, &size);
	if (ret)
		(void)cr_fail(&why, ret, "%s", strerror(-ret));
	else
		ret = find_suffix(file->path, ".g722")
			      ? g722_sound(data, size, &s, &why)
			      : wav_sound(data, size, &s, &why);
	free(data);
	if (ret)
		(void)cr_fail(e, ret, "speech: %s: %s", file->path, why.text);
	if (!ret && s.rate == wide_rate && corpus->rate == full_rate)
		ret = widen_clip(&s, e);
	if (!ret && s.rate != corpus->rate && file->named)
		ret = cr_fail(e, -EINVAL, "speech: %s: %u Hz; %u Hz are needed",
			      file->path, s.rate, corpus->rate);
	if (ret || s.rate != corpus->rate || !worth_keeping(&s)) {
		free(s.pcm);
		return ret;
	}
	clip->path = strdup(file->path);
	clip->pcm = s.pcm;
	clip->n = s.n;
	corpus->n++;
	return clip->path ? 0 : cr_fail(e, -ENOMEM, "speech: out of memory");
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
	int ret = 0;

	if (rate != 8000 && rate != 16000 && rate != full_rate)
		return cr_fail(e, -EINVAL,
			       "speech: %u Hz; use 8000, 16000 or 48000", rate);
	c = calloc(1, sizeof(*c));
	if (!c)
		return cr_fail(e, -ENOMEM, "speech: out of memory");
	c->rate = rate;
	for (size_t i = 0;
	     !patterns && !ret && i < sizeof(defaults) / sizeof(*defaults);
	     i++) {
		if (defaults[i].rate == recorded_rate(rate))
			ret = find_add(&list, defaults[i].path, e);
		/* no error while another one is installed */
		ret = ret == -ENOENT ? 0 : ret;
	}
	for (size_t i = 0; patterns && !ret && patterns[i]; i++)
		ret = find_add(&list, patterns[i], e);
	find_sort(&list);
	c->clips = calloc(list.n + 1, sizeof(*c->clips));
	if (!ret && !c->clips)
		ret = cr_fail(e, -ENOMEM, "speech: out of memory");
	for (size_t i = 0; !ret && i < list.n; i++)
		ret = load_one(c, &list.files[i], e);
	if (!ret && !c->n)
		ret = nothing_found(rate, patterns, e);
	for (size_t i = 0; i < list.n; i++)
		free(list.files[i].path);
	free(list.files);
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

/*
 * Endless speech for one call. A call walks round the corpus in steps that
 * have no divisor in common with the number of clips: it meets every clip, in
 * an order that depends on the step, and needs no memory for it.
 */

static uint64_t mix_seed_of_reader(uint64_t x)
{
	return splitmix64(&x);
}

void speech_reader_init(struct speech_reader *r,
			const struct speech_corpus *corpus, uint64_t seed,
			uint64_t call)
{
	size_t count = speech_count(corpus);
	uint64_t random = mix_seed_of_reader(mix_seed_of_reader(seed) + call);

	r->corpus = corpus;
	r->clip = random % count;
	random = mix_seed_of_reader(random);
	r->step = 1 + random % count;
	while (common_divisor(r->step, count) != 1)
		r->step++;
	random = mix_seed_of_reader(random);
	r->pos = random % speech_clip(corpus, r->clip)->n;
}

void speech_read(struct speech_reader *r, int16_t *pcm, size_t n)
{
	while (n) {
		const struct speech_clip *clip =
			speech_clip(r->corpus, r->clip);
		size_t part = clip->n - r->pos;

		if (part > n)
			part = n;
		memcpy(pcm, clip->pcm + r->pos, part * sizeof(*pcm));
		pcm += part;
		n -= part;
		r->pos += part;
		if (r->pos < clip->n)
			continue;
		r->pos = 0;
		r->clip = (r->clip + r->step) % speech_count(r->corpus);
	}
}

/*
 * Talkers, block by block of 10 ms. Whole numbers only: the same samples on
 * every machine.
 */

#define BLOCK_NS (10 * CR_MS)
/* Blocks below this RMS (-50 dB of full scale) are quiet. */
#define QUIET 100u
/* So much of a recording's silence stays: what stops and syllables need. */
#define QUIET_BLOCKS 6u

/* Nearly normal: the sum of four even numbers, of an RMS of 37837. */
static int32_t draw_noise(struct speech_talker *t)
{
	uint64_t x = splitmix64(&t->room);
	int64_t sum = -2 * (int64_t)UINT16_MAX;

	for (unsigned i = 0; i < 4; i++, x >>= 16)
		sum += (int64_t)(x & UINT16_MAX);
	return (int32_t)(sum * t->rms / (37837 * 256));
}

static void begin_spurt_turn(struct speech_talker *t)
{
	const struct field_range *s =
		t->talking ? &t->turns->pause : &t->turns->spurt;
	uint64_t least = (uint64_t)(s->least / BLOCK_NS);
	uint64_t more = (uint64_t)(s->most / BLOCK_NS) - least;

	t->talking = !t->talking;
	t->left = least + splitmix64(&t->random) % (more + 1);
	if (!t->left)
		t->left = 1;
	t->first = true;
}

static bool is_quiet_block(const struct speech_talker *t)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < t->size; i++)
		sum += (uint64_t)((int32_t)t->block[i] * t->block[i]);
	return sum < (uint64_t)t->size * QUIET * QUIET;
}

/* Words that begin or end in the middle of a sound would click. */
static void fade_block(struct speech_talker *t, bool in)
{
	for (unsigned i = 0; i < t->size; i++) {
		int32_t share = (int32_t)(in ? i : t->size - 1 - i);

		t->block[i] = (int16_t)(t->block[i] * share / (int32_t)t->size);
	}
}

static void fill_block(struct speech_talker *t)
{
	if (!t->left)
		begin_spurt_turn(t);
	t->left--;
	if (t->talking) {
		/* A corpus has no clips without a loud block, so this comes to
		 * an end. */
		do {
			speech_read(&t->reader, t->block, t->size);
			t->quiet = is_quiet_block(t) ? t->quiet + 1 : 0;
		} while (t->quiet > QUIET_BLOCKS);
	} else {
		memset(t->block, 0, sizeof(t->block));
	}
	if (t->first)
		fade_block(t, true);
	if (!t->left)
		fade_block(t, false);
	for (unsigned i = 0; i < t->size; i++) {
		int32_t sum = t->block[i] + draw_noise(t);

		t->block[i] = (int16_t)(sum > INT16_MAX	  ? INT16_MAX
					: sum < INT16_MIN ? INT16_MIN
							  : sum);
	}
	t->first = false;
	t->pos = 0;
}

void speech_talker_init(struct speech_talker *t,
			const struct talk_spurts *turns,
			const struct speech_corpus *corpus, uint64_t seed,
			uint64_t call)
{
	uint64_t spurts = (uint64_t)(turns->spurt.least + turns->spurt.most);
	uint64_t pauses = (uint64_t)(turns->pause.least + turns->pause.most);
	uint64_t random = seed;

	*t = (struct speech_talker){ .turns = turns };
	speech_reader_init(&t->reader, corpus, seed, call);
	random = splitmix64(&random) + call;
	t->random = splitmix64(&random);
	t->room = splitmix64(&random);
	t->rms = 32768 << 8; /* 0 dBov: a square wave of full scale */
	for (unsigned i = 0; i < turns->noise; i++) /* 1 dB less */
		t->rms = (unsigned)((uint64_t)t->rms * 58409 >> 16);
	t->size = t->pos = speech_rate(corpus) / 100;
	/* so that in the mean as many talk as later on */
	t->talking = splitmix64(&t->random) % (spurts + pauses) >= spurts;
	begin_spurt_turn(t);
	t->left = 1 + splitmix64(&t->random) % t->left;
}

void speech_talker_read(struct speech_talker *t, int16_t *pcm, size_t n)
{
	while (n) {
		size_t part = t->size - t->pos;

		if (!part) {
			fill_block(t);
			continue;
		}
		if (part > n)
			part = n;
		memcpy(pcm, t->block + t->pos, part * sizeof(*pcm));
		t->pos += (unsigned)part;
		pcm += part;
		n -= part;
	}
}
