/* A device for linkwork's driver `udp`: the reference for microcontrollers, and a small motor to try it with.
 *
 * It behaves as one motor with an encoder: rotor inertia, viscous and dry friction, a brake, a winding that warms up,
 * quantised counts, a watchdog. docs/drivers.md has the table of bytes. What a microcontroller would keep: `answer`,
 * `watch`, and the packing; what it would replace: `move_on`, by its timer, its bridge and its encoder.
 *
 * cc -O2 -Wall -Wextra -o udp_device udp_device.c -lm
 * ./udp_device [--port N] [--lockstep] [--watchdog-ms N] [--unhomed] [--wall-deg A] [--valve]
 *
 * With --wall-deg a finger on what it turns meets a wall, and a force sensor says how hard: three numbers more.
 * With --valve it has an output signal, a valve, and an input signal, the valve's end switch, 20 ms behind it.
 */
#define _POSIX_C_SOURCE 200809L
#include <arpa/inet.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MOTORS = 1, SENSORS = 1 };
enum { BRAKE, ZERO, EFFORT };                                   /* modes */
enum { ENABLED = 1, FAULT = 2, BRAKED = 8, HOMED = 16 };        /* status bits; 4 is safe torque off */
enum { COMMAND_TIMEOUT = 1, OVER_TEMPERATURE = 4 };             /* faults */
enum { DO_HOME = 1, CLEAR = 2, KEEP_OUTPUTS = 4 };               /* flags of a command */
enum { MOST_FORCES = 3, MOST_SIGNALS = 1 };
enum { OUTPUTS_AT = 20 + 4 * MOTORS, FORCES_AT = 24 + 8 * SENSORS + 8 * MOTORS };
enum { MOST_COMMAND_BYTES = OUTPUTS_AT + 4 * MOST_SIGNALS + 4 };
static const double VALVE_S = 0.02;      /* s, from the valve's output to its end switch */

static const double INERTIA = 2e-5;      /* kg m2, of the rotor and what it turns */
static const double VISCOUS = 2e-5;      /* N m s/rad */
static const double COULOMB = 2e-3;      /* N m */
static const double BRAKE_TORQUE = 0.15; /* N m */
static const double TORQUE_PER_A = 0.05; /* N m/A */
static const double MOST_A = 4.0;
static const double COUNTS_PER_TURN = 4096.0;
static const double OHM = 0.6, HEAT_J_K = 20.0, COOLING_W_K = 0.4, ROOM_C = 22.0, MOST_C = 110.0;
static const double STEP_S = 1e-4;
static const double GEAR = 20.0, FINGER_M = 0.1, WALL_N_M = 5e3, WALL_N_S_M = 20.0;

static struct {
    double angle, speed, current, temperature; /* of the rotor: rad, rad/s, A, degrees C */
    double zero;                               /* rad: where it says 0 counts */
    uint32_t session, seq, time_us;            /* of the newest command taken */
    int mode, fault, homed, homing, known;     /* known: a session is there */
    double quiet_s, watchdog_s;                /* since the newest command; allowed */
    double force[MOST_FORCES], wall;           /* N, world axes, on the finger; rad, where the wall is */
    int forces;                                /* numbers of its force sensors: 3 with a wall */
    int signals, valve;                        /* 1 with a valve; the valve's output */
    double moved_s, open;                      /* s since the output changed; the end switch, 0 or 1 */
} motor;

static volatile sig_atomic_t ended;

static void end(int number) {
    (void)number;
    ended = 1;
}

/* -- bytes: little-endian, whatever this computer is ---------------------------------------------------- */

static void put32(uint8_t *at, uint32_t value) {
    for (int i = 0; i < 4; i++) at[i] = (uint8_t)(value >> (8 * i));
}

static uint32_t get32(const uint8_t *at) {
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static void put_float(uint8_t *at, double value) {
    float narrow = (float)value;
    uint32_t bits;
    memcpy(&bits, &narrow, 4);
    put32(at, bits);
}

static double get_float(const uint8_t *at) {
    uint32_t bits = get32(at);
    float value;
    memcpy(&value, &bits, 4);
    return value;
}

static uint32_t crc32(const uint8_t *data, size_t size) { /* IEEE 802.3, as in zip files */
    uint32_t crc = 0xFFFFFFFFu;
    for (size_t i = 0; i < size; i++) {
        crc ^= data[i];
        for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320u : 0);
    }
    return ~crc;
}

