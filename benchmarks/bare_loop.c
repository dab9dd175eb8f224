/* A bare loop with absolute sleeps, to compare the controller's loop with.

   bare_loop PERIOD_NS SECONDS PRIORITY CPU

   Prints the periods that went by, those that were missed (they ended before the program ran: as
   linkwork.timing.clock.Ticker counts), and the latest wake-up in ns. */

#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

static long long now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1000000000LL * t.tv_sec + t.tv_nsec;
}

int main(int argc, char **argv)
{
    if (argc != 5)
        return 2;
    long long period = atoll(argv[1]), seconds = atoll(argv[2]);
    struct sched_param param = {.sched_priority = atoi(argv[3])};
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(atoi(argv[4]), &cpus);
    if (sched_setaffinity(0, sizeof cpus, &cpus) || mlockall(MCL_CURRENT | MCL_FUTURE) ||
        sched_setscheduler(0, SCHED_FIFO, &param)) {
        perror("bare_loop");
        return 1;
    }
    long long deadline = now_ns(), end = deadline + 1000000000LL * seconds, missed = 0, ticks = 0, latest = 0;
    while (deadline < end) {
        long long target = deadline + period;
        struct timespec t = {.tv_sec = target / 1000000000LL, .tv_nsec = target % 1000000000LL};
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
            ;
        long long late = now_ns() - target;
        latest = late > latest ? late : latest;
        if (late >= period) {
            missed += late / period;
            target += late / period * period;
        }
        deadline = target;
        ticks++;
    }
    printf("%lld %lld %lld\n", ticks, missed, latest);
    return 0;
}
