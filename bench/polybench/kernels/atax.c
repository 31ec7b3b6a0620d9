void atax(double A[restrict M][N], double x[restrict N], double y[restrict N], double tmp[restrict M])
{
    for (int j = 0; j < N; j++)
        y[j] = 0;
    #pragma omp parallel for reduction(+ : y[:N])
    for (int i = 0; i < M; i++) {
        tmp[i] = 0;
        for (int j = 0; j < N; j++)
            tmp[i] += A[i][j] * x[j];
        for (int j = 0; j < N; j++)
            y[j] += A[i][j] * tmp[i];
    }
}
