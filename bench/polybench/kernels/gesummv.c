void gesummv(double alpha, double beta, double A[restrict N][N], double B[restrict N][N], double x[restrict N],
             double y[restrict N], double tmp[restrict N])
{
    #pragma omp parallel for
    for (int i = 0; i < N; i++) {
        tmp[i] = 0;
        y[i] = 0;
        for (int j = 0; j < N; j++) {
            tmp[i] += A[i][j] * x[j];
            y[i] += B[i][j] * x[j];
        }
        y[i] = alpha * tmp[i] + beta * y[i];
    }
}
