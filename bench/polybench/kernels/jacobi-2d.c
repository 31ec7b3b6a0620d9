static void sweep(double A[restrict N][N], double B[restrict N][N])
{
    #pragma omp parallel for
    for (int i = 1; i < N - 1; i++)
        for (int j = 1; j < N - 1; j++)
            B[i][j] = 0.2 * (A[i][j] + A[i][j - 1] + A[i][j + 1] + A[i + 1][j] + A[i - 1][j]);
}
void jacobi_2d(double A[restrict N][N], double B[restrict N][N])
{
    for (int t = 0; t < TSTEPS; t++) {
        sweep(A, B);
        sweep(B, A);
    }
}
