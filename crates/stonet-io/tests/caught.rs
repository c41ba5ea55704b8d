//! Caught panics print nothing, and all others print; alone in its process, because the panic hook is one for all
//! threads.

use std::panic::{catch_unwind, set_hook};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;

use stonet_io::caught;

#[test]
fn panics_are_caught_here_and_print_elsewhere() {
    // The hook below stands where the printing one does.
    static PRINTED: AtomicUsize = AtomicUsize::new(0);
    set_hook(Box::new(|_| {
        PRINTED.fetch_add(1, Ordering::SeqCst);
    }));
    assert_eq!((caught(|| 7), caught(|| panic!("hostile"))), (Some(7), None::<()>));
    assert_eq!(caught(|| caught(|| panic!("inner")).unwrap_or(3)), Some(3));
    assert_eq!(PRINTED.load(Ordering::SeqCst), 0);
    // While one thread is in such a section, another panics.
    let ((enter, entered), (leave, left)) = (channel(), channel());
    let inside = std::thread::spawn(move || {
        caught(move || {
            enter.send(()).unwrap();
            left.recv().unwrap();
            panic!("hostile");
        })
    });
    entered.recv().unwrap();
    assert!(std::thread::spawn(|| panic!("a bug")).join().is_err());
    assert_eq!(PRINTED.load(Ordering::SeqCst), 1);
    leave.send(()).unwrap();
    assert_eq!(inside.join().unwrap(), None::<()>);
    assert_eq!(PRINTED.load(Ordering::SeqCst), 1);
    // Behind the sections everything prints again.
    assert!(catch_unwind(|| panic!("a bug")).is_err());
    assert_eq!(PRINTED.load(Ordering::SeqCst), 2);
}
