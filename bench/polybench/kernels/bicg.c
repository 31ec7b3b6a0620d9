void bicg(double A[restrict N][M], double p[restrict M], double r[restrict N], double s[restrict M], double q[restrict N])
{
    for (int j = 0; j < M; j++)
        s[j] = 0;
    #pragma omp parallel for reduction(+ : s[:M])
    for (int i = 0; i < N; i++) {
        q[i] = 0;
        for (int j = 0; j < M; j++) {
            s[j] += r[i] * A[i][j];
            q[i] += A[i][j] * p[j];
        }
    }
}
