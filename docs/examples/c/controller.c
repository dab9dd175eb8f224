/* A controller of one's own in linkwork's place: gravity-compensated PD for the SCARA, in lockstep or device-clocked.
 *
 * Written from protocol/README.md alone, on libzmq and msgpack-c. It knows four things of the machine: its joints'
 * order and units, which it checks against the welcome; the interface hash, which `linkwork check scara` prints; the
 * period; and what hangs on the lift, 0.5 kg, the only joint that feels gravity.
 *
 * cc -O2 -Wall -Wextra -o controller controller.c $(pkg-config --cflags --libs libzmq msgpack) -lm
 * ./controller ENDPOINT INTERFACE [--lockstep] [--period S] [--states N] [--to A B C D]
 *
 * It enters, holds the pose that it finds for 0.2 s, moves within 2 s to the pose asked for (rad, rad, rad, m), and
 * stays there until SIGINT, SIGTERM or N states; then it brakes and says bye. Exit: 0 so; 1 refused or no answer;
 * 2 wrong usage; 3 the plant reported a fault, was lost or said bye.
 */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <msgpack.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zmq.h>

enum { JOINTS = 4, PROTOCOL = 1 };
enum { BRAKE, ZERO, EFFORT };                 /* modes */
enum { FAULT = 2, STO = 4, HOMED = 16 };      /* status bits */
enum { LOST_MOST = 20, FIRST_MOST = 700, HELLOS_MOST = 600, DRAINED_MOST = 64 }; /* in a row; hellos: 0.1 s apart */

static const char *const NAMES[JOINTS] = {"shoulder", "elbow", "wrist", "lift"};
static const char *const UNITS[JOINTS] = {"N m", "N m", "N m", "N"};
static const double STIFFNESS[JOINTS] = {300, 120, 8, 400}; /* N m/rad, N/m */
static const double DAMPING[JOINTS] = {50, 20, 1, 30};      /* N m s/rad, N s/m */
static const double MOST[JOINTS] = {60, 40, 10, 100};       /* N m, N */
static const double LIFTED_N = 0.5 * 9.81;
static const double HOLD_S = 0.2, MOVE_S = 2.0;

typedef struct {
    int64_t seq, status, fault;
    double time_s, q[JOINTS], v[JOINTS];
} State;

static volatile sig_atomic_t ended;

static void end(int number) {
    (void)number;
    ended = 1;
}

/* -- reading: maps in any order, unknown keys ignored, wrong types refused ------------------------------ */

static const msgpack_object *field(const msgpack_object *map, const char *name) {
    if (map->type != MSGPACK_OBJECT_MAP) return NULL;
    for (uint32_t i = 0; i < map->via.map.size; i++) {
        const msgpack_object *key = &map->via.map.ptr[i].key;
        if (key->type == MSGPACK_OBJECT_STR && key->via.str.size == strlen(name) &&
            !memcmp(key->via.str.ptr, name, key->via.str.size))
            return &map->via.map.ptr[i].val;
    }
    return NULL;
}

static int integer(const msgpack_object *value, int64_t least, int64_t *out) {
    if (!value || (value->type != MSGPACK_OBJECT_POSITIVE_INTEGER && value->type != MSGPACK_OBJECT_NEGATIVE_INTEGER))
        return 0;
    if (value->type == MSGPACK_OBJECT_POSITIVE_INTEGER && value->via.u64 >= (uint64_t)1 << 53) return 0;
    *out = value->via.i64;
    return *out >= least;
}

static int number(const msgpack_object *value, double *out) {
    if (!value) return 0;
    if (value->type == MSGPACK_OBJECT_FLOAT32 || value->type == MSGPACK_OBJECT_FLOAT64) *out = value->via.f64;
    else if (value->type == MSGPACK_OBJECT_POSITIVE_INTEGER) *out = (double)value->via.u64;
    else if (value->type == MSGPACK_OBJECT_NEGATIVE_INTEGER) *out = (double)value->via.i64;
    else return 0;
    return isfinite(*out);
}

static int numbers(const msgpack_object *list, double *out) {
    if (!list || list->type != MSGPACK_OBJECT_ARRAY || list->via.array.size != JOINTS) return 0;
    for (int i = 0; i < JOINTS; i++)
        if (!number(&list->via.array.ptr[i], &out[i])) return 0;
    return 1;
}

