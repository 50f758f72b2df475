# A package of Spack, made by scripts/packages/recipes together with the archive of the sources. Put it into a
# repository of the site, as packages/colltune/package.py, and the archive where `url` says.
#
# Untried: Spack could not be had where this was written. Python parses the file; its directives and names are those of
# Spack 1.0, in which `spack_repo.builtin` has the build systems. What it runs is `make install`, which is tested.

from spack_repo.builtin.build_systems.makefile import MakefilePackage

from spack.package import *


class Colltune(MakefilePackage):
    """colltune measures the collectives of an MPI library on this machine, and writes a decision table: which
    algorithm to use for each collective, communicator shape and message size."""

    url = "file:///opt/sources/colltune-@VERSION@.tar.gz"

    license("MIT OR Apache-2.0")

    version("@VERSION@", sha256="@SHA256@")

    depends_on("c", type="build")
    depends_on("rust@1.89:", type="build")
    # Generates the bindings from mpi.h (libclang).
    depends_on("llvm+clang", type="build")
    # Open MPI, MPICH and Intel MPI can be tuned.
    depends_on("mpi")

    def setup_build_environment(self, env):
        env.set("LIBCLANG_PATH", self.spec["llvm"].prefix.lib)
        # Cargo fetches the crates that Cargo.lock names, with their checksums.
        env.set("CARGO_HOME", join_path(self.stage.path, "cargo"))

    def build(self, spec, prefix):
        make("build", f"MPICC={spec['mpi'].mpicc}")

    def install(self, spec, prefix):
        make("install", f"MPICC={spec['mpi'].mpicc}", f"PREFIX={prefix}")
