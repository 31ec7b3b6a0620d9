/* Calls one kernel on arrays in a file: `driver FILE`. Linked with the kernel, whose symbol is KERNEL.
 *
 * The file begins with words of 64 bits: the number of slots, then for each slot 1 and the offset of an array in the file, or 0 and a
 * number. Results land in the file. Exits with 0, 100 + the kernel's status, or 99 where the file cannot be used.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>

int32_t KERNEL(void **slots);

int main(int count, char **arguments) {
    struct stat info;
    int file = count == 2 ? open(arguments[1], O_RDWR) : -1;
    if (file < 0 || fstat(file, &info) != 0) {
        perror("open");
        return 99;
    }
    char *memory = mmap(0, info.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory == MAP_FAILED) {
        perror("mmap");
        return 99;
    }
    uint64_t *words = (uint64_t *)memory, slots_count = words[0];
    uint64_t *slots = malloc(slots_count * sizeof *slots + 1);
    if (slots == 0) return 99;
    for (uint64_t k = 0; k < slots_count; k++)
        slots[k] = words[1 + 2 * k] ? (uint64_t)(uintptr_t)(memory + words[2 + 2 * k]) : words[2 + 2 * k];
    int32_t status = KERNEL((void **)slots);
    return status == 0 ? 0 : 100 + status;
}
