package store

const openCareful = 0
