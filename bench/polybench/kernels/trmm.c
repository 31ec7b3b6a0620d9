/* Row i needs the old rows after it, so the columns are the outermost parallel loop inside it. */
void trmm(double alpha, double A[restrict M][M], double B[restrict M][N])
{
    for (int i = 0; i < M; i++) {
        #pragma omp parallel for
        for (int j = 0; j < N; j++) {
            for (int k = i + 1; k < M; k++)
                B[i][j] += A[k][i] * B[k][j];
            B[i][j] *= alpha;
        }
    }
}
