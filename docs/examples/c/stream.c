/* A client that streams set-points: the tool draws a circle that is computed while it moves.
 *
 * Written from protocol/README.md alone, on libzmq and msgpack-c. Plant and controller are running; ENDPOINT is that
 * of the controller's requests, which it prints. The machine needs task coordinates x and y.
 *
 * cc -O2 -Wall -Wextra -o stream stream.c $(pkg-config --cflags --libs libzmq msgpack) -lm
 * ./stream ENDPOINT [--lockstep] [--radius M] [--seconds S]
 *
 * It enables the machine, streams at 100 Hz from where the tool is, waits for the result, disables, and prints name
 * and text of the result. In lockstep it runs 10 ticks for each set-point. Exit: 0 for SUCCESSFUL; 1 refused, ended
 * otherwise or no answer; 2 wrong usage.
 */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <msgpack.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zmq.h>

enum { REQUEST, RESPONSE, NOTIFICATION }; /* the shapes of MessagePack-RPC */
enum { ANSWER_MS = 5000, RESULT_MS = 30000, TICKS = 10 };
static const double INTERVAL_S = 0.01, TURN_S = 2.0, PI = 3.14159265358979323846;

static void *link_;
static msgpack_sbuffer out;
static msgpack_packer packer;
static msgpack_unpacked answer; /* the last message that was read */
static uint32_t number;
static uint64_t goal;
static int ended; /* whether the result of the goal has come: 1 successful, -1 otherwise */

/* -- messages ------------------------------------------------------------------------------------------- */

static void put(const char *text) {
    msgpack_pack_str(&packer, strlen(text));
    msgpack_pack_str_body(&packer, text, strlen(text));
}

static void begin(const char *method, size_t parameters) { /* [0, number, method, {"as": ..., and so many more}] */
    msgpack_sbuffer_clear(&out);
    msgpack_pack_array(&packer, 4);
    msgpack_pack_int(&packer, REQUEST);
    msgpack_pack_uint32(&packer, ++number);
    put(method);
    msgpack_pack_map(&packer, parameters + 1);
    put("as");
    put("stream.c@example");
}

static const msgpack_object *field(const msgpack_object *map, const char *name) {
    if (!map || map->type != MSGPACK_OBJECT_MAP) return NULL;
    for (uint32_t i = 0; i < map->via.map.size; i++) {
        const msgpack_object *key = &map->via.map.ptr[i].key;
        if (key->type == MSGPACK_OBJECT_STR && key->via.str.size == strlen(name) &&
            !memcmp(key->via.str.ptr, name, key->via.str.size))
            return &map->via.map.ptr[i].val;
    }
    return NULL;
}

static void show(FILE *where, const msgpack_object *map, const char *name, const char *after) {
    const msgpack_object *text = field(map, name);
    if (text && text->type == MSGPACK_OBJECT_STR)
        fprintf(where, "%.*s%s", (int)text->via.str.size, text->via.str.ptr, after);
}

static int is_text(const msgpack_object *value, const char *text) {
    return value && value->type == MSGPACK_OBJECT_STR && value->via.str.size == strlen(text) &&
           !memcmp(value->via.str.ptr, text, strlen(text));
}

static double value_of(const msgpack_object *value) {
    if (!value) return NAN;
    if (value->type == MSGPACK_OBJECT_FLOAT32 || value->type == MSGPACK_OBJECT_FLOAT64) return value->via.f64;
    if (value->type == MSGPACK_OBJECT_POSITIVE_INTEGER) return (double)value->via.u64;
    if (value->type == MSGPACK_OBJECT_NEGATIVE_INTEGER) return (double)value->via.i64;
    return NAN;
}

/* Reads one message, waiting at most so long. The result of our goal is noted and printed. An answer is left in
 * `answer`, its number returned; 0: a notification; -1: nothing came. */
static int64_t receive(int wait_ms) {
    static char data[1 << 20]; /* kept until the next message: texts of `answer` point into it */
    int64_t found = -1;
    zmq_setsockopt(link_, ZMQ_RCVTIMEO, &wait_ms, sizeof wait_ms);
    int size = zmq_recv(link_, data, sizeof data, 0);
    if (size >= 0 && size <= (int)sizeof data) {
        size_t at = 0;
        found = 0;
        msgpack_unpacked_destroy(&answer);
        msgpack_unpacked_init(&answer);
        if (msgpack_unpack_next(&answer, data, (size_t)size, &at) == MSGPACK_UNPACK_SUCCESS &&
            answer.data.type == MSGPACK_OBJECT_ARRAY && answer.data.via.array.size >= 3) {
            const msgpack_object *part = answer.data.via.array.ptr;
            if (part[0].type == MSGPACK_OBJECT_POSITIVE_INTEGER && part[0].via.u64 == RESPONSE &&
                answer.data.via.array.size == 4 && part[1].type == MSGPACK_OBJECT_POSITIVE_INTEGER)
                found = (int64_t)part[1].via.u64;
            else if (is_text(&part[1], "goal.result") && value_of(field(&part[2], "goal")) == (double)goal) {
                ended = value_of(field(&part[2], "code")) == 0.0 ? 1 : -1;
                show(stdout, &part[2], "name", " ");
                show(stdout, &part[2], "text", "\n");
            }
        }
    }
    return found;
}

