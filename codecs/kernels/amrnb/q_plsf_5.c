/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Q_plsf_5: the quantiser of the two sets of line spectral frequencies of a
 * frame of 12.2 kbit/s.
 *
 * Each set is the mean, plus 0.65 of the frame before (both sets predict from
 * it), plus a remainder. The remainders are coded in five pieces of two
 * numbers of either set. Four of the pieces take the nearest of a codebook,
 *
 *	d(i) = sum over j = 0..3 of (int16)((w(j) r(j) - w(j) c(i, j)) >> 15)^2
 *
 * and the middle one takes codeword or negative codeword,
 *
 *	d(i) = sum over j = 0..3 of (int16)((w(j) (r(j) -+ c(i, j))) >> 15)^2
 *
 * with r -+ c in 16 bits, sums modulo 2^32, the first of equals, the positive
 * one before the negative.
 *
 * The stock loops leave a codeword as soon as its partial sum is too large.
 * That changes nothing while no sum overflows, as the terms are squares. An
 * overflow shows as a negative sum: then the loop is walked as stock does.
 *
 * Valid: everything.
 */
#include "codecs/kernels/amrnb.h"
#include "codecs/kernels/amrnb/least.h"
#include "codecs/kernels/amrnb/nearest.h"

enum {
	ORDER = 10,
	PIECE = 4,	    /* numbers of a piece */
	PREDICTION = 21299, /* 0.65 in Q15 */
	GAP = 205,	    /* the least distance of neighbours, 50 Hz */
};

/* The library's codebooks. */
extern const int16_t mean_lsf_5[ORDER];
extern const int16_t dico1_lsf_5[128 * PIECE], dico2_lsf_5[256 * PIECE];
extern const int16_t dico3_lsf_5[256 * PIECE], dico4_lsf_5[256 * PIECE];
extern const int16_t dico5_lsf_5[64 * PIECE];

/* One set: frequencies, weights, what is left of the prediction. */
struct set {
	int16_t lsf[ORDER];
	int16_t weight[ORDER];
	int16_t rest[ORDER];
};

/* Two numbers of one set and two of the other. */
struct piece {
	int16_t rest[PIECE];
	int16_t weight[PIECE];
};

struct codebook {
	const int16_t (*words)[PIECE];
	int n;
};

/* A negative lane anywhere in @v. */
AVX2_INLINE bool any_negative(__m256i v)
{
	return _mm256_movemask_ps(_mm256_castsi256_ps(v)) != 0;
}

/* w(j) r(j) */
static void weigh_q_plsf_5(const struct piece *p, int32_t product[PIECE])
{
	for (int j = 0; j < PIECE; j++)
		product[j] = p->weight[j] * p->rest[j];
}

/* The search as stock does it, sum by sum. */
static int search_slowly(const struct piece *p, const struct codebook *book)
{
	int32_t least = INT32_MAX;
	int32_t product[PIECE];
	int best = 0;

	weigh_q_plsf_5(p, product);
	for (int i = 0; i < book->n; i++) {
		int32_t sum = 0;
		int j = 0;

		for (; j < PIECE; j++) {
			int32_t term = p->weight[j] * book->words[i][j];
			int16_t t =
				(int16_t)(sub_wrapped(product[j], term) >> 15);

			sum = add_wrapped(sum, t * t);
			if (sum >= least)
				break;
		}
		if (j == PIECE) {
			least = sum;
			best = i;
		}
	}
	return best;
}

/* Four codewords: the square sums of their halves. */
AVX2_INLINE __m256i q_plsf_5_half_distances(__m256i product, __m256i weight,
					    __m256i words)
{
	__m256i low = _mm256_mullo_epi16(words, weight);
	__m256i high = _mm256_mulhi_epi16(words, weight);
	__m256i even =
		_mm256_sub_epi32(product, _mm256_unpacklo_epi16(low, high));
	__m256i odd =
		_mm256_sub_epi32(product, _mm256_unpackhi_epi16(low, high));
	__m256i t;

	even = _mm256_srai_epi32(_mm256_slli_epi32(even, 1), 16);
	odd = _mm256_srai_epi32(_mm256_slli_epi32(odd, 1), 16);
	t = _mm256_packs_epi32(even, odd);
	return _mm256_madd_epi16(t, t);
}

