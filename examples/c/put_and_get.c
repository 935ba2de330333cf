/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Stores a line of text under a name, lists its directory and reads it back:
 *
 *   cc put_and_get.c $(pkg-config --cflags --libs xec) -o put_and_get
 *   ./put_and_get xec.conf /greetings/hello 'Hello, disks!'
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xec/xec.h>

/* Waits for a request; leaves the program with its sentence if it failed. */
static xec_request *need(xec_request *request) {
  if (xec_request_wait(request) != XEC_OK) {
    fprintf(stderr, "%s: %s\n", xec_code_name(xec_request_code(request)), xec_request_message(request));
    exit(1);
  }
  return request;
}

int main(int argc, char **argv) {
  if (argc != 4) return fprintf(stderr, "usage: put_and_get CONFIG NAME TEXT\n"), 2;
  xec_config *config = xec_config_new();
  if (xec_config_read_file(config, argv[1]) != XEC_OK)
    return fprintf(stderr, "%s\n", xec_config_error(config)), 2;
  char error[512];
  xec_store *store;
  if (xec_store_open(config, 1, 0, &store, error, sizeof error) != XEC_OK)
    return fprintf(stderr, "%s\n", error), 1;

  xec_request *create = need(xec_create(store, argv[2], NULL, NULL));
  xec_writer *writer = xec_request_take_writer(create);
  xec_request_free(create);
  xec_request_free(need(xec_append(writer, argv[3], strlen(argv[3]), NULL)));
  xec_request_free(need(xec_commit(writer, NULL)));
  xec_writer_free(writer);

  char *directory = strdup(argv[2]);
  *strrchr(directory, '/') = '\0';
  xec_request *list = need(xec_list(store, *directory ? directory : "/", NULL, NULL, 0, NULL));
  for (size_t i = 0; i < xec_request_page(list)->count; ++i)
    printf("%s/%s\n", directory, xec_request_page(list)->names[i].name);
  xec_request_free(list);
  free(directory);

  xec_request *open = need(xec_open(store, argv[2], NULL, NULL));
  xec_reader *reader = xec_request_take_reader(open);
  xec_request_free(open);
  char *text = calloc(1, xec_reader_size(reader) + 1);
  xec_request_free(need(xec_read(reader, 0, text, xec_reader_size(reader), NULL)));
  printf("%s\n", text);
  free(text);
  xec_reader_free(reader);
  xec_store_close(store);
  xec_config_free(config);
  return 0;
}
