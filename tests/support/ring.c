/* Each rank sends to the next one, MESSAGES times, and again until SECONDS have passed on rank 0, or FILE is there; says
   so after the first time, if there are more; ends with the exit status STATUS:
   ring [MESSAGES [STATUS [SECONDS [FILE]]]]. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    static char data[65536];
    int rank, size, i, goes_on, round = 0, messages = argc > 1 ? atoi(argv[1]) : 10;
    double end, seconds = argc > 3 ? atof(argv[3]) : 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    end = MPI_Wtime() + seconds;
    do {
        for (i = 0; i < messages; i++)
            MPI_Sendrecv_replace(data, sizeof data, MPI_BYTE, (rank + 1) % size, 0, (rank + size - 1) % size, 0,
                                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        goes_on = MPI_Wtime() < end && (argc < 5 || access(argv[4], F_OK));
        MPI_Bcast(&goes_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
        if (!rank && !round++ && seconds > 0) {
            printf("the ring goes round\n");
            fflush(stdout);
        }
    } while (goes_on);
    printf("rank %d of %d done\n", rank, size);
    MPI_Finalize();
    return argc > 2 ? atoi(argv[2]) : 0;
}