AVX2 static int search_q_plsf_5(const struct piece *p,
				const struct codebook *book)
{
	__m256i weight = repeat_four(p->weight);
	__m256i index = nearest_order();
	__m256i negative = _mm256_setzero_si256();
	int32_t products[PIECE];
	struct least nearest = least_nothing();
	__m256i product;

	weigh_q_plsf_5(p, products);
	product = _mm256_broadcastsi128_si256(load128(products));
	for (int i = 0; i < book->n; i += LEAST_LANES) {
		__m256i first = q_plsf_5_half_distances(
			product, weight, load256(book->words[i]));
		__m256i second = q_plsf_5_half_distances(
			product, weight, load256(book->words[i + 4]));
		__m256i sum = _mm256_hadd_epi32(first, second);

		negative = _mm256_or_si256(negative,
					   _mm256_or_si256(first, second));
		negative = _mm256_or_si256(negative, sum);
		least_take(&nearest, sum, index);
		index = _mm256_add_epi32(index, _mm256_set1_epi32(LEAST_LANES));
	}
	if (any_negative(negative))
		return search_slowly(p, book);
	return least_index(&nearest);
}

/* One term of the distance to a codeword or its negative. */
static inline int32_t signed_term(const struct piece *p, int j, int diff)
{
	int16_t t = (int16_t)(p->weight[j] * (int16_t)diff >> 15);

	return t * t;
}

/* The distances to a codeword, sums[0], and its negative. False if both were
 * too large half way. */
static bool signed_distances(const struct piece *p, const int16_t word[PIECE],
			     int32_t least, int32_t sums[2])
{
	sums[0] = sums[1] = 0;
	for (int j = 0; j < PIECE; j++) {
		int down = p->rest[j] - word[j];
		int up = p->rest[j] + word[j];

		sums[0] = add_wrapped(sums[0], signed_term(p, j, down));
		sums[1] = add_wrapped(sums[1], signed_term(p, j, up));
		if (j == 1 && sums[0] >= least && sums[1] >= least)
			return false;
	}
	return true;
}

/* The search as stock does it: twice the codeword, plus 1 if negative. */
static int search_signed_slowly(const struct piece *p,
				const struct codebook *book)
{
	int32_t least = INT32_MAX;
	int32_t sums[2];
	int best = 0;

	for (int i = 0; i < book->n; i++) {
		if (!signed_distances(p, book->words[i], least, sums))
			continue;
		for (int k = 0; k < 2; k++) {
			if (sums[k] < least) {
				least = sums[k];
				best = 2 * i + k;
			}
		}
	}
	return best;
}

/* Eight distances, from the differences of two times four words. Gathers signs
 * of all sums in @negative. */
AVX2_INLINE __m256i q_plsf_5_distances(__m256i first, __m256i second,
				       __m256i weight, __m256i *negative)
{
	__m256i sum;

	first = multiply_q15(first, weight);
	first = _mm256_madd_epi16(first, first);
	second = multiply_q15(second, weight);
	second = _mm256_madd_epi16(second, second);
	sum = _mm256_hadd_epi32(first, second);
	*negative = _mm256_or_si256(*negative, _mm256_or_si256(first, second));
	*negative = _mm256_or_si256(*negative, sum);
	return sum;
}

AVX2 static int search_signed(const struct piece *p,
			      const struct codebook *book)
{
	__m256i weight = repeat_four(p->weight);
	__m256i rest = repeat_four(p->rest);
	__m256i index = _mm256_slli_epi32(nearest_order(), 1);
	__m256i negative = _mm256_setzero_si256();
	struct least nearest = least_nothing();

	for (int i = 0; i < book->n; i += LEAST_LANES) {
		__m256i low = load256(book->words[i]);
		__m256i high = load256(book->words[i + 4]);
		__m256i plus = q_plsf_5_distances(_mm256_sub_epi16(rest, low),
						  _mm256_sub_epi16(rest, high),
						  weight, &negative);
		__m256i minus = q_plsf_5_distances(_mm256_add_epi16(rest, low),
						   _mm256_add_epi16(rest, high),
						   weight, &negative);
		/* -1 where the negative word is nearer */
		__m256i odd = _mm256_cmpgt_epi32(plus, minus);

		least_take(&nearest, _mm256_min_epi32(plus, minus),
			   _mm256_sub_epi32(index, odd));
		index = _mm256_add_epi32(index,
					 _mm256_set1_epi32(2 * LEAST_LANES));
	}
	if (any_negative(negative))
		return search_signed_slowly(p, book);
	return least_index(&nearest);
}

