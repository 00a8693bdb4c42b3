package store_test

import (
	"context"
	"fmt"
	"testing"

	"leslie/store/internal/teststore"
	"leslie/thread"
)

func BenchmarkUpdateAmongTenThousandThreads(b *testing.B) {
	s := teststore.ManyThreads(b)
	for i := 0; b.Loop(); i++ {
		teststore.Add(b, s, fmt.Sprintf("obj-%d", i))
	}
}

func BenchmarkViewAmongTenThousandThreads(b *testing.B) {
	s := teststore.ManyThreads(b)
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
