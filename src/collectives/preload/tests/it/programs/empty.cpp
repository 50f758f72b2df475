// Shows whether there is a compiler for C++.
#include <mpi.h>

int main() { return 0; }