/* The numbers @at and @at + 1 of both sets. */
static void take_piece(const struct set sets[2], int at, struct piece *p)
{
	for (int i = 0; i < PIECE; i++) {
		p->rest[i] = sets[i / 2].rest[at + i % 2];
		p->weight[i] = sets[i / 2].weight[at + i % 2];
	}
}

/* Replaces the piece @at by @sign times a codeword. */
static void put_piece(struct set sets[2], int at, const int16_t word[PIECE],
		      int sign)
{
	for (int i = 0; i < PIECE; i++)
		sets[i / 2].rest[at + i % 2] = (int16_t)(sign * word[i]);
}

static void quantize_q_plsf_5(struct set sets[2], int16_t indices[])
{
	static const struct codebook books[] = {
		{ (const int16_t(*)[PIECE])dico1_lsf_5, 128 },
		{ (const int16_t(*)[PIECE])dico2_lsf_5, 256 },
		{ (const int16_t(*)[PIECE])dico3_lsf_5, 256 },
		{ (const int16_t(*)[PIECE])dico4_lsf_5, 256 },
		{ (const int16_t(*)[PIECE])dico5_lsf_5, 64 },
	};
	struct piece p;

	for (int i = 0; i < 5; i++) {
		const struct codebook *book = &books[i];
		int index, word, sign = 1;

		take_piece(sets, 2 * i, &p);
		if (i == 2) {
			index = search_signed(&p, book);
			word = index / 2;
			sign = index % 2 ? -1 : 1;
		} else {
			index = search_q_plsf_5(&p, book);
			word = index;
		}
		put_piece(sets, 2 * i, book->words[word], sign);
		indices[i] = (int16_t)index;
	}
}

/* Predict both sets from the frame before. */
static void predict_q_plsf_5(const int16_t past[ORDER],
			     int16_t prediction[ORDER])
{
	for (int i = 0; i < ORDER; i++)
		prediction[i] =
			(int16_t)(mean_lsf_5[i] + (past[i] * PREDICTION >> 15));
}

static void analyse_q_plsf_5(struct set *s, int16_t lsp[],
			     const int16_t prediction[ORDER], int32_t *overflow)
{
	Lsp_lsf(lsp, s->lsf, ORDER, overflow);
	Lsf_wt(s->lsf, s->weight, overflow);
	for (int i = 0; i < ORDER; i++)
		s->rest[i] = (int16_t)(s->lsf[i] - prediction[i]);
}

static void synthesise(struct set *s, int16_t lsp[],
		       const int16_t prediction[ORDER], int32_t *overflow)
{
	for (int i = 0; i < ORDER; i++)
		s->lsf[i] = (int16_t)(s->rest[i] + prediction[i]);
	Reorder_lsf(s->lsf, GAP, ORDER, overflow);
	Lsf_lsp(s->lsf, lsp, ORDER, overflow);
}

void Q_plsf_5(int16_t past[], int16_t lsp1[], int16_t lsp2[], int16_t lsp1_q[],
	      int16_t lsp2_q[], int16_t indices[], int32_t *overflow)
{
	int16_t prediction[ORDER];
	struct set sets[2];

	if (!cr_kernels_fast) {
		stock_Q_plsf_5(past, lsp1, lsp2, lsp1_q, lsp2_q, indices,
			       overflow);
		return;
	}
	predict_q_plsf_5(past, prediction);
	analyse_q_plsf_5(&sets[0], lsp1, prediction, overflow);
	analyse_q_plsf_5(&sets[1], lsp2, prediction, overflow);
	quantize_q_plsf_5(sets, indices);
	memcpy(past, sets[1].rest, sizeof(sets[1].rest));
	synthesise(&sets[0], lsp1_q, prediction, overflow);
	synthesise(&sets[1], lsp2_q, prediction, overflow);
}
