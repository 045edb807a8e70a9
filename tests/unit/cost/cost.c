/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Costs are measured in order: more work costs more, the table has a row for
 * every codec, mode and direction, and its derived figures fit together.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/runner/cost_table.h"
#include "cmocka_cr.h"
#include "codecs/kernels/kernels.h"
#include "cost/cost.h"
#include "spoken.h"

static void spin_costs_what_it_burns(void **state)
{
	struct cr_codec_cfg cfg = { .spin = 300 * CR_US };
	struct cost_pair cost;

	assert_int_equal(cost_quick(cr_codec_find("spin"), &cfg, NULL, NULL,
				    &cost, NULL),
			 0);
	/* Never less, but for the clock's own cost, which is taken off. */
	assert_true(cost.enc.cost.mean > 290 * CR_US);
	assert_true(cost.dec.cost.mean > 290 * CR_US);
	assert_true(cost.enc.cost.p99 >= cost.enc.cost.mean / 2);
	assert_int_equal(cost.enc.frame, 20 * CR_MS);
	assert_true(cost.enc.synthetic);
	assert_true(cost.enc.frames > 0);
}

/* Both sides are in the library: a sanitizer slows neither. */
static void encoding_amr_costs_more_than_decoding_it(void **state)
{
	struct cr_codec_cfg cfg = { 0 };
	struct cost_pair cost;

	assert_int_equal(
		cost_quick(cr_codec_find("amr"), &cfg, NULL, NULL, &cost, NULL),
		0);
	assert_true(cost.enc.cost.mean > cost.dec.cost.mean);
	assert_true(cost.dec.cost.mean > 0);
}

/* Frames of both kinds as many, whatever the machine is at. */
static void rows_are_measured_side_by_side(void **state)
{
	struct cost_plan plan = { .budget = 1, .states = 7 };
	struct cr_codec_cfg cfg = { 0 };
	struct cost_rows rows;

	assert_int_equal(cost_measure_rows(cr_codec_find("gsm"), &cfg, &plan,
					   &rows, NULL),
			 0);
	assert_int_equal(rows.first.enc.frames, 7);
	assert_int_equal(rows.later.enc.frames, 7);
	assert_int_equal(rows.first.dec.frames, 7);
	assert_int_equal(rows.later.dec.frames, 7);
	assert_true(rows.first.enc.cost.mean > 0);
	assert_true(rows.later.enc.cost.mean > 0);
}

/* Measurements for which no time is left are left out, from the most states
 * on. */
static void a_curve_has_the_points_there_is_time_for(void **state)
{
	struct cost_plan plan = { .budget = 40 * CR_MS };
	struct cr_codec_cfg cfg = { 0 };
	struct cost_curve c;

	assert_int_equal(
		cost_measure_curve(cr_codec_find("amr"), &cfg, &plan, &c, NULL),
		0);
	assert_in_range(c.points, 2, COST_POINTS - 1); /* 4,000 frames take
							   longer anywhere */
	for (unsigned i = 0; i < c.points; i++)
		assert_true(c.enc[i] > 0 && c.dec[i] > 0);
	assert_int_equal(c.others[4], 1000);
}

static void resampling_is_measured_too(void **state)
{
	struct cost_result up = { 0 }, down = { 0 };

	assert_int_equal(cost_resample(8000, 16000, &up, NULL), 0);
	assert_int_equal(cost_resample(16000, 8000, &down, NULL), 0);
	assert_true(up.cost.mean > 0 && down.cost.mean > 0);
	assert_int_equal(up.frame, 20 * CR_MS);
	assert_int_equal(cost_resample(8000, 8000, &up, NULL), -EINVAL);
}

static void what_cannot_be_measured_is_refused(void **state)
{
	struct cr_codec_cfg bad = { .mode = 99 }, fine = { 0 };
	struct cost_pair cost = { .enc.frames = 7 };
	struct cr_err e = { 0 };

	assert_int_equal(
		cost_quick(cr_codec_find("amr"), &bad, NULL, NULL, &cost, &e),
		-EINVAL);
	assert_non_null(strstr(e.text, "amr"));
	assert_int_equal(cost_quick(cr_codec_find("amr"), &fine,
				    recordings(16000), NULL, &cost, &e),
			 -EINVAL);
	assert_non_null(strstr(e.text, "16000"));
	assert_int_equal(cost.enc.frames, 7);
}

/* The row of codec, mode, rate and direction. */
static const json_t *find_row(const json_t *rows, const char *codec,
			      const char *mode, int rate, const char *dir)
{
	const json_t *row;
	size_t i;

	json_array_foreach (rows, i, row) {
		const char *c = NULL, *m = NULL, *d = NULL;
		int r = 0;

		assert_int_equal(json_unpack((json_t *)(uintptr_t)row,
					     "{s:s, s:s, s:i, s:s}", "codec",
					     &c, "mode", &m, "sample_rate", &r,
					     "direction", &d),
				 0);
		if (!strcmp(c, codec) && !strcmp(m, mode) && r == rate &&
		    !strcmp(d, dir))
			return row;
	}
	return NULL;
}

/* Where kernels are in use, also the library's own functions are measured. */
static void check_stock(const json_t *row, const struct cr_codec *c)
{
	const json_t *stock = json_object_get(row, "stock_us");

	if (c->kernels && cr_kernels_active() != CR_KERNELS_STOCK)
		assert_true(json_real_value(stock) > 0);
	else
		assert_true(json_is_null(stock));
}

