/* Row i of B goes to the rows above it, so no loop over i is parallel; the columns are independent, but not outermost. */
void symm(double alpha, double beta, double C[restrict M][N], double A[restrict M][M], double B[restrict M][N])
{
    for (int i = 0; i < M; i++) {
        #pragma omp parallel for
        for (int j = 0; j < N; j++) {
            double sum = 0;
            for (int k = 0; k < i; k++) {
                C[k][j] += alpha * B[i][j] * A[i][k];
                sum += B[k][j] * A[i][k];
            }
            C[i][j] = beta * C[i][j] + alpha * B[i][j] * A[i][i] + alpha * sum;
        }
    }
}
