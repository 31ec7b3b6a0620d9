void mm2(double alpha, double beta, double A[restrict NI][NK], double B[restrict NK][NJ], double C[restrict NJ][NL],
         double D[restrict NI][NL], double tmp[restrict NI][NJ])
{
    #pragma omp parallel for
    for (int i = 0; i < NI; i++)
        for (int j = 0; j < NJ; j++) {
            tmp[i][j] = 0;
            for (int k = 0; k < NK; k++)
                tmp[i][j] += alpha * A[i][k] * B[k][j];
        }
    #pragma omp parallel for
    for (int i = 0; i < NI; i++)
        for (int j = 0; j < NL; j++) {
            D[i][j] *= beta;
            for (int k = 0; k < NJ; k++)
                D[i][j] += tmp[i][k] * C[k][j];
        }
}
