/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ACELP_4t64_fx: the algebraic codebook of the modes from 8.85 kbit/s on, 4 to
 * 24 pulses in 4 tracks of 16 positions.
 *
 * A reference dn2 mixes the target dn (seen through the impulse response) with
 * the residual cn, each brought to a common energy. Its signs become those of
 * the pulses, its order those of the positions to try. Up to four times, from
 * another track each time, pulses are put at the greatest references and the
 * others searched for in pairs (acelp_search.c); the best of these choices is
 * coded.
 *
 * Whatever the parts cannot do exactly (values that no speech leads to) is
 * left to the library, whole: nothing of the caller's has been written by then.
 */
#include "codecs/kernels/amrwb.h"
#include "codecs/kernels/amrwb/acelp.h"
#include "codecs/kernels/amrwb/basic_ops.h"

enum {
	MOST_SEARCHES = 4,
	MOST_PAIRS = 10,
	PULSES_OF_TRACK = 6, /* at most */
	LOUD = 1024,	     /* responses above are halved from 12 pulses on */
	FULL_RATE = 463,     /* least bits of a frame at 23.05 kbit/s or more */
};

/* The caller's input and output. */
struct codebook {
	int16_t *dn, *cn, *h;
	int16_t *code, *y, *index;
};

struct mode {
	int16_t bits;
	int16_t mix;	  /* weight of dn in the reference */
	uint8_t pulses;	  /* of which */
	uint8_t at_once;  /* are put without a search */
	uint8_t searches; /* one more in the lower of the two 88-bit modes */
	uint8_t width[MOST_PAIRS]; /* of each pair */
};

static const struct mode modes[] = {
	{ 20, 8192, 4, 0, 4, { 4, 8 } },
	{ 36, 4096, 8, 2, 4, { 4, 8, 8 } },
	{ 44, 4096, 10, 2, 4, { 4, 6, 8, 8 } },
	{ 52, 4096, 12, 4, 4, { 4, 6, 8, 8 } },
	{ 64, 3277, 16, 4, 3, { 4, 4, 6, 6, 8, 8 } },
	{ 72, 3072, 18, 4, 3, { 2, 3, 4, 5, 6, 7, 8 } },
	{ 88, 2048, 24, 4, 1, { 2, 2, 3, 4, 5, 6, 7, 8, 8, 8 } },
};

static const struct mode *find_mode(int16_t bits)
{
	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++)
		if (modes[i].bits == bits)
			return &modes[i];
	return NULL;
}

/* 2 * the sum of v[i]^2, wrapped. */
AVX2 static int32_t energy_4t64(const int16_t v[])
{
	return shift_left(dot_product(v, v, ACELP_POSITIONS), 1);
}

/* The track of pulse @i in search @n: they go round, one further each time
 * round and each search. The last two of 44 and of 72 bits start again. */
static unsigned track_of(const struct mode *m, unsigned n, unsigned i)
{
	if (i >= 8 && (m->bits == 44 || (m->bits == 72 && i >= 16)))
		return i % ACELP_TRACKS;
	return (i + i / ACELP_TRACKS + n) % ACELP_TRACKS;
}

/* The position of a track's greatest reference. */
static int first_of_track(const struct acelp_tables *t, unsigned track)
{
	int n = 0;

	while (t->rank[track][n])
		n++;
	return ACELP_TRACKS * n + (int)track;
}

/* Energy of the first pulses: two from the tables, four from their responses,
 * with room for those that come. */
static int16_t first_energy(const struct acelp_tables *t,
			    const struct acelp_path *p, int count)
{
	int x = p->pulse[0], y = p->pulse[1];
	int32_t s;

	if (count == 0)
		return 0;
	if (count == 4)
		return (int16_t)(add_wrapped(energy_4t64(p->sum) >> 3,
					     0x8000) >>
				 16);
	s = (t->energy[x % 4][x / 4] + t->energy[y % 4][y / 4]) * (1 << 13);
	s = add_wrapped(s, t->cross[x % 4][x / 4][y / 4] * (1 << 14));
	return (int16_t)(add_wrapped(s, 0x8000) >> 16);
}

static void start_path(const struct acelp_tables *t, const struct mode *m,
		       struct acelp_path *p, unsigned n)
{
	memset(p, 0, sizeof(*p));
	for (unsigned i = 0; i < m->at_once; i++) {
		int at = first_of_track(t, track_of(m, n, i));

		p->pulse[i] = (int16_t)at;
		p->correlation =
			(int16_t)(p->correlation + t->dn[at % 4][at / 4]);
		acelp_add_response(t, p, at);
	}
	p->energy = first_energy(t, p, m->at_once);
}

/* All choices, pair by pair: they do not wait for one another, so that the
 * CPU can work at several. */
static bool search_all(const struct acelp_tables *t, const struct mode *m,
		       struct acelp_path paths[], unsigned searches)
{
	for (unsigned n = 0; n < searches; n++)
		start_path(t, m, &paths[n], n);
	for (unsigned i = m->at_once; i < m->pulses; i += 2)
		for (unsigned n = 0; n < searches; n++) {
			struct acelp_pair pair = {
				.track = track_of(m, n, i),
				.width = m->width[(i - m->at_once) / 2],
				.at = i,
			};

			if (!acelp_search(t, &paths[n], pair))
				return false;
		}
	return true;
}

/* The first with the greatest correlation^2 / energy. The search has seen to
 * it that the products fit. */
