void durbin(double r[restrict N], double y[restrict N])
{
    double z[N];
    double alpha = -r[0], beta = 1;
    y[0] = -r[0];
    for (int k = 1; k < N; k++) {
        double sum = 0;
        beta = (1 - alpha * alpha) * beta;
        #pragma omp parallel for reduction(+ : sum)
        for (int i = 0; i < k; i++)
            sum += r[k - i - 1] * y[i];
        alpha = -(r[k] + sum) / beta;
        #pragma omp parallel for
        for (int i = 0; i < k; i++)
            z[i] = y[i] + alpha * y[k - i - 1];
        for (int i = 0; i < k; i++)
            y[i] = z[i];
        y[k] = alpha;
    }
}
