/* Each rank sends to the next one, MESSAGES times; ends with the exit status STATUS: ring [MESSAGES [STATUS]]. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    static char data[65536];
    int rank, size, i, messages = argc > 1 ? atoi(argv[1]) : 10;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (i = 0; i < messages; i++)
        MPI_Sendrecv_replace(data, sizeof data, MPI_BYTE, (rank + 1) % size, 0, (rank + size - 1) % size, 0,
                             MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    printf("rank %d of %d done\n", rank, size);
    MPI_Finalize();
    return argc > 2 ? atoi(argv[2]) : 0;
}