static int is_text(const msgpack_object *value, const char *text) {
    return value && value->type == MSGPACK_OBJECT_STR && value->via.str.size == strlen(text) &&
           !memcmp(value->via.str.ptr, text, strlen(text));
}

static void show(const char *what, const msgpack_object *text) {
    if (text && text->type == MSGPACK_OBJECT_STR)
        fprintf(stderr, "%s: %.*s\n", what, (int)text->via.str.size, text->via.str.ptr);
    else fprintf(stderr, "%s\n", what);
}

static int read_state(const msgpack_object *map, State *out) {
    State state;
    int64_t mode, ack;
    double effort[JOINTS];
    if (!integer(field(map, "seq"), 0, &state.seq) || !number(field(map, "time_s"), &state.time_s) ||
        !integer(field(map, "status"), 0, &state.status) || !integer(field(map, "fault"), 0, &state.fault) ||
        !integer(field(map, "mode"), 0, &mode) || mode > EFFORT || !integer(field(map, "ack"), -1, &ack) ||
        !numbers(field(map, "q"), state.q) || !numbers(field(map, "v"), state.v) ||
        !numbers(field(map, "effort"), effort))
        return 0;
    *out = state;
    return 1;
}

static int fits(const msgpack_object *welcome, const char *interface) { /* the same machine, in the same order? */
    const msgpack_object *layout = field(welcome, "layout"), *motors, *sensors;
    if (!layout || !is_text(field(welcome, "interface"), interface)) return 0;
    motors = field(layout, "motors");
    sensors = field(layout, "sensors");
    if (!motors || !sensors || motors->type != MSGPACK_OBJECT_ARRAY || sensors->type != MSGPACK_OBJECT_ARRAY) return 0;
    if (motors->via.array.size != JOINTS || sensors->via.array.size != JOINTS) return 0;
    for (int i = 0; i < JOINTS; i++) {
        const msgpack_object *motor = &motors->via.array.ptr[i], *sensor = &sensors->via.array.ptr[i];
        const msgpack_object *velocity = field(sensor, "velocity");
        if (!is_text(field(motor, "joint"), NAMES[i]) || !is_text(field(motor, "unit"), UNITS[i])) return 0;
        if (!is_text(field(sensor, "joint"), NAMES[i])) return 0;
        if (!velocity || velocity->type != MSGPACK_OBJECT_BOOLEAN || !velocity->via.boolean) return 0;
    }
    return 1;
}

/* -- writing --------------------------------------------------------------------------------------------- */

static msgpack_sbuffer out;
static msgpack_packer packer;

static void put_text(const char *text) {
    size_t size = strlen(text);
    msgpack_pack_str(&packer, size);
    msgpack_pack_str_body(&packer, text, size);
}

static void begin(const char *type, size_t fields, uint64_t session) {
    msgpack_sbuffer_clear(&out);
    msgpack_pack_map(&packer, fields + 2);
    put_text("type");
    put_text(type);
    put_text("session");
    msgpack_pack_uint64(&packer, session);
}

static void transmit(void *link) { /* never waits: what does not fit is lost, as the protocol bears */
    zmq_send(link, out.data, out.size, ZMQ_DONTWAIT);
}

static void put_hello(uint64_t session, const char *interface, const char *pace, double period_s) {
    begin("hello", 5, session);
    put_text("protocol");
    msgpack_pack_int(&packer, PROTOCOL);
    put_text("owner");
    put_text("controller.c");
    put_text("interface");
    put_text(interface);
    put_text("pace");
    put_text(pace);
    put_text("period_s");
    msgpack_pack_double(&packer, period_s);
}

static void put_command(uint64_t session, int64_t seq, int mode, const double *effort) {
    begin("command", 3, session);
    put_text("seq");
    msgpack_pack_int64(&packer, seq);
    put_text("mode");
    msgpack_pack_int(&packer, mode);
    put_text("effort");
    msgpack_pack_array(&packer, JOINTS);
    for (int i = 0; i < JOINTS; i++) msgpack_pack_double(&packer, effort[i]);
}

