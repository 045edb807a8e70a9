/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files converted by convert.start: what comes out is, bit by bit, what the
 * codec libraries make of the same samples, from every format to every other,
 * under every scheduler, beside calls.
 */
#include "cmocka_cr.h"
#include "desk.h"
#include "spool.h"

#include <opencore-amrnb/interf_dec.h>
#include <opencore-amrnb/interf_enc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cr/codec.h"
#include "schedulers/registry.h"
#include "speech/wav.h"

enum { FRAME = 160, FRAMES = 137, WIDE = 320 };

static const char *text(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s ? s : "";
}

/* Submit, wait for the notification; fails the test unless it is done. */
static void convert(struct client *c, const char *params)
{
	unsigned before = c->conversions_ended;

	client_do(c, "convert.start", params);
	desk_wait_for(c->scratch, &c->conversions_ended, before + 1);
	if (strcmp(text(c->last_conversion, "state"), "done"))
		fail_msg("%s: %s %s", params, text(c->last_conversion, "state"),
			 text(c->last_conversion, "why"));
}

/* The AMR file that the library makes of the first test speech. */
static size_t library_amr(uint8_t *file, size_t samples, enum Mode mode)
{
	int16_t *pcm = calloc(FRAMES + 1, FRAME * sizeof(*pcm));
	void *enc = Encoder_Interface_init(0);
	size_t n = 6;

	assert_non_null(pcm);
	test_speech(pcm, samples, 1);
	memcpy(file, "#!AMR\n", n);
	for (size_t i = 0; i < samples; i += FRAME)
		n += (size_t)Encoder_Interface_Encode(enc, mode, pcm + i,
						      file + n, 0);
	Encoder_Interface_exit(enc);
	free(pcm);
	return n;
}

static void a_wav_file_becomes_the_librarys_own_amr(void **state)
{
	static const struct {
		const char *name;
		enum Mode mode;
	} modes[] = { { "12.2", MR122 }, { "4.75", MR475 }, { "7.95", MR795 } };
	size_t samples = FRAMES * FRAME - 33; /* the last one is filled up */
	uint8_t expected[6 + 32 * FRAMES], *got;
	struct test_spool sp;
	struct client c;
	struct scratch d;
	char params[128];
	size_t n;

	test_spool_make(&sp);
	test_spool_wav(&sp, "a.wav", 8000, samples, 1);
	client_open_desk(&c, &d, &(struct desk_options){ .spool = sp.dir });
	for (unsigned i = 0; i < 3; i++) {
		(void)snprintf(params, sizeof(params),
			       "{'in': 'a.wav', 'out': 'a%u.amr', 'mode': "
			       "'%s'}",
			       i, modes[i].name);
		convert(&c, params);
		assert_int_equal(desk_number(c.last_conversion, "frames"),
				 FRAMES);
		got = test_spool_read(&sp, text(c.last_conversion, "out"), &n);
		assert_int_equal(n,
				 library_amr(expected, samples, modes[i].mode));
		assert_memory_equal(got, expected, n);
		free(got);
	}
	assert_int_equal(test_spool_count(&sp), 4);
	client_close_desk(&c, &d);
}

static void an_amr_file_becomes_what_the_library_decodes(void **state)
{
	uint8_t amr[6 + 32 * FRAMES], *got;
	struct test_spool sp;
	struct client c;
	struct scratch d;
	struct wav_info info;
	struct cr_err e;
	int16_t pcm[FRAME], decoded[FRAME];
	void *dec = Decoder_Interface_init();
	size_t bytes, n;

	test_spool_make(&sp);
	bytes = library_amr(amr, FRAMES * FRAME, MR102);
	test_spool_write(&sp, "a.amr", amr, bytes);
	client_open_desk(&c, &d, &(struct desk_options){ .spool = sp.dir });
	convert(&c, "{'in': 'a.amr', 'out': 'a.wav'}");
	got = test_spool_read(&sp, "a.wav", &n);
	assert_int_equal(wav_parse(got, n, &info, &e), 0);
	assert_int_equal(info.sample_rate, 8000);
	assert_int_equal(info.samples, FRAMES * FRAME);
	assert_int_equal(n, info.offset + 2 * info.samples);
	for (unsigned i = 0; i < FRAMES; i++) {
		Decoder_Interface_Decode(dec, amr + 6 + 27 * i, pcm, 0);
		wav_copy(got + info.offset + 2 * FRAME * (size_t)i, FRAME,
			 decoded);
		assert_memory_equal(decoded, pcm, sizeof(pcm));
	}
	Decoder_Interface_exit(dec);
	free(got);
	client_close_desk(&c, &d);
}

