//! The packages of `make packages`, from this build: installed, used and removed.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use testkit::process::{self, ProgramResult, find_program};
use testkit::tables;

use crate::exports::launch::Library;
use crate::run::{Place, driver_of};

/// The time limit for each step.
const PATIENCE: Duration = Duration::from_secs(100);

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A table's decision on two ranks.
const COLLECTIVES: &str = "
  allreduce:
    message_size: bytes of one rank's vector
    shapes:
      - nodes: 1
        ppn: 2
        operators: any
        rules:
          - {from: 0, candidate: allreduce/recursive_doubling, speedup: 1.5, confidence: high, confirmed: true}
";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

/// Runs a command without the variables that lead to this build.
#[track_caller]
fn run_outside(command: &mut Command) -> ProgramResult {
    command
        .env_remove("COLLTUNE_LIBDIR")
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
        .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
        .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    process::run_to_end(command, PATIENCE)
}

#[track_caller]
fn expect_success(ended: ProgramResult) -> String {
    assert!(ended.status.success(), "{ended:?}");
    ended.out
}

/// Makes a package in a place from the binary and what was built for libraries.
#[track_caller]
fn make_package(place: &Place, format: &str, libraries: &[&Path]) -> PathBuf {
    let mut command = Command::new(root().join("scripts/packages").join(format));
    command
        .arg(env!("CARGO_BIN_EXE_colltune"))
        .arg(place.path("packages"))
        .args(libraries)
        .env("COMPRESSION", "fast")
        .env("PATH", std::env::var_os("PATH").unwrap_or_default());
    let made = expect_success(process::run_to_end(&mut command, PATIENCE));
    PathBuf::from(made.trim_end())
}

/// The Debian package with the MPI library that a measuring program is linked to.
fn package_of_mpi(driver: &Path) -> String {
    let linked = Command::new("ldd")
        .arg(driver.join("colltune-driver"))
        .output();
    let linked = String::from_utf8(linked.unwrap().stdout).unwrap();
    let mut lines = linked.lines().map(str::trim);
    let file = lines.find_map(|line| {
        let (name, place) = line.split_once(" => ")?;
        let is_mpi = name.starts_with("libmpi.so.") || name.starts_with("libmpich.so.");
        is_mpi.then(|| place.split(' ').next()).flatten()
    });
    let file = fs::canonicalize(file.unwrap_or_else(|| panic!("{linked}"))).unwrap();
    let owner = Command::new("dpkg-query")
        .arg("--search")
        .arg(file)
        .output();
    let owner = String::from_utf8(owner.unwrap().stdout).unwrap();
    let (package, _) = owner.split_once(':').unwrap_or_else(|| panic!("{owner}"));
    package.to_owned()
}

/// Installs the package `$1` and runs a program with a table under each library, then removes the package and prints
/// which of its files are left.
const USE_DEBIAN_PACKAGE: &str = r#"
dpkg --install "$1" >dpkg.log 2>&1 || { cat dpkg.log; exit 1; }
dpkg --status colltune | grep '^Status:'
command -v colltune
colltune doctor | grep 'measuring program:'
dpkg --verify colltune
for library in openmpi mpich; do
    colltune run $library.yaml --print-environment | grep LD_PRELOAD
done
colltune run openmpi.yaml --force -- mpirun.openmpi --oversubscribe -n 2 ./with-openmpi
colltune run mpich.yaml --force -- mpiexec.mpich -n 2 ./with-mpich
dpkg --listfiles colltune | grep colltune >files
dpkg --purge colltune >dpkg.log 2>&1 || { cat dpkg.log; exit 1; }
echo "left:"
while read -r file; do
    [ ! -e "$file" ] || echo "$file"
done <files
echo "of $(wc -l <files) files"
"#;

