void mvt(double A[restrict N][N], double x1[restrict N], double x2[restrict N], double y1[restrict N], double y2[restrict N])
{
    #pragma omp parallel for
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            x1[i] += A[i][j] * y1[j];
    #pragma omp parallel for
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            x2[i] += A[j][i] * y2[j];
}
