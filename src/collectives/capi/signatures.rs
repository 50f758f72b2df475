//! The arguments of MPI's collectives.

/// Calls the macro `$define` with all collectives that tables decide about. For each collective it passes MPI's name,
/// the profiling name (`PMPI_*`) and the name in `include/colltune.h`; further names in this order, if they are
/// given; the arguments with their kinds; the last argument, the communicator; and the [`runtime::RawCall`] that they
/// make, with the handles of this build. If further names are given without those of the barrier, after the semicolon, it
/// is left out: it has no function with large counts.
#[macro_export]
macro_rules! for_each_collective {
    ($define:ident) => {
        $crate::for_each_collective!($define, [] [] [] [] [] [] [] [] [] [] []; []);
    };
    ($define:ident, $bcast:tt $reduce:tt $allreduce:tt $gather:tt $scatter:tt $allgather:tt
     $reduce_scatter:tt $reduce_scatter_block:tt $alltoall:tt $scan:tt $exscan:tt; $($barrier:tt)?) => {
        $define! {
            MPI_Bcast PMPI_Bcast colltune_bcast $bcast
                (data: Output, count: Int, datatype: Type, root: Root; on)
                RawCall::new(Collective::Bcast, std::ptr::null(), data, count, datatype)
                    .with_root(root);

            MPI_Reduce PMPI_Reduce colltune_reduce $reduce
                (send: Input, recv: Output, count: Int, datatype: Type, by: Operator, root: Root; on)
                RawCall::new(Collective::Reduce, send, recv, count, datatype)
                    .with_operator(by)
                    .with_root(root);

            MPI_Allreduce PMPI_Allreduce colltune_allreduce $allreduce
                (send: Input, recv: Output, count: Int, datatype: Type, by: Operator; on)
                RawCall::new(Collective::Allreduce, send, recv, count, datatype)
                    .with_operator(by);

            MPI_Gather PMPI_Gather colltune_gather $gather
                (send: Input, send_count: Int, send_type: Type,
                 recv: Output, recv_count: Int, recv_type: Type, root: Root; on)
                RawCall::new(Collective::Gather, send, recv, recv_count, recv_type)
                    .with_sent_elements(send_count, send_type)
                    .with_root(root);

            MPI_Scatter PMPI_Scatter colltune_scatter $scatter
                (send: Input, send_count: Int, send_type: Type,
                 recv: Output, recv_count: Int, recv_type: Type, root: Root; on)
                RawCall::new(Collective::Scatter, send, recv, recv_count, recv_type)
                    .with_sent_elements(send_count, send_type)
                    .with_root(root);

            MPI_Allgather PMPI_Allgather colltune_allgather $allgather
                (send: Input, send_count: Int, send_type: Type,
                 recv: Output, recv_count: Int, recv_type: Type; on)
                RawCall::new(Collective::Allgather, send, recv, recv_count, recv_type)
                    .with_sent_elements(send_count, send_type);

            MPI_Reduce_scatter PMPI_Reduce_scatter colltune_reduce_scatter $reduce_scatter
                (send: Input, recv: Output, counts: Counts, datatype: Type, by: Operator; on)
                RawCall::new(Collective::ReduceScatter, send, recv, 0, datatype)
                    .with_operator(by)
                    .with_part_counts(counts);

            MPI_Reduce_scatter_block PMPI_Reduce_scatter_block colltune_reduce_scatter_block
            $reduce_scatter_block
                (send: Input, recv: Output, count: Int, datatype: Type, by: Operator; on)
                RawCall::new(Collective::ReduceScatterBlock, send, recv, count, datatype)
                    .with_operator(by);

            MPI_Alltoall PMPI_Alltoall colltune_alltoall $alltoall
                (send: Input, send_count: Int, send_type: Type,
                 recv: Output, recv_count: Int, recv_type: Type; on)
                RawCall::new(Collective::Alltoall, send, recv, recv_count, recv_type)
                    .with_sent_elements(send_count, send_type);

            MPI_Scan PMPI_Scan colltune_scan $scan
                (send: Input, recv: Output, count: Int, datatype: Type, by: Operator; on)
                RawCall::new(Collective::Scan, send, recv, count, datatype)
                    .with_operator(by);

            MPI_Exscan PMPI_Exscan colltune_exscan $exscan
                (send: Input, recv: Output, count: Int, datatype: Type, by: Operator; on)
                RawCall::new(Collective::Exscan, send, recv, count, datatype)
                    .with_operator(by);

            $(
                MPI_Barrier PMPI_Barrier colltune_barrier $barrier
                    (; on)
                    RawCall::barrier();
            )?
        }
    };
}

/// The same with the irregular collectives, whose calls are [`runtime::RawIrregularCall`]s. Further names are those of all
/// of them, or of none.
#[macro_export]
macro_rules! for_each_irregular {
    ($define:ident) => {
        $crate::for_each_irregular!($define, [] [] [] [] []);
    };
    ($define:ident, $alltoallv:tt $alltoallw:tt $allgatherv:tt $gatherv:tt $scatterv:tt) => {
        $define! {
            MPI_Alltoallv PMPI_Alltoallv colltune_alltoallv $alltoallv
                (send: Input, send_counts: Counts, send_places: Places, send_type: Type,
                 recv: Output, counts: Counts, places: Places, recv_type: Type; on)
                RawIrregularCall {
                    collective: Collective::Alltoallv,
                    send,
                    sent: RawBlocks::of_ranks(send_counts, send_places, send_type),
                    recv,
                    received: RawBlocks::of_ranks(counts, places, recv_type),
                    root: 0,
                };

            MPI_Alltoallw PMPI_Alltoallw colltune_alltoallw $alltoallw
                (send: Input, send_counts: Counts, send_places: Places, send_types: Types,
                 recv: Output, counts: Counts, places: Places, recv_types: Types; on)
                RawIrregularCall {
                    collective: Collective::Alltoallw,
                    send,
                    sent: RawBlocks::with_types(send_counts, send_places, send_types),
                    recv,
                    received: RawBlocks::with_types(counts, places, recv_types),
                    root: 0,
                };

            MPI_Allgatherv PMPI_Allgatherv colltune_allgatherv $allgatherv
                (send: Input, send_count: Int, send_type: Type,
                 recv: Output, counts: Counts, places: Places, recv_type: Type; on)
                RawIrregularCall {
                    collective: Collective::Allgatherv,
                    send,
                    sent: RawBlocks::one(send_count, send_type),
                    recv,
                    received: RawBlocks::of_ranks(counts, places, recv_type),
                    root: 0,
                };

            MPI_Gatherv PMPI_Gatherv colltune_gatherv $gatherv
                (send: Input, send_count: Int, send_type: Type,
                 recv: Output, counts: Counts, places: Places, recv_type: Type, root: Root; on)
                RawIrregularCall {
                    collective: Collective::Gatherv,
                    send,
                    sent: RawBlocks::one(send_count, send_type),
                    recv,
                    received: RawBlocks::of_ranks(counts, places, recv_type),
                    root,
                };

            MPI_Scatterv PMPI_Scatterv colltune_scatterv $scatterv
                (send: Input, send_counts: Counts, send_places: Places, send_type: Type,
                 recv: Output, recv_count: Int, recv_type: Type, root: Root; on)
                RawIrregularCall {
                    collective: Collective::Scatterv,
                    send,
                    sent: RawBlocks::of_ranks(send_counts, send_places, send_type),
                    recv,
                    received: RawBlocks::one(recv_count, recv_type),
                    root,
                };
        }
    };
}
