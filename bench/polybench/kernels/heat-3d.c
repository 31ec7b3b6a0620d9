static void sweep(double A[restrict N][N][N], double B[restrict N][N][N])
{
    #pragma omp parallel for
    for (int i = 1; i < N - 1; i++)
        for (int j = 1; j < N - 1; j++)
            for (int k = 1; k < N - 1; k++)
                B[i][j][k] = 0.125 * (A[i + 1][j][k] - 2 * A[i][j][k] + A[i - 1][j][k])
                           + 0.125 * (A[i][j + 1][k] - 2 * A[i][j][k] + A[i][j - 1][k])
                           + 0.125 * (A[i][j][k + 1] - 2 * A[i][j][k] + A[i][j][k - 1]) + A[i][j][k];
}
void heat_3d(double A[restrict N][N][N], double B[restrict N][N][N])
{
    for (int t = 0; t < TSTEPS; t++) {
        sweep(A, B);
        sweep(B, A);
    }
}
