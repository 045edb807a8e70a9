/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Q_plsf_3: the quantiser of the line spectral frequencies of a frame, of all
 * modes but 12.2 kbit/s.
 *
 * They are the mean, plus a part of the frame before, plus a remainder, which
 * is coded in pieces of 3, 3 and 4 numbers, each by the nearest of a codebook:
 *
 *	d(i) = sum over j of (int16)((w(j) (r(j) - c(i, j))) >> 15)^2
 *
 * with r - c in 16 bits, the sum modulo 2^32 and compared as signed, the first
 * of equals; all is as the library has it, so that any input is exact.
 *
 * Words of three numbers lie next to each other; they are spread to four, the
 * last being 0, while they are loaded. Of one codebook the lowest two modes use
 * every other word.
 *
 * Valid: all modes of speech. Comfort noise (mode 8) goes to stock_Q_plsf_3.
 */
#include "codecs/kernels/amrnb.h"
#include "codecs/kernels/amrnb/least.h"
#include "codecs/kernels/amrnb/nearest.h"

enum {
	ORDER = 10,
	PIECES = 3,
	GAP = 205, /* the least distance of neighbours, 50 Hz */
	NMODES = 8,
};

/* The library's. */
extern const int16_t mean_lsf_3[ORDER], pred_fac_3[ORDER];
extern const int16_t dico1_lsf_3[256 * 3], dico2_lsf_3[512 * 3];
extern const int16_t dico3_lsf_3[512 * 4], mr515_3_lsf[128 * 4];
extern const int16_t mr795_1_lsf[512 * 3];

enum layout {
	FOURS,	      /* words of four numbers */
	THREES,	      /* of three */
	EVERY_OTHER_3 /* of three, half of them */
};

struct codebook {
	const int16_t *words;
	int n;
	enum layout layout;
};

/* How a mode codes the pieces. */
static void choose_books(int mode, struct codebook books[PIECES])
{
	books[0] = (struct codebook){ dico1_lsf_3, 256, THREES };
	books[1] = (struct codebook){ dico2_lsf_3, 512, THREES };
	books[2] = (struct codebook){ dico3_lsf_3, 512, FOURS };
	if (mode <= 1) {
		books[1] = (struct codebook){ dico2_lsf_3, 256, EVERY_OTHER_3 };
		books[2] = (struct codebook){ mr515_3_lsf, 128, FOURS };
	} else if (mode == 5) {
		books[0] = (struct codebook){ mr795_1_lsf, 512, THREES };
	}
}

static const int16_t *word_of(const struct codebook *book, int i)
{
	static const int step[] = { 4, 3, 6 };

	return book->words + i * step[book->layout];
}

/* Four words of three numbers. The second load begins two numbers early, not
 * to end behind the codebook. */
AVX2_INLINE __m256i load_threes(const int16_t *p)
{
	const __m256i spread = _mm256_setr_epi8(
		0, 1, 2, 3, 4, 5, -1, -1, 6, 7, 8, 9, 10, 11, -1, -1, 4, 5, 6,
		7, 8, 9, -1, -1, 10, 11, 12, 13, 14, 15, -1, -1);

	return _mm256_shuffle_epi8(_mm256_set_m128i(load128(p + 4), load128(p)),
				   spread);
}

/* The same, of every other word. The fourth number is not of the word. */
AVX2_INLINE __m256i load_every_other(const int16_t *p)
{
	return _mm256_set_m128i(
		_mm_unpacklo_epi64(_mm_loadu_si64(p + 12),
				   _mm_loadu_si64(p + 18)),
		_mm_unpacklo_epi64(_mm_loadu_si64(p), _mm_loadu_si64(p + 6)));
}

AVX2_INLINE __m256i load_words(const int16_t *words, enum layout layout, int i)
{
	if (layout == FOURS)
		return load256(words + 4 * i);
	if (layout == THREES)
		return load_threes(words + 3 * i);
	return load_every_other(words + 6 * i);
}

AVX2_INLINE __m256i q_plsf_3_half_distances(__m256i rest, __m256i weight,
					    __m256i words)
{
	__m256i t = multiply_q15(_mm256_sub_epi16(rest, words), weight);

	return _mm256_madd_epi16(t, t);
}

AVX2_INLINE int search(__m256i rest, __m256i weight,
		       const struct codebook *book, enum layout layout)
{
	__m256i index = nearest_order();
	struct least nearest = least_nothing();

	for (int i = 0; i < book->n; i += LEAST_LANES) {
		__m256i first = load_words(book->words, layout, i);
		__m256i second = load_words(book->words, layout, i + 4);

		least_take(
			&nearest,
			_mm256_hadd_epi32(
				q_plsf_3_half_distances(rest, weight, first),
				q_plsf_3_half_distances(rest, weight, second)),
			index);
		index = _mm256_add_epi32(index, _mm256_set1_epi32(LEAST_LANES));
	}
	return least_index(&nearest);
}

/* The word nearest to rest[0..size - 1]. */
AVX2 static int find_word(const int16_t *rest, const int16_t *weights, int size,
			  const struct codebook *book)
{
	int16_t r[4] = { 0 }, w[4] = { 0 };
	__m256i all, weight;

	memcpy(r, rest, (size_t)size * sizeof(*r));
	memcpy(w, weights, (size_t)size * sizeof(*w));
	all = repeat_four(r);
	weight = repeat_four(w);
	if (book->layout == FOURS)
		return search(all, weight, book, FOURS);
	if (book->layout == THREES)
		return search(all, weight, book, THREES);
	return search(all, weight, book, EVERY_OTHER_3);
}

/* Replaces the remainder by what the codebooks have of it. */
static void quantize_q_plsf_3(int mode, int16_t rest[ORDER],
			      const int16_t weights[], int16_t indices[PIECES])
{
	struct codebook books[PIECES];

	choose_books(mode, books);
	for (int i = 0, at = 0; i < PIECES; i++) {
		int size = books[i].layout == FOURS ? 4 : 3;
		int word = find_word(rest + at, weights + at, size, &books[i]);

		memcpy(rest + at, word_of(&books[i], word),
		       (size_t)size * sizeof(*rest));
		indices[i] = (int16_t)word;
		at += size;
	}
}

void Q_plsf_3(int16_t past[], int mode, int16_t lsp[], int16_t lsp_q[],
	      int16_t indices[], int16_t *noise_index, int32_t *overflow)
{
	int16_t lsf[ORDER], weights[ORDER], prediction[ORDER], rest[ORDER];

	if (!cr_kernels_fast || mode < 0 || mode >= NMODES) {
		stock_Q_plsf_3(past, mode, lsp, lsp_q, indices, noise_index,
			       overflow);
		return;
	}
	Lsp_lsf(lsp, lsf, ORDER, overflow);
	Lsf_wt(lsf, weights, overflow);
	for (int i = 0; i < ORDER; i++) {
		prediction[i] = (int16_t)(mean_lsf_3[i] +
					  (past[i] * pred_fac_3[i] >> 15));
		rest[i] = (int16_t)(lsf[i] - prediction[i]);
	}
	quantize_q_plsf_3(mode, rest, weights, indices);
	memcpy(past, rest, sizeof(rest));
	for (int i = 0; i < ORDER; i++)
		lsf[i] = (int16_t)(rest[i] + prediction[i]);
	Reorder_lsf(lsf, GAP, ORDER, overflow);
	Lsf_lsp(lsf, lsp_q, ORDER, overflow);
}
