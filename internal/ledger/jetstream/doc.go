// Package jetstream keeps the logs of projects in NATS JetStream.
//
// What belongs here: how the ledger's calls become messages and requests, and what the
// servers' answers mean for a caller. It speaks JetStream's requests itself, over the
// client's connection: each call then has the round trips that it needs and no more, and
// each answer is judged here.
//
// A project has three streams, made by Create:
//
//	LESLIE_<project>        leslie.<project>.op               a message is a line; its sequence is the line's
//	                        leslie.<project>.stored           tells those who listen that a line was stored
//	LESLIE_<project>_BLOBS  leslie.<project>.blob.<sha>       the size of a blob, which makes it exist
//	                        leslie.<project>.blob.<sha>.<n>   a part of it
//	LESLIE_<project>_TURN   leslie.<project>.turn             one message: who has got it has the turn
package jetstream