static void put_bye(uint64_t session, const char *text) {
    begin("bye", 1, session);
    put_text("text");
    put_text(text);
}

/* -- the law --------------------------------------------------------------------------------------------- */

static void law(const State *state, const double *from, const double *to, double since_s, double *effort) {
    double x = fmin(1.0, fmax(0.0, (since_s - HOLD_S) / MOVE_S)), rate = x > 0.0 && x < 1.0 ? 1.0 / MOVE_S : 0.0;
    double way = x * x * x * (10.0 - 15.0 * x + 6.0 * x * x), speed = 30.0 * rate * x * x * (1.0 - x) * (1.0 - x);
    for (int i = 0; i < JOINTS; i++) {
        double q = from[i] + way * (to[i] - from[i]), v = speed * (to[i] - from[i]);
        double gravity = i == JOINTS - 1 ? LIFTED_N : 0.0;
        double wanted = gravity + STIFFNESS[i] * (q - state->q[i]) + DAMPING[i] * (v - state->v[i]);
        effort[i] = fmax(-MOST[i], fmin(MOST[i], wanted));
    }
}

static uint64_t draw_session(void) {
    uint64_t drawn = 0;
    FILE *source = fopen("/dev/urandom", "rb");
    if (!source || fread(&drawn, sizeof drawn, 1, source) != 1) drawn = (uint64_t)time(NULL) * 2654435761u;
    if (source) fclose(source);
    drawn &= ((uint64_t)1 << 53) - 1;
    return drawn ? drawn : 1;
}

/* Receives the next message of this session, unpacked; 0 when none comes in time. */
static int receive(void *link, msgpack_unpacked *in, uint64_t session, long patience_ms) {
    static char data[1 << 16]; /* kept until the next message: texts of `in` point into it */
    zmq_pollitem_t ready = {.socket = link, .events = ZMQ_POLLIN};
    int good = 0, more = 0;
    size_t width = sizeof more;
    if (zmq_poll(&ready, 1, patience_ms) <= 0) return 0;
    int size = zmq_recv(link, data, sizeof data, ZMQ_DONTWAIT);
    zmq_getsockopt(link, ZMQ_RCVMORE, &more, &width);
    if (size >= 0 && size <= (int)sizeof data && !more) {
        size_t read = 0;
        int64_t said;
        good = msgpack_unpack_next(in, data, (size_t)size, &read) == MSGPACK_UNPACK_SUCCESS &&
               read == (size_t)size && in->data.type == MSGPACK_OBJECT_MAP &&
               integer(field(&in->data, "session"), 0, &said) && (uint64_t)said == session;
    }
    return good ? 1 : -1;
}

static int pending(void *link) {
    zmq_pollitem_t ready = {.socket = link, .events = ZMQ_POLLIN};
    return zmq_poll(&ready, 1, 0) > 0;
}

/* Says hello every 0.1 s until it is answered; 1 once the plant is ours. */
static int enter(void *link, uint64_t session, const char *interface, const char *pace, double period_s) {
    msgpack_unpacked in;
    int entered = -1;
    msgpack_unpacked_init(&in);
    for (int asked = 0; entered < 0 && asked < HELLOS_MOST && !ended; asked++) {
        put_hello(session, interface, pace, period_s);
        transmit(link);
        for (int got; entered < 0 && (got = receive(link, &in, session, 100)) != 0;) {
            const msgpack_object *type = got > 0 ? field(&in.data, "type") : NULL;
            if (type && is_text(type, "refuse")) {
                show("refused", field(&in.data, "text"));
                entered = 0;
            } else if (type && is_text(type, "welcome")) {
                entered = fits(&in.data, interface);
                if (!entered) {
                    fprintf(stderr, "this plant is not the SCARA that I know\n");
                    put_bye(session, "the interfaces differ");
                    transmit(link);
                }
            }
        }
    }
    msgpack_unpacked_destroy(&in);
    return entered > 0;
}