static void a_wide_wav_file_becomes_the_codecs_own_awb(void **state)
{
	const struct cr_codec *wb = cr_codec_find("amr-wb");
	const struct cr_codec_cfg cfg = { .mode = 2 };
	static int16_t pcm[FRAMES * WIDE];
	static struct cr_frame frame;
	struct test_spool sp;
	struct client c;
	struct scratch d;
	struct cr_err e;
	uint8_t *got;
	size_t n, at = 9;
	void *enc;

	test_spool_make(&sp);
	test_spool_wav(&sp, "a.wav", 16000, FRAMES * WIDE, 7);
	test_speech(pcm, FRAMES * WIDE, 7);
	client_open_desk(&c, &d, &(struct desk_options){ .spool = sp.dir });
	convert(&c, "{'in': 'a.wav', 'out': 'a.awb', 'mode': '12.65'}");
	got = test_spool_read(&sp, "a.awb", &n);
	assert_memory_equal(got, "#!AMR-WB\n", 9);
	assert_int_equal(wb->encoder_open(&enc, &cfg, &e), 0);
	for (unsigned i = 0; i < FRAMES; i++) {
		assert_int_equal(wb->encode(enc, 2, pcm + i * WIDE, &frame), 0);
		assert_true(at + 1 + frame.bytes <= n);
		assert_int_equal(got[at], frame.mode << 3 | 4);
		assert_memory_equal(got + at + 1, frame.data, frame.bytes);
		at += 1 + (size_t)frame.bytes;
	}
	assert_int_equal(at, n);
	wb->encoder_close(enc);
	free(got);
	client_close_desk(&c, &d);
}

/* Every format from every other, rates converted on the way: as many frames as
 * there were, in a file that can be read again. */
static void every_format_becomes_every_other(void **state)
{
	static const char *const names[] = { "n.wav", "w.wav", "a.amr",
					     "a.awb" };
	struct test_spool sp;
	struct client c;
	struct scratch d;
	char params[160];

	test_spool_make(&sp);
	test_spool_wav(&sp, "n.wav", 8000, FRAMES * FRAME, 1);
	client_open_desk(&c, &d, &(struct desk_options){ .spool = sp.dir });
	convert(&c, "{'in': 'n.wav', 'out': 'w.wav', 'rate': 16000}");
	convert(&c, "{'in': 'n.wav', 'out': 'a.amr', 'dtx': true}");
	convert(&c, "{'in': 'n.wav', 'out': 'a.awb'}");
	for (unsigned i = 0; i < 4; i++)
		for (unsigned k = 0; k < 4; k++) {
			(void)snprintf(params, sizeof(params),
				       "{'in': '%s', 'out': '%u%u%s'}",
				       names[i], i, k, names[k] + 1);
			convert(&c, params);
			assert_int_equal(
				desk_number(c.last_conversion, "frames"),
				FRAMES);
			(void)snprintf(params, sizeof(params),
				       "{'in': '%u%u%s', 'out': '%u%u.wav', "
				       "'rate': 8000, 'overwrite': true}",
				       i, k, names[k] + 1, i + 4, k);
			convert(&c, params);
			assert_int_equal(
				desk_number(c.last_conversion, "frames"),
				FRAMES);
		}
	client_close_desk(&c, &d);
}

/* Conversions are tasks like others: every policy takes them, switching keeps
 * them. */
