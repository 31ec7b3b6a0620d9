#include <math.h>
void deriche(float alpha, float in[restrict W][H], float out[restrict W][H], float y1[restrict W][H], float y2[restrict W][H])
{
    float k = (1 - expf(-alpha)) * (1 - expf(-alpha)) / (1 + 2 * alpha * expf(-alpha) - expf(2 * alpha));
    float a1 = k, a2 = k * expf(-alpha) * (alpha - 1), a3 = k * expf(-alpha) * (alpha + 1), a4 = -k * expf(-2 * alpha);
    float b1 = powf(2, -alpha), b2 = -expf(-2 * alpha);
    #pragma omp parallel for
    for (int i = 0; i < W; i++) {
        float x = 0, before = 0, earlier = 0;
        for (int j = 0; j < H; j++) {
            y1[i][j] = a1 * in[i][j] + a2 * x + b1 * before + b2 * earlier;
            x = in[i][j];
            earlier = before;
            before = y1[i][j];
        }
    }
    #pragma omp parallel for
    for (int i = 0; i < W; i++) {
        float x = 0, further = 0, after = 0, later = 0;
        for (int j = H - 1; j >= 0; j--) {
            y2[i][j] = a3 * x + a4 * further + b1 * after + b2 * later;
            further = x;
            x = in[i][j];
            later = after;
            after = y2[i][j];
        }
    }
    #pragma omp parallel for
    for (int i = 0; i < W; i++)
        for (int j = 0; j < H; j++)
            out[i][j] = y1[i][j] + y2[i][j];
    #pragma omp parallel for
    for (int j = 0; j < H; j++) {
        float x = 0, before = 0, earlier = 0;
        for (int i = 0; i < W; i++) {
            y1[i][j] = a1 * out[i][j] + a2 * x + b1 * before + b2 * earlier;
            x = out[i][j];
            earlier = before;
            before = y1[i][j];
        }
    }
    #pragma omp parallel for
    for (int j = 0; j < H; j++) {
        float x = 0, further = 0, after = 0, later = 0;
        for (int i = W - 1; i >= 0; i--) {
            y2[i][j] = a3 * x + a4 * further + b1 * after + b2 * later;
            further = x;
            x = out[i][j];
            later = after;
            after = y2[i][j];
        }
    }
    #pragma omp parallel for
    for (int i = 0; i < W; i++)
        for (int j = 0; j < H; j++)
            out[i][j] = y1[i][j] + y2[i][j];
}
