//! What the allocator does with memory that is given back.

/// Lets blocks of a megabyte or more go back to the system as soon as they are freed, in this process and from now on.
///
/// A coordinator holds a few models for as long as a round lasts. glibc raises the size from which it does so with the largest block that was
/// freed, and then keeps what lies between others: of a model of 6.8 MB the coordinator held 37 MB instead of 24.
pub(crate) fn gives_large_blocks_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        const MEGABYTE: libc::c_int = 1 << 20;
        // SAFETY: `mallopt` takes two numbers and locks the allocator itself. Where it refuses them nothing changes.
        #[allow(unsafe_code)]
        let _ = unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, MEGABYTE) };
    }
}
