void fdtd_2d(double ex[restrict NX][NY], double ey[restrict NX][NY], double hz[restrict NX][NY], double source[restrict TMAX])
{
    for (int t = 0; t < TMAX; t++) {
        for (int j = 0; j < NY; j++)
            ey[0][j] = source[t];
        #pragma omp parallel for
        for (int i = 1; i < NX; i++)
            for (int j = 0; j < NY; j++)
                ey[i][j] -= 0.5 * (hz[i][j] - hz[i - 1][j]);
        #pragma omp parallel for
        for (int i = 0; i < NX; i++)
            for (int j = 1; j < NY; j++)
                ex[i][j] -= 0.5 * (hz[i][j] - hz[i][j - 1]);
        #pragma omp parallel for
        for (int i = 0; i < NX - 1; i++)
            for (int j = 0; j < NY - 1; j++)
                hz[i][j] -= 0.7 * (ex[i][j + 1] - ex[i][j] + ey[i + 1][j] - ey[i][j]);
    }
}