#[test]
fn the_debian_package_serves_openmpi_and_mpich_and_leaves_nothing() {
    let place = Place::new();
    let mut drivers = Vec::new();
    for (name, variable, launcher, marker) in [
        ("openmpi", "MPICC_OPENMPI", "mpirun.openmpi", ") "),
        ("mpich", "MPICC_MPICH", "mpiexec.mpich", "Version:"),
    ] {
        let found = Library::find(variable, &format!("mpicc.{name}"), launcher, marker);
        // Only these have packages that a package can suggest.
        let of_debian = found.filter(|library| {
            library.mpirun.starts_with("/usr/bin") && find_program("dpkg-shlibdeps").is_some()
        });
        let Some(library) = testkit::require("Debian's MPI libraries", of_debian) else {
            return;
        };
        let Some(driver) = driver_of(name) else {
            return;
        };
        let compiled = library.compile(&place, "slurm/where.c", &[]);
        fs::rename(compiled, place.path(&format!("with-{name}"))).unwrap();
        let table = tables::table_yaml("by-hand", name, &library.version, COLLECTIVES);
        place.write(&format!("{name}.yaml"), table);
        drivers.push(driver);
    }
    let drivers: Vec<_> = drivers.iter().map(PathBuf::as_path).collect();
    let package = make_package(&place, "deb", &drivers);

    let described = Command::new("dpkg-deb")
        .arg("--info")
        .arg(&package)
        .output();
    let described = String::from_utf8(described.unwrap().stdout).unwrap();
    let value_of = |field: &str| {
        let mut lines = described.lines();
        let value = lines.find_map(|line| line.trim().strip_prefix(field));
        value.unwrap_or_else(|| panic!("no {field} in {described}"))
    };
    let depends = value_of("Depends: ");
    assert!(depends.contains(" (>= "), "{described}");
    let suggests = value_of("Suggests: ");
    // Releases of the distribution call the packages of the libraries differently.
    for driver in &drivers {
        let package_of_mpi = package_of_mpi(driver);
        let part = format!("{package_of_mpi} (>= ");
        assert!(suggests.contains(&part), "no {part}: {described}");
        assert!(!depends.contains(&part), "{part}: {described}");
    }

    let mut sandbox = Command::new(root().join("scripts/packages/sandbox"));
    sandbox
        .args(["sh", "-euc", USE_DEBIAN_PACKAGE, "sh"])
        .arg(&package)
        .current_dir(place.path(""))
        .env("TMPDIR", crate::mpi::sessions(&place));
    let ended = run_outside(&mut sandbox);
    // What runs in the copy may also end with 3, as `doctor` does.
    let is_refused = ended.status.code() == Some(3)
        && ended
            .err
            .lines()
            .any(|line| line.starts_with("sandbox: impossible here: "));
    let permitted = (!is_refused).then_some(());
    if testkit::require("copy of this machine's files", permitted).is_none() {
        return;
    }
    let err = ended.err.clone();
    let out = expect_success(ended);
    assert!(out.contains("Status: install ok installed\n"), "{out}");
    assert!(out.contains("\n/usr/bin/colltune\n"), "{out}");
    for driver in drivers {
        let name = driver.file_name().and_then(OsStr::to_str).unwrap();
        let installed = format!("measuring program: /usr/lib/colltune/{name}/colltune-driver\n");
        assert!(out.contains(&installed), "no {installed}: {out}");
        let preloaded = format!("LD_PRELOAD=/usr/lib/colltune/{name}/libcolltune.so");
        assert!(out.contains(&preloaded), "no {preloaded}: {out}");
    }
    let served = |line: &&str| line.ends_with("allreduce/recursive_doubling");
    assert_eq!(out.lines().filter(served).count(), 2, "{out}{err}");
    let (_, left) = out.split_once("left:\n").unwrap();
    assert!(
        left.starts_with("of ") && !left.starts_with("of 0"),
        "{left}"
    );
    assert!(!Path::new("/usr/lib/colltune").join("openmpi").exists());
}

