#!/bin/bash
#SBATCH -N 4
export OMPI_MCA_use_dynamic_rules=1
export OMPI_MCA_coll_tuned_bcast_algorithm=6   # forgotten: the switch
export coll_tuned_use_dynamic_rules=1
export I_MPI_ADJUST_ALLREDUCE="2:0-4096;3:4096-65536@2-16"
export I_MPI_ADJUST_ALLREDUSE=1
export MPIR_CVAR_BCAST_INTRA_ALGORITHM=binomal
export MPIR_CVAR_DEVICE_COLLECTIVES=none
export MPIR_CVAR_ALLREDUCE_DEVICE_COLLECTIVE=0
mpirun -np 64 --mca coll_tuned_reduce_algorithm 5 ./app