/* -- the motor ------------------------------------------------------------------------------------------ */

static double applied(void) {
    int off = motor.mode == ZERO || motor.fault;
    return off ? 0.0 : motor.homing ? 0.2 * (motor.angle > 0.0 ? -1.0 : 1.0) : motor.current;
}

/* Torque on the rotor, of a wall that only pushes; its normal is (sin a, -cos a, 0). */
static double wall(void) {
    if (!motor.forces) return 0.0;
    double behind = motor.angle / GEAR - motor.wall, depth = FINGER_M * sin(behind), lever = FINGER_M * cos(behind);
    double push = depth > 0.0 ? fmax(0.0, WALL_N_M * depth + WALL_N_S_M * lever * motor.speed / GEAR) : 0.0;
    motor.force[0] = push * sin(motor.wall);
    motor.force[1] = -push * cos(motor.wall);
    return -push * lever / GEAR;
}

static void step(double dt) {
    double amperes = applied(), torque = TORQUE_PER_A * amperes - VISCOUS * motor.speed + wall();
    int braked = motor.fault || (motor.mode == BRAKE && !motor.homing);
    double dry = COULOMB + (braked ? BRAKE_TORQUE : 0.0);
    double free = motor.speed + dt * torque / INERTIA, most = dt * dry / INERTIA;
    motor.speed = fabs(free) <= most ? 0.0 : free - copysign(most, free); /* friction stops, never turns back */
    double before = motor.angle;
    motor.angle += dt * motor.speed;
    motor.temperature += dt * (OHM * amperes * amperes - COOLING_W_K * (motor.temperature - ROOM_C)) / HEAT_J_K;
    if (motor.temperature > MOST_C) motor.fault = OVER_TEMPERATURE;
    if (motor.homing && (before > 0.0) != (motor.angle > 0.0)) { /* the index mark of the encoder lies at 0 */
        motor.homing = 0;
        motor.homed = 1;
        motor.zero = 0.0;
    }
}

static void move_on(double seconds) {
    motor.moved_s += seconds;
    if (motor.moved_s > VALVE_S - 1e-6) motor.open = motor.valve;
    static double owed;
    for (owed += seconds; owed >= 0.5 * STEP_S; owed -= STEP_S) step(STEP_S);
}

static void watch(double seconds) { /* a driver that has fallen silent: brake, until a new session comes */
    motor.quiet_s += seconds;
    if (motor.known && motor.quiet_s > motor.watchdog_s && !motor.fault) {
        motor.fault = COMMAND_TIMEOUT;
        motor.homing = 0;
    }
}

/* -- the datagrams -------------------------------------------------------------------------------------- */

/* Takes a command; returns 0 for what is none, or old. `fresh` tells that it was not a repeated one. */
static int take(const uint8_t *in, ssize_t size, int *fresh) {
    size_t crc_at = OUTPUTS_AT + 4 * (size_t)motor.signals;
    if (size != (ssize_t)crc_at + 4 || memcmp(in, "LWC1", 4) != 0 || in[13] != MOTORS || in[12] > EFFORT) return 0;
    if (in[15] != motor.signals || get32(in + crc_at) != crc32(in, crc_at)) return 0;
    uint32_t seq = get32(in + 4), session = get32(in + 8);
    double current = get_float(in + 20);
    uint32_t flags = in[14];
    if (!isfinite(current)) return 0;
    if (!motor.known || session != motor.session) { /* a new session opens what the watchdog has latched */
        motor.known = 1;
        motor.session = session;
        motor.fault = motor.temperature > MOST_C ? OVER_TEMPERATURE : 0;
        motor.homing = 0;
    } else {
        int32_t ahead = (int32_t)(seq - motor.seq);
        if (ahead < 0) return 0;
        if (ahead == 0) {
            *fresh = 0;
            return 1;
        }
    }
    *fresh = 1;
    motor.seq = seq;
    motor.quiet_s = 0.0;
    motor.mode = in[12];
    motor.current = fmax(-MOST_A, fmin(MOST_A, current));
    int valve = motor.signals && get_float(in + OUTPUTS_AT) > 0.5;
    if (motor.signals && !(flags & KEEP_OUTPUTS) && valve != motor.valve) { /* in every mode, also while braked */
        motor.valve = valve;
        motor.moved_s = 0.0;
    }
    if (flags & CLEAR) motor.fault = motor.temperature > MOST_C ? OVER_TEMPERATURE : 0;
    if ((flags & DO_HOME) && !motor.homed && !motor.fault) motor.homing = 1;
    return 1;
}