static const msgpack_object *checked(void) { /* the result in `answer`, or NULL after a refusal, which is printed */
    const msgpack_object *part = answer.data.via.array.ptr;
    if (part[2].type == MSGPACK_OBJECT_NIL) return &part[3];
    show(stderr, &part[2], "name", ": ");
    show(stderr, &part[2], "message", "\n");
    return NULL;
}

static const msgpack_object *ask(void) { /* sends what was begun, and waits for its answer */
    int64_t mine = number, found;
    if (zmq_send(link_, out.data, out.size, 0) < 0) return NULL;
    while ((found = receive(ANSWER_MS)) != mine) {
        if (found > 0 && !checked()) return NULL; /* a set-point sent before was refused */
        if (found < 0) {
            fprintf(stderr, "no answer\n");
            return NULL;
        }
    }
    return checked();
}

static const msgpack_object *simply(const char *method) {
    begin(method, 0);
    return ask();
}

/* -- the stream ----------------------------------------------------------------------------------------- */

static double now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int set_point(double time_s, double x, double y) { /* does not wait for the answer */
    begin("set_points", 2);
    put("goal");
    msgpack_pack_uint64(&packer, goal);
    put("points");
    msgpack_pack_array(&packer, 1);
    msgpack_pack_array(&packer, 3);
    msgpack_pack_double(&packer, time_s);
    msgpack_pack_double(&packer, x);
    msgpack_pack_double(&packer, y);
    return zmq_send(link_, out.data, out.size, 0) >= 0;
}

static int run(int lockstep, double radius, double seconds) {
    const msgpack_object *result, *there;
    double x, y, began;
    if (!simply("enable") || !(result = simply("state"))) return 1;
    there = field(result, "coordinates");
    x = value_of(field(there, "x"));
    y = value_of(field(there, "y"));
    if (isnan(x) || isnan(y)) {
        fprintf(stderr, "the machine has no coordinates x and y\n");
        return 1;
    }
    begin("stream", 2);
    put("coordinates");
    msgpack_pack_array(&packer, 2);
    put("x");
    put("y");
    put("rate_hz");
    msgpack_pack_double(&packer, 1.0 / INTERVAL_S);
    if (!(result = ask())) return 1;
    goal = (uint64_t)value_of(field(result, "goal"));

    began = now_s();
    for (int i = 0; i * INTERVAL_S <= seconds && !ended; i++) {
        double t = i * INTERVAL_S, u = t / seconds;
        double turned = 2.0 * PI * seconds / TURN_S * u * u * (3.0 - 2.0 * u); /* from rest to rest */
        if (!set_point(t, x + radius * sin(turned), y - radius * (1.0 - cos(turned)))) return 1;
        if (lockstep) {
            begin("advance", 1);
            put("ticks");
            msgpack_pack_int(&packer, TICKS);
            if (!ask()) return 1;
        } else {
            double left = began + t + INTERVAL_S - now_s();
            int64_t found;
            while ((found = receive(left > 0.0 ? (int)(1e3 * left) : 0)) >= 0) {
                if (found > 0 && !checked()) return 1;
                left = began + t + INTERVAL_S - now_s();
            }
        }
    }
    if (!simply("finish")) return 1;
    for (int waited = 0; !ended && waited < RESULT_MS; waited += 100) receive(100);
    simply("disable");
    simply("release");
    return ended == 1 ? 0 : 1;
}

int main(int count, char **words) {
    int lockstep = 0, status, wait_ms = 500;
    double radius = 0.03, seconds = 4.0;
    for (int i = 2; i < count; i++) {
        if (!strcmp(words[i], "--lockstep")) lockstep = 1;
        else if (!strcmp(words[i], "--radius") && i + 1 < count) radius = atof(words[++i]);
        else if (!strcmp(words[i], "--seconds") && i + 1 < count) seconds = atof(words[++i]);
        else count = 0;
    }
    if (count < 2 || !(seconds > 0.0)) {
        fprintf(stderr, "usage: %s ENDPOINT [--lockstep] [--radius M] [--seconds S]\n", words[0]);
        return 2;
    }
    void *context = zmq_ctx_new();
    link_ = zmq_socket(context, ZMQ_DEALER);
    zmq_setsockopt(link_, ZMQ_LINGER, &wait_ms, sizeof wait_ms);
    msgpack_sbuffer_init(&out);
    msgpack_packer_init(&packer, &out, msgpack_sbuffer_write);
    msgpack_unpacked_init(&answer);
    status = zmq_connect(link_, words[1]) ? 1 : run(lockstep, radius, seconds);
    msgpack_unpacked_destroy(&answer);
    msgpack_sbuffer_destroy(&out);
    zmq_close(link_);
    zmq_ctx_destroy(context);
    return status;
}