static const struct acelp_path *best_path(const struct acelp_path paths[],
					  unsigned searches)
{
	const struct acelp_path *best = NULL;
	int32_t q = -1, e = 1;

	for (unsigned n = 0; n < searches; n++) {
		const struct acelp_path *p = &paths[n];
		int32_t its_q = p->correlation * p->correlation >> 15;

		if (its_q * e > q * p->energy) {
			best = p;
			q = its_q;
			e = p->energy;
		}
	}
	return best;
}

/* A pulse in numbers 0-15, a negative one in 16-31, track by track in order of
 * choice; -1 ends a track that is not full. */
static void sort_pulses(const struct acelp_tables *t, const struct mode *m,
			const struct acelp_path *p, int16_t sorted[])
{
	unsigned count[ACELP_TRACKS] = { 0 };

	for (int i = 0; i < ACELP_TRACKS * PULSES_OF_TRACK; i++)
		sorted[i] = -1;
	for (unsigned i = 0; i < m->pulses; i++) {
		int track = p->pulse[i] % ACELP_TRACKS;
		int number = p->pulse[i] / ACELP_TRACKS;
		int negative = t->sign[track][number] < 0 ? ACELP_NUMBERS : 0;

		sorted[track * PULSES_OF_TRACK + (int)count[track]++] =
			(int16_t)(number + negative);
	}
}

/* The pulses as they will be decoded, 1 is 512 (256 with a halved response),
 * and filtered. */
AVX2 static void write_code(const struct acelp_tables *t, const struct mode *m,
			    const struct acelp_path *p,
			    const struct codebook *c, int shift)
{
	int16_t one = (int16_t)(512 >> shift);

	memset(c->code, 0, ACELP_POSITIONS * sizeof(*c->code));
	for (unsigned i = 0; i < m->pulses; i++) {
		int at = p->pulse[i];
		bool negative = t->sign[at % 4][at / 4] < 0;

		c->code[at] = (int16_t)(c->code[at] + (negative ? -one : one));
	}
	for (int i = 0; i < ACELP_POSITIONS; i += 16) /* (sum + 4) >> 3 */
		store256(c->y + i,
			 _mm256_mulhrs_epi16(load256(p->sum + i),
					     _mm256_set1_epi16(1 << 12)));
}

/* Indices of four and more pulses are split: @low bits, and what is above. */
static void write_split(int16_t index[], unsigned track, int32_t v, int low)
{
	int32_t mask = low == 14 ? 3 : (1 << low) - 1;

	index[track] = (int16_t)(v >> low & mask);
	index[track + ACELP_TRACKS] = (int16_t)(v & ((1 << low) - 1));
}

static void write_track(const struct mode *m, int16_t index[], unsigned track,
			int16_t *s)
{
	switch (m->bits) {
	case 20:
		index[track] = (int16_t)quant_1p_N1(s[0], 4);
		break;
	case 36:
		index[track] = (int16_t)quant_2p_2N1(s[0], s[1], 4);
		break;
	case 44:
		index[track] =
			(int16_t)(track < 2 ? quant_3p_3N1(s[0], s[1], s[2], 4)
					    : quant_2p_2N1(s[0], s[1], 4));
		break;
	case 52:
		index[track] = (int16_t)quant_3p_3N1(s[0], s[1], s[2], 4);
		break;
	case 64:
		write_split(index, track, quant_4p_4N(s, 4), 14);
		break;
	case 72:
		if (track < 2)
			write_split(index, track, quant_5p_5N(s, 4), 10);
		else
			write_split(index, track, quant_4p_4N(s, 4), 14);
		break;
	default:
		write_split(index, track, quant_6p_6N_2(s, 4), 11);
	}
}

/* False, and nothing written, when the library has to do it. */
AVX2 static bool acelp_4t64_avx2(const struct codebook *c, const struct mode *m,
				 int16_t frame_bits)
{
	unsigned searches = m->searches;
	struct acelp_path paths[MOST_SEARCHES];
	const struct acelp_path *best;
	struct acelp_tables t;
	int16_t dn[ACELP_POSITIONS], dn2[ACELP_POSITIONS];
	int16_t sorted[ACELP_TRACKS * PULSES_OF_TRACK];
	int shift =
		m->pulses >= 12 && (int16_t)(energy_4t64(c->h) >> 16) > LOUD;

	if (m->bits == 88 && frame_bits < FULL_RATE)
		searches++;
	memcpy(dn, c->dn, sizeof(dn));
	acelp_reference(c->cn, dn, m->mix, INT16_MAX, dn2);
	if (!acelp_set_signs(&t, dn, dn2))
		return false;
	acelp_set_response(&t, c->h, shift);
	if (!search_all(&t, m, paths, searches))
		return false;
	best = best_path(paths, searches);
	if (!best)
		return false;
	sort_pulses(&t, m, best, sorted);
	memcpy(c->dn, dn, sizeof(dn));
	write_code(&t, m, best, c, shift);
	for (unsigned i = 0; i < ACELP_TRACKS; i++)
		write_track(m, c->index, i, sorted + PULSES_OF_TRACK * i);
	return true;
}

void ACELP_4t64_fx(int16_t dn[], int16_t cn[], int16_t h[], int16_t code[],
		   int16_t y[], int16_t bits, int16_t frame_bits,
		   int16_t index[])
{
	const struct codebook c = { dn, cn, h, code, y, index };
	const struct mode *m = find_mode(bits);

	if (!cr_kernels_fast || !m || !acelp_4t64_avx2(&c, m, frame_bits))
		stock_ACELP_4t64_fx(dn, cn, h, code, y, bits, frame_bits,
				    index);
}