static size_t tell(uint8_t *out) { /* returns the size */
    int braked = motor.fault || (motor.mode == BRAKE && !motor.homing);
    int status = (motor.fault ? FAULT : ENABLED) | (braked ? BRAKED : 0) | (motor.homed ? HOMED : 0);
    double counts = COUNTS_PER_TURN / (2.0 * acos(-1.0));
    memcpy(out, "LWS1", 4);
    put32(out + 4, motor.seq);
    put32(out + 8, motor.session);
    put32(out + 12, (uint32_t)motor.mode | MOTORS << 8 | SENSORS << 16 | (uint32_t)motor.forces << 24);
    put32(out + 16, (uint32_t)status | (uint32_t)motor.fault << 16);
    put32(out + 20, motor.time_us);
    put32(out + 24, (uint32_t)(int32_t)llround(floor((motor.angle - motor.zero) * counts + 0.5)));
    put_float(out + 28, motor.speed * counts);
    put_float(out + 32, applied());
    put_float(out + 36, motor.temperature);
    for (int i = 0; i < motor.forces; i++) put_float(out + FORCES_AT + 4 * i, motor.force[i]);
    size_t size = FORCES_AT + 4 * (size_t)motor.forces;
    if (motor.signals) {
        put_float(out + size, motor.open);
        size += 4;
    }
    put32(out + size, crc32(out, size));
    return size + 4;
}

static double now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int main(int count, char **words) {
    int port = 5800, lockstep = 0;
    motor.homed = 1;
    motor.watchdog_s = 0.1;
    motor.temperature = ROOM_C;
    for (int i = 1; i < count; i++) {
        if (!strcmp(words[i], "--lockstep")) lockstep = 1;
        else if (!strcmp(words[i], "--valve")) motor.signals = 1;
        else if (!strcmp(words[i], "--unhomed")) motor.homed = 0, motor.angle = 0.3, motor.zero = 1.7;
        else if (!strcmp(words[i], "--port") && i + 1 < count) port = atoi(words[++i]);
        else if (!strcmp(words[i], "--wall-deg") && i + 1 < count)
            motor.forces = MOST_FORCES, motor.wall = atof(words[++i]) * acos(-1.0) / 180.0;
        else if (!strcmp(words[i], "--watchdog-ms") && i + 1 < count) motor.watchdog_s = 1e-3 * atof(words[++i]);
        else return fprintf(stderr, "%s: what is %s?\n", words[0], words[i]), 2;
    }
    struct sigaction action = {.sa_handler = end};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    int link = socket(AF_INET, SOCK_DGRAM, 0);
    struct sockaddr_in here = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)}, host;
    here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof here;
    if (link < 0 || bind(link, (struct sockaddr *)&here, size) || getsockname(link, (struct sockaddr *)&here, &size))
        return perror("udp_device"), 1;
    printf("listening on port %d\n", ntohs(here.sin_port));
    fflush(stdout);

    double before = now_s(), started = before;
    while (!ended) {
        struct pollfd ready = {.fd = link, .events = POLLIN};
        poll(&ready, 1, lockstep ? 100 : 1);
        double now = now_s();
        if (!lockstep) {
            watch(now - before);
            move_on(now - before);
            motor.time_us = (uint32_t)(int64_t)(1e6 * (now - started));
        }
        before = now;
        if (!(ready.revents & POLLIN)) continue;
        uint8_t in[MOST_COMMAND_BYTES + 1], out[FORCES_AT + 4 * MOST_FORCES + 4 * MOST_SIGNALS + 4];
        size = sizeof host;
        ssize_t got = recvfrom(link, in, sizeof in, 0, (struct sockaddr *)&host, &size);
        int fresh;
        if (got < 0 || !take(in, got, &fresh)) continue;
        size_t told = tell(out); /* as it is now; the command acts from here on */
        if (lockstep && fresh) {
            double period = 1e-6 * get32(in + 16);
            move_on(period > 1.0 ? 1.0 : period);
            motor.time_us += get32(in + 16);
        }
        sendto(link, out, told, 0, (struct sockaddr *)&host, size);
    }
    close(link);
    return 0;
}
