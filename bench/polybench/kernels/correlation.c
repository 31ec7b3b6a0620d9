#include <math.h>
void correlation(double data[restrict N][M], double corr[restrict M][M], double mean[restrict M], double dev[restrict M])
{
    #pragma omp parallel for
    for (int j = 0; j < M; j++) {
        mean[j] = 0;
        for (int i = 0; i < N; i++)
            mean[j] += data[i][j];
        mean[j] /= N;
    }
    #pragma omp parallel for
    for (int j = 0; j < M; j++) {
        dev[j] = 0;
        for (int i = 0; i < N; i++)
            dev[j] += (data[i][j] - mean[j]) * (data[i][j] - mean[j]);
        dev[j] = sqrt(dev[j] / N);
        dev[j] = dev[j] <= 0.1 ? 1 : dev[j];
    }
    #pragma omp parallel for
    for (int i = 0; i < N; i++)
        for (int j = 0; j < M; j++) {
            data[i][j] -= mean[j];
            data[i][j] /= sqrt((double)N) * dev[j];
        }
    #pragma omp parallel for schedule(dynamic)
    for (int i = 0; i < M; i++) {
        corr[i][i] = 1;
        for (int j = i + 1; j < M; j++) {
            corr[i][j] = 0;
            for (int k = 0; k < N; k++)
                corr[i][j] += data[k][i] * data[k][j];
            corr[j][i] = corr[i][j];
        }
    }
}