static void check_row(const json_t *row)
{
	double mean, p99, calls, weight, frame;

	assert_int_equal(json_unpack((json_t *)(uintptr_t)row,
				     "{s:F, s:F, s:F, s:F, s:F}", "mean_us",
				     &mean, "p99_us", &p99, "streams_per_core",
				     &calls, "weight", &weight, "frame_ms",
				     &frame),
			 0);
	assert_true(mean >= 0 && p99 >= 0);
	if (mean < 0.01)
		return;
	assert_true(fabs(calls * mean / (frame * 1e3) - 1) < 1e-6);
	assert_true(fabs(weight * calls / 12e6 - 1) < 1e-6);
}

/* That they are missing is said; that they were not chosen is no news. */
static void check_missing(const json_t *said)
{
	if (cr_kernels_missing())
		assert_string_equal(json_string_value(said),
				    cr_kernels_missing());
	else
		assert_true(json_is_null(said));
}

/* One for each codec, and each has its first points at least. */
static void check_curves(const json_t *curves)
{
	size_t i, n = 0;
	json_t *curve;

	for (const struct cr_codec *const *c = cr_codecs; *c; c++)
		n += strcmp((*c)->name, "spin") != 0;
	assert_int_equal(json_array_size(curves), n);
	json_array_foreach (curves, i, curve) {
		const json_t *points = json_object_get(curve, "points");
		const json_t *second = json_array_get(points, 1);

		assert_true(json_array_size(points) <= COST_POINTS);
		assert_non_null(json_object_get(second, "encode_us"));
		assert_int_equal(
			json_integer_value(json_object_get(second, "others")),
			1);
	}
}

static void check_table(void)
{
	struct cost_table *t = NULL;
	const json_t *rows;
	char text[32768] = "";
	json_t *json;
	FILE *out;

	assert_int_equal(cost_table_open(&t, 0.05, NULL), 0);
	json = costs_json(t);
	assert_non_null(json);
	rows = json_object_get(json, "rows");
	for (const struct cr_codec *const *c = cr_codecs; *c; c++) {
		for (unsigned m = 0; m < (*c)->nmodes; m++) {
			const char *name = (*c)->name,
				   *mode = (*c)->modes[m].name;
			int rate = (int)(*c)->sample_rate;

			if (!strcmp(name, "spin"))
				continue;
			check_row(find_row(rows, name, mode, rate, "encode"));
			check_row(find_row(rows, name, mode, rate, "decode"));
			check_stock(find_row(rows, name, mode, rate, "encode"),
				    *c);
		}
	}
	assert_non_null(find_row(rows, "l16", "pcm", 16000, "encode"));
	check_row(find_row(rows, "resample", "16000", 8000, "up"));
	check_row(find_row(rows, "resample", "8000", 16000, "down"));
	assert_null(find_row(rows, "spin", "pcm", 8000, "encode"));
	check_missing(json_object_get(json, "kernels_missing"));
	check_curves(json_object_get(json, "curves"));
	json_decref(json);

	out = fmemopen(text, sizeof(text), "w");
	assert_non_null(out);
	costs_print(out, t);
	assert_int_equal(fclose(out), 0);
	assert_non_null(strstr(text, "speech at 8 kHz"));
	assert_non_null(strstr(text, "amr-wb   12.65"));
	assert_non_null(strstr(text, "streams/core"));
	assert_non_null(strstr(text, "by the number of other states"));
	assert_true(!strstr(text, "\nWARNING: codec kernels are off: ") ==
		    !cr_kernels_missing());
	cost_table_close(t);
}

static void the_table_has_every_codec_mode_and_direction(void **state)
{
	check_table();
	assert_int_equal(cr_kernels_choose(CR_KERNELS_STOCK, NULL), 0);
	check_table();
	assert_int_equal(cr_kernels_active(), CR_KERNELS_STOCK);
	assert_int_equal(cr_kernels_choose(CR_KERNELS_AUTO, NULL), 0);
}

static void synthetic_speech_is_seeded_and_loud(void **state)
{
	static int16_t one[32000], two[32000], other[32000];
	struct synth a, b, c;
	double sum = 0;

	synth_init(&a, 16000, 1);
	synth_init(&b, 16000, 1);
	synth_init(&c, 16000, 2);
	synth_read(&a, one, 32000);
	synth_read(&b, two, 16000);
	synth_read(&b, two + 16000, 16000);
	synth_read(&c, other, 32000);
	assert_memory_equal(one, two, sizeof(one));
	assert_memory_not_equal(one, other, sizeof(one));
	for (unsigned i = 0; i < 32000; i++)
		sum += (double)one[i] * one[i];
	/* Somewhere where speech is: -40 to -6 dB of full scale. */
	assert_in_range((unsigned)sqrt(sum / 32000), 328, 16000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spin_costs_what_it_burns),
		cmocka_unit_test(encoding_amr_costs_more_than_decoding_it),
		cmocka_unit_test(rows_are_measured_side_by_side),
		cmocka_unit_test(a_curve_has_the_points_there_is_time_for),
		cmocka_unit_test(resampling_is_measured_too),
		cmocka_unit_test(what_cannot_be_measured_is_refused),
		cmocka_unit_test(the_table_has_every_codec_mode_and_direction),
		cmocka_unit_test(synthetic_speech_is_seeded_and_loud),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