#[test]
fn the_rpm_package_installs_the_command_into_a_root_of_its_own() {
    let tools = ["rpmbuild", "rpm", "bwrap"];
    let found = tools.iter().all(|tool| find_program(tool).is_some());
    if testkit::require("rpm and bubblewrap", found.then_some(())).is_none() {
        return;
    }
    let place = Place::new();
    let package = make_package(&place, "rpm", &[]);
    let rpm = |args: &[&str]| {
        let mut command = Command::new("rpm");
        command.arg("--root").arg(place.path("root")).args(args);
        expect_success(run_outside(&mut command))
    };
    let package = package.to_str().unwrap();
    fs::create_dir(place.path("root")).unwrap();

    // Only what every distribution has: the command is linked to nothing else.
    let requirements = rpm(&["--query", "--requires", "--package", package]);
    let known = [
        "libc.so.6(",
        "libm.so.6(",
        "libgcc_s.so.1(",
        "ld-linux",
        "rpmlib(",
        "rtld(",
    ];
    let is_known = |line: &str| known.iter().any(|name| line.starts_with(name));
    assert!(requirements.lines().all(is_known), "{requirements}");
    assert!(requirements.contains("libc.so.6(GLIBC_"), "{requirements}");

    // A root without a C library of its own.
    rpm(&["--install", "--nodeps", package]);
    assert_eq!(
        rpm(&["--query", "colltune"]),
        format!("colltune-{VERSION}-1.{}\n", std::env::consts::ARCH)
    );
    let run_inside = |args: &[&str]| {
        let installed = place.path("root/usr");
        let mut command = Command::new("bwrap");
        for part in ["bin", "share"] {
            command
                .arg("--ro-bind")
                .arg(installed.join(part))
                .arg(format!("/usr/{part}"));
        }
        command
            .args([
                "--ro-bind",
                "/usr/lib",
                "/usr/lib",
                "--symlink",
                "usr/lib",
                "/lib",
            ])
            .args([
                "--ro-bind",
                "/usr/lib64",
                "/usr/lib64",
                "--symlink",
                "usr/lib64",
                "/lib64",
            ])
            .args([
                "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--chdir", "/tmp",
            ])
            .args([
                "--unshare-all",
                "--clearenv",
                "--setenv",
                "PATH",
                "/usr/bin",
                "colltune",
            ])
            .args(args);
        run_outside(&mut command)
    };
    let version = expect_success(run_inside(&["--version"]));
    assert_eq!(version, format!("colltune {VERSION}\n"));
    let simulated = run_inside(&[
        "schedule",
        "show",
        "allreduce/recursive_doubling",
        "--ranks",
        "4",
    ]);
    assert!(simulated.status.success(), "{simulated:?}");
    // Nothing is built for any MPI library there.
    let doctor = run_inside(&["doctor"]);
    assert_eq!(doctor.status.code(), Some(3), "{doctor:?}");

    rpm(&["--erase", "colltune"]);
    assert!(!place.path("root/usr/bin/colltune").exists());
    assert!(!place.path("root/usr/share/doc/colltune").exists());
}

/// The recipes that build the sources at a site.
#[test]
fn easybuild_accepts_the_easyconfig_and_python_the_package_of_spack() {
    let Some(tools) = testkit::require("EasyBuild", process::find_cached("easybuild/bin")) else {
        return;
    };
    let place = Place::new();
    let mut make = Command::new(root().join("scripts/packages/recipes"));
    let made = process::run_to_end(make.arg(place.path("recipes")), PATIENCE);
    let paths = expect_success(made);
    let paths: Vec<&str> = paths.lines().collect();
    let [archive, easyconfig, package] = &paths[..] else {
        panic!("{paths:?}");
    };

    let listed = Command::new("tar")
        .args(["-tzf", archive])
        .output()
        .unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    for file in ["Makefile", "Cargo.lock", "scripts/install"] {
        let path = format!("colltune-{VERSION}/{file}\n");
        assert!(listed.contains(&path), "no {path}");
    }

    let eb = |options: &[&str]| {
        let mut command = Command::new(tools.join("eb"));
        command
            .args([
                "--allow-use-as-root-and-accept-consequences",
                "--ignore-index",
                "--prefix",
            ])
            .arg(place.path("easybuild"))
            .args(options)
            .env("EB_PYTHON", tools.join("python"))
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("LMOD_CMD", "/usr/share/lmod/lmod/libexec/lmod")
            .env("HOME", place.path(""))
            .env("TMPDIR", crate::mpi::sessions(&place));
        expect_success(process::run_to_end(&mut command, PATIENCE))
    };
    let judged = eb(&["--check-contrib", easyconfig]);
    assert!(
        judged.contains("All SHA256 checksums checks PASSed"),
        "{judged}"
    );
    assert!(judged.contains("All style checks PASSed"), "{judged}");
    let planned = eb(&["--dry-run", "--robot", "--", easyconfig]);
    let module = format!("(module: colltune/{VERSION}-gompi-");
    for part in [
        &*module,
        "(module: Rust/",
        "(module: LLVM/",
        "(module: OpenMPI/",
    ] {
        assert!(planned.contains(part), "no {part}: {planned}");
    }

    let compiled = Command::new(tools.join("python"))
        .args([
            "-c",
            "import ast, sys; ast.parse(open(sys.argv[1]).read())",
            package,
        ])
        .status();
    assert!(compiled.unwrap().success());
    let text = fs::read_to_string(package).unwrap();
    assert!(
        text.contains(&format!("version(\"{VERSION}\", sha256=\"")),
        "{text}"
    );
}