static int run(void *link, uint64_t session, int lockstep, double period_s, long states, const double *to) {
    static const double none[JOINTS];
    double from[JOINTS], effort[JOINTS], began_s = 0.0;
    State state = {.seq = -1};
    int left = 0, lost = 0, told = 0, drained = 0;
    long done = 0, patience_ms = lockstep ? 1000 : 5 + (long)(2e3 * period_s);
    msgpack_unpacked in;
    msgpack_unpacked_init(&in);
    while (!ended && !left && (!states || done < states)) {
        int got = receive(link, &in, session, patience_ms);
        const msgpack_object *type = got > 0 ? field(&in.data, "type") : NULL;
        State fresh;
        if (!got) { /* nothing in time: lockstep repeats its last message, else a state is lost */
            if (lockstep && done) transmit(link);
            if (++lost > (lockstep ? 5 : done ? LOST_MOST : FIRST_MOST)) left = 3, fprintf(stderr, "the plant is silent\n");
            continue;
        }
        if (type && is_text(type, "bye")) {
            show("the plant said bye", field(&in.data, "text"));
            left = 3;
            continue;
        }
        if (!type || !is_text(type, "state") || !read_state(&in.data, &fresh) || fresh.seq <= state.seq) continue;
        state = fresh; /* unreadable and old states change nothing; of a gap in seq there is nothing to make up */
        lost = 0;
        if (!lockstep && pending(link) && ++drained < DRAINED_MOST) continue; /* only the newest is answered */
        drained = 0;
        if (!done++) {
            memcpy(from, state.q, sizeof from);
            began_s = state.time_s;
        }
        if (state.status & (FAULT | STO) || !(state.status & HOMED)) { /* brake, and leave once it is told */
            put_command(session, state.seq, BRAKE, none);
            transmit(link);
            fprintf(stderr, "status %lld, fault %lld: braked\n", (long long)state.status, (long long)state.fault);
            left = 3;
            continue;
        }
        law(&state, from, to ? to : from, state.time_s - began_s, effort);
        put_command(session, state.seq, EFFORT, effort);
        transmit(link);
        if (!told && state.time_s - began_s > HOLD_S + MOVE_S) {
            told = 1;
            printf("arrived %.6f %.6f %.6f %.6f\n", state.q[0], state.q[1], state.q[2], state.q[3]);
            fflush(stdout);
        }
    }
    msgpack_unpacked_destroy(&in);
    put_bye(session, left ? "gave up" : "done"); /* the plant brakes */
    transmit(link);
    return left;
}

int main(int count, char **words) {
    int lockstep = 0;
    double period_s = 0.001, target[JOINTS], *to = NULL;
    long states = 0;
    if (count < 3) {
        fprintf(stderr, "%s ENDPOINT INTERFACE [--lockstep] [--period S] [--states N] [--to A B C D]\n", words[0]);
        return 2;
    }
    for (int i = 3; i < count; i++) {
        if (!strcmp(words[i], "--lockstep")) lockstep = 1;
        else if (!strcmp(words[i], "--period") && i + 1 < count) period_s = atof(words[++i]);
        else if (!strcmp(words[i], "--states") && i + 1 < count) states = atol(words[++i]);
        else if (!strcmp(words[i], "--to") && i + JOINTS < count) {
            to = target;
            for (int j = 0; j < JOINTS; j++) target[j] = atof(words[++i]);
        } else return fprintf(stderr, "%s: what is %s?\n", words[0], words[i]), 2;
    }
    struct sigaction action = {.sa_handler = end};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    void *context = zmq_ctx_new(), *link = zmq_socket(context, ZMQ_DEALER);
    int linger = 200, immediate = 1, status = 1; /* at the end there is a moment for the bye */
    zmq_setsockopt(link, ZMQ_LINGER, &linger, sizeof linger);
    zmq_setsockopt(link, ZMQ_IMMEDIATE, &immediate, sizeof immediate);
    msgpack_sbuffer_init(&out);
    msgpack_packer_init(&packer, &out, msgpack_sbuffer_write);
    uint64_t session = draw_session();
    if (zmq_connect(link, words[1]) != 0) fprintf(stderr, "%s: %s\n", words[1], zmq_strerror(zmq_errno()));
    else if (enter(link, session, words[2], lockstep ? "lockstep" : "device", period_s))
        status = run(link, session, lockstep, period_s, states, to);
    msgpack_sbuffer_destroy(&out);
    zmq_close(link);
    zmq_ctx_term(context);
    return status;
}
