// Command stress runs "make test" as machines run it that are not the developer's: beside
// other work, on one processor, in another country, with an odd home folder and a strict
// umask, as an unprivileged user without a network. It prints a line a round, with what
// failed. A test that fails here and not elsewhere has a defect of its own, or shows one.
//
// What a round needs and the machine has not (another user, a network to take away) is left
// out of it, and its line says so.
package main