static void every_scheduler_finishes_conversions(void **state)
{
	uint8_t expected[6 + 32 * FRAMES], *got;
	struct test_spool sp;
	struct client c;
	struct scratch d;
	char params[160];
	size_t n, bytes;

	bytes = library_amr(expected, FRAMES * FRAME, MR122);
	test_spool_make(&sp);
	test_spool_wav(&sp, "a.wav", 8000, FRAMES * FRAME, 1);
	client_open_desk(&c, &d,
			 &(struct desk_options){ .spool = sp.dir,
						 .admission = true,
						 .max_age = CR_US });
	for (unsigned s = 0; cr_schedulers[s]; s++) {
		(void)snprintf(params, sizeof(params), "{'scheduler': '%s'}",
			       cr_schedulers[s]->name);
		client_do(&c, "convert.start",
			  "{'in': 'a.wav', 'out': 'x.awb', 'overwrite': true}");
		client_do(&c, "scheduler.set", params);
		desk_wait_for(&d, &c.conversions_ended, 2 * s + 1);
		assert_string_equal(text(c.last_conversion, "state"), "done");
		convert(&c,
			"{'in': 'a.wav', 'out': 'a.amr', 'overwrite': true}");
		got = test_spool_read(&sp, "a.amr", &n);
		assert_int_equal(n, bytes);
		assert_memory_equal(got, expected, n);
		free(got);
	}
	client_close_desk(&c, &d);
}

/* A call's packets do not wait for the conversions: every frame comes back
 * while they have long to run. */
static void calls_and_conversions_share_a_worker(void **state)
{
	struct test_spool sp;
	struct fixture_sender s;
	struct client c;
	struct scratch d;
	char json[64];
	long long done;
	json_t *o;
	unsigned id;

	test_spool_make(&sp);
	test_spool_endless(&sp, "a.wav");
	desk_open(&d,
		  &(struct desk_options){ .spool = sp.dir, .admission = true });
	client_open(&c, &d, NULL);
	id = client_start(&c, "");
	s = desk_sender(&d, id);
	client_do(&c, "convert.start", "{'in': 'a.wav', 'out': 'a.awb'}");
	client_do(&c, "convert.start", "{'in': 'a.wav', 'out': 'b.awb'}");
	desk_echo(&s, 50);
	(void)snprintf(json, sizeof(json), "{'stream': %u}", id);
	do { /* the last is counted after it was sent */
		o = client_ask(&c, "stream.query", json);
		done = desk_number(o, "count.done");
		json_decref(o);
	} while (done < 50);
	assert_int_equal(done, 50);
	assert_int_equal(c.conversions_ended, 0);
	client_close_desk(&c, &d);
}

/* A floor makes it a soft task: admitted by its rate, and done all the same. */
static void a_floor_reserves_capacity(void **state)
{
	struct test_spool sp;
	struct client c;
	struct scratch d;
	json_t *o;

	test_spool_make(&sp);
	test_spool_wav(&sp, "a.wav", 16000, 4000 * WIDE, 1);
	client_open_desk(&c, &d,
			 &(struct desk_options){ .spool = sp.dir,
						 .admission = true,
						 .convert_floor = 50,
						 .conversions = 1 });
	client_do(&c, "convert.start", "{'in': 'a.wav', 'out': 'a.awb'}");
	do {
		o = client_ask(&c, "convert.query", "{'conversion': 1}");
		assert_string_not_equal(text(o, "state"), "done");
		json_decref(o);
		o = client_ask(&c, "stats", NULL);
		if (json_real_value(json_object_get(o, "load")) > 0)
			break;
		json_decref(o);
	} while (true);
	json_decref(o);
	desk_wait_for(&d, &c.conversions_ended, 1);
	assert_string_equal(text(c.last_conversion, "state"), "done");
	client_close_desk(&c, &d);
}

