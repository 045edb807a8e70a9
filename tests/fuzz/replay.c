/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replays a corpus through a fuzz target in an ordinary build: every file of
 * every folder or file named on the command line, once. Fails when there was
 * nothing to replay.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned replayed;

static int replay_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	uint8_t *data = NULL;
	size_t size = 0;
	struct stat st;

	if (!f || fstat(fileno(f), &st)) {
		perror(path);
		return 1;
	}
	data = malloc((size_t)st.st_size + 1);
	if (data)
		size = fread(data, 1, (size_t)st.st_size, f);
	(void)fclose(f);
	if (!data)
		return 1;
	(void)LLVMFuzzerTestOneInput(data, size);
	free(data);
	replayed++;
	return 0;
}

static int replay(const char *path)
{
	char name[4096];
	struct dirent *entry;
	DIR *dir = opendir(path);
	int failed = 0;

	if (!dir)
		return replay_file(path);
	while ((entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		(void)snprintf(name, sizeof(name), "%s/%s", path,
			       entry->d_name);
		failed |= replay_file(name);
	}
	(void)closedir(dir);
	return failed;
}

int main(int argc, char **argv)
{
	int failed = 0;

	for (int i = 1; i < argc; i++)
		failed |= replay(argv[i]);
	printf("%u inputs replayed\n", replayed);
	return failed || !replayed;
}
