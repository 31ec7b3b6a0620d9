static void sweep(double A[restrict N], double B[restrict N])
{
    #pragma omp parallel for
    for (int i = 1; i < N - 1; i++)
        B[i] = 0.33333 * (A[i - 1] + A[i] + A[i + 1]);
}
void jacobi_1d(double A[restrict N], double B[restrict N])
{
    for (int t = 0; t < TSTEPS; t++) {
        sweep(A, B);
        sweep(B, A);
    }
}
