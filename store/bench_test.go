package store

import (
	"context"
	"fmt"
	"testing"

	"leslie/thread"
)

// Ten thousand live threads: what a write and a read cost then.
func manyThreads(b *testing.B) *Store {
	s := newStore(b, Options{})
	_, err := s.Update(context.Background(), callNamed("many"), func(st *thread.State) (Outcome, error) {
		for i := range 10_000 {
			id := thread.ThreadID(fmt.Sprintf("thread-%08d", i))
			st.Threads.Put(thread.Thread{
				ID: id, ObjectiveID: "obj", Title: "A thread of ten thousand", Intent: "Do one of ten thousand things",
				Status: thread.Active, Executor: thread.ByAgent, Created: thread.Attribution{At: noon, As: thread.User, Actor: "ann"}, Updated: noon,
			})
		}
		return Outcome{}, nil
	})
	if err != nil {
		b.Fatal(err)
	}
	add(b, s, "obj")
	return s
}

func BenchmarkUpdateAmongTenThousandThreads(b *testing.B) {
	s := manyThreads(b)
	for i := 0; b.Loop(); i++ {
		add(b, s, fmt.Sprintf("obj-%d", i))
	}
}

func BenchmarkViewAmongTenThousandThreads(b *testing.B) {
	s := manyThreads(b)
	for b.Loop() {
		_, err := s.View(context.Background(), func(st *thread.State) error {
			st.Threads.Get("thread-00005000")
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}
