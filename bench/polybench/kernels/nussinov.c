#define MAX(a, b) ((a) >= (b) ? (a) : (b))
/* A part needs shorter ones of its row and of its column: no loop is parallel without skewing. */
void nussinov(signed char seq[restrict N], int table[restrict N][N])
{
    for (int i = N - 1; i >= 0; i--)
        for (int j = i + 1; j < N; j++) {
            table[i][j] = MAX(table[i][j], table[i][j - 1]);
            table[i][j] = MAX(table[i][j], table[i + 1][j]);
            if (i < j - 1)
                table[i][j] = MAX(table[i][j], table[i + 1][j - 1] + (seq[i] + seq[j] == 3));
            else
                table[i][j] = MAX(table[i][j], table[i + 1][j - 1]);
            for (int k = i + 1; k < j; k++)
                table[i][j] = MAX(table[i][j], table[i][k] + table[k + 1][j]);
        }
}
