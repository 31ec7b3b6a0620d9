/* Each element needs the new values of the row above and of the left: no loop is parallel without skewing. */
void seidel_2d(double A[restrict N][N])
{
    for (int t = 0; t < TSTEPS; t++)
        for (int i = 1; i < N - 1; i++)
            for (int j = 1; j < N - 1; j++)
                A[i][j] = (A[i - 1][j - 1] + A[i - 1][j] + A[i - 1][j + 1] + A[i][j - 1] + A[i][j] + A[i][j + 1]
                           + A[i + 1][j - 1] + A[i + 1][j] + A[i + 1][j + 1]) / 9;
}
