/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Settings: what is said on the command line stands where the file's own words
 * would, and is refused as they would be, with its place.
 */
#include <errno.h>
#include <string.h>

#include "campaign/campaign.h"
#include "cmocka_cr.h"

static const char text[] =
	"duration: 10s\n"
	"platform: {cpus: 2}\n"
	"schedulers: [fifo, edf]\n"
	"flows:\n"
	"  - name: speech\n"
	"    load: 50%\n"
	"    in: {codec: pcmu}\n"
	"    out: {codec: amr}\n"
	"    network: {loss: 1%, burst: 3}\n"
	"  - {name: a, count: 1, period: 10ms, share: 1%}\n"
	"  - {name: a.b, count: 1, period: 10ms, share: 1%}\n"
	"  - {count: 1, period: 10ms, share: 1%}\n";

#define MOST 4

/* The campaign with the settings of @list, which ends in NULL; or NULL and
 * @e. */
static struct campaign *with(const char *const *list, struct cr_err *e)
{
	struct campaign_settings set = { .item = list };
	struct campaign *c = NULL;

	while (set.count < MOST && list[set.count])
		set.count++;
	e->text[0] = '\0';
	if (campaign_parse(text, sizeof(text) - 1, "c.yaml", &set, &c, e))
		assert_null(c);
	return c;
}

#define WITH(...) with((const char *const[]){ __VA_ARGS__, NULL }, &e)

static void values_take_the_place_of_the_files(void **state)
{
	struct cr_err e;
	struct campaign *c = WITH("flows.speech.load=110%", "platform.cpus=4",
				  "seed=9", "flows.speech.network.loss=2%");

	assert_string_equal(e.text, "");
	assert_non_null(c);
	assert_int_equal(c->flows[0].load_ppm, 1100000);
	assert_int_equal(c->flows[0].network.loss, 20000);
	assert_int_equal(c->flows[0].network.burst, 3); /* as it was */
	assert_int_equal(c->platform.cpus, 4);
	assert_int_equal(c->seed, 9);
	assert_int_equal(c->setting_count, 4);
	assert_string_equal(c->settings[1], "platform.cpus=4");
	assert_string_equal(c->text, text); /* the file itself */
	campaign_free(c);
}

static void the_last_of_two_holds(void **state)
{
	struct cr_err e;
	struct campaign *c = WITH("platform.cpus=4", "platform.cpus=8");

	assert_non_null(c);
	assert_int_equal(c->platform.cpus, 8);
	campaign_free(c);
}

static void what_the_file_does_not_have_is_made(void **state)
{
	struct cr_err e;
	struct campaign *c =
		WITH("daemon.admission=off", "platform.overhead.context=3us",
		     "flows.speech.start.at=2s");

	assert_non_null(c);
	assert_int_equal(c->platform.admission, 0);
	assert_int_equal(c->platform.overhead.context, 3 * CR_US);
	assert_int_equal(c->flows[0].start.at, 2 * CR_SEC);
	campaign_free(c);
}

static void a_key_can_be_taken_away(void **state)
{
	struct cr_err e;
	struct campaign *c = WITH("flows.speech.load=", "flows.speech.count=7",
				  "flows.speech.network=");

	assert_non_null(c);
	assert_int_equal(c->flows[0].load_ppm, 0);
	assert_int_equal(c->flows[0].count, 7);
	assert_int_equal(c->flows[0].network.loss, 0);
	assert_int_equal(c->flows[0].network.burst, 1);
	campaign_free(c);
}

static void flows_go_by_name_and_by_number(void **state)
{
	struct cr_err e;
	struct campaign *c = WITH("flows.a.count=2", "flows.a.b.count=3",
				  "flows.flow4.count=4", "flows[0].ptime=20ms");

	assert_string_equal(e.text, "");
	assert_non_null(c);
	assert_int_equal(c->flows[0].ptime, 20 * CR_MS);
	assert_int_equal(c->flows[1].count, 2);
	assert_int_equal(c->flows[2].count, 3);
	assert_int_equal(c->flows[3].count, 4);
	campaign_free(c);
}

static void lists_and_sections_are_written_as_in_the_file(void **state)
{
	struct cr_err e;
	struct campaign *c = WITH(
		"schedulers=[rr, \"rr,quantum=5ms\", cfs]", "schedulers[2]=bfs",
		"flows.speech.network={jitter: 4ms}", "flows.speech.name=talk");

	assert_string_equal(e.text, "");
	assert_non_null(c);
	assert_int_equal(c->schedulers.count, 3);
	assert_string_equal(c->schedulers.item[1], "rr,quantum=5ms");
	assert_string_equal(c->schedulers.item[2], "bfs");
	assert_int_equal(c->flows[0].network.jitter, 4 * CR_MS);
	assert_int_equal(c->flows[0].network.loss, 0); /* no more */
	assert_string_equal(c->flows[0].name, "talk");
	campaign_free(c);
	c = WITH("flows=[{name: one, period: 5ms, share: 3%}]",
		 "flows.one.count=6");
	assert_non_null(c);
	assert_int_equal(c->flow_count, 1);
	assert_int_equal(c->flows[0].count, 6);
	campaign_free(c);
}

