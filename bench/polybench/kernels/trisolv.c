/* Only the sums are parallel, and they are short. */
void trisolv(double L[restrict N][N], double b[restrict N], double x[restrict N])
{
    for (int i = 0; i < N; i++) {
        x[i] = b[i];
        for (int j = 0; j < i; j++)
            x[i] -= L[i][j] * x[j];
        x[i] /= L[i][i];
    }
}
