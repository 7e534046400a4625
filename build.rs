//! Links the unwinder into the program where the C compiler has it as an archive (Linux with glibc). Otherwise every call
//! loads a shared library for it, which is a twentieth of what a decision costs beside its syncs.

use std::env;
use std::path::Path;

const ARCHIVE: &str = "libgcc_eh.a";

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let target = |part: &str| env::var(format!("CARGO_CFG_TARGET_{part}")).unwrap_or_default();
    if target("OS") != "linux" || target("ENV") != "gnu" {
        return;
    }
    // What it cannot find it names without a folder; then the shared library does as well.
    let Ok(compiler) = cc::Build::new().try_get_compiler() else {
        return;
    };
    let asked = compiler
        .to_command()
        .arg(format!("-print-file-name={ARCHIVE}"))
        .output();
    let Ok(answer) = asked else {
        return;
    };
    let answer = String::from_utf8_lossy(&answer.stdout);
    let archive = Path::new(answer.trim());
    if let Some(folder) = archive.parent().filter(|_| archive.is_absolute()) {
        println!("cargo:rustc-link-search=native={}", folder.display());
        println!("cargo:rustc-link-lib=static:-bundle=gcc_eh");
    }
}
