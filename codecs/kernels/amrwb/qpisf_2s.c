/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Qpisf_2s_46b and Qpisf_2s_36b: the immittance spectral frequencies in two
 * stages. The frequencies less their mean and their prediction are split into
 * 9 and 7; for each part the best rows of a table survive, and for each of
 * these the difference goes on to tables for parts of it. Wanted are the rows
 * with the least total distance,
 *
 *     d(row) = 2 * sum over j of (x[j] - row[j])^2,
 *
 * differences in 16 bits and sums in 32, both wrapped; of equal ones the
 * first. Distances are computed for 8 rows at once and compared in order:
 * exact for all inputs. The tables are the library's.
 */
#include "codecs/kernels/amrwb.h"
#include "codecs/kernels/kernel.h"

enum {
	ORDER = 16,
	LOW = 9, /* frequencies of the first part */
	HIGH = ORDER - LOW,
	SURVIVORS = 4,
	FIRST_ROWS = 256,
	GROUP = 8,  /* rows at once */
	WIDEST = 9, /* row */
	MU = 10923, /* prediction from the frame before, Q15 */
};

/* A table of rows of so many numbers. A multiple of 8 rows. */
struct table {
	const int16_t *row;
	int numbers, rows;
};

/* The pattern that rows are compared with: 8 numbers and the ninth, with zeros
 * where a row has none; and masks of these. */
struct pattern {
	__m256i x, used;
	__m256i ninth, ninth_used;
};

AVX2_INLINE __m256i twice(const int16_t *p)
{
	return _mm256_broadcastsi128_si256(load128(p));
}

AVX2_INLINE struct pattern load_pattern(const int16_t x[], int numbers)
{
	int16_t padded[2 * GROUP] = { 0 }, used[2 * GROUP] = { 0 };

	memcpy(padded, x, (size_t)numbers * sizeof(*x));
	memset(used, 0xff, (size_t)numbers * sizeof(*used));
	return (struct pattern){
		.x = twice(padded),
		.used = twice(used),
		.ninth = twice(padded + 1),
		.ninth_used = _mm256_bslli_epi128(
			_mm256_bsrli_epi128(twice(used + 1), 14), 14),
	};
}

/* Squares of differences, of two rows a vector. */
AVX2_INLINE __m256i squares(__m256i x, __m256i used, const int16_t *row,
			    int distance)
{
	__m256i rows = _mm256_set_m128i(load128(row + distance), load128(row));
	__m256i d = _mm256_and_si256(_mm256_sub_epi16(x, rows), used);

	return _mm256_madd_epi16(d, d);
}

/* Rows @row and the fourth after it. A ninth number is the last of the 8 that
 * begin one later. */
AVX2_INLINE __m256i two_rows(const struct pattern *p, const int16_t *row,
			     int numbers)
{
	__m256i s = squares(p->x, p->used, row, 4 * numbers);

	if (numbers > GROUP)
		s = _mm256_add_epi32(s, squares(p->ninth, p->ninth_used,
						row + 1, 4 * numbers));
	return s;
}

/* The distances of 8 rows, in order. */
AVX2_INLINE __m256i distances8(const struct pattern *p, const int16_t *row,
			       int numbers)
{
	__m256i a = _mm256_hadd_epi32(two_rows(p, row, numbers),
				      two_rows(p, row + numbers, numbers));
	__m256i b = _mm256_hadd_epi32(two_rows(p, row + 2 * numbers, numbers),
				      two_rows(p, row + 3 * numbers, numbers));

	return _mm256_slli_epi32(_mm256_hadd_epi32(a, b), 1);
}

/* All distances. The last rows are copied, as more than them is read. */
AVX2_INLINE void qpisf_2s_distances(const int16_t x[], struct table t,
				    int32_t d[])
{
	int16_t last[GROUP * WIDEST + GROUP] = { 0 };
	struct pattern p = load_pattern(x, t.numbers);
	int i = 0;

	for (; i < t.rows - GROUP; i += GROUP)
		store256(d + i,
			 distances8(&p, t.row + i * t.numbers, t.numbers));
	memcpy(last, t.row + i * t.numbers,
	       (size_t)(GROUP * t.numbers) * sizeof(*last));
	store256(d + i, distances8(&p, last, t.numbers));
}

/* A row and its distance. */
struct choice {
	int16_t row;
	int32_t distance;
};

/* The row of the least distance. Lanes keep their first; of equal ones among
 * the lanes the first row counts. */
AVX2_INLINE struct choice least(const int32_t d[], int rows)
{
	const __m256i eight = _mm256_set1_epi32(GROUP);
	__m256i row = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), at = row;
	__m256i least = load256(d);
	int32_t value[GROUP], index[GROUP];
	int best = 0;

	for (int i = GROUP; i < rows; i += GROUP) {
		__m256i v = load256(d + i);
		__m256i less = _mm256_cmpgt_epi32(least, v);

		row = _mm256_add_epi32(row, eight);
		least = _mm256_min_epi32(least, v);
		at = _mm256_blendv_epi8(at, row, less);
	}
	store256(value, least);
	store256(index, at);
	for (int i = 1; i < GROUP; i++)
		if (value[i] < value[best] ||
		    (value[i] == value[best] && index[i] < index[best]))
			best = i;
	/* the library begins with INT32_MAX and row 0 */
	if (value[best] == INT32_MAX)
		return (struct choice){ 0, INT32_MAX };
	return (struct choice){ (int16_t)index[best], value[best] };
}