static const struct {
	const char *setting, *says;
} mistakes[] = {
	/* no such place: the nearest one is told */
	{ "platfrom.cpus=4", "--set platfrom.cpus=4: unknown key 'platfrom'; "
			     "did you mean 'platform'?" },
	{ "platform.cpu=4", "--set platform.cpu=4: platform: unknown key "
			    "'cpu'; did you mean 'cpus'?" },
	{ "flows.speach.load=1%", "--set flows.speach.load=1%: flows: there is "
				  "no 'speach'; did you mean 'speech'?" },
	{ "flows.x.load=1%", "flows: there is no 'x'; known: speech, a, a.b, "
			     "flow4" },
	{ "flows.speech.laod=1%", "--set flows.speech.laod=1%: flows[0]: "
				  "unknown key 'laod'; did you mean 'load'?" },
	{ "flows[4].load=1%", "flows: has 4, counted from 0; there is no [4]" },
	{ "flows[x].load=1%", "needs a number from 0, as in flows[0]" },
	{ "flows[1=1%", "needs a number from 0" },
	{ "schedulers.edf=1", "schedulers: is a list of values" },
	{ "seed.x=1", "--set seed.x=1: seed: there is nothing below it" },
	{ "platform[0]=1", "platform: there is nothing below it" },
	{ "platform..cpus=1", "platform: unknown key ''" },
	{ ".=1", "unknown key ''" },
	/* no setting */
	{ "platform.cpus", "needs KEY=VALUE, such as flows.speech.load=110%" },
	{ "=4", "needs KEY=VALUE" },
	{ "", "needs KEY=VALUE" },
	/* values are judged where the file's are */
	{ "platform.cpus=0", "--set platform.cpus=0: platform: cpus=0: needs" },
	{ "duration=10", "--set duration=10: duration=10: needs a time with "
			 "its unit" },
	{ "flows.speech.load=much", "--set flows.speech.load=much: flows[0]: "
				    "load=much: needs" },
	{ "flows.a.period=2h",
	  "--set flows.a.period=2h: flows[1]: period=2h: needs a time with "
	  "its unit (ns, us, ms, s) from 1us to 3600s" },
	{ "flows.a.deadline=2h", "--set flows.a.deadline=2h: flows[1]: "
				 "deadline=2h: needs a time" },
	{ "flows[1]={period: 1h, share: 28%}",
	  "--set flows[1]={period: 1h, share: 28%}: flows[1]: share: more than "
	  "1000s of the period" },
	{ "flows.speech.network.loss=100%",
	  "--set flows.speech.network.loss=100%: flows[0].network: loss=100%" },
	{ "platform.run-queues=3", "--set platform.run-queues=3: platform: " },
	{ "schedulers=[fifo, efd]", "--set schedulers=[fifo, efd]: "
				    "schedulers[1]: " },
	{ "schedulers[1]=efd", "--set schedulers[1]=efd: schedulers[1]: " },
	{ "flows.speech.network={los: 1%}",
	  "flows[0].network: unknown key 'los'; did you mean 'loss'?" },
	{ "platform=4", "--set platform=4: platform: needs a mapping (key: "
			"value lines), not a single value" },
	{ "flows.speech.load={a: 1}", "flows[0].load: needs a single value, "
				      "not a mapping" },
	{ "flows=[]", "--set flows=[]: flows: needs at least 1" },
	{ "seed=\"1", "--set seed=\"1: not YAML: " },
	{ "seed=*x", "--set seed=*x: aliases" },
	{ "seed=1\n---\n2", "a second document; a setting has one value" },
	/* what is left must be whole */
	{ "flows=", "c.yaml:1: 'flows' is missing (with --set flows=)" },
	{ "duration=", "c.yaml:1: 'duration' is missing (with --set "
		       "duration=)" },
	{ "flows[1]=", "an entry of a list cannot be taken away" },
	/* file and setting against each other: both places */
	{ "flows.speech.count=4", "exclude each other (with --set "
				  "flows.speech.count=4)" },
};

static void mistakes_are_told_with_their_place(void **state)
{
	for (unsigned i = 0; i < sizeof(mistakes) / sizeof(mistakes[0]); i++) {
		struct cr_err e;
		struct campaign *c = WITH("seed=2", mistakes[i].setting);
		struct campaign *alone = c ? c : WITH(mistakes[i].setting);

		if (alone)
			fail_msg("taken: %s", mistakes[i].setting);
		if (!strstr(e.text, mistakes[i].says))
			fail_msg("%s\nsays: %s\nnot: %s", mistakes[i].setting,
				 e.text, mistakes[i].says);
	}
}

/* A message is cut, not lost, whatever comes. */
static void a_long_setting_is_told_in_part(void **state)
{
	char setting[3000] = "flows.speech.load=";
	size_t n = strlen(setting);
	struct cr_err e;

	memset(setting + n, '9', sizeof(setting) - n - 1);
	setting[sizeof(setting) - 1] = '\0';
	assert_null(WITH(setting));
	assert_non_null(strstr(e.text, "--set flows.speech.load=999"));
	assert_non_null(strstr(e.text, ": flows[0].load: unusable text"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_take_the_place_of_the_files),
		cmocka_unit_test(the_last_of_two_holds),
		cmocka_unit_test(what_the_file_does_not_have_is_made),
		cmocka_unit_test(a_key_can_be_taken_away),
		cmocka_unit_test(flows_go_by_name_and_by_number),
		cmocka_unit_test(lists_and_sections_are_written_as_in_the_file),
		cmocka_unit_test(mistakes_are_told_with_their_place),
		cmocka_unit_test(a_long_setting_is_told_in_part),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