/* A call whose frames take 20 ms each and may wait for ten seconds. */
static unsigned start_slow(struct client *c)
{
	char json[400];
	json_t *o;
	unsigned id;

	(void)snprintf(json, sizeof(json),
		       "{'in': {'codec': 'l16', 'rate': 8000}, 'out': "
		       "{'codec': 'spin', 'spin': '20ms', 'address': "
		       "'127.0.0.1:%u'}, 'ptime': '20ms', 'deadline': '10s'}",
		       c->scratch->rig.port);
	o = client_ask(c, "call.start", json);
	id = (unsigned)desk_number(o, "call");
	json_decref(o);
	return id;
}

static unsigned number_of(struct client *c, const char *json, const char *path)
{
	json_t *o = client_ask(c, "stream.query", json);
	unsigned n = (unsigned)desk_number(o, path);

	json_decref(o);
	return n;
}

/* Until each of the calls has got that many. */
static void wait_packets(struct client *c, const unsigned *id, unsigned n,
			 unsigned packets)
{
	char json[64];

	for (unsigned i = 0; i < n; i++) {
		(void)snprintf(json, sizeof(json), "{'stream': %u}", id[i]);
		while (number_of(c, json, "count.packets_in") < packets)
			;
	}
}

/* Frames that wait in calls with patient deadlines while a conversion of
 * @frames is converted: how many of them were done when it ended? */
static unsigned done_before_conversion(unsigned floor, unsigned frames)
{
	enum { CALLS = 4, EACH = 15 };
	unsigned id[CALLS], done = 0;
	struct test_spool sp;
	struct client c;
	struct scratch d;
	char json[64];

	test_spool_make(&sp);
	test_spool_wav(&sp, "a.wav", 8000, frames * FRAME, 1);
	client_open_desk(&c, &d,
			 &(struct desk_options){ .spool = sp.dir,
						 .convert_floor = floor });
	convert(&c, "{'in': 'a.wav', 'out': 'first.amr'}");
	for (unsigned i = 0; i < CALLS; i++)
		id[i] = start_slow(&c);
	for (unsigned i = 0; i < CALLS; i++) {
		struct fixture_sender s = fixture_sender(
			&d.rig, node_stream_find(d.rig.node, id[i]), FRAME);

		for (unsigned k = 0; k < EACH; k++)
			fixture_send(&s, (uint8_t[2 * FRAME]){ 0 }, 2 * FRAME);
	}
	wait_packets(&c, id, CALLS, EACH);
	convert(&c, "{'in': 'a.wav', 'out': 'a.amr'}");
	for (unsigned i = 0; i < CALLS; i++) {
		(void)snprintf(json, sizeof(json), "{'stream': %u}", id[i]);
		done += number_of(&c, json, "count.done");
	}
	client_close_desk(&c, &d);
	return done;
}

/* Under edf best effort comes last; with a floor it has deadlines of its own,
 * here shorter than the calls'. */
static void a_floor_is_kept_when_calls_want_the_cpu(void **state)
{
	assert_int_equal(done_before_conversion(0, 10), 60);
	assert_true(done_before_conversion(50, 10) < 60);
}

/* The calls' deadlines are ten seconds away: in those a floor of one frame a
 * second is ten frames, and what is behind them waits for the calls. */
static void a_floor_is_no_more_when_calls_want_the_cpu(void **state)
{
	assert_int_equal(done_before_conversion(1, 40), 60);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_wav_file_becomes_the_librarys_own_amr),
		cmocka_unit_test(an_amr_file_becomes_what_the_library_decodes),
		cmocka_unit_test(a_wide_wav_file_becomes_the_codecs_own_awb),
		cmocka_unit_test(every_format_becomes_every_other),
		cmocka_unit_test(every_scheduler_finishes_conversions),
		cmocka_unit_test(calls_and_conversions_share_a_worker),
		cmocka_unit_test(a_floor_reserves_capacity),
		cmocka_unit_test(a_floor_is_kept_when_calls_want_the_cpu),
		cmocka_unit_test(a_floor_is_no_more_when_calls_want_the_cpu),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