AVX2 static struct choice search_qpisf_2s(const int16_t x[], struct table t)
{
	int32_t d[FIRST_ROWS / 2];

	qpisf_2s_distances(x, t, d);
	return least(d, t.rows);
}

/* Put @new in its place among the @n best. */
static void insert_qpisf_2s(struct choice best[], int n, struct choice new)
{
	int i = n - 1;

	for (; i > 0 && new.distance < best[i - 1].distance; i--)
		best[i] = best[i - 1];
	best[i] = new;
}

/* The best @n rows of the first stage. */
AVX2 static void survive(const int16_t x[], struct table t,
			 struct choice best[SURVIVORS], int n)
{
	int32_t d[FIRST_ROWS];

	qpisf_2s_distances(x, t, d);
	for (int i = 0; i < n; i++)
		best[i] = (struct choice){ (int16_t)i, INT32_MAX };
	for (int i = 0; i < t.rows; i += GROUP) {
		__m256i worst = _mm256_set1_epi32(best[n - 1].distance);
		__m256i less = _mm256_cmpgt_epi32(worst, load256(d + i));
		unsigned left =
			(unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(less));

		for (; left; left &= left - 1) {
			int row = i + __builtin_ctz(left);

			if (d[row] < best[n - 1].distance)
				insert_qpisf_2s(best, n,
						(struct choice){ (int16_t)row,
								 d[row] });
		}
	}
}

/* One part of the frequencies: its tables, those of the second stage for
 * pieces one after the other. */
struct part {
	struct table first;
	struct table pieces[3];
	int npieces;
};

static const struct part low_46 = {
	{ stock_dico1_isf, LOW, FIRST_ROWS },
	{ { stock_dico21_isf, 3, 64 },
	  { stock_dico22_isf, 3, 128 },
	  { stock_dico23_isf, 3, 128 } },
	3,
};

static const struct part high_46 = {
	{ stock_dico2_isf, HIGH, FIRST_ROWS },
	{ { stock_dico24_isf, 3, 32 }, { stock_dico25_isf, 4, 32 } },
	2,
};

static const struct part low_36 = {
	{ stock_dico1_isf, LOW, FIRST_ROWS },
	{ { stock_dico21_isf_36b, 5, 128 }, { stock_dico22_isf_36b, 4, 128 } },
	2,
};

static const struct part high_36 = {
	{ stock_dico2_isf, HIGH, FIRST_ROWS },
	{ { stock_dico23_isf_36b, HIGH, 64 } },
	1,
};

/* The total distance of a survivor's second stage; @rows of its pieces. */
static int32_t refine_qpisf_2s(const struct part *p, const int16_t x[],
			       int16_t survivor, int16_t rows[])
{
	const int16_t *from = p->first.row + survivor * p->first.numbers;
	int16_t left[LOW];
	int32_t total = 0;

	for (int i = 0; i < p->first.numbers; i++)
		left[i] = (int16_t)(x[i] - from[i]);
	for (int i = 0, at = 0; i < p->npieces; i++) {
		struct choice c = search_qpisf_2s(left + at, p->pieces[i]);

		rows[i] = c.row;
		total = add_wrapped(total, c.distance);
		at += p->pieces[i].numbers;
	}
	return total;
}

/* Index of the first stage to *@first, those of the second to @second. */
static void quantise(const struct part *p, const int16_t x[], int survivors,
		     int16_t *first, int16_t second[])
{
	struct choice best[SURVIVORS];
	int32_t least = INT32_MAX;

	survive(x, p->first, best, survivors);
	for (int i = 0; i < survivors; i++) {
		int16_t rows[3];
		int32_t total = refine_qpisf_2s(p, x, best[i].row, rows);

		if (total >= least)
			continue;
		least = total;
		*first = best[i].row;
		memcpy(second, rows, (size_t)p->npieces * sizeof(*rows));
	}
}

/* Residual of the frequencies without mean and prediction. */
static void predict_qpisf_2s(const int16_t isf[], const int16_t past[],
			     int16_t x[])
{
	for (int i = 0; i < ORDER; i++)
		x[i] = (int16_t)(isf[i] - stock_mean_isf[i] -
				 (past[i] * MU >> 15));
}

void Qpisf_2s_46b(int16_t isf[], int16_t isf_q[], int16_t past[],
		  int16_t index[], int16_t survivors)
{
	int16_t x[ORDER];

	if (!cr_kernels_fast || survivors < 1 || survivors > SURVIVORS) {
		stock_Qpisf_2s_46b(isf, isf_q, past, index, survivors);
		return;
	}
	predict_qpisf_2s(isf, past, x);
	quantise(&low_46, x, survivors, &index[0], &index[2]);
	quantise(&high_46, x + LOW, survivors, &index[1], &index[5]);
	voAWB_Dpisf_2s_46b(index, isf_q, past, isf_q, isf_q, 0, 0);
}

void Qpisf_2s_36b(int16_t isf[], int16_t isf_q[], int16_t past[],
		  int16_t index[], int16_t survivors)
{
	int16_t x[ORDER];

	if (!cr_kernels_fast || survivors < 1 || survivors > SURVIVORS) {
		stock_Qpisf_2s_36b(isf, isf_q, past, index, survivors);
		return;
	}
	predict_qpisf_2s(isf, past, x);
	quantise(&low_36, x, survivors, &index[0], &index[2]);
	quantise(&high_36, x + LOW, survivors, &index[1], &index[4]);
	voAWB_Dpisf_2s_36b(index, isf_q, past, isf_q, isf_q, 0, 0);
}
